#!/bin/sh
# usage: tests/fuzz/run.sh TARGET [SECONDS]: libFuzzer on one target, by clang, from its corpus; findings stay in build/fuzz
set -e
cd "$(dirname "$0")/../.."
target=${1:?which target} dir=build/fuzz/$1
mkdir -p "$dir/corpus"
case $target in
npz) sources=$(ls rt/*.c) ;;
*) sources=$(ls rt/*.c ir/*.c frontend/*.c) libs='-lzip -lcjson' ;;
esac
clang -std=c11 -D_GNU_SOURCE -O1 -g -w -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -fno-strict-aliasing -fwrapv \
	-o "$dir/$target" "tests/fuzz/$target.c" $sources $libs -lm -lpthread
cd "$dir"
exec "./$target" -max_total_time="${2:-60}" -rss_limit_mb=2048 -timeout=10 corpus "../../../tests/fuzz/$target"
