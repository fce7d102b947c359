#!/bin/sh
# tests/mutate.sh [-h] [OPTION]... - mutation testing: bugs put into the sources one by one: do the tests see them?
cd "$(dirname "$0")/.." && exec python3 tests/mutate/mutate.py "$@"
