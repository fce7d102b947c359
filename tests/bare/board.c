/*
 * A board with a Cortex-M (qemu's mps2-an386 and mps2-an500).  It starts, calls NAME_forward once, and ends.  By
 * semihosting it prints the result, the number of instructions (-icount shift=0) and the stack that the call used.
 *
 * Compiled with -DHEADER="NAME.h" -DCALL=NAME_forward -DIN=bytes -DOUT=bytes, and input.h: the bytes of the argument.
 */
#include HEADER
#include <stddef.h>
#include <string.h>

extern char stack_top[], stack_end[], bss_begin[], bss_end[];
int main(void);

#define SYSTICK ((volatile uint32_t *)0xe000e010)        /* registers: control, reload, current */
enum { NS_A_TICK = 40, PAINT = 0x5a, EXITED = 0x20026 };

static int
host(int operation, const void *arg)
{
	register int r0 __asm__("r0") = operation;
	register const void *r1 __asm__("r1") = arg;

	__asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
	return r0;
}

static void
say(const char *text)
{
	host(4, text);
}

static void
say_number(uint32_t n, const char *after)
{
	char text[12], *at = text + sizeof text - 1;

	*at = 0;
	do
		*--at = (char)('0' + n % 10);
	while (n /= 10);
	say(at);
	say(after);
}

void
reset(void)
{
	*(volatile uint32_t *)0xe000ed88 |= 0xf << 20;   /* enables the FPU */
	__asm__ volatile("dsb\n\tisb");
	for (char *p = bss_begin; p < bss_end; p++)
		*p = 0;
	main();
	host(0x18, (const void *)EXITED);
	for (;;)
		;
}

static void
fault(void)
{
	say("fault\n");
	host(0x18, (const void *)0x20023);
	for (;;)
		;
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
	stack_top, (const void *)reset, (const void *)fault, (const void *)fault, (const void *)fault,
	(const void *)fault, (const void *)fault,
};

static const unsigned char input[IN] __attribute__((aligned(8))) = {
#include "input.h"
};
static unsigned char output[OUT] __attribute__((aligned(8)));

static char *
here(void)
{
	return __builtin_frame_address(0);
}

/* Fills the stack below this frame with a pattern, to find afterwards how much the call has used. */
static void
paint(void)
{
	for (volatile char *p = stack_end; p < here() - 64; p++)
		*p = PAINT;
}

static uint32_t
unused(void)
{
	const char *p = stack_end;

	while (p < stack_top && *p == PAINT)
		p++;
	return (uint32_t)(p - stack_end);
}

int
main(void)
{
	uint32_t ticks;
	char *const frame = here();
	int status;

	paint();
	SYSTICK[1] = 0xffffff;
	SYSTICK[2] = 0;
	SYSTICK[0] = 5;
	status = CALL((const void *)input, (void *)output);
	ticks = 0xffffff - SYSTICK[2];
	say("status ");
	say_number((uint32_t)status, "\ninstructions ");
	say_number(ticks * NS_A_TICK, "\nstack ");
	say_number((uint32_t)(frame - stack_end) - unused(), "\n");
	for (size_t i = 0; i < sizeof output; i++)
		say_number(output[i], i % 16 == 15 ? "\n" : " ");
	return 0;
}
