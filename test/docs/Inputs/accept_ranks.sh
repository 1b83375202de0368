#!/bin/sh
# An mpirun that starts nothing, where eight ranks are asked for on the hosts of docs/clusters.md.
case "$*" in
  --version) echo "mpirun (Open MPI) 4.1.4" ;;
  -np\ 8*--host\ node1:4,node2:4\ *dlc-run\ * | -np\ 8\ --hostfile\ hosts\ *dlc-run\ *) ;;
  *) echo "error: not what the page says: $*" >&2; exit 1 ;;
esac
