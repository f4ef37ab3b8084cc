#!/bin/bash
# Trains as a Slurm job of several tasks: one trains, the others are workers that decode for it. Everything else is as in
# slurm.sh, which has to lie in the same folder. All nodes have the data at the same paths, in that folder or below it.
#
# Usage: sbatch slurm_workers.sh --config FILE [OPTION...]
#
#SBATCH --job-name=train
#SBATCH --time=04:00:00
#SBATCH --ntasks=3
#SBATCH --cpus-per-task=4
#SBATCH --output=train-%j.log
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=B:USR1@90

# Keys of this job, in a folder that all nodes share and no worker gives away.
keys=$HOME/.millrace-keys-$SLURM_JOB_ID
trap 'rm -rf "$keys"' EXIT
rm -rf "$keys"
(umask 077 && mkdir -p "$keys/clients" && trainer keys --out "$keys/worker" && trainer keys --out "$keys/trainer" &&
  cp "$keys/trainer.pub" "$keys/clients") || exit

# Where the workers are: the node of each task, and a port at random, as other jobs may have workers on the same node.
run=(srun --ntasks="$((SLURM_NTASKS - 1))" --cpus-per-task="${SLURM_CPUS_PER_TASK:-1}")
mapfile -t nodes < <("${run[@]}" --label printenv SLURMD_NODENAME | sort --numeric-sort | sed 's/.*: *//')
first_port=$((10000 + RANDOM % 1400 * 16))
for task in "${!nodes[@]}"; do connect+="tcp://${nodes[task]}:$((first_port + task)),"; done

# They end with the job.
"${run[@]}" bash -c 'exec trainer worker --bind "tcp://0.0.0.0:$(($1 + SLURM_PROCID))" --key "$2/worker.key" \
  --clients "$2/clients"' bash "$first_port" "$keys" &

set -- "$@" --set "workers={connect: [${connect%,}], key: $keys/trainer.key, server_key: $keys/worker.pub}"
. ./slurm.sh
