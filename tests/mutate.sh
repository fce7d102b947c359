#!/bin/sh
# tests/mutate.sh [-h] [OPTION]... - mutation testing: puts bugs into the sources one by one, and checks that tests detect them
cd "$(dirname "$0")/.." && exec python3 tests/mutate/mutate.py "$@"
