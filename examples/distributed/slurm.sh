#!/usr/bin/env bash
#SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4 --cpus-per-task=8
# One task per GPU; arguments go to fairseq-train:
#   sbatch examples/distributed/slurm.sh DATA --user-dir sit_fairseq ...
srun bash examples/distributed/rank.sh "$@" --ddp-backend legacy_ddp
