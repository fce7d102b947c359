#!/bin/sh
# tests/size/size.sh KILN - programs of the samples, and of the sources here, are no larger than tests/size/bounds.txt says
set -e
[ "$(uname -m)" = x86_64 ] || exit 0
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
bad=0
while read -r name cpu input most_file most_code; do
	case $name in '#'*) continue ;; esac
	[ "$cpu" != x86-64-v4 ] || grep -q avx512vl /proc/cpuinfo || continue
	"$1" build "$name" -i "$input" --cc gcc --cpu "$cpu" -o "$out/p" >"$out/log" 2>&1 || { cat "$out/log"; exit 1; }
	strip "$out/p"
	"$out/p" --info --json "$out/j"
	code=$(sed 's/.*"code_bytes":\([0-9]*\).*/\1/' "$out/j")
	weights=$(sed 's/.*"weights_bytes":\([0-9]*\).*/\1/' "$out/j")
	file=$(($(wc -c <"$out/p") - weights))
	echo "$name: $file bytes without weights, $code of code, $weights of weights"
	if [ "$file" -gt "$most_file" ] || [ "$code" -gt "$most_code" ]; then
		echo "$name: more than $most_file, $most_code" >&2
		bad=1
	fi
done <tests/size/bounds.txt
exit $bad
