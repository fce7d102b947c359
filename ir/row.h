/* ir/row.h - ids of the operators in the table of rt/ops: op_at(cx, ROW_add_Tensor) */
#ifndef IR_ROW_H
#define IR_ROW_H

typedef enum OpRow {
#define MAP(id_, schema_, domain_, result_, value_, gradient_)  ROW_##id_,
#define OP(id_, schema_, rule_, effect_, gradient_)             ROW_##id_,
#define BODY(id_, schema_, gradient_, body_)                    ROW_##id_,
#define ALSO(id_, schema_, base_)                               ROW_##id_,
#include "../rt/ops/ops.h"
	NROW
} OpRow;

#endif
