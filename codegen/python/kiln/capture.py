"""Converts a PyTorch module or function to an archive that Kiln compiles, and to a signature, which turns calls into
leaves.

torch.export is tried first. A model that it refuses goes through torch.jit.script, with a warning. torch.jit.trace
drops branches on data and the model's own checks, so it is used only if the caller asks for it. PyTorch must be
imported before this module."""
import contextlib
import copy
import inspect
import os
import re
import warnings

import numpy as np
import torch

from . import arrays, errors, lines, tree

try:
    import torch.export
    from torch.utils import _pytree as pytree
    from . import graphs, objects, sizes
    _export = torch.export.export if hasattr(torch.export, "save") else None
except (ImportError, AttributeError):
    _export = None


def is_model(value):
    """Whether compile() can make an archive of it: a module, a function, an exported program."""
    return isinstance(value, torch.nn.Module) or _is_exported(value) or _is_scripted(value) or \
        (callable(value) and not isinstance(value, type))


def _is_exported(value):
    return _export is not None and isinstance(value, torch.export.ExportedProgram)


def _is_scripted(value):
    return isinstance(value, (torch.jit.ScriptModule, torch.jit.ScriptFunction))


def modules_of(function):
    """Returns {name: module} of the modules that a function or method refers to."""
    if isinstance(function, torch.nn.Module):
        return {"self": function}
    cells = inspect.getclosurevars(function) if inspect.isfunction(function) else None
    found = {**cells.globals, **cells.nonlocals} if cells else {"self": getattr(function, "__self__", None)}
    return {name: value for name, value in found.items() if isinstance(value, torch.nn.Module)}


class _Function(torch.nn.Module):
    """A function as a module. The modules that it refers to become its submodules, so their weights are parameters."""

    def __init__(self, function):
        super().__init__()
        self.kiln_function = function
        for name, module in modules_of(function).items():
            self.add_module("of_" + name, module)
        self.train(any(m.training for m in list(self.children())))
        try:
            inspect.signature(function)
            self.forward = function                    # has the function's parameter names
        except ValueError:                             # a function written in C
            pass

    def forward(self, *args, **kwargs):
        return self.kiln_function(*args, **kwargs)


def _as_module(model):
    return model if isinstance(model, torch.nn.Module) or _is_scripted(model) else _Function(model)


# ---- calls: the same arguments always in the same places


_PLAIN = (bool, int, float, complex, str, type(None))


class Call:
    """Normalizes calls, so that all have the same arguments in the same form. Arguments that may be positional are,
    and the others are passed by name. If only the examples pass an argument, a call that leaves it out passes its
    default. If no example passes an argument, a call may only pass its default."""

    def __init__(self, model):
        self.given = None    # names of the parameters that the examples pass; None until they are known
        try:
            self.signature = None if _is_scripted(model) else inspect.signature(model.forward)
        except (TypeError, ValueError):
            self.signature = None

    def normal(self, args, kwargs):
        """Returns a call as (args, kwargs) in normal form."""
        if self.signature is None:
            return args, kwargs
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as e:
            raise errors.BadArgument(str(e)) from None
        if self.given is not None:
            self._settle(bound)
        return bound.args, bound.kwargs

    def _settle(self, bound):
        for name, parameter in self.signature.parameters.items():
            if parameter.default is parameter.empty or (name in self.given) == (name in bound.arguments):
                continue
            value = bound.arguments.pop(name, parameter.default)
            if name in self.given:
                bound.arguments[name] = value
            elif value is not parameter.default and not (
                    isinstance(value, _PLAIN) and tree.identical(value, parameter.default)):
                raise errors.BadArgument("argument '%s' is not its default, %r: the examples left it out, and the model "
                                         "was compiled for that" % (name, parameter.default))

    def learn(self, calls):
        """Learns the arguments from the examples. Returns the examples as calls that pass all arguments that any of
        them passes."""
        if self.signature is not None and calls:
            try:
                self.given = set().union(*(self.signature.bind(*args, **kwargs).arguments for args, kwargs in calls))
            except TypeError as e:
                raise errors.BadArgument(str(e)) from None
        return [self.normal(*one) for one in calls]

    def learn_spec(self, spec):
        """Learns the arguments from the structure with which a program was exported."""
        if self.signature is not None and self.given is None:
            args, kwargs = _children(spec)
            self.given = set(list(self.signature.parameters)[:len(_children(args))]) | set(kwargs.context)

    def spelled(self, spec):
        """Returns the text of a call with such a structure: (x=_, state=[_, _])."""
        args, kwargs = _children(spec)
        names = list(self.signature.parameters) if self.signature else []
        names = [*names, *[None] * len(_children(args))][:len(_children(args))] + list(kwargs.context)
        words = ["%s=%s" % (name, _spelled(a)) if name else _spelled(a)
                 for name, a in zip(names, _children(args) + _children(kwargs))]
        return "(%s)" % ", ".join(words)


def _spelled(spec):
    if spec.is_leaf():
        return "_"
    parts = [_spelled(child) for child in _children(spec)]
    if spec.type is dict:
        return "{%s}" % ", ".join("%r: %s" % (k, part) for k, part in zip(spec.context, parts))
    if spec.type is list:
        return "[%s]" % ", ".join(parts)
    return "%s(%s)" % ("" if spec.type is tuple else spec.type.__name__, ", ".join(parts))


def _part_names(spec):
    """Returns the names of a structure's parts: a dict's keys, or the names that a registered class gives. Else their
    numbers."""
    n, names = len(_children(spec)), spec.context
    if not isinstance(names, (list, tuple)):
        return range(n)
    # a dataclass: its fields, and those that were None
    if len(names) == 2 and isinstance(names[0], (list, tuple)) and names[0]:
        names = names[0]
    plain = ("builtins", "collections", "torch.fx.immutable_collections")
    kinds = (str, int) if spec.type.__module__ in plain else (str,)
    return names if len(names) == n and any(all(isinstance(k, kind) for k in names) for kind in kinds) else range(n)


def _keys(spec, key, leaves):
    """Appends the keys of a pytree's leaves, as frontend/archive/pt2_spec.c makes them."""
    if spec.is_leaf():
        leaves.append(key)
        return
    for name, child in zip(_part_names(spec), _children(spec)):
        _keys(child, "%s.%s" % (key, name), leaves)


def _children(spec):
    return spec.children() if hasattr(spec, "children") else spec.children_specs


def _is_leaf(spec):
    return spec.is_leaf()


def _named_keys(spec, names):
    """Returns the keys of (args, kwargs): args by the names of forward's arguments, kwargs by their own names."""
    args, kwargs = _children(spec)
    keys = []
    for child, name in zip(_children(args) + _children(kwargs), names):
        _keys(child, name, keys)
    return keys


def _ordered(value, spec):
    """Returns the value with dicts' entries in the order of the spec."""
    if spec.is_leaf():
        return value
    if type(value) is dict and spec.type is dict and set(value) == set(spec.context):
        return {k: _ordered(value[k], child) for k, child in zip(spec.context, _children(spec))}
    if type(value) in (list, tuple) and spec.type is type(value) and len(value) == len(_children(spec)):
        return type(value)(map(_ordered, value, _children(spec)))
    return value


class Exported:
    """The signature of an exported program. The structure of a call must be that of the examples. `tensors` is the
    number of results if the result is one tensor or a sequence of tensors; then build() gets a list. Otherwise it
    is None, and build() gets a dict."""
    name = "forward"

    def __init__(self, program, call, trees=None):
        """trees: a _Trees, if the program's arguments are only leaves."""
        self.call, self.trees = call, trees
        self.spec = trees.spec if trees else program.call_spec.in_spec
        call.learn_spec(self.spec)
        self.out_spec = (trees or program.call_spec).out_spec
        self.keys, self.out_keys = _named_keys(program.call_spec.in_spec, _names(program, call)), []
        self.places = _named_keys(self.spec, list(call.signature.parameters)) if trees else self.keys
        _keys(program.call_spec.out_spec, "out", self.out_keys)
        values = {n.name: n.meta.get("val") for n in program.graph.nodes if n.op == "placeholder"}
        signature = program.graph_signature
        inputs = [s.arg for s in signature.input_specs if s.kind.name == "USER_INPUT"]
        self.inputs = [_kind(a, values.get(a.name)) for a in inputs]
        self.results = [_kind(s.arg, None)[:2] for s in signature.output_specs if s.kind.name == "USER_OUTPUT"]
        written = graphs.written(program)
        self.written = frozenset(key for key, a in zip(self.keys, inputs) if a.name in written)
        self.writes_state = bool(written - {a.name for a in inputs})
        self.flat = None if trees else _Flatly(call, self.spec, self.inputs)
        row = self.out_spec.type in (tuple, list) and all(c.is_leaf() for c in _children(self.out_spec))
        self.tensors = len(self.results) if not trees and (row or self.out_spec.is_leaf()) and \
            all(kind == "tensor" for kind, _ in self.results) else None

    def flatten(self, args, kwargs):
        """Returns the leaves of a call's arguments: [(key, array or number or text)]."""
        leaves = self.flat.leaves(args, kwargs) if self.flat else None
        if leaves is not None:
            return [(key, value) for key, value in zip(self.keys, leaves) if value is not None]
        called = self.call.normal(args, kwargs)
        called = objects.simple(called) if self.trees else called
        leaves, spec = pytree.tree_flatten(called)
        if spec != self.spec:
            leaves, spec = pytree.tree_flatten(_ordered(called, self.spec))
        if spec != self.spec:
            raise errors.BadArgument("the examples were called as %s; this is %s" % (
                self.call.spelled(self.spec), self.call.spelled(spec)))
        for place, value, wanted in zip(self.places, leaves, self.inputs):
            _check(place, value, *wanted)
        return [(key, value) for key, value in zip(self.keys, leaves) if value is not None]

    def build(self, results):
        """Builds the result from leaves by key."""
        if self.tensors is not None:
            return results[0] if self.out_spec.is_leaf() else self.out_spec.type(results)
        leaves = [wanted if kind == "constant" else results[key] if kind == "tensor" else results[key].item()
                  for key, (kind, wanted) in zip(self.out_keys, self.results)]
        value = pytree.tree_unflatten(leaves, self.out_spec)
        return objects.whole(value, self.trees.made) if self.trees else value


class _Flatly:
    """A fast path for most calls: arguments without structure become leaves without inspect and pytree."""

    def __init__(self, call, spec, inputs):
        args, kwargs = _children(spec)
        self.inputs = [(kind, wanted, kind == "tensor" and wanted and getattr(torch, wanted), rank)
                       for kind, wanted, rank in inputs]
        self.usable = all(c.is_leaf() for c in _children(args) + _children(kwargs)) and \
            all(kind != "tensor" or wanted for kind, wanted, _ in inputs)
        self.positional, names = len(_children(args)), list(kwargs.context or ())
        self.direct = self.positional if self.positional == len(inputs) else None      # number of positional arguments
        parameters = call.signature.parameters if call.signature else {}
        kinds = {p.kind for p in parameters.values()}
        self.names = None                              # [(name, default)]; None if all arguments are positional
        if parameters and not kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD,
                                       inspect.Parameter.POSITIONAL_ONLY}:
            names = list(parameters)[:self.positional] + names
            self.names = [(name, parameters[name].default) for name in names]

    def leaves(self, args, kwargs):
        """Returns the values of a call in the order of the program's inputs. None if the call needs the slow path."""
        if kwargs or len(args) != self.direct:
            args = self._in_order(args, kwargs)
        if not self.usable or args is None:
            return None
        for value, (kind, wanted, dtype, rank) in zip(args, self.inputs):
            if isinstance(value, torch.Tensor):
                good = value.dtype is dtype and value.ndim == rank
            elif type(value) is np.ndarray:
                good = kind == "tensor" and arrays.NUMPY.dtype(value) == wanted and value.ndim == rank
            elif kind == "number":
                good = type(value) in (int, float, bool)
            else:
                good = kind == "constant" and tree.identical(value, wanted)
            if not good:
                return None
        return args

    def _in_order(self, args, kwargs):
        if self.names is None or len(args) > self.positional:
            return None
        values, left = list(args), len(kwargs)
        for name, default in self.names[len(args):]:
            left -= name in kwargs
            values.append(kwargs.get(name, default))
        return None if left or any(v is inspect.Parameter.empty for v in values) else values


def _check(place, value, kind, wanted, rank):
    array = arrays.kind_of(value)
    if kind == "tensor" and not array:
        raise errors.BadArgument("argument '%s' is a %s: a tensor is wanted" % (place, type(value).__name__))
    if kind == "tensor" and array.dtype(value) != wanted:
        raise errors.BadArgument("argument '%s' is %s: the model was compiled for %s" % (
            place, array.dtype(value), wanted))
    if kind == "tensor" and getattr(value, "ndim", rank) != rank:
        raise errors.SizeMismatch("argument '%s' has %d dimensions: the model was compiled for %d" % (
            place, value.ndim, rank))
    if kind == "number" and type(value) not in (int, float, bool):
        raise errors.BadArgument("argument '%s' is a %s: a number is wanted" % (place, type(value).__name__))
    if kind == "constant" and (array or not tree.identical(value, wanted)):
        raise errors.BadArgument("argument '%s' is %s: the model was compiled for %r" % (
            place, "a tensor" if array else repr(value), wanted))


def _kind(argument, value):
    """Returns the kind of an argument in torch.export's signature: ("constant", its value, None), ("tensor", its
    dtype, its rank) or ("number", None, None)."""
    if type(argument).__name__ == "ConstantArgument":
        return "constant", argument.value, None
    if type(argument).__name__ == "TensorArgument":
        known = isinstance(value, torch.Tensor)
        return "tensor", arrays.TORCH.dtype(value) if known else None, value.ndim if known else None
    return "number", None, None


# ---- archives


def exported(model, call, calls, dynamic):
    args, kwargs = calls[0]
    if dynamic is not True and len(calls) == 1 or dynamic not in (True, False, None):
        with torch.no_grad():
            return _export(model, args, kwargs, dynamic_shapes=dynamic or None, strict=False)
    shapes = sizes.open_sizes(call, calls, dynamic is True)
    try:
        with torch.no_grad(), sizes.oblivious():
            return _export(model, args, kwargs, dynamic_shapes=shapes, strict=False)
    except Exception:                                  # a model that asks whether a size is 1 needs to know it
        with torch.no_grad():
            return _export(model, args, kwargs, dynamic_shapes=shapes, strict=False)


class _Flat(torch.nn.Module):
    """A module whose arguments and results are leaves, for structures that have no name in a file or exist only in
    Python."""

    def __init__(self, module, trees, places):
        """places: keys of the leaves. They become the names of forward's arguments."""
        super().__init__()
        self.module = module
        self.train(module.training)

        def forward(*leaves):
            args, kwargs = objects.whole(pytree.tree_unflatten(leaves, trees.spec), trees.bones)
            return tuple(pytree.tree_leaves(objects.simple(module(*args, **kwargs))))
        names = []
        for place in places:
            name = re.sub(r"\W", "_", place)
            names.append(name if name not in names else "%s_%d" % (name, len(names)))
        forward.__signature__ = inspect.Signature(
            [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names])
        self.forward = forward


class _Trees:
    """Converts calls of a _Flat module to leaves. Has the structure of an example's simple forms, and the skeletons."""

    def __init__(self, module, call):
        args, kwargs = copy.deepcopy(call)             # a model may write to its caches
        with torch.no_grad():
            made = module(*args, **kwargs)
        self.bones, self.made = objects.skeleton(call), objects.skeleton(made)
        self.spec = pytree.tree_structure(objects.simple(call))
        self.out_spec = pytree.tree_structure(objects.simple(made))


def _save(program, path):
    torch.export.save(program, path)
    return path


def _save_exported(module, call, calls, dynamic, folder):
    """Exports and saves a module. Returns (path, signature, a sentence for each size that torch.export fixed)."""
    path = os.path.join(folder, "model.pt2")
    try:
        with sizes.Fixed() as fixed:
            program = exported(module, call, calls, dynamic)
        signature = Exported(program, call)
        return _save(program, path), signature, fixed.sentences(program, signature.keys, calls, dynamic)
    except Exception as e:                             # several classes, for example for types that are not registered
        if not (isinstance(e, NotImplementedError) or "type" in str(e)) or dynamic not in (True, False, None):
            raise
    trees = _Trees(module, calls[0])
    flat = [(tuple(pytree.tree_leaves(objects.simple(one))), {}) for one in calls]
    wrapped = _Flat(module, trees, _named_keys(trees.spec, list(call.signature.parameters)))
    with sizes.Fixed() as fixed:
        program = exported(wrapped, Call(wrapped), flat, dynamic)
    signature = Exported(program, call, trees)
    return _save(program, path), signature, fixed.sentences(program, signature.places, flat, dynamic)


def _unwrapped(module):
    return module.kiln_function if isinstance(module, _Function) else module


@contextlib.contextmanager
def _without_deprecations():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*is deprecated")
        yield


def _scripted(module):
    with _without_deprecations():
        return torch.jit.script(_unwrapped(module))


def _traced(module, call):
    args, kwargs = call
    try:
        with torch.no_grad(), _without_deprecations():
            return torch.jit.trace(_unwrapped(module), (*args, *kwargs.values()))
    except Exception as e:                             # many classes
        raise errors.CompileError(_refusal("torch.jit.trace", e)) from e


def _refusal(function, error):
    """Returns one line: which function of PyTorch refuses the model, at which line of the user's code, and why."""
    said, at = str(error).strip().splitlines(), lines.of_error(error)
    place = " at %s" % lines.spelled(at) if at else ""
    return "%s refuses it%s: %s: %s" % (function, place, type(error).__name__, said[0] if said else "no reason")


class Archive:
    """A file for Kiln. signature: that of an exported program, which contains the first call's arguments; None if the
    archive's declared types are the signature. calls: [(args, kwargs)]. how: name of the PyTorch function that made
    it."""

    def __init__(self, path, signature, calls, how):
        self.path, self.signature, self.calls, self.how = path, signature, calls, how


def has_autocast():
    try:
        return torch.is_autocast_enabled("cpu")
    except TypeError:                                  # before PyTorch 2.4
        return torch.is_autocast_cpu_enabled()


def _jit_archive(scripted, calls, how, folder):
    path = os.path.join(folder, "model.pt")
    scripted.save(path)
    return Archive(path, None, calls, how)


def _warn_of_modes(module):
    if isinstance(module, torch.nn.Module) and module.training:
        errors.warn("the module is in training mode: dropout draws, and batch norms learn, in each call; "
                    "call its eval() first")
    if has_autocast():
        errors.warn("autocast is on: PyTorch's export leaves it out; put it into the module")


def capture(model, calls, dynamic, folder, trace=False):
    """Makes an Archive in the folder. calls: the examples, [(args, kwargs)]. dynamic, trace: as in compile()."""
    if trace and (_is_exported(model) or _is_scripted(model)):
        raise errors.BadOption("trace=True wants a module or a function: a %s is a graph" % type(model).__name__)
    if trace and dynamic:
        raise errors.BadOption("trace=True goes without dynamic: a trace holds for the sizes that its example takes")
    if _is_exported(model):
        call = Call(model.module())
        return Archive(_save(model, os.path.join(folder, "model.pt2")), Exported(model, call), [], "torch.export")
    module = _as_module(model)
    _warn_of_modes(module)
    call = Call(module)
    calls = call.learn(calls)
    if _is_scripted(module):
        return _jit_archive(module, calls, "torch.jit", folder)
    if not calls:
        raise errors.BadArgument("example_inputs are wanted for a module")
    if trace:
        return _jit_archive(_traced(module, calls[0]), calls, "torch.jit.trace", folder)
    why = "PyTorch %s has no torch.export" % torch.__version__
    if _export:
        try:
            path, signature, fixed = _save_exported(module, call, calls, dynamic, folder)
        except errors.KilnError:
            raise
        except Exception as e:                         # many classes; the reason is shown
            why = _refusal("torch.export", e)
        else:
            for sentence in fixed:
                errors.warn(sentence)
            return Archive(path, signature, calls, "torch.export")
    try:
        scripted = _scripted(module)
    except Exception as e:
        raise errors.CompileError(
            "%s\n%s\ntrace=True compiles a trace of the first example, which takes its branches for all inputs and has "
            "none of the model's checks" % (why, _refusal("torch.jit.script", e))) from e
    errors.warn("%s: the model comes from torch.jit.script" % why)
    return _jit_archive(scripted, calls, "torch.jit.script", folder)


def _names(program, call):
    """Returns the names of forward's arguments, as in the archive."""
    found = program.module_call_graph[0].signature
    names = getattr(found, "forward_arg_names", None) if found else None
    return names or list(call.signature.parameters)
