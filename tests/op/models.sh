#!/bin/sh
# tests/op/models.sh KILN FOLDER... - models of operators on objects: kiln run gives PyTorch's answer, and so does a program,
# whose specialization accepts the input that it was profiled on. Graphs with the objects as constants read back. A program has as
# many calls of the runtime as the folder's file `calls` contains.
set -e
kiln=$1
got=$(dirname "$kiln")/tests/op
shift
for dir; do
	"$kiln" run "$dir/model.pt" -i "$dir/in.npz" -o "$got/got.npz"
	python3 tests/program/npz.py "$dir/out.npz" "$got/got.npz"
	for stage in prepared specialized optimized; do
		"$kiln" show --reread --stage $stage "$dir/model.pt" -i "$dir/in.npz" >"$got/graph.txt"
	done
	CFLAGS="${CFLAGS:--Og}" "$kiln" build "$dir/model.pt" -i "$dir/in.npz" --cpu native -o "$got/program" >/dev/null
	[ ! -f "$dir/calls" ] || "$got/program" --info | grep -q " $(cat "$dir/calls") runtime calls"
	"$got/program" --strict -i "$dir/in.npz" -o "$got/got.npz"
	python3 tests/program/npz.py "$dir/out.npz" "$got/got.npz"
done
