#!/bin/sh
# The text form of a graph is read back to the same graph: for every archive, at every stage and after every pass. By hand.
#
#     tests/reread.sh KILN CASES...        folders with model.pt and 1.in.npz
kiln=$1; shift
stages="frontend prepared specialized optimized $("$kiln" show --help | sed -n 's/^passes: //p')"
why=$(mktemp) || exit 1; trap 'rm -f "$why"' EXIT
n=0; bad=0
for model in $(find "$@" -name model.pt | sort); do
	folder=$(dirname "$model")
	for stage in $stages; do
		n=$((n + 1))
		timeout 300 "$kiln" show --reread --stage "$stage" -i "$folder/1.in.npz" "$model" >/dev/null 2>"$why" && continue
		bad=$((bad + 1))
		echo "BAD $(basename "$folder") $stage: $(tail -c 300 "$why")"
	done
done
echo "$n graphs, $bad bad"
test $bad = 0
