#!/bin/sh
# tests/cuda/device.sh [KILN [OUT]] - runs all tests and measurements that need a GPU, in about 30 minutes
#
# Needs CUDA 13 (NVRTC, and compute-sanitizer if there is one), PyTorch, gcc, and Kiln (build/kiln).  Each step prints its
# results when it ends and writes OUT/STEP.log, so that an interrupted run is useful, too.  A step that fails does not stop the
# others. The status is the number of steps that failed.  With an emulated driver (CUDA_HOME, LD_LIBRARY_PATH and KILN_GRID as in
# run.sh, KILN_DEVICE_SMALL=1) the script itself is tested, at small sizes.
cd "$(dirname "$0")/../.." || exit 1
kiln=${1:-build/kiln}
out=${2:-build/device}
failed=0
python=${PYTHON:-python3}
export CUDA_HOME="${CUDA_HOME:-/usr/local/cuda}"
export KILN="$kiln"
mkdir -p "$out"

# step NAME SECONDS COMMAND...
step() {
	name=$1 limit=$2
	shift 2
	begin=$(date +%s)
	timeout "$limit" "$@" >"$out/$name.log" 2>&1
	status=$?
	case $status in
	0) said=ok ;;
	124) said="cut off after $limit s" failed=$((failed + 1)) ;;
	*) said="FAILED (status $status)" failed=$((failed + 1)) ;;
	esac
	echo "== $name: $said, $(($(date +%s) - begin)) s"
	cat "$out/$name.log"
}


# The programs of tests/cuda: compares the device with generic code.
answers() {
	bad=0
	for model in tests/cuda/kernels/model.pt:tests/cuda/kernels/in.npz samples/digits/model.pt:samples/digits/in.npz \
		tests/cuda/carried.py:samples/digits/in.npz tests/cuda/sums.py:samples/digits/in.npz \
		tests/cuda/moves.py:samples/digits/in.npz tests/cuda/samples.py:samples/digits/in.npz \
		tests/cuda/attention.py:samples/digits/in.npz; do
		program=$out/$(basename "$(dirname "$model")")-$(basename "${model%%:*}" | tr . -)
		"$kiln" build "${model%%:*}" -i "${model#*:}" --gpu "$(cat "$out/arch")" --cpu native -o "$program" >"$program.log" 2>&1 &&
			"$program" -i "${model#*:}" --selfcheck --device cuda >>"$program.log" 2>&1
		status=$?
		echo "${model%%:*}: status $status"
		[ $status = 0 ] || { cat "$program.log"; bad=1; }
		programs="$programs $program:${model#*:}"
	done
	return $bad
}

sanitize() {
	bad=0
	command -v compute-sanitizer >/dev/null || { echo "SKIP: compute-sanitizer is missing"; return 0; }
	for tool in memcheck racecheck; do
		for one in $programs; do
			compute-sanitizer --tool $tool --error-exitcode 9 "${one%%:*}" -i "${one#*:}" --device cuda >"$out/sanitizer.log" 2>&1
			status=$?
			echo "$tool ${one%%:*}: status $status"
			[ $status = 0 ] || { tail -20 "$out/sanitizer.log"; bad=1; }
		done
	done
	return $bad
}

# timeout cannot run shell functions, so answers and sanitize only watch the ends of their programs.
inside() {
	name=$1
	begin=$(date +%s)
	"$name" >"$out/$name.log" 2>&1 && said=ok || { said=FAILED; failed=$((failed + 1)); }
	echo "== $name: $said, $(($(date +%s) - begin)) s"
	cat "$out/$name.log"
}

[ -x "$kiln" ] || { echo "there is no $kiln: ninja build/kiln"; exit 1; }
step machine 120 "$python" tests/cuda/device.py machine "$kiln" "$out"
[ -s "$out/arch" ] || { echo "no device: nothing else can be measured"; exit 1; }
inside answers
inside sanitize
step nets 300 "$python" tests/cuda/device.py nets "$kiln" "$out"
step kernels 600 "$python" tests/cuda/device.py kernels "$kiln" "$out"
step models 600 "$python" tests/cuda/device.py models "$kiln" "$out"
step limits 240 "$python" tests/cuda/device.py limits "$kiln" "$out"
echo "== tiles: SKIP: there is no table of tiles to sweep; every product has tiles of 64 x 64 x 16"
echo "$failed steps failed; figures are in $out/*.csv and $out/*.log"
exit $failed
