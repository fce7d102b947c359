#!/bin/sh
# usage: tests/valgrind.sh KILN [MODEL.pt...]: every archive of tests/ and samples/ under valgrind
#
# A program must free all of its memory, whether it answers or raises.  The compiler keeps its memory until the process ends,
# but every block must still be reachable.  A pointer into the inside of a block counts (rt/recycle.c).  Neither may access
# memory that is not its own.  A model's inputs are the .npz files next to it whose names begin with the model's name.
kiln=${1:?which kiln}
shift
cd "$(dirname "$0")/.." || exit 1
tmp=$(mktemp -d) || exit 1
export KILN_NO_RECYCLE=1
trap 'rm -rf "$tmp"' EXIT
bad=0

# check KINDS COMMAND...: fails on memory errors and leaks of these kinds; status 1 may be the model's answer
check() {
	kinds=$1
	shift
	valgrind -q --error-exitcode=99 --leak-check=full --show-leak-kinds="$kinds" --errors-for-leak-kinds="$kinds" \
		--num-callers=20 "$@" >"$tmp/out" 2>"$tmp/log"
	status=$?
	[ $status -le 1 ] || [ $status = 7 ] && return
	echo "$*: status $status"
	grep '^==' "$tmp/log" | cut -d ' ' -f 2- | head -n 40
	bad=1
}

lost=definite,indirect
[ $# -gt 0 ] || set -- samples/*/model.pt tests/guards/*.pt tests/cuda/kernels/model.pt tests/op/*/model.pt \
	tests/ops/*/*.pt
for model; do
	name=${model%.pt}
	case $name in */model) name=${name%model}in ;; esac
	built=
	check $lost "$kiln" info "$model"
	for in in "$name"*.npz; do
		[ -e "$in" ] || continue
		check $lost "$kiln" run "$model" -i "$in"
		[ "$built" ] || "$kiln" build "$model" -i "$in" --cpu x86-64-v3 -o "$tmp/program" >"$tmp/log" 2>&1 ||
			{ echo "$model: not built"; cat "$tmp/log"; bad=1; }
		built=1
		check all "$tmp/program" -i "$in" -o "$tmp/out.npz"
		check all "$tmp/program" -i "$in" --threads 2
	done
done
for model in tests/fuzz/corpus/archive/*.pt tests/op/calls.pt tests/trace/net.pt; do
	check $lost "$kiln" info "$model"
	check $lost "$kiln" convert "$model" "$tmp/out.npz"
done
exit $bad
