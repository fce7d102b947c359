#!/bin/sh
# tests/cuda/run.sh KILN DRIVER NVRTC OUT - tests GPU code without a GPU
#
# Models are built with --gpu by an emulated toolkit and run on an emulated device (grid.h). The kernels' results must equal
# those of generic code.  If the real NVRTC and ptxas are found, both must accept the same kernels. Prints nothing and returns
# 0 if all tests pass, or prints "SKIP: REASON" if a program is missing.
kiln=$1 driver=$2 nvrtc=$3 out=$4
bad=0
command -v c++ >/dev/null || { echo "SKIP: c++ is missing"; exit 0; }    # the emulated toolkit compiles with it
export KILN_GRID=tests/cuda TMPDIR=${TMPDIR:-/tmp}

complain() {
	echo "tests/cuda: $*"
	bad=1
}

# Compares the answers on the device with generic code. Without a device the CPU must answer, silently or with a message.
check() {
	model=$1 in=$2 name=$3 launches=$4
	CUDA_HOME=$out/toolkit "$kiln" build "$model" -i "$in" --gpu sm_80,ptx -o "$out/$name" >"$out/log" 2>&1 ||
		{ complain "$name: kiln build: $(cat "$out/log")"; return; }
	LD_LIBRARY_PATH=$out/toolkit KILN_GRID_SM=86 KILN_GRID_SAY=1 "$out/$name" -i "$in" --selfcheck --device cuda >"$out/log" 2>&1 ||
		complain "$name: on the device: $(cat "$out/log")"
	n=$(sed -n 's/^grid: \([0-9]*\) launches.*/\1/p' "$out/log")
	[ "${n:-0}" -ge "$launches" ] || complain "$name: ${n:-no} launches where $launches are wanted"
	LD_LIBRARY_PATH=$out/empty "$out/$name" -i "$in" --selfcheck --device cpu >"$out/log" 2>&1 ||
		complain "$name: on the CPU: $(cat "$out/log")"
}

toolkit() {
	mkdir -p "$out/toolkit/lib64" "$out/empty"
	cp "$driver" "$out/toolkit/libcuda.so.1"
	cp "$nvrtc" "$out/toolkit/lib64/libnvrtc.so"
}

# Compiles the kernels to PTX by the real NVRTC, and assembles it for every generation.
assemble() {
	model=$1 in=$2 name=$3
	"$kiln" build "$model" -i "$in" --emit ptx -o "$out/$name.ptx" >"$out/log" 2>&1 || {
		[ $? = 6 ] && { echo "SKIP: NVRTC is missing"; return; }
		complain "$name: NVRTC: $(cat "$out/log")"
		return
	}
	command -v "$ptxas" >"$out/log" || { echo "SKIP: ptxas is missing"; return; }
	for sm in 75 80 86 89 90 100 120; do
		"$ptxas" -arch=sm_$sm -O1 "$out/$name.ptx" -o "$out/$name.cubin" >"$out/log" 2>&1 ||
			complain "$name: ptxas for sm_$sm: $(cat "$out/log")"
	done
}

# Compiles the folder of --emit cuda by the real nvcc, with its program, without a warning.
compile_folder() {
	model=$1 in=$2 name=$3
	command -v "$nvcc" >"$out/log" || { echo "SKIP: nvcc is missing"; return; }
	"$kiln" build "$model" -i "$in" --emit cuda -o "$out/$name.cuda" >"$out/log" 2>&1 &&
		(cd "$out/$name.cuda" && "$nvcc" -arch=sm_80 -c kernels.cu && "$nvcc" -arch=sm_80 -c main.cu) >"$out/log" 2>&1 &&
		[ ! -s "$out/log" ] || complain "$name: nvcc: $(cat "$out/log")"
}

nvcc=${CUDA_HOME:-/usr/local/cuda}/bin/nvcc
command -v "$nvcc" >/dev/null || nvcc=nvcc
ptxas=${CUDA_HOME:-/usr/local/cuda}/bin/ptxas
command -v "$ptxas" >/dev/null || ptxas=ptxas
toolkit
check tests/cuda/kernels/model.pt tests/cuda/kernels/in.npz kernels 42
check samples/digits/model.pt samples/digits/in.npz digits 3
check tests/cuda/carried.py samples/digits/in.npz carried 5          # a list contains values that a loop carries
check tests/cuda/sums.py samples/digits/in.npz sums 20               # convolutions over any dims, products with sizes of 1, 8-bit integers
# operators that move elements, also by index, and operators in between that the CPU computes
check tests/cuda/moves.py samples/digits/in.npz moves 73
check tests/cuda/samples.py samples/digits/in.npz samples 66         # interpolation, grid_sample, roi_align
check tests/cuda/attention.py samples/digits/in.npz attention 16     # several tiles of rows and keys, masked, causal
assemble tests/cuda/attention.py samples/digits/in.npz attention
assemble tests/cuda/samples.py samples/digits/in.npz samples
assemble tests/cuda/moves.py samples/digits/in.npz moves
assemble tests/cuda/kernels/model.pt tests/cuda/kernels/in.npz kernels
compile_folder tests/cuda/kernels/model.pt tests/cuda/kernels/in.npz kernels

# Errors at build are reported.
CUDA_HOME=$out/empty "$kiln" build samples/digits/model.pt -i samples/digits/in.npz --gpu sm_80 -o "$out/none" >"$out/log" 2>&1
[ $? = 6 ] && grep -q "CUDA_HOME is '$out/empty'" "$out/log" || complain "CUDA_HOME: $(cat "$out/log")"
"$kiln" build samples/digits/model.pt -i samples/digits/in.npz --gpu sm_90a -o "$out/none" >"$out/log" 2>&1
[ $? = 2 ] && grep -q "use sm_90" "$out/log" || complain "sm_90a: $(cat "$out/log")"
"$kiln" build samples/digits/model.pt --gpu sm_90 -o "$out/none" >"$out/log" 2>&1
[ $? = 2 ] && grep -q "wants an input" "$out/log" || complain "--gpu without an input: $(cat "$out/log")"

# Without a driver the CPU computes, and a message says so.
LD_LIBRARY_PATH=$out/empty "$out/digits" -i samples/digits/in.npz >"$out/log" 2>"$out/said"
[ $? = 0 ] && grep -q "^warning: computed on the CPU, not on a GPU: " "$out/said" || complain "no driver: $(cat "$out/said")"

# A kernel for a product of 2^33 multiply-adds, and kernels for more than 2^32 elements.
"$kiln" build tests/cuda/product.py -i 'a=float32[2048x2048]' -i 'b=float32[2048x2048]' --no-dynamic --cpu native \
	--emit cuda -o "$out/product.cuda" >"$out/log" 2>&1
grep -q "on the GPU: 1 launch, 0 steps on the host" "$out/log" || complain "2048^3: $(cat "$out/log")"
python3 tests/cuda/large.py tests/kernel "$out" >"$out/log" 2>&1 || complain "large: $(cat "$out/log")"
grep "^SKIP" "$out/log"

# An index out of range raises the same error as on the CPU.
CUDA_HOME=$out/toolkit "$kiln" build tests/cuda/wrong.py -i samples/digits/in.npz --gpu sm_80,ptx -o "$out/wrong" >"$out/log" 2>&1
for device in cuda cpu; do
	LD_LIBRARY_PATH=$out/toolkit KILN_GRID_SM=86 "$out/wrong" -i samples/digits/in.npz --device $device >"$out/log" 2>&1
	[ $? = 1 ] && grep -q "index out of range in self" "$out/log" || complain "wrong on $device: $(cat "$out/log")"
done

# Libraries with arguments and results on one of two devices, in streams of their own and of the caller.
library() {
	name=$1 model=$2 method=$3
	shift 3
	CUDA_HOME=$out/toolkit "$kiln" build "$model" --method "$method" "$@" --gpu sm_80 --no-dynamic --cpu native --cc tcc \
		--emit shared --name "$name" -o "$out/lib$name.so" >"$out/log" 2>&1 || complain "lib$name: $(cat "$out/log")"
}
library many tests/door/many.pt forward,keep,grow,write,refuse --input 'x=float32[2x3]'
library pair tests/cuda/pair.py forward --input 'x=float32[2x3]' --input 'y=float32[2x3]'
library pick tests/cuda/pair.py pick --input 'x=float32[2x3]' --input 'y=int64[1]'
library three tests/cuda/pair.py three --input 'x=float32[2x3]' --input 'y=float32[2x3]'
library found tests/cuda/pair.py found --input 'x=float32[2x3]' --input 'y=float32[2x3]'
library sums tests/cuda/pair.py sums --input 'x=float32[2x3]' --input 'y=float32[2x3]'
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -g -Wall -Wextra -Werror -Wno-unused-function $CFLAGS -I "$out" tests/cuda/door.c "$out/libmany.so" \
	"$out/libpair.so" "$out/libsums.so" "$out/libpick.so" "$out/libthree.so" "$out/libfound.so" -Wl,-rpath,"$out" -ldl -o "$out/door" >"$out/log" 2>&1 &&
	LD_LIBRARY_PATH=$out/toolkit KILN_GRID_SM=86 KILN_GRID_DEVICES=2 KILN_GRID_SAY=1 "$out/door" >"$out/log" 2>&1 &&
	grep -q " 0 blocks left" "$out/log" || complain "door: $(cat "$out/log")"

# Runs a program on the second device. A third one does not exist.
LD_LIBRARY_PATH=$out/toolkit KILN_GRID_SM=86 KILN_GRID_DEVICES=2 "$out/digits" -i samples/digits/in.npz --selfcheck --device cuda:1 >"$out/log" 2>&1 ||
	complain "cuda:1: $(cat "$out/log")"
LD_LIBRARY_PATH=$out/toolkit KILN_GRID_SM=86 KILN_GRID_DEVICES=2 "$out/digits" -i samples/digits/in.npz --device cuda:2 >"$out/log" 2>&1
[ $? = 6 ] && grep -q "no device 'cuda:2': there is no device cuda:2, only 2 devices from cuda:0 on" "$out/log" ||
	complain "cuda:2: $(cat "$out/log")"

# A device of a generation without code, no device at all, and an invalid architecture.
LD_LIBRARY_PATH=$out/toolkit KILN_GRID_SM=75 "$out/digits" -i samples/digits/in.npz --device cuda >"$out/log" 2>&1
[ $? = 6 ] && grep -q "no code for this device (sm_75), only sm_80, PTX for sm_80" "$out/log" || complain "sm_75: $(cat "$out/log")"
"$out/digits" -i samples/digits/in.npz --device tpu >"$out/log" 2>&1
[ $? = 6 ] || complain "--device tpu: $(cat "$out/log")"
"$kiln" build samples/digits/model.pt --gpu sm_9x -o "$out/none" >"$out/log" 2>&1
[ $? = 2 ] || complain "--gpu sm_9x: $(cat "$out/log")"
exit $bad
