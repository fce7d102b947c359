#!/bin/sh
# tests/program/sample.sh PROGRAM - the program of samples/NAME answers as PyTorch and runs its specialization
set -e
sample=samples/$(basename "$1")
ASAN_OPTIONS=detect_leaks=1 "$1" -i "$sample/in.npz" --strict -o "$1.npz" >"$1.txt"
python3 tests/program/npz.py "$sample/out.npz" "$1.npz"
[ ! -e "$sample/out.txt" ] || diff "$sample/out.txt" "$1.txt"
