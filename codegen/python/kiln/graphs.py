"""Finds how graphs use memory: which tensors an exported graph writes to, and which results share memory."""
import operator

import numpy as np
import torch
import torch.fx


def calls(program):
    """Yields the calls of operators, including those in nested graphs."""
    for module in program.graph_module.modules():
        for node in getattr(module, "graph", torch.fx.Graph()).nodes:
            if node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload):
                yield node


def argument(node, name, default):
    """Returns an argument of an operator's call, by its name in the schema."""
    if name in node.kwargs:
        return node.kwargs[name]
    for i, a in enumerate(node.target._schema.arguments):
        if a.name == name:
            return node.args[i] if i < len(node.args) else a.default_value
    return default


def _origin(node):
    """Returns the node whose memory a tensor has. Follows views, lists of views, and operators that return an argument
    that they wrote to."""
    def gives_back(n):
        return n.target is operator.getitem or (isinstance(n.target, torch._ops.OpOverload) and
                                                any(r.alias_info for r in n.target._schema.returns))
    while node.op == "call_function" and node.args and isinstance(node.args[0], torch.fx.Node) and gives_back(node):
        node = node.args[0]
    return node


def _written_by(node):
    """Returns the arguments that a call writes to. In training, these include a norm's statistics."""
    schema = node.target._schema
    found = [argument(node, a.name, None) for a in schema.arguments if a.alias_info and a.alias_info.is_write]
    if "norm" in schema.name and any(argument(node, n, False) for n in ("training", "train", "use_input_stats")):
        found += [argument(node, "running_mean", None), argument(node, "running_var", None)]
    return [n for n in found if isinstance(n, torch.fx.Node)]


def written(program):
    """Returns the names of the program's inputs that it may write to, including buffers and constants. All of them, if
    a nested graph, as of a condition, writes to its arguments."""
    inputs = {n.name for n in program.graph.nodes if n.op == "placeholder"}
    found = set()
    for node in calls(program):
        for n in map(_origin, _written_by(node)):
            if node.graph is program.graph:
                found |= {n.name} & inputs
            elif n.op == "placeholder":
                return inputs
    outputs = program.graph_signature.output_specs       # outputs of a graph that was made functional
    targets = {s.target for s in outputs if s.kind.name.endswith("_MUTATION")}
    return found | {s.arg.name for s in program.graph_signature.input_specs if s.target in targets or
                    getattr(s.arg, "name", None) in targets}


# ---- results that share memory


def _hint(n):
    """Returns the value of a size in the example. None if it depends on data."""
    return n if isinstance(n, int) else n.node.hint


def storage_of(tensor):
    """Returns an identity of a tensor's memory. None if the tensor has no memory that others can share."""
    if tensor.layout is not torch.strided or _hint(tensor.numel()) == 0:
        return None
    return tensor.untyped_storage()._cdata if hasattr(tensor, "untyped_storage") else tensor.storage().data_ptr()


def _elements(tensor):
    """Returns (size, strides, offset) as numbers."""
    return ([_hint(n) for n in tensor.shape], [_hint(n) for n in tensor.stride()], _hint(tensor.storage_offset()))


def overlap(tensors):
    """Whether two of the tensors have an element in common. All of them have the same storage, and may be fake
    tensors."""
    spans = [_elements(t) for t in tensors]
    if len({t.element_size() for t in tensors}) > 1 or any(None in (*z, *s, o) for z, s, o in spans):
        return True                                    # not worth an analysis, or unknown
    last = [offset + sum((n - 1) * s for n, s in zip(size, stride)) for size, stride, offset in spans]
    taken = np.zeros(max(last) + 1, bool)
    for size, stride, offset in spans:
        own = np.lib.stride_tricks.as_strided(taken[offset:], size, stride)
        if own.any():
            return True
        own[...] = True
    return False


class View:
    """A result that is a view of an argument or of another result. It is made again as a view, so that memory is
    shared as in PyTorch."""

    def __init__(self, tensor, base, of_argument, at):
        """tensor, base: those of the graph's example. at: index of the argument or result that is the base."""
        self.size, self.stride = tensor.shape, tensor.stride()
        self.offset = tensor.storage_offset() - base.storage_offset()
        self.base_stride, self.of_argument, self.at = base.stride(), of_argument, at

    def symbols(self):
        return {s for n in (*self.size, *self.stride, self.offset, *self.base_stride) if not isinstance(n, int)
                for s in n.node.expr.free_symbols}

    def make(self, args, results, symbols):
        """Makes the view for a call. symbols: {symbol: its value in this call}."""
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
    """Whether base has no gaps and contains all of the tensor's elements."""
    def span(t):
        size, stride, offset = _elements(t)
        return offset, offset + sum((n - 1) * s for n, s in zip(size, stride))
    (first, last), (first2, last2) = span(base), span(tensor)
    return first <= first2 and last2 <= last and last - first + 1 == _hint(base.numel()) and not overlap([base])


def views(inputs, results):
    """Returns {index of the result: View} for the results that share memory with an input or overlap another result,
    in the example. None if some share memory in a way that is no plain view."""
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
