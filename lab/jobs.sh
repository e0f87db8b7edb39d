#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# jobs.sh N PROGRAM ARGUMENT...: runs N processes, numbered by torchrun's variables. They stop if
# this script gets a signal or ends. Exits with the code of the lowest rank that failed; one that
# SIGINT (130) or SIGTERM (143) ended was stopped. Without a failure: 0 if a process saw every cell
# finished, else 130.
set -u
[[ "${1-}" =~ ^[1-9][0-9]*$ ]] || { echo "jobs.sh: N must be a number, got '${1-}'" >&2; exit 2; }
export WORLD_SIZE=$1 MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + RANDOM % 10000))
shift
processes=() failure=0 finished=0
trap 'kill -TERM "${processes[@]}" 2>/dev/null' INT TERM
for ((rank = 0; rank < WORLD_SIZE; ++rank)); do
  RANK=$rank LOCAL_RANK=$rank setpriv --pdeathsig TERM "$@" &
  processes+=($!)
done
for process in "${processes[@]}"; do
  wait "$process"
  code=$?
  while kill -0 "$process" 2>/dev/null; do  # signals end wait early
    wait "$process"
    code=$?
  done
  ((code > 0)) || finished=1
  ((failure > 0 || code == 130 || code == 143)) || failure=$code
done
((failure == 0)) || exit "$failure"
((finished == 1)) || exit 130
