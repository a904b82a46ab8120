#!/usr/bin/env bash
# Checks what a pull request cannot run: the workflows, the action, their scripts, the container's recipe. Takes seconds
# once the checkers are installed.
#
#   check.sh TOOLS          TOOLS is a folder for the checkers
set -euo pipefail
tools=$(realpath --canonicalize-missing "${1:?"a folder for the checkers"}")
here=$(dirname "$(realpath "$0")")
project=$here/../..
wanted=$here/requirements.txt
if ! cmp --silent "$wanted" "$tools/requirements.txt"; then
  rm -rf "$tools"
  "${PYTHON:-python3}" -m venv "$tools"
  "$tools/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --requirement "$wanted"
  cp "$wanted" "$tools/requirements.txt"
fi

# actionlint reads workflows from the folder where GitHub looks for them, and also the action of the repository.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir -p "$copy/.git" "$copy/.github/workflows" "$copy/deploy"
cp -r "$project/deploy/github-action" "$copy/deploy"
cp "$copy"/deploy/github-action/{release,example}.yml "$copy/.github/workflows"
(cd "$copy" && "$tools/bin/actionlint" -shellcheck "$tools/bin/shellcheck")

"$tools/bin/shellcheck" --severity warning "$here/check.sh" "$project"/deploy/*/*.sh
"$tools/bin/hadolint" "$project/deploy/container/Dockerfile"
