"""What graphs do to memory: which tensors an exported one writes, which results share memory."""
import operator

import numpy as np
import torch
import torch.fx


def calls(program):
    """The calls of operators, in graphs inside of the graph, too."""
    for module in program.graph_module.modules():
        for node in getattr(module, "graph", torch.fx.Graph()).nodes:
            if node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload):
                yield node


def argument(node, name, default):
    """An argument of an operator's call, by its name in the schema."""
    if name in node.kwargs:
        return node.kwargs[name]
    for i, a in enumerate(node.target._schema.arguments):
        if a.name == name:
            return node.args[i] if i < len(node.args) else a.default_value
    return default


def _origin(node):
    """The node whose memory a tensor has: through views, their lists, and what gives back an argument that it wrote."""
    def gives_back(n):
        return n.target is operator.getitem or (isinstance(n.target, torch._ops.OpOverload) and
                                                any(r.alias_info for r in n.target._schema.returns))
    while node.op == "call_function" and node.args and isinstance(node.args[0], torch.fx.Node) and gives_back(node):
        node = node.args[0]
    return node


def _written_by(node):
    """The arguments that a call writes to; a norm's statistics, when it learns."""
    schema = node.target._schema
    found = [argument(node, a.name, None) for a in schema.arguments if a.alias_info and a.alias_info.is_write]
    if "norm" in schema.name and any(argument(node, n, False) for n in ("training", "train", "use_input_stats")):
        found += [argument(node, "running_mean", None), argument(node, "running_var", None)]
    return [n for n in found if isinstance(n, torch.fx.Node)]


def written(program):
    """The names of the program's inputs, its buffers and constants among them, that it may write to: all, when a graph
    inside of it, as of a condition, writes to what it is given."""
    inputs = {n.name for n in program.graph.nodes if n.op == "placeholder"}
    found = set()
    for node in calls(program):
        for n in map(_origin, _written_by(node)):
            if node.graph is program.graph:
                found |= {n.name} & inputs
            elif n.op == "placeholder":
                return inputs
    outputs = program.graph_signature.output_specs       # of a graph that was made functional
    targets = {s.target for s in outputs if s.kind.name.endswith("_MUTATION")}
    return found | {s.arg.name for s in program.graph_signature.input_specs if s.target in targets or
                    getattr(s.arg, "name", None) in targets}


# ---- results that share memory


def _hint(n):
    """The number of a size in the example; None: it depends on data."""
    return n if isinstance(n, int) else n.node.hint


def storage_of(tensor):
    """What tells a tensor's memory from others'; None: it has none that is shared as addresses are."""
    if tensor.layout is not torch.strided or _hint(tensor.numel()) == 0:
        return None
    return tensor.untyped_storage()._cdata if hasattr(tensor, "untyped_storage") else tensor.storage().data_ptr()


def _elements(tensor):
    """(size, strides, offset), as numbers."""
    return ([_hint(n) for n in tensor.shape], [_hint(n) for n in tensor.stride()], _hint(tensor.storage_offset()))


def overlap(tensors):
    """Do two of the tensors, which may be fake ones, of one storage have an element in common?"""
    spans = [_elements(t) for t in tensors]
    if len({t.element_size() for t in tensors}) > 1 or any(None in (*z, *s, o) for z, s, o in spans):
        return True                                    # not worth an analysis, or not known
    last = [offset + sum((n - 1) * s for n, s in zip(size, stride)) for size, stride, offset in spans]
    taken = np.zeros(max(last) + 1, bool)
    for size, stride, offset in spans:
        own = np.lib.stride_tricks.as_strided(taken[offset:], size, stride)
        if own.any():
            return True
        own[...] = True
    return False


class View:
    """A result that is a view of an argument or of another result: made again of it, as PyTorch's memory would be."""

    def __init__(self, tensor, base, of_argument, at):
        """tensor, base: as the graph's example has them.  at: which argument or result the base is."""
        self.size, self.stride = tensor.shape, tensor.stride()
        self.offset = tensor.storage_offset() - base.storage_offset()
        self.base_stride, self.of_argument, self.at = base.stride(), of_argument, at

    def symbols(self):
        return {s for n in (*self.size, *self.stride, self.offset, *self.base_stride) if not isinstance(n, int)
                for s in n.node.expr.free_symbols}

    def make(self, args, results, symbols):
        """symbols: {symbol: its number in this call}."""
        def number(n):
            return n if isinstance(n, int) else int(n.node.expr.xreplace(symbols))
        base = (args if self.of_argument else results)[self.at]
        stride = tuple(map(number, self.base_stride))
        if base.stride() != stride and not self.of_argument:
            base = results[self.at] = torch.empty_strided(base.shape, stride, dtype=base.dtype).copy_(base)
        return base.as_strided(tuple(map(number, self.size)), tuple(map(number, self.stride)),
                               base.storage_offset() + number(self.offset))


def _is_view(tensor, base):
    return tensor.dtype is base.dtype and not any(t.is_conj() or t.is_neg() for t in (tensor, base))


def _covers(base, tensor):
    """base: without gaps, and with all of the tensor's elements."""
    def span(t):
        size, stride, offset = _elements(t)
        return offset, offset + sum((n - 1) * s for n, s in zip(size, stride))
    (first, last), (first2, last2) = span(base), span(tensor)
    return first <= first2 and last2 <= last and last - first + 1 == _hint(base.numel()) and not overlap([base])


def views(inputs, results):
    """{which result: View} of those that share memory with an input, or overlap with another result, all of them
    examples; None: some share memory in a way that is no plain view."""
    found, owners, groups = {}, {}, {}
    for i, x in enumerate(inputs):
        if isinstance(x, torch.Tensor):
            owners.setdefault(storage_of(x), []).append(i)
    for r, t in enumerate(results):
        key = storage_of(t) if isinstance(t, torch.Tensor) else None
        if key is not None and key not in owners:
            groups.setdefault(key, []).append(r)
        elif key is not None:
            base = inputs[owners[key][0]]
            if len(owners[key]) > 1 or not _is_view(t, base):
                return None
            found[r] = View(t, base, True, owners[key][0])
    for group in groups.values():
        if len(group) == 1 or not overlap([results[r] for r in group]):
            continue
        if any(_hint(results[r].numel()) is None for r in group):
            return None
        most = max(group, key=lambda r: _hint(results[r].numel()))
        for r in group:
            if r != most and not (_is_view(results[r], results[most]) and _covers(results[most], results[r])):
                return None
            if r != most:
                found[r] = View(results[r], results[most], False, most)
    return found
