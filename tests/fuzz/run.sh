#!/bin/sh
# usage: tests/fuzz/run.sh TARGET [SECONDS [OPTION...]]: runs libFuzzer on one target, from its corpus. Findings stay in
# build/fuzz/TARGET
#
# The readers are built by clang with coverage, ASan and UBSan, as another variant of build.ninja; the operators, which no
# reader runs, are those of the plain build.
set -e
cd "$(dirname "$0")/../.."
target=${1:?which target} seconds=${2:-60} dir=build/fuzz
shift; [ $# = 0 ] || shift
flags='-w -DFUZZER -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all'
mkdir -p "$dir/$target/corpus" "tests/fuzz/corpus/$target"
sed -e "s|^b = .*|b = $dir|" -e 's|^cc = .*|cc = clang|' -e 's|^opt = .*|opt = -O1|' -e "s|^extra =.*|extra = $flags|" \
	build.ninja >$dir/build.ninja
ninja -j 2 build/libops.a
ninja -j 2 -f $dir/build.ninja $dir/tests/fuzz/"$target".o $dir/librt.a $dir/libir.a $dir/libfrontend.a $dir/libopt.a $dir/libkernel.a
clang -fsanitize=address,undefined,fuzzer -o $dir/"$target"/fuzz $dir/tests/fuzz/"$target".o $dir/libkernel.a $dir/libopt.a $dir/libfrontend.a $dir/libir.a \
	$dir/librt.a build/libops.a $dir/librt.a build/libops.a -lzip -lcjson -lz -lm -lpthread
cd $dir/"$target"
# The compiler never frees its memory. So leaks are not checked, and the memory limit applies to one input.
exec env ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 ./fuzz -max_total_time="$seconds" -rss_limit_mb=4096 -timeout=20 \
	-detect_leaks=0 "$@" corpus ../../../tests/fuzz/corpus/"$target"
