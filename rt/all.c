/* rt/all.c - full tables of instructions and of functions for values of every kind
 *
 * A program defines these tables itself, without the entries that it does not need (codegen/program/cgen.c: put_parts).
 * Then neither this file nor the functions that only these tables refer to are linked. The tables for operators are in
 * ops/parts.c. */
#include "program.h"

const RtLazy *const rt_lazy = &rt_lazy_all;

RtReadOther *const rt_read_other = rt_read_any;
RtWriteOther *const rt_write_other = rt_write_any;
RtFormatOther *const rt_format_other = rt_format_value;
RtCloseOther *const rt_close_other = rt_close_any;
RtBuildOther *const rt_build_other = rt_build_any;
const RtTexts *const rt_texts = &rt_texts_all;

RtDo *const rt_do[RT_NOPCODE] = {
	[RT_DO_KERNEL] = rt_do_kernel, [RT_DO_CALL] = rt_do_call, [RT_DO_CALL_METHOD] = rt_do_call_method,
	[RT_DO_CALL_VALUE] = rt_do_call_value, [RT_DO_CONSTANT] = rt_do_constant, [RT_DO_MOVE] = rt_do_move,
	[RT_DO_JUMP] = rt_do_jump, [RT_DO_BRANCH] = rt_do_branch, [RT_DO_LOOP] = rt_do_loop,
	[RT_DO_NEXT] = rt_do_next, [RT_DO_RETURN] = rt_do_return, [RT_DO_TUPLE] = rt_do_tuple,
	[RT_DO_UNPACK] = rt_do_unpack, [RT_DO_INDEX] = rt_do_index, [RT_DO_TUPLE_SLICE] = rt_do_tuple_slice,
	[RT_DO_NEW_LIST] = rt_do_new_list, [RT_DO_LIST_UNPACK] = rt_do_list_unpack,
	[RT_DO_NEW_DICT] = rt_do_new_dict, [RT_DO_GET_ATTR] = rt_do_get_attr, [RT_DO_SET_ATTR] = rt_do_set_attr,
	[RT_DO_NEW_OBJECT] = rt_do_new_object, [RT_DO_ISINSTANCE] = rt_do_isinstance, [RT_DO_CAST] = rt_do_cast,
	[RT_DO_UNSET] = rt_do_unset, [RT_DO_FORK] = rt_do_fork, [RT_DO_AWAIT] = rt_do_await,
	[RT_DO_WAIT] = rt_do_wait, [RT_DO_PROFILE] = rt_do_profile, [RT_DO_RAISE] = rt_do_raise,
	[RT_DO_ENTER] = rt_do_enter, [RT_DO_EXIT] = rt_do_exit, [RT_DO_RERAISE] = rt_do_reraise,
	[RT_DO_CLEAR] = rt_do_clear,
};
