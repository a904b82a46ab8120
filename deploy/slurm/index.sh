#!/bin/sh
# Indexes a corpus in shards as a Slurm job array, and commits them in a job that waits for the array.
#
#   index.sh SHARDS JOBS OUT PATH… [settings of `chunkmill index`]
#
# Plans on this machine, submits the jobs, and prints their two numbers. The plan and the logs are in OUT.slurm.
# OUT and the corpus are on a file system that all nodes share, or in an object store; OUT.slurm is then in the
# current folder. To resume after a cancellation or a failure, repeat the command: finished work is not repeated. A
# task that loses its node is requeued. SBATCH adds options of both jobs, like "--partition gpu --gres gpu:1";
# sbatch's own variables (SBATCH_PARTITION and so on) work too:
#
#   SBATCH="--cpus-per-task 4 --time 2:00:00" deploy/slurm/index.sh 64 16 /shared/out /shared/docs --files 64
#
# There can be no more shards than the dataset has files per table (--files, 8 by default). A task uses as many
# threads as it has CPUs. CHUNKMILL_RUN adds options of `chunkmill run`, like "--device cuda:0".
set -eu

if [ $# -lt 4 ]; then
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2
    exit 2
fi
shards=$1 jobs=$2 out=${3%/}
shift 3

# Next to the dataset, or in the current folder if the dataset is in an object store.
case $out in *://*) work=$PWD/${out##*/}.slurm ;; *) work=$out.slurm ;; esac
mkdir -p "$work"
plan=$work/plan.json
chunkmill plan "$@" -o "$out" --shards "$shards" > "$plan.new"
mv "$plan.new" "$plan"

# Tasks read these values from variables, so their shell does not parse them: names may contain spaces.
export CHUNKMILL_PLAN="$plan" CHUNKMILL_OUT="$out" CHUNKMILL_SHARDS="$shards" CHUNKMILL_RUN="${CHUNKMILL_RUN:-}"
array=$(sbatch --parsable --job-name chunkmill --array "1-$shards%$jobs" --requeue --open-mode append \
    --output "$work/shard-%a.log" ${SBATCH:-} --wrap '
    exec chunkmill run --plan "$CHUNKMILL_PLAN" --shard "$SLURM_ARRAY_TASK_ID/$CHUNKMILL_SHARDS" -o "$CHUNKMILL_OUT" \
        --threads "${SLURM_CPUS_PER_TASK:-1}" --progress plain $CHUNKMILL_RUN')
commit=$(sbatch --parsable --job-name chunkmill-commit --dependency "afterok:$array" --kill-on-invalid-dep yes \
    --output "$work/commit.log" ${SBATCH:-} --wrap '
    # 3 also means committed: some documents were quarantined.
    chunkmill commit --plan "$CHUNKMILL_PLAN" -o "$CHUNKMILL_OUT" || [ $? -eq 3 ]')
echo "shards $array"
echo "commit $commit"
