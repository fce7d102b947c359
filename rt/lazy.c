/* rt/lazy.c - all that the runtime has for tensors of every kind; a program that cannot meet some defines less
 * (ops/parts.c) */
#include "rt.h"

const RtLazy *const rt_lazy = &rt_lazy_all;
