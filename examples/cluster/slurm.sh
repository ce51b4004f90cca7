#!/bin/bash
# Replicas of an experiment as a SLURM array, one part a task, and a last job that puts them together.
#
#   FILE=experiment.toml REPLICAS=1000 PARTS=20 OUT=runs/whole bash slurm.sh
#
# Killed or timed out, the same line goes on where each part was left.
set -euo pipefail
: "${FILE:?the experiment}" "${REPLICAS:?how many}" "${PARTS:?into how many jobs}" "${OUT:?the directory}"
COMMAND=${COMMAND:-replicas} # or certify
export FILE REPLICAS PARTS OUT COMMAND

case "${1:-submit}" in
submit)
    here=$(realpath "$0")
    array=$(sbatch --parsable --array="0-$((PARTS - 1))" --cpus-per-task="${CORES:-4}" --requeue \
        --output="$OUT-part-%a.log" "$here" part)
    sbatch --parsable --dependency="afterok:$array" --output="$OUT-merge.log" "$here" merge
    ;;
part)
    i=$SLURM_ARRAY_TASK_ID
    fedward "$COMMAND" "$FILE" -m "$REPLICAS" --out "$OUT-part-$i" --workers "${SLURM_CPUS_PER_TASK:-1}" \
        --range "$((REPLICAS * i / PARTS)):$((REPLICAS * (i + 1) / PARTS))"
    ;;
merge)
    parts=()
    for ((i = 0; i < PARTS; i++)); do parts+=("$OUT-part-$i"); done
    fedward merge "${parts[@]}" --out "$OUT"
    # Of a certification the certificate: everything is trained, so this takes moments.
    if [ "$COMMAND" = certify ]; then fedward certify "$FILE" -m "$REPLICAS" --out "$OUT"; fi
    ;;
esac
