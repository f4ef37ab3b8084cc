#!/bin/sh
# Trains until the training is complete, whatever ends the program meanwhile: kill -9, also by the system for its memory
# (137), a disk that is full for a while. The configuration needs the key checkpoint. Ctrl-C ends the program and the
# loop.
#
# Usage: sh loop.sh --config FILE [OPTION...]     PAUSE: seconds between two tries, 10 by default

# The same command every time: it begins, goes on from the newest checkpoint, or says that the training is complete.
until trainer train "$@" --resume; do
  code=$?
  case $code in
    74 | 137 | 138 | 143) ;;   # a file could not be written or read, or there is no device; kill -9; SIGUSR1; terminated
    *) exit "$code" ;;         # configuration, data, usage: the next try would end likewise; 129: hung up; 130: Ctrl-C
  esac
  echo "loop.sh: trainer ended with $code, and goes on in ${PAUSE:=10} s" >&2
  sleep "$PAUSE"
done
