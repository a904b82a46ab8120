#!/bin/sh
# Indexes a corpus in shards as a Slurm job array, and commits them in a job that waits for it.
#
#   index.sh SHARDS JOBS OUT PATH… [settings of `chunkmill index`]
#
# Plans here, submits, and prints the two job numbers. The plan and the logs are in OUT.slurm. OUT and the corpus are on a
# file system that all nodes share, or in an object store; then OUT.slurm is made here.
# To go on after it was cancelled or failed, repeat it: what was finished is not made again. A task that loses its node is
# queued again. SBATCH holds more options of both jobs, like "--partition gpu --gres gpu:1"; sbatch's own variables
# (SBATCH_PARTITION and so on) count too:
#
#   SBATCH="--cpus-per-task 4 --time 2:00:00" deploy/slurm/index.sh 64 16 /shared/out /shared/docs --files 64
#
# There can be no more shards than the dataset has files (--files, 8 unless it is said). A task works with as many
# threads as it has processors; CHUNKMILL_RUN holds more options of `chunkmill run`, like "--device cuda:0".
set -eu

if [ $# -lt 4 ]; then
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2
    exit 2
fi
shards=$1 jobs=$2 out=${3%/}
shift 3

# Beside the dataset, or here if that is in an object store.
case $out in *://*) work=$PWD/${out##*/}.slurm ;; *) work=$out.slurm ;; esac
mkdir -p "$work"
plan=$work/plan.json
chunkmill plan "$@" -o "$out" --shards "$shards" > "$plan.new"
mv "$plan.new" "$plan"

# Values that a task reads, not text that its shell parses: names may hold blanks.
export CHUNKMILL_PLAN="$plan" CHUNKMILL_OUT="$out" CHUNKMILL_SHARDS="$shards" CHUNKMILL_RUN="${CHUNKMILL_RUN:-}"
array=$(sbatch --parsable --job-name chunkmill --array "1-$shards%$jobs" --requeue --open-mode append \
    --output "$work/shard-%a.log" ${SBATCH:-} --wrap '
    exec chunkmill run --plan "$CHUNKMILL_PLAN" --shard "$SLURM_ARRAY_TASK_ID/$CHUNKMILL_SHARDS" -o "$CHUNKMILL_OUT" \
        --threads "${SLURM_CPUS_PER_TASK:-1}" --progress plain $CHUNKMILL_RUN')
commit=$(sbatch --parsable --job-name chunkmill-commit --dependency "afterok:$array" --kill-on-invalid-dep yes \
    --output "$work/commit.log" ${SBATCH:-} --wrap '
    # 3 is a commit too: some documents are in quarantine.
    chunkmill commit --plan "$CHUNKMILL_PLAN" -o "$CHUNKMILL_OUT" || [ $? -eq 3 ]')
echo "shards $array"
echo "commit $commit"
