#!/bin/sh
# tests/mutate.sh [-h] [OPTION]... - mutation testing: bugs put into the sources one by one, and whether the tests see them.
cd "$(dirname "$0")/.." && exec python3 tests/mutate/mutate.py "$@"
