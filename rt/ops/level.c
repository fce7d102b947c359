/* rt/ops/level.c - what the operator room is compiled for: words of cpu.c */
#include "../rt.h"

const char rt_ops_needs[] =
#include "../needs.h"
;
