#!/usr/bin/env bash
# Builds the feature `cuda` on a machine without a GPU, runs what needs none, and writes down time and size.
#
#   check.sh CUDA TARGET     folders for the compiler and for what it builds
#
# Leaves TARGET/prove, which is all that a machine with a GPU needs to run prove.sh.
set -euo pipefail
cuda=$(realpath --canonicalize-missing "${1:?"a folder for CUDA's compiler"}")
target=$(realpath --canonicalize-missing "${2:?"a folder for what is built"}")
here=$(dirname "$(realpath "$0")")
project=$(realpath "$here/../..")
cargo=${CARGO:-cargo}
mkdir -p "$target"
report=$target/report.txt
: >"$report"
say() { echo "check-cuda: $*" | tee -a "$report"; }
fail() {
  say "FAILED: $*"
  exit 1
}

started=$SECONDS
root=$("${PYTHON:-python3}" "$here/toolkit.py" "$cuda")
say "compiler $("$root/bin/nvcc" --version | sed -n 's/.*release \([^,]*\).*/\1/p'), $(du -sh "$cuda" | cut -f1), $((SECONDS - started)) s"

# Machine code for 8.0 (A100), and PTX, which the driver compiles for anything newer when a kernel is first used. The
# build scripts would ask a GPU, and there is none.
started=$SECONDS
export CUDA_HOME=$root CUDA_PATH=$root PATH=$root/bin:$PATH CUDA_COMPUTE_CAP=80 CARGO_TARGET_DIR=$target
cd "$project"
# Both at once: apart, cargo would build some dependencies twice.
"$cargo" build --release --locked --features cuda --bin chunkmill --bench gpu \
  --message-format json-render-diagnostics >"$target/built.json"
bench=$(sed -n 's/.*"executable":"\([^"]*\/gpu-[^"]*\)".*/\1/p' "$target/built.json" | tail -1)
say "build $((SECONDS - started)) s (little if it was built before)"

prove=$target/prove
rm -rf "$prove"
mkdir -p "$prove"
cp "$here/prove.sh" "$project/tests/golden/texts.jsonl" "$prove"
strip -o "$prove/chunkmill" "$target/release/chunkmill"
strip -o "$prove/gpu" "$bench"
megabytes() { stat --format %s "$1" | awk '{ printf "%.1f MB", $1 / 1e6 }'; }
say "chunkmill $(megabytes "$prove/chunkmill"), gpu $(megabytes "$prove/gpu"), without symbols"

# The program must start where there is no library of CUDA.
needs=$(readelf --dynamic "$prove/chunkmill" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -E '^lib(cu|nv)' || true)
[ -z "$needs" ] || fail "the program needs $needs to start"
"$prove/chunkmill" --version --verbose | grep -qw cuda || fail "the program has no feature cuda"

# The kernels: PTX inside the program, and the driver's assembler must accept it for newer processors too.
kernels=$(grep --text --count '^\.target sm_80' "$prove/chunkmill" || true)
[ "$kernels" -ge 10 ] || fail "only $kernels modules of kernels are in the program"
out=$(dirname "$(find "$target/release/build" -path '*candle-kernels-*/out/ptx.rs' -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2-)")
for processor in sm_80 sm_90 sm_100 sm_120; do
  for kernel in "$out"/*.ptx; do
    "$root/bin/ptxas" --gpu-name "$processor" --opt-level 0 --output-file /dev/null "$kernel" || fail "$kernel on $processor"
  done
done
say "$kernels modules of kernels in the program; assembled for sm_80, sm_90, sm_100 and sm_120"

# The stand-ins for libraries: they find the real ones, and say so if there are none.
cc -O2 -o "$target/versions" "$here/versions.c" -L "$root/lib64/stubs" -lcuda -lcublas -lcublasLt -lcurand -lnvrtc
with=$(LD_LIBRARY_PATH=$root/lib64 "$target/versions")
without=$("$target/versions")
say "libraries: $with; without them: $without"
[[ $with == *"nvrtc 0 13.0"* && $with == *"curand 0 "* && $with == *"cublasLt 13"* ]] || fail "the libraries were not found"

# The same code on the CPU, and our own error without a device.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$prove/gpu" contract --device cpu --folder "$work/model" >"$work/contract.json" || fail "$(cat "$work/contract.json")"
say "the contract on the CPU: $(cat "$work/contract.json")"
mkdir "$work/docs"
cp "$here/README.md" "$work/docs"
if nvidia-smi --list-gpus >"$work/gpus" 2>/dev/null; then
  say "this machine has a GPU, so the error without one was not tried"
else
  code=0
  "$prove/chunkmill" index "$work/docs" -o "$work/out" --model "$work/model" --device cuda:0 2>"$work/said" || code=$?
  [ "$code" = 2 ] && grep -q 'cuda:0 cannot be used' "$work/said" && grep -q 'help: use --device cpu' "$work/said" ||
    fail "without a device, the program ended with $code and: $(cat "$work/said")"
  say "without a device, the program ends with 2: $(head -1 "$work/said")"
  code=0
  "$prove/prove.sh" >"$work/said" 2>&1 || code=$?
  [ "$code" != 0 ] && grep -q '^no CUDA device' "$work/said" || fail "prove.sh ended with $code and: $(cat "$work/said")"
  say "without a device, prove.sh ends with $code: $(head -1 "$work/said")"
fi
say "to try it on a machine with a GPU, copy $(du -sh "$prove" | cut -f1) in prove/ there and run prove.sh"
