/* rt/needs.h - the processor features that the compiler may use in the including file, as words of a string
 *
 * Include it within an initializer. Each word is in a table of cpu.c. Only features that compilers use for plain C are
 * here. Programs never use features that need an intrinsic, such as AES. */
""
#if defined __x86_64__
#ifdef __SSE3__
" sse3"
#endif
#ifdef __SSSE3__
" ssse3"
#endif
#ifdef __SSE4_1__
" sse4.1"
#endif
#ifdef __SSE4_2__
" sse4.2"
#endif
#ifdef __POPCNT__
" popcnt"
#endif
#ifdef __MOVBE__
" movbe"
#endif
#ifdef __LZCNT__
" lzcnt"
#endif
#ifdef __BMI__
" bmi1"
#endif
#ifdef __BMI2__
" bmi2"
#endif
#ifdef __AVX__
" avx"
#endif
#ifdef __F16C__
" f16c"
#endif
#ifdef __FMA__
" fma"
#endif
#ifdef __AVX2__
" avx2"
#endif
#ifdef __GFNI__
" gfni"
#endif
#ifdef __AVXVNNI__
" avxvnni"
#endif
#ifdef __AVX512F__
" avx512f"
#endif
#ifdef __AVX512DQ__
" avx512dq"
#endif
#ifdef __AVX512IFMA__
" avx512ifma"
#endif
#ifdef __AVX512CD__
" avx512cd"
#endif
#ifdef __AVX512BW__
" avx512bw"
#endif
#ifdef __AVX512VL__
" avx512vl"
#endif
#ifdef __AVX512VBMI__
" avx512vbmi"
#endif
#ifdef __AVX512VBMI2__
" avx512vbmi2"
#endif
#ifdef __AVX512VNNI__
" avx512vnni"
#endif
#ifdef __AVX512BITALG__
" avx512bitalg"
#endif
#ifdef __AVX512VPOPCNTDQ__
" avx512vpopcntdq"
#endif
#ifdef __AVX512BF16__
" avx512bf16"
#endif
#ifdef __AVX512FP16__
" avx512fp16"
#endif
#ifdef __FMA4__
" fma4"
#endif
#ifdef __XOP__
" xop"
#endif
#elif defined __aarch64__
#ifdef __ARM_FEATURE_CRC32
" crc32"
#endif
#ifdef __ARM_FEATURE_ATOMICS
" atomics"
#endif
#ifdef __ARM_FEATURE_QRDMX
" asimdrdm"
#endif
#ifdef __ARM_FEATURE_FP16_VECTOR_ARITHMETIC
" asimdhp"
#endif
#ifdef __ARM_FEATURE_DOTPROD
" asimddp"
#endif
#ifdef __ARM_FEATURE_COMPLEX
" fcma"
#endif
#ifdef __ARM_FEATURE_SVE
" sve"
#endif
#ifdef __ARM_FEATURE_SVE2
" sve2"
#endif
#ifdef __ARM_FEATURE_MATMUL_INT8
" i8mm"
#endif
#ifdef __ARM_FEATURE_BF16_VECTOR_ARITHMETIC
" bf16"
#endif
#elif defined __arm__
#ifdef __ARM_NEON
" neon"
#endif
#ifdef __ARM_FEATURE_FMA
" vfpv4"
#endif
#ifdef __ARM_FEATURE_IDIV
" idiv"
#endif
#elif defined __riscv
#ifdef __riscv_vector
" v"
#endif
#endif
