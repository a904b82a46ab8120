#!/usr/bin/env bash
# Installs chunkmill and chunkmill-eval from a folder of sources, or from a wheel (a file or a URL).
#
#   install.sh FROM
set -euo pipefail
from=${1:?"name a folder of sources or a wheel"}
if [[ -d $from ]]; then
  cargo install --locked --path "$from" --bin chunkmill
  cargo install --locked --path "$from/eval" --bin chunkmill-eval
else
  python3 -m pip install --quiet --disable-pip-version-check "$from"
fi
for program in chunkmill chunkmill-eval; do
  "$program" --version --verbose || { echo "$from does not contain $program" >&2; exit 1; }
done
