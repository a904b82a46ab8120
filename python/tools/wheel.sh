#!/bin/sh
# Builds the wheel: the two programs, stripped, and the module. `make wheel` passes the arguments.
set -eu
cargo=$1 profile=$2 target=$(realpath -m "$3") python=$4
cd "$(dirname "$0")/.."

"$cargo" build --profile "$profile" --package chunkmill --package chunkmill-eval --bins
rm -rf chunkmill.data
mkdir -p chunkmill.data/scripts
for program in chunkmill chunkmill-eval; do
  strip -o "chunkmill.data/scripts/$program" "$target/$profile/$program"
done

environment=$target/wheel-build
if ! cmp -s requirements-build.txt "$environment/requirements-build.txt"; then
  "$python" -m venv --clear "$environment"
  "$environment/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements-build.txt
  cp requirements-build.txt "$environment"
fi
rm -rf "$target/wheels"
CARGO=$cargo "$environment/bin/maturin" build --profile "$profile" --out "$target/wheels"
