#!/bin/bash
# Trains as a Slurm job, which goes back into the queue at its time limit until the training is complete. The
# configuration needs the key checkpoint.
#
# Usage: sbatch slurm.sh --config FILE [OPTION...]
#
#SBATCH --job-name=train
#SBATCH --time=04:00:00
#SBATCH --cpus-per-task=4
#SBATCH --output=train-%j.log
#SBATCH --open-mode=append
#
# After a failure of the machine, Slurm puts the job back into the queue by itself. At the time limit it does not: so it
# has to tell this script in time. B: means the script alone. Leave more than 90 seconds if a step, or writing a
# checkpoint, takes long. The signal may come a minute early.
#SBATCH --requeue
#SBATCH --signal=B:USR1@90

time_is_up=
trap 'time_is_up=yes; kill -TERM "$trainer"' USR1
# Whoever cancels the job or takes its machine sends TERM to this script, too. It stays until the trainer has ended.
trap : TERM

# In the background, because bash takes no signal while it waits for a program in the foreground.
trainer train "$@" --resume &
trainer=$!
while kill -0 "$trainer" 2>/dev/null; do
  wait "$trainer"   # ends when a signal comes, too
done
wait "$trainer"     # bash knows the exit code still
code=$?

# 143 is how the trainer ends after TERM. It is 74 if a checkpoint could not be written: the one before is there.
if [[ $time_is_up && ($code -eq 143 || $code -eq 74) ]]; then
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
