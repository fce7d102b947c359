#!/bin/bash
# same.sh OLDKILN NEWKILN MODEL...
# Compares the programs that two builds of Kiln make of models: .text and .rodata without symbols and sources.  The
# inputs of DIR/NAME.pt are DIR/NAME.npz, DIR/in.npz or DIR/1.in.npz; further arguments for both builds: SAME="--cpu native".
set -u
old=$1 new=$2
shift 2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
differ=0

sections() # KILN MODEL OUT
{
	local model=$2 dir=${2%/*} input=
	for file in "${model%.pt*}.npz" "$dir/in.npz" "$dir/1.in.npz" "${model%.pt*}.in.npz"; do
		[ -e "$file" ] && input=$file && break
	done
	CFLAGS=-g0 "$1" build "$model" ${input:+-i "$input"} --no-source ${SAME:-} -o "$3" >"$3.log" 2>&1 || return 1
	for section in .text .rodata; do
		objcopy -O binary --only-section=$section "$3" "$3$section"
	done
}

for model in "$@"; do
	if ! sections "$old" "$model" "$scratch/old" || ! sections "$new" "$model" "$scratch/new"; then
		echo "$model: does not build: $(cat "$scratch"/*.log | head -1)"
		differ=1
		continue
	fi
	for section in .text .rodata; do
		cmp -s "$scratch/old$section" "$scratch/new$section" && continue
		echo "$model: $section differs: $(stat -c%s "$scratch/old$section") and $(stat -c%s "$scratch/new$section") bytes," \
			"$(cmp -l "$scratch/old$section" "$scratch/new$section" 2>/dev/null | wc -l) of them"
		differ=1
	done
done
echo "$# compared"
exit $differ
