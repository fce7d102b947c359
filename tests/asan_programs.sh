#!/bin/sh
# usage: tests/asan_programs.sh KILN CASE...: runs programs under ASan, UBSan and, at their end, LeakSanitizer
#
# KILN is build/asan/kiln, which carries an instrumented rt; the emitted C is instrumented here.  A case is a folder
# with model.pt and 1.in.npz or in.npz, more inputs 2.in.npz ...  Findings are printed. An error that the model
# raises is no finding.  The last line is the number of cases without findings.
kiln=${1:?which kiln}
shift
flags='-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g'
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
bad=0 passed=0
for case; do
	fine=1
	set --
	for in in "$case"/in.npz "$case"/*.in.npz; do [ ! -e "$in" ] || set -- "$@" "$in"; done
	if ! ASAN_OPTIONS=detect_leaks=0 CFLAGS="$flags -O1" LDFLAGS="$flags" \
		"$kiln" build "$case/model.pt" ${1:+-i "$1"} -o "$tmp/program" --cpu x86-64-v3 >"$tmp/log" 2>&1; then
		echo "$case: not built"
		tail -n 20 "$tmp/log"
		bad=1 fine=0
		continue
	fi
	for in; do
		ASAN_OPTIONS=detect_leaks=1 timeout 120 "$tmp/program" -i "$in" -o "$tmp/out.npz" >"$tmp/log" 2>&1
		status=$?
		if [ $status -gt 1 ] || grep -q 'Sanitizer\|runtime error:' "$tmp/log"; then
			echo "$in: status $status"
			grep -v '^0x\|^  0x\|^Shadow' "$tmp/log" | head -n 40
			bad=1 fine=0
		fi
	done
	passed=$((passed + fine))
done
echo "$passed passed"
exit $bad
