#!/usr/bin/env bash
# One process of a training on several: fairseq-train with its place among them, as torchrun
# or Slurm's srun tell it. Arguments go to fairseq-train.
set -euo pipefail
if [ -z "${RANK:-}${SLURM_PROCID:-}" ]; then
    echo "$0: start it by torchrun or srun, which say what place it has" >&2
    exit 1
fi
export MASTER_ADDR=${MASTER_ADDR:-$(scontrol show hostnames "$SLURM_JOB_NODELIST" | sed -n 1p)}
export MASTER_PORT=${MASTER_PORT:-29500}
exec fairseq-train "$@" \
    --distributed-init-method env:// --distributed-no-spawn \
    --distributed-world-size "${WORLD_SIZE:-$SLURM_NTASKS}" \
    --distributed-rank "${RANK:-$SLURM_PROCID}" \
    --device-id "${LOCAL_RANK:-$SLURM_LOCALID}"
