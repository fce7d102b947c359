/* rt/cpu.c - tests whether the code of a program can run on this processor
 *
 * The test runs before any of that code. Therefore this file, and all code that runs earlier, is compiled for the
 * lowest processor of its kind. */
#include "program.h"

#include <stdio.h>
#include <string.h>

typedef struct Feature { char name[17]; uint8_t word, bit, wants; } Feature;

#if defined __x86_64__ && defined __GNUC__ && !defined __TINYC__
#include <cpuid.h>

/* words of CPUID, each named by leaf and register */
enum { ONE_C, SEVEN_B, SEVEN_C, SEVEN_D, SEVEN_1_A, MORE_C, NWORD };
/* Register state that the system must save for a thread, as bits of XCR0: none of these, 256-bit, 512-bit. */
enum { SSE, YMM = 0x6, ZMM = 0xe6 };
enum { OSXSAVE = 1 << 27 };              /* bit of ONE_C: XCR0 can be read */

/* From Intel's manual, volume 1, 14.3 and 15.2. */
static const Feature features[] = {
	{ "sse3", ONE_C, 0, SSE }, { "ssse3", ONE_C, 9, SSE }, { "sse4.1", ONE_C, 19, SSE },
	{ "sse4.2", ONE_C, 20, SSE }, { "popcnt", ONE_C, 23, SSE }, { "movbe", ONE_C, 22, SSE },
	{ "lzcnt", MORE_C, 5, SSE }, { "bmi1", SEVEN_B, 3, SSE }, { "bmi2", SEVEN_B, 8, SSE },
	{ "avx", ONE_C, 28, YMM }, { "f16c", ONE_C, 29, YMM },
	{ "fma", ONE_C, 12, YMM }, { "avx2", SEVEN_B, 5, YMM }, { "gfni", SEVEN_C, 8, SSE },
	{ "avxvnni", SEVEN_1_A, 4, YMM }, { "avx512f", SEVEN_B, 16, ZMM }, { "avx512dq", SEVEN_B, 17, ZMM },
	{ "avx512ifma", SEVEN_B, 21, ZMM }, { "avx512cd", SEVEN_B, 28, ZMM }, { "avx512bw", SEVEN_B, 30, ZMM },
	{ "avx512vl", SEVEN_B, 31, ZMM }, { "avx512vbmi", SEVEN_C, 1, ZMM }, { "avx512vbmi2", SEVEN_C, 6, ZMM },
	{ "avx512vnni", SEVEN_C, 11, ZMM }, { "avx512bitalg", SEVEN_C, 12, ZMM },
	{ "avx512vpopcntdq", SEVEN_C, 14, ZMM }, { "avx512bf16", SEVEN_1_A, 5, ZMM },
	{ "avx512fp16", SEVEN_D, 23, ZMM }, { "fma4", MORE_C, 16, YMM }, { "xop", MORE_C, 11, YMM },
};

/* Reads all words at once, and returns the register state that the system saves. In a virtual machine a CPUID takes as
 * long as a small kernel. */
static unsigned
ask(unsigned word[NWORD])
{
	unsigned a, b, c, d, state = 0;

	if (__get_cpuid(1, &a, &b, &c, &d))
		word[ONE_C] = c;
	if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
		word[SEVEN_B] = b, word[SEVEN_C] = c, word[SEVEN_D] = d;
		if (a && __get_cpuid_count(7, 1, &a, &b, &c, &d))
			word[SEVEN_1_A] = a;
	}
	if (__get_cpuid(0x80000001, &a, &b, &c, &d))
		word[MORE_C] = c;
	if (word[ONE_C] & OSXSAVE)
		__asm__("xgetbv" : "=a"(state), "=d"(d) : "c"(0));
	return state;
}

#elif (defined __aarch64__ || defined __arm__ || defined __riscv) && defined __linux__
#include <sys/auxv.h>

enum { HWCAP, HWCAP2, NWORD };

static const Feature features[] = {
#if defined __aarch64__
	{ "crc32", HWCAP, 7, 0 }, { "atomics", HWCAP, 8, 0 }, { "asimdhp", HWCAP, 10, 0 }, { "asimdrdm", HWCAP, 12, 0 },
	{ "fcma", HWCAP, 14, 0 }, { "asimddp", HWCAP, 20, 0 }, { "sve", HWCAP, 22, 0 }, { "sve2", HWCAP2, 1, 0 },
	{ "i8mm", HWCAP2, 13, 0 }, { "bf16", HWCAP2, 14, 0 },
#elif defined __arm__
	{ "neon", HWCAP, 12, 0 }, { "vfpv4", HWCAP, 16, 0 }, { "idiv", HWCAP, 17, 0 },
#else
	{ "v", HWCAP, 'v' - 'a', 0 },
#endif
};

static unsigned
ask(unsigned word[NWORD])
{
	word[HWCAP] = (unsigned)getauxval(AT_HWCAP);
	word[HWCAP2] = (unsigned)getauxval(AT_HWCAP2);
	return 0;
}

#else

enum { NWORD = 1 };
static const Feature features[1];

static unsigned
ask(unsigned word[NWORD])
{
	(void)word;
	return 0;
}

#endif

static const Feature *
feature_of(const char *name, size_t n)
{
	for (size_t i = 0; i < sizeof features / sizeof *features; i++)
		if (strlen(features[i].name) == n && !memcmp(features[i].name, name, n))
			return &features[i];
	return NULL;
}

bool
rt_cpu_runs(const char *needs, char *lacks, size_t n)
{
	unsigned word[NWORD] = { 0 }, state = needs[0] ? ask(word) : 0;
	size_t used = 0;

	if (n)
		lacks[0] = 0;
	for (const char *p = needs; *p;) {
		const char *name = p + strspn(p, " ");
		const Feature *f;

		p = name + strcspn(name, " ");
		f = feature_of(name, (size_t)(p - name));
		if (f && word[f->word] >> f->bit & 1 && (state & f->wants) == f->wants)
			continue;
		if (!n)
			return false;
		if (used + (size_t)(p - name) + sizeof "  ..." > n) {
			snprintf(lacks + used, n - used, " ...");
			break;
		}
		used += (size_t)snprintf(lacks + used, n - used, " %.*s", (int)(p - name), name);
	}
	return !used;
}

const char *
rt_cpu_choose(RtProgram *own, char *text, size_t n)
{
	const RtLevel *least = NULL;
	char lacks[120];

	for (const RtLevel *const *l = own->levels; l && *l; l++) {
		least = *l;
		if (!rt_cpu_runs(least->needs, lacks, sizeof lacks))
			continue;
		own->level = least;
		return NULL;
	}
	if (!least)
		return NULL;
	snprintf(text, n, "this processor, or its system, lacks%s: the program is built for %s (kiln build --cpu)",
		 lacks, strcmp(least->name, "native") ? least->name : "the one it was built on");
	return text;
}
