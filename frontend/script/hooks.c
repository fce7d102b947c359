/* frontend/script/hooks.c - calls a module with its hooks
 *
 * Where code calls a submodule, the archive has explicit calls of its hooks. For the top module Kiln does the same as
 * PyTorch's Module::operator(). Pre-hooks receive the arguments as a tuple and may replace them. Hooks receive
 * arguments and result and may replace the result. A generated TorchScript function that does this replaces
 * `forward`. */
#include "emit.h"

#include <string.h>

typedef struct Call { Buf text, args; } Call;          /* args: names of the arguments, as in "a, b, ". */

static const Type *
result_of(Cx *cx, const ClassInfo *info, const char *hook)
{
	const Function *f = class_method(info, hook);

	if (!f || !f->schema->nrets || !f->schema->rets[0].type)
		fail(cx, (Range){ 0 }, "class %s has no hook '%s'", info->cls->name, hook);
	return f->schema->rets[0].type;
}

static void
put_pre_hook(Cx *cx, Call *c, const ClassInfo *info, const char *hook, int step)
{
	const Type *t = result_of(cx, info, hook);

	buf_puts(&c->text, "    ");
	if (t->kind == TYPE_NONE) {
		buf_printf(&c->text, "self.%s((%s))\n", hook, c->args.at);
		return;
	}
	for (int i = 0; i < (t->kind == TYPE_TUPLE ? t->n : 1); i++)
		buf_printf(&c->text, "__in%d_%d, ", step, i);
	if (t->kind != TYPE_TUPLE)
		c->text.n -= 2;
	buf_printf(&c->text, " = self.%s((%s))\n", hook, c->args.at);
	c->args.n = 0;
	for (int i = 0; i < (t->kind == TYPE_TUPLE ? t->n : 1); i++)
		buf_printf(&c->args, "__in%d_%d, ", step, i);
}

static void
put_arguments(Cx *cx, Call *c, const Schema *s)
{
	buf_puts(&c->args, "");
	for (int i = 1; i < s->nargs; i++) {
		buf_printf(&c->text, ", %s: %s", s->args[i].name, type_python(cx, s->args[i].type));
		buf_printf(&c->args, "%s, ", s->args[i].name);
	}
	buf_puts(&c->text, "):\n");
}

Function *
forward_with_hooks(Cx *cx, Unit *u, const Type *self, Function *forward)
{
	const ClassInfo *info = class_info(self);
	Function *f;
	Call c = { { 0 }, { 0 } };
	Schema *s;

	if (!info->pre_hooks.n && !info->hooks.n)
		return forward;
	buf_printf(&c.text, "def forward(self: %s", info->cls->name);
	put_arguments(cx, &c, forward->schema);
	for (int i = 0; i < info->pre_hooks.n; i++)
		put_pre_hook(cx, &c, info, info->pre_hooks.at[i], i);
	buf_printf(&c.text, "    __out = self.forward(%s)\n", c.args.at);
	for (int i = 0; i < info->hooks.n; i++)
		buf_printf(&c.text, "    %sself.%s((%s), __out)\n",
			result_of(cx, info, info->hooks.at[i])->kind == TYPE_NONE ? "" : "__out = ", info->hooks.at[i],
			c.args.at);
	buf_puts(&c.text, "    return __out\n");
	f = unit_text_function(cx, u, arena_printf(cx->arena, "%s_with_hooks", forward->name),
		arena_text(cx->arena, &c.text));
	buf_free(&c.args);
	f->self = self;
	s = f->schema;
	for (int i = 1; i < s->nargs && i < forward->schema->nargs; i++) {
		s->args[i].has_default = forward->schema->args[i].has_default;
		s->args[i].deflt = forward->schema->args[i].deflt;
	}
	return f;
}
