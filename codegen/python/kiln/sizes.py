"""Finds which sizes of arguments torch.export leaves dynamic, and which it fixes although they should be dynamic."""
import contextlib
import threading

import torch
import torch.export
from torch.utils import _pytree as pytree

from . import errors, lines


def open_sizes(call, calls, all_of_them):
    """Returns torch.export's dynamic_shapes: all sizes are dynamic, or those that differ among the calls."""
    def of(values):
        if type(values[0]) is int and (all_of_them or _differ(values)):
            return torch.export.Dim.AUTO
        if not isinstance(values[0], torch.Tensor):
            return None
        return {i: torch.export.Dim.AUTO for i in range(values[0].ndim) if all_of_them or i in _differ(values)}
    flat = [pytree.tree_flatten(one) for one in calls]
    ranks = [[getattr(v, "ndim", None) for v in leaves] for leaves, _ in flat]
    if any(spec != flat[0][1] for _, spec in flat) or any(one != ranks[0] for one in ranks):
        raise errors.BadArgument("the examples have several structures, or numbers of dimensions: one is wanted")
    args, kwargs = pytree.tree_unflatten([of(values) for values in zip(*(leaves for leaves, _ in flat))], flat[0][1])
    bound = dict(call.signature.bind(*args, **kwargs).arguments)
    for name, parameter in call.signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            bound.update(bound.pop(name, {}))
    return bound


def _differ(values):
    """Returns the dims whose sizes differ among an argument's values. {None} if the argument is an int whose value
    differs."""
    if type(values[0]) is int:
        return {None} if len(set(values)) > 1 else set()
    sizes = [v.shape for v in values] if isinstance(values[0], torch.Tensor) else [()]
    return {i for i, n in enumerate(zip(*sizes)) if len(set(n)) > 1}


def oblivious():
    """Makes sizes that are 0 or 1 in examples dynamic, too, if PyTorch can do that."""
    try:
        import torch.fx.experimental._config as config
        return config.patch(backed_size_oblivious=True)
    except (ImportError, AttributeError, TypeError):
        return contextlib.nullcontext()


class _Noting(threading.local):
    notes = None                                       # notes of the Fixed that is active in this thread


_noting, _install = _Noting(), threading.Lock()


def _note_replacements():
    """Makes ShapeEnv note, for the thread's Fixed, each symbol that it replaces. Done once for the process. A PyTorch
    without that method notes nothing; then sizes are named without a line."""
    from torch.fx.experimental.symbolic_shapes import ShapeEnv
    with _install:
        replace = getattr(ShapeEnv, "_set_replacement", None)
        if not replace or hasattr(replace, "of_kiln"):
            return

        def noted(self, symbol, *rest, **more):
            if _noting.notes is not None:
                _noting.notes.setdefault((self, symbol), (rest[0] if rest else None, lines.of_call()))
            return replace(self, symbol, *rest, **more)
        noted.of_kiln = True
        ShapeEnv._set_replacement = noted


class Fixed:
    """Context around torch.export. Notes which line of the model fixes a size."""

    def __init__(self):
        self.notes = {}                                # {(ShapeEnv, symbol): (replacement, line or None)}

    def __enter__(self):
        _note_replacements()
        self.before, _noting.notes = _noting.notes, self.notes
        return self

    def __exit__(self, *error):
        _noting.notes = self.before

    def sentences(self, program, keys, calls, dynamic):
        """Returns a sentence for each size that should be dynamic and is fixed. These are sizes that differ among the
        examples, dim 0 if dynamic is True, and sizes that are dynamic in dynamic_shapes. keys: those of the
        program's inputs."""
        values = {n.name: n.meta.get("val") for n in program.graph.nodes if n.op == "placeholder"}
        inputs = [s.arg for s in program.graph_signature.input_specs if s.kind.name == "USER_INPUT"]
        examples, found = zip(*(pytree.tree_leaves(one) for one in calls)), []
        for key, argument, given in zip(keys, inputs, examples):
            value = values.get(argument.name, getattr(argument, "value", None))
            sizes = dict(enumerate(value.shape)) if isinstance(value, torch.Tensor) else {None: value}
            for dim, size in sizes.items():
                fixed = _number(size)
                if fixed is not None and (_is_asked(given, dim, dynamic) if dynamic in (True, False, None) else
                                          isinstance(size, torch.SymInt)):
                    found.append(self._sentence(key, dim, fixed, size))
        return found

    def _sentence(self, key, dim, fixed, size):
        at = self._line(size)
        what = "argument '%s'" % key if dim is None else "argument '%s': the size of dim %d" % (key, dim)
        return "%s is fixed to %d by torch.export%s: other %s are refused.  %s" % (
            what, fixed, " at " + lines.spelled(at) if at else "", "values" if dim is None else "sizes",
            "Change the line so that it holds for every size, or compile a model for each" if at else
            "An example of another size may leave it open")

    def _line(self, size):
        """Returns the line that fixed a SymInt: the one at which its symbol, or a replacement of it, became a
        number."""
        node = getattr(size, "node", None)
        symbol, at = getattr(node, "_expr", None), None
        for _ in range(len(self.notes)):
            symbol, at = self.notes.get((getattr(node, "shape_env", None), symbol), (None, at))
        return at


def _is_asked(given, dim, dynamic):
    return dim in _differ(given) or dynamic is True and dim == 0


def _number(size):
    """Returns the only value of a size. None if it is dynamic."""
    if isinstance(size, torch.SymInt):
        return size.node.maybe_as_int()
    return size if type(size) is int else None
