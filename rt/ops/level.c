/* rt/ops/level.c - the processor features that the operators of this level are compiled for, as words of cpu.c */
#include "../rt.h"

const char rt_ops_needs[] =
#include "../needs.h"
;
