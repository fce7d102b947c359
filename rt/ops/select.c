/* rt/ops/select.c - rt_sort_unstably, rt_sort_positions and rt_select_positions (select_loops.h) for the runtime */
#include "keys.h"

RT_FAST

#define SELECT_API
#define SELECT_RUN RT_LIMIT_SORT_RUN
#define SELECT_LONG RT_LIMIT_SORT_LONG
#include "select_loops.h"
