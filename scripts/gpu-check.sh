#!/bin/sh
# Everything that needs a real GPU, in one command: gpu_check.py says what it does and takes.
exec python3 "$(dirname "$0")/gpu_check.py" "$@"
