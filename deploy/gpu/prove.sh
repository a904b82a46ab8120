#!/usr/bin/env bash
# Runs what needs a GPU, in ten minutes, and prints tables in Markdown: the contract of an embedder, cosine to the CPU,
# an index made by the program, and tokens per second with the peak of memory.
#
#   prove.sh [MODEL]      a folder of a model with its real weights; without one, weights are made up
#
# `gpu`, `chunkmill` and `texts.jsonl` lie next to this script: check.sh puts them there. CHUNKMILL_TEST_DEVICE is the
# device [cuda:0]; with `cpu`, it tries itself out in two minutes. Ends with 1 if a check fails.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
device=${CHUNKMILL_TEST_DEVICE:-cuda:0}
model=${1:-}
precisions=(f32 f16 bf16)
total=131072
seconds=5
rows=("bert 128" "bert 512" "nomic 128" "nomic 512" "nomic 8192")
# Rows after this moment are left out.
last_start=540

case $device in
cuda:*)
  if ! nvidia-smi --list-gpus >/dev/null 2>&1; then
    echo "no CUDA device: \`nvidia-smi --list-gpus\` lists none" >&2
    exit 1
  fi
  ;;
cpu)
  precisions=(f32)
  total=1024
  seconds=0
  rows=("bert 128" "bert 512" "nomic 128")
  ;;
*)
  echo "CHUNKMILL_TEST_DEVICE is \`$device\`, not cuda:N or cpu" >&2
  exit 2
  ;;
esac
for needed in gpu chunkmill texts.jsonl; do
  if [ ! -e "$here/$needed" ]; then
    echo "$needed is not next to prove.sh: run \`make check-cuda\` and use its folder \`prove\`" >&2
    exit 2
  fi
done

# Adds the first of these folders with a library to the loader's, unless it knows the library.
find_library() {
  local library=$1 folder
  shift
  if grep -qF "$library" <<<"$(ldconfig -p 2>/dev/null || true)"; then return; fi
  for folder in "$@"; do
    if [ -e "$folder/$library" ]; then
      export LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
      return
    fi
  done
}
# The driver; and cuBLAS and cuRAND in a toolkit, or in Python's packages.
if [ "$device" != cpu ]; then
  packages=$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' 2>/dev/null || true)
  find_library libcuda.so.1 /usr/local/nvidia/lib64 /usr/lib/wsl/lib
  find_library libcublas.so.13 /usr/local/cuda/lib64 "$packages/nvidia/cu13/lib"
  find_library libcurand.so.10 /usr/local/cuda/lib64 "$packages/nvidia/cu13/lib"
fi

work=$(mktemp -d)
failed=0
watcher=
finish() {
  [ -z "$watcher" ] || kill "$watcher" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

# Runs `gpu`, at most two minutes, and prints its JSON.
gpu() { timeout 120 "$here/gpu" "$@" --device "$device" --texts "$here/texts.jsonl" 2>>"$work/errors"; }
# Prints a field of the JSON in standard input.
field() { sed -n "s/.*\"$1\":\\(\"[^\"]*\"\\|[^,}]*\\).*/\\1/p" | tr -d '"'; }
# Prints a cosine.
cosine() { field "$1" | xargs printf '%.8f'; }
# Prints its arguments as cells.
cells() { printf ' %s |' "$@"; }

if [ -n "$model" ]; then tested=(--model "$model"); else tested=(--shape bert --folder "$work/bert"); fi
if [ "$device" = cpu ]; then
  echo "On the CPU, to try the script out: nothing here is about a GPU."
else
  nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader --id="${device#cuda:}" | sed 's/^/GPU: /'
fi
echo "Model of the checks: ${model:-made up, in the shape of all-MiniLM-L6-v2}"
echo

if [ "$device" != cpu ] && ! json=$(gpu speed "${tested[@]}" --precision f32 --tokens 16 --total 64 --seconds 0); then
  echo "$device cannot be used: ${json:-$(tail -5 "$work/errors")}" >&2
  exit 1
fi

echo "| check |$(cells "${precisions[@]}")"
echo "| --- |$(cells "${precisions[@]//*/---}")"
for check in contract cosine; do
  results=()
  for precision in "${precisions[@]}"; do
    if json=$(gpu "$check" "${tested[@]}" --precision "$precision"); then verdict=; else verdict="FAILED "; failed=1; fi
    echo "$check $precision: $json" >>"$work/details"
    case $json in
    *largest_difference*) results+=("${verdict:-kept }(differences to $(field largest_difference <<<"$json"))") ;;
    *least*) results+=("${verdict}least $(cosine least <<<"$json"), mean $(cosine mean <<<"$json")") ;;
    *) results+=("FAILED") ;;
    esac
  done
  echo "| $check |$(cells "${results[@]}")"
done
mkdir "$work/docs"
tr -d '"' <"$here/texts.jsonl" >"$work/docs/texts.md"
results=()
for precision in "${precisions[@]}"; do
  out=$work/out-$precision
  if timeout 120 "$here/chunkmill" index "$work/docs" -o "$out" --model "${model:-$work/bert}" --embedder candle \
    --device "$device" --precision "$precision" --embedding-cache off >>"$work/errors" 2>&1 &&
    "$here/chunkmill" verify "$out" >>"$work/errors" 2>&1; then
    results+=("verified")
  else
    results+=("FAILED")
    failed=1
  fi
done
echo "| index |$(cells "${results[@]}")"

echo
echo "| network (made-up weights) | tokens of a text | precision | tokens/s | peak memory, MB |"
echo "| --- | --- | --- | --- | --- |"
for row in "${rows[@]}"; do
  read -r shape tokens <<<"$row"
  for precision in "${precisions[@]}"; do
    if [ "$SECONDS" -gt "$last_start" ]; then
      echo "| $shape | $tokens | $precision | no time left | |"
      failed=1
      continue
    fi
    : >"$work/memory"
    if [ "$device" != cpu ]; then
      nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits --id="${device#cuda:}" --loop-ms=200 >"$work/memory" &
      watcher=$!
    fi
    if json=$(gpu speed --shape "$shape" --folder "$work/$shape" --tokens "$tokens" --precision "$precision" \
      --total "$total" --seconds "$seconds"); then
      speed=$(field tokens_per_second <<<"$json")
    else
      speed="FAILED"
      failed=1
    fi
    echo "speed $row $precision: $json" >>"$work/details"
    if [ -n "$watcher" ]; then
      kill "$watcher" 2>/dev/null || true
      wait "$watcher" 2>/dev/null || true
      watcher=
    fi
    echo "| $shape | $tokens | $precision | $speed | $(sort -n "$work/memory" | tail -1) |"
  done
done

echo
echo "$SECONDS s. All results:"
echo
sed 's/^/    /' "$work/details"
if [ "$failed" = 1 ]; then
  echo
  echo "Something failed. The end of what was said:"
  tail -20 "$work/errors" | sed 's/^/    /'
fi
exit "$failed"
