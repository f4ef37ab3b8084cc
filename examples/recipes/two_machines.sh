#!/bin/bash
# Trains here, while another machine decodes. Both have `trainer` and libzmq5. In FOLDER, the other machine has the same
# data as this one has here. HOST is a name that ssh and the network know. Whatever ends the training ends the worker.
#
# Usage: bash two_machines.sh HOST FOLDER --config FILE [OPTION...]     PORT: where the worker listens, 5599 by default
set -e
host=$1
root=$(printf %q "$2")
port=${PORT:=5599}
shift 2

# Each machine makes its own keys, once. Secret ones stay where they are, and do not lie in FOLDER, which can be read.
[[ -e trainer.key ]] || trainer keys --out trainer
ssh "$host" "umask 077
  mkdir -p millrace-keys/clients && cd millrace-keys && cat >clients/$(hostname).pub &&
  { test -e worker.key || trainer keys --out worker >&2; } && cat worker.pub" <trainer.pub >worker.pub

# The trainer holds one end of a pipe, as descriptor 4. At the other end, and machine, `cat` waits for the end of the
# pipe, which comes with the end of the trainer or of the connection. Then the worker ends.
workers="{connect: 'tcp://${host#*@}:$port', key: trainer.key, server_key: worker.pub}"
set +e
exec 3>&1
trainer train "$@" --set "workers=$workers" 4>&1 >&3 | ssh "$host" "
  trainer worker --bind tcp://0.0.0.0:$port --root $root \
    --key millrace-keys/worker.key --clients millrace-keys/clients </dev/null &
  cat
  kill \$!
  wait" >&2
exit "${PIPESTATUS[0]}"
