#!/bin/sh
# tests/run.sh [-u] [FILE...] - golden tests: a file is a test, its last comment block (after "# ---") what kiln says
#
#   frontend/*.py   the graph of the source            kiln show FILE
#   err/*.py        the message that it ends with      kiln show FILE, standard error
#   run/*.py        what the program prints              kiln run FILE, and with -O0 the same
# A first line "# kiln: ARGUMENTS" replaces "show".  -u writes what kiln says into the files.
cd "$(dirname "$0")" || exit 1
kiln=${KILN:-../build/kiln}
update=
[ "$1" = -u ] && { update=1; shift; }
[ $# -gt 0 ] || set -- frontend/*.py err/*.py run/*.py
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0

# prints, as a comment, the output of kiln on file f; level: options of run
say() {
	args=$(sed -n '1s/^# kiln: //p' "$f")
	case $f in
	*err/*) $kiln ${args:-show} "$f" 2>&1 >/dev/null </dev/null ;;
	*run/*) $kiln ${args:-run} $level "$f" 2>&1 </dev/null ;;
	*) $kiln ${args:-show} "$f" 2>&1 </dev/null ;;
	esac | sed 's/^/# /; s/ *$//' >"$tmp/got"
}

for f in "$@"; do
	f=${f#tests/}                    # the path as printed from the folder above
	case $f in *_test.py) continue ;; */run/*|run/*) levels='-O2 -O0' ;; *) levels=-O2 ;; esac
	sed '1,/^# ---$/d' "$f" >"$tmp/want"
	for level in $levels; do
		say
		cmp -s "$tmp/got" "$tmp/want" && continue
		if [ "$update" ] && [ $level = -O2 ]; then
			sed '/^# ---$/,$d' "$f" >"$tmp/new"
			{ cat "$tmp/new"; echo '# ---'; cat "$tmp/got"; } >"$f"
			cp "$tmp/got" "$tmp/want"
			echo "$f: written"
			continue
		fi
		echo "$f, $level:"
		diff "$tmp/want" "$tmp/got"
		failed=1
	done
done
exit $failed
