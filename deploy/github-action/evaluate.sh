#!/usr/bin/env bash
# Indexes documents, measures the settings of a sweep with labels, and compares the results with a baseline.
#
#   CORPUS=… LABELS=… SWEEP=… [BASELINE=…] [ALLOW_LOST=…] OUT=… evaluate.sh
#
# The gate fails if answers that the baseline had are gone from the documents, for more than ALLOW_LOST questions, or if
# the settings find less. Writes OUT/dataset, OUT/run and OUT/comment.md, the verdict in a line to OUT/title, and the
# result to OUT/passed: true, or false if the gate failed.
# Without a baseline there is no gate. The exit code is 0 either way, to allow the comment to be posted first.
set -euo pipefail
: "${CORPUS:?}" "${LABELS:?}" "${SWEEP:?}" "${OUT:?}"
mkdir -p "$OUT"

indexed=true
code=0
chunkmill index "$CORPUS" -o "$OUT/dataset" --progress plain || code=$?
case $code in
  0) ;;
  3) echo "::warning title=chunkmill::some documents were quarantined: $OUT/dataset/quarantine.jsonl" ;;
  # The comparison may say why: all documents may be gone.
  *) indexed=false ;;
esac

compare=()
if [[ -n ${BASELINE:-} ]]; then
  compare=(--baseline "$BASELINE")
fi
code=0
chunkmill-eval sweep --labels "$LABELS" --sweep "$SWEEP" -o "$OUT/run" ${compare[@]+"${compare[@]}"} || code=$?
# 1: all evidence was lost. The gate says so too.
(( code <= 1 )) || exit "$code"

passed=true
title=measured
verdict="There is no baseline to compare with."
if [[ -n ${BASELINE:-} ]]; then
  code=0
  verdict=$(chunkmill-eval gate "$OUT/run" --baseline "$BASELINE" --allow-lost "${ALLOW_LOST:-0}" --junit "$OUT/run/junit.xml") ||
    code=$?
  case $code in
    0) ;;
    1) passed=false ;;
    *) exit "$code" ;;
  esac
  # The first line is the verdict.
  title=${verdict%%$'\n'*}
fi
if [[ $indexed == false ]]; then
  passed=false
  [[ $title == FAILED* ]] || title="FAILED: the documents could not be indexed"
fi
echo "$title" > "$OUT/title"
echo "$passed" > "$OUT/passed"

# A comment can have at most 65,536 characters.
{
  echo "<!-- chunkmill -->"
  echo "### chunkmill: $title"
  printf '\n~~~text\n%s\n~~~\n\n' "$verdict"
  echo "<details><summary>The report</summary>"
  echo
  if (( $(wc -c < "$OUT/run/report.md") < 60000 )); then
    cat "$OUT/run/report.md"
  else
    head -c 59000 "$OUT/run/report.md" | sed '$d'
    printf '\n… the rest is in report.md in the folder of the run.\n'
  fi
  echo "</details>"
} > "$OUT/comment.md"
echo "$verdict"
