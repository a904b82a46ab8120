#!/bin/sh
# Indexes a corpus in shards with GNU parallel, on this machine or on several machines that share a file system.
#
#   index.sh SHARDS JOBS OUT PATH… [settings of `chunkmill index`]
#
# To resume after an interruption, repeat the command: finished work is not repeated. PARALLEL adds options of parallel:
#
#   PARALLEL="--sshloginfile nodes --workdir ." deploy/parallel/index.sh 64 4 out docs --files 64
#
# There can be no more shards than the dataset has files per table (--files, 8 by default). A job uses one thread.
# CHUNKMILL_RUN adds options of `chunkmill run`, like "--threads 4".
set -eu

if [ $# -lt 4 ]; then
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2
    exit 2
fi
shards=$1 jobs=$2 out=${3%/}
shift 3

# Next to the dataset, or in the current folder if the dataset is in an object store.
case $out in
*://*) plan=${out##*/}.plan.json ;;
*) mkdir -p "$(dirname "$out")" && plan=$out.plan.json ;;
esac
chunkmill plan "$@" -o "$out" --shards "$shards" > "$plan.new"
mv "$plan.new" "$plan"

# A shard is retried three times. If it still fails, no new shard is started, and the running ones finish.
seq "$shards" | parallel --jobs "$jobs" --retries 3 --halt soon,fail=1 --bar \
    chunkmill run --plan "$plan" --shard "{}/$shards" -o "$out" --threads 1 --progress never ${CHUNKMILL_RUN:-}

status=0
chunkmill commit --plan "$plan" -o "$out" || status=$?
# 3 also means committed: some documents were quarantined.
case $status in 0 | 3) rm "$plan" ;; esac
exit "$status"
