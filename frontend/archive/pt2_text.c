/*
 * Writes a program as text, with a line for each node, to which errors refer.
 *
 *   def forward(x, p_l_weight, p_l_bias):
 *     linear = torch.ops.aten.linear.default(x, p_l_weight, p_l_bias)
 *     return (linear)
 *
 * Each line is mapped to the line of Python that the node was traced from: the last one of its stack trace.
 */
#include "pt2.h"

#include <stdlib.h>
#include <string.h>

typedef struct Writer {
	Exported *exported;
	Buf       text;
	int       depth;
	bool      floats;        /* Whether the current value is declared as a float, or as a list of floats. */
} Writer;

static void
put_number(Writer *w, const Json *v)
{
	const double f = json_float(&w->exported->doc, v, "number");

	if (!w->floats && f >= -1e15 && f <= 1e15)
		buf_printf(&w->text, "%lld", (long long)f);
	else
		double_print(&w->text, f);
}

static void
put_value(Writer *w, const Json *v)
{
	const Json *name = json_is_text(v) ? NULL : json_get(v, "name"), *as = name ? name : json_get(v, "as_name");
	const Json *device = json_is_text(v) ? NULL : json_get(v, "type");
	const char *comma = "";

	if (device && json_is_text(device)) {
		py_quoted(&w->text, json_text_of(&w->exported->doc, device, "type"));
	} else if (as && json_is_text(as)) {
		buf_puts(&w->text, json_text_of(&w->exported->doc, as, "name"));
	} else if (json_is_text(v)) {
		py_quoted(&w->text, json_text_of(&w->exported->doc, v, "text"));
	} else if (json_is_number(v)) {
		put_number(w, v);
	} else if (json_is_bool(v)) {
		buf_puts(&w->text, json_flag(&w->exported->doc, v, "flag") ? "True" : "False");
	} else {
		buf_puts(&w->text, "[");
		for JSON_EACH(e, v) {
			buf_puts(&w->text, comma);
			put_value(w, e);
			comma = ", ";
		}
		buf_puts(&w->text, "]");
	}
}

static void
put_argument(Writer *w, const Json *arg)
{
	const Json *v = json_first(arg);

	w->floats = v && (!strncmp(json_key(v), "as_float", 8) || !strcmp(json_key(v), "as_complex"));
	if (!v || !strcmp(json_key(v), "as_none"))
		buf_puts(&w->text, "None");
	else if (!strcmp(json_key(v), "as_graph"))
		buf_puts(&w->text, json_text_or(&w->exported->doc, v, "name", "graph"));
	else
		put_value(w, v);
}

static void
put_arguments(Writer *w, const Json *args, bool named)
{
	const char *comma = "";

	for JSON_EACH(a, args) {
		const Json *name = named ? json_get(a, "name") : NULL, *kind = json_get(a, "kind");

		buf_puts(&w->text, comma);
		if (name && kind && json_is_number(kind) && json_int(&w->exported->doc, kind, "kind") == 2)
			buf_printf(&w->text, "%s=", json_text_of(&w->exported->doc, name, "name"));
		put_argument(w, named ? json_get(a, "arg") : a);
		comma = ", ";
	}
}

static void
indent(Writer *w)
{
	for (int i = 0; i < w->depth; i++)
		buf_puts(&w->text, "  ");
}

/* Ends a line. Replaces control characters in it, such as newlines in names of the archive, by blanks. */
static void
end_line(Writer *w, int64_t from)
{
	for (int64_t i = from; i < w->text.n; i++)
		if ((unsigned char)w->text.at[i] < ' ')
			w->text.at[i] = ' ';
	buf_puts(&w->text, "\n");
}

static void put_graph(Writer *, const char *name, const Json *graph);

static void
put_node(Writer *w, const Json *node)
{
	const Json *inputs = json_get(node, "inputs"), *outputs = json_get(node, "outputs");
	Line line = { .node = node };
	int64_t from;

	for JSON_EACH(a, inputs) {
		const Json *sub = json_get(json_get(a, "arg"), "as_graph");

		if (sub && json_get(sub, "graph"))
			put_graph(w, json_text_or(&w->exported->doc, sub, "name", "graph"), json_get(sub, "graph"));
	}
	from = w->text.n;
	indent(w);
	line.beg = (uint32_t)w->text.n;
	put_arguments(w, outputs, false);
	buf_printf(&w->text, "%s%s(", json_count(outputs) ? " = " : "", json_text(&w->exported->doc, node, "target"));
	put_arguments(w, inputs, true);
	buf_puts(&w->text, ")");
	line.end = (uint32_t)w->text.n;
	end_line(w, from);
	vec_push(w->exported->cx->arena, &w->exported->line, line);
	*ptrmap_at(w->exported->cx->arena, &w->exported->lines, node) = w->exported->line.n;
}

static void
put_graph(Writer *w, const char *name, const Json *graph)
{
	enum { TEXT_MAX = 1 << 30 };
	int64_t from = w->text.n;

	cx_enter(w->exported->cx, (Range){ 0 });
	indent(w);
	buf_printf(&w->text, "def %s(", name);
	put_arguments(w, json_get(graph, "inputs"), false);
	buf_puts(&w->text, "):");
	end_line(w, from);
	w->depth++;
	for JSON_EACH(n, json_get(graph, "nodes")) {
		put_node(w, n);
		if (w->text.n > TEXT_MAX)
			json_bad(&w->exported->doc, "is too large");
	}
	from = w->text.n;
	indent(w);
	buf_puts(&w->text, "return (");
	put_arguments(w, json_get(graph, "outputs"), false);
	buf_puts(&w->text, ")");
	end_line(w, from);
	w->depth--;
	cx_leave(w->exported->cx);
}

/* ---- Python's lines ------------------------------------------------------------------------------------------- */

typedef struct Lines { SourceMap map; Exported *exported; } Lines;

/* Returns the source of the last `File "a.py", line 3, in f` of a stack trace, with the source line after it. Null if
 * there is none. */
static const Source *
original_of(Exported *p, const Json *node)
{
	const Json *meta = json_get(node, "metadata"), *trace = json_get(meta, "stack_trace");
	const char *s = trace && json_is_text(trace) ? json_text_of(&p->doc, trace, "stack_trace") : "", *file = NULL,
		   *end, *text;
	Source *src;

	for (const char *at = s; (at = strstr(at, "File \"")); at += 6)
		file = at + 6;
	if (!file || !(end = strstr(file, "\", line ")) || memchr(file, '\n', (size_t)(end - file)))
		return NULL;
	src = new(p->cx->arena, Source, 1);
	src->name = arena_strndup(p->cx->arena, file, end - file);
	src->line = atoi(end + 8) > 0 ? atoi(end + 8) : 1;
	text = strchr(end, '\n');
	text = text ? text + 1 + strspn(text + 1, " \t") : "";
	src->n = (int64_t)strcspn(text, "\n");
	src->text = arena_strndup(p->cx->arena, text, src->n);
	src->arena = p->cx->arena;
	return src;
}

static bool
find_python_line(SourceMap *map, uint32_t offset, Range *original)
{
	Exported *p = ((Lines *)map)->exported;
	int lo = 0, hi = p->line.n;
	Line *l;

	while (lo < hi) {
		int mid = (lo + hi) / 2;

		if (p->line.at[mid].beg <= offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	l = lo ? &p->line.at[lo - 1] : NULL;
	if (!l || offset > l->end)
		return false;
	if (!l->looked) {
		l->looked = true;
		l->original = original_of(p, l->node);
	}
	*original = (Range){ l->original, 0, l->original ? (uint32_t)l->original->n : 0 };
	return l->original;
}

void
text_write(Exported *p)
{
	Writer w = { .exported = p };
	Lines *lines = new(p->cx->arena, Lines, 1);

	RT_ASSERT(!p->text);
	put_graph(&w, p->name, p->graph);
	*lines = (Lines){ .map.find = find_python_line, .exported = p };
	p->text = new(p->cx->arena, Source, 1);
	*p->text = (Source){ .n = w.text.n, .name = p->doc.name, .line = 1, .map = &lines->map, .arena = p->cx->arena };
	p->text->text = arena_text(p->cx->arena, &w.text);
}

Range
text_range(const Exported *p, const Json *node)
{
	const int64_t i = ptrmap_get(&p->lines, node);

	return i ? (Range){ p->text, p->line.at[i - 1].beg, p->line.at[i - 1].end } : (Range){ 0 };
}
