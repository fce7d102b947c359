/* rt/ops/select.c - sort_unstably and select_positions (select_loops.h) for the runtime */
#include "keys.h"

RT_FAST

#define SELECT_API
#include "select_loops.h"
