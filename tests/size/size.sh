#!/bin/sh
# tests/size/size.sh KILN - bounds of program sizes: samples and the sources here, built by default and with --forms fast, without
# code for other sizes, are no larger than tests/size/bounds.txt says; with that code, at most 1.3 times as large; plain functions
# have bounds of their own
# The bounds are for gcc 12. Programs by another gcc may be 5 % larger.
set -e
[ "$(uname -m)" = x86_64 ] || { echo "SKIP: a processor of x86-64 is missing"; exit 0; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
bad=0
percent=100
[ "$(gcc -dumpversion | cut -d. -f1)" = 12 ] || percent=105

# most BYTES: the bound for this compiler
most() {
	echo $(($1 * percent / 100))
}

# built OPTION...: builds the current model, stripped, as $out/p; $file: its bytes without weights
built() {
	"$kiln" build "$name" -i "$input" --cc gcc --cpu "$cpu" "$@" --json "$out/j" -o "$out/p" >"$out/log" 2>&1 ||
		{ cat "$out/log"; exit 1; }
	strip "$out/p"
	code=$(sed 's/.*"code_bytes":\([0-9]*\).*/\1/' "$out/j")
	weights=$(sed 's/.*"weights_bytes":\([0-9]*\).*/\1/' "$out/j")
	file=$(($(wc -c <"$out/p") - weights))
}

# bounded FORMS FILE CODE WEIGHTS: checks the numbers of bytes of code and weights
bounded() {
	built --no-dynamic --forms "$1"
	echo "$name, $1: $file bytes without weights, $code of code, $weights of weights"
	if [ "$file" -gt "$(most "$2")" ] || [ "$code" -gt "$(most "$3")" ] || [ "$weights" -gt "$4" ]; then
		echo "$name, $1: more than $2, $3, $4" >&2
		bad=1
	fi
}

# plain KIND MOST: checks the bytes without weights of a net of 131 parameters as plain functions, a program or a library
plain() {
	"$kiln" build tests/door/net.py --input 'x=float32[1x4]' --no-generic --no-dynamic --cc gcc --cpu x86-64-v3 --emit "$1" --json "$out/j" \
		-o "$out/net.so" >"$out/log" 2>&1 || { cat "$out/log"; exit 1; }
	strip "$out/net.so"
	file=$(($(wc -c <"$out/net.so") - $(sed 's/.*"weights_bytes":\([0-9]*\).*/\1/' "$out/j")))
	echo "tests/door/net.py, plain functions, $1: $file bytes without weights"
	if [ "$file" -gt "$(most "$2")" ]; then
		echo "tests/door/net.py, plain functions, $1: more than $2" >&2
		bad=1
	fi
}

# bare MODEL INPUT MOST: checks the bytes of the model's code for a Cortex-M4
bare() {
	"$kiln" targets | grep -q '^arm-none-eabi *lacks' && { echo "SKIP: arm-none-eabi-gcc is missing"; return; }
	"$kiln" build "$1" --input "$2" --no-generic --no-dynamic --target arm-none-eabi --cpu cortex-m4 --emit obj \
		--json "$out/j" -o "$out/net.o" >"$out/log" 2>&1 || { cat "$out/log"; exit 1; }
	code=$(sed 's/.*"code_bytes":\([0-9]*\).*/\1/' "$out/j")
	echo "$1, plain functions, a Cortex-M4: $code bytes of code"
	if [ "$code" -gt "$3" ]; then
		echo "$1, plain functions, a Cortex-M4: more than $3" >&2
		bad=1
	fi
}

kiln=$1
bare tests/door/net.py 'x=float32[1x4]' 1500
bare tests/targets/dscnn.py 'x=float32[1x1x49x10]' 9300
plain exe 46000
plain shared 13400
while read -r name cpu input most_file most_code most_weights fast_file fast_code fast_weights; do
	case $name in '#'*) continue ;; esac
	bounded made "$most_file" "$most_code" "$most_weights"
	bounded fast "$fast_file" "$fast_code" "$fast_weights"
	built
	echo "$name: with other sizes $file, $weights of weights"
	if [ $((file * 10)) -gt $(($(most "$most_file") * 13)) ] || [ "$weights" -gt "$most_weights" ]; then
		echo "$name: with code for other sizes more than 1.3 times $most_file, or weights more than $most_weights" >&2
		bad=1
	fi
done <tests/size/bounds.txt
exit $bad
