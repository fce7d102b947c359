/* codegen/kernel/micro_int8.h - convolutions of 8-bit integers that hand-written loops compute */
#ifndef CODEGEN_KERNEL_MICRO_INT8_H
#define CODEGEN_KERNEL_MICRO_INT8_H

#include "form.h"
#include "../../rt/ops/vint8.h"

/* Is the kernel a convolution of 8-bit integers over volumes by constant weights, as lower_int8.c makes it? sums: its
 * results are the sums. */
bool int8_find(const Kernel *, bool sums);
/* Its sizes, on the typical ones, as vint8.h has them. Parameters of requantization are not set. */
ViConv int8_sizes(const Kernel *);
const ViConv *int8_packing(const Kernel *);              /* the same, in the kernel's arena */
const Size *int8_part(const Kernel *);                   /* number of columns of a unit of work */
int64_t int8_scratch(const Kernel *);                    /* bytes of scratch memory that a thread needs */
int64_t int8_grain(const Kernel *);
/* Number i of the steps behind the sums: zero point, least and greatest integer. */
typedef enum Int8Number { INT8_ZERO, INT8_LOW, INT8_HIGH } Int8Number;
int64_t int8_number(const Kernel *, Int8Number);

#endif
