/* tests/bare/vendor.c - startup code as vendors ship it, for vendor.ld.  It runs before board.c's.
 *
 * After a reset RAM may contain anything.  This code fills it with garbage, so that a program that relies on
 * zeroed RAM fails. */
#include <stdint.h>

extern uint32_t _sidata[], _sdata[], _edata[], _sbss[], _ebss[], _estack[];
void reset(void);                /* defined in board.c */
void Reset_Handler(void);

enum { OWN = 64 };               /* largest number of words of the stack that are in use here */

void
Reset_Handler(void)
{
	const uint32_t *from = _sidata, *const own = (const uint32_t *)__builtin_frame_address(0) - OWN;

	for (volatile uint32_t *p = (uint32_t *)0x20000000; p < own; p++)
		*p = 0xdeadbeef;
	for (volatile uint32_t *p = _sdata; p < _edata; p++)
		*p = *from++;
	for (volatile uint32_t *p = _sbss; p < _ebss; p++)
		*p = 0;
	reset();
}

static void
fault(void)
{
	register int r0 __asm__("r0") = 0x18;
	register uint32_t r1 __asm__("r1") = 0x20023;

	__asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1));
	for (;;)
		;
}

__attribute__((section(".isr_vector"), used)) static const void *const vector[16] = {
	_estack, (const void *)Reset_Handler, (const void *)fault, (const void *)fault, (const void *)fault,
	(const void *)fault, (const void *)fault,
};
