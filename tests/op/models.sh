#!/bin/sh
# tests/op/models.sh KILN FOLDER... - models of operators that need objects: kiln run gives what PyTorch gave
set -e
kiln=$1
shift
for dir; do
	"$kiln" run "$dir/model.pt" -i "$dir/in.npz" -o "$(dirname "$kiln")/tests/op/got.npz"
	python3 tests/program/npz.py "$dir/out.npz" "$(dirname "$kiln")/tests/op/got.npz"
done
