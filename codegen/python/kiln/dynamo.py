"""torch.compile(model, backend="kiln"): graphs of PyTorch's compiler, for inference.

A graph is compiled in its first call, through torch.export. Weights are arguments of the graph. Those that belong to
modules become constants of the code, which is valid for these tensors and their versions. Other weights, or weights
that were changed, get code of their own. Sizes that are symbols in the graph are dynamic."""
import copy
import operator
from typing import Any, Callable, Dict, List, Optional

import torch
import torch.fx

from . import arrays, capture, errors, graphs, model as models, tree

MOST = 8    # largest number of codes for one graph, with different weights and numbers


def backend(graph: torch.fx.GraphModule, example_inputs: List[Any], options: Optional[Dict[str, Any]] = None,
            mode: Optional[str] = None) -> Callable:
    """The function behind the entry point. options: as in kiln.compile (torch.compile(..., options={"threads": 2}))."""
    if torch.is_grad_enabled() and any(getattr(v, "requires_grad", False) for v in example_inputs):
        errors.warn("a graph that needs gradients runs without Kiln: call the model under torch.no_grad()", once=True)
        return graph.forward
    if capture.has_autocast():                         # PyTorch compiles the graph again where autocast is off
        errors.warn("a graph under autocast runs without Kiln: put autocast into the module", once=True)
        return graph.forward
    return _Graph(graph, options or {})


def _source(node):
    source = getattr(node, "_dynamo_source", None)
    name = getattr(source, "name", "")
    return name() if callable(name) else name


class _Graph:
    """A graph, with the codes that were compiled for it."""

    def __init__(self, graph, options):
        self.graph, self.options, self.codes, self.failed = graph, options, [], False
        self.inputs = [n for n in graph.graph.nodes if n.op == "placeholder"]
        self.values = [n.meta.get("example_value") for n in self.inputs]
        self.sizes = self._find_sizes()
        kinds = [self._kind(i) for i in range(len(self.inputs))]
        self.kinds = kinds
        self.weights = [i for i, k in enumerate(kinds) if k == "weight"]
        self.numbers = [i for i, k in enumerate(kinds) if k == "number"]
        self.views, self.symbols = self._find_views(), self._find_symbols()
        if self.views is None or any(v.symbols() - set(self.symbols) for v in self.views.values()):
            errors.warn("a graph whose results share memory in a way that Kiln's do not runs without it", once=True)
            self.failed = True

    def _find_sizes(self):
        """Finds the inputs that are a size of another input. Returns {input: (which tensor, dim)}."""
        found = {}
        for i, value in enumerate(self.values):
            for k, tensor in enumerate(self.values):
                if i in found or not isinstance(value, torch.SymInt) or not isinstance(tensor, torch.Tensor):
                    continue
                for dim, size in enumerate(tensor.shape):
                    if isinstance(size, torch.SymInt) and size.node.expr == value.node.expr:
                        found[i] = k, dim
                        break
        return found

    def _find_views(self):
        results = next(n for n in self.graph.graph.nodes if n.op == "output").args[0]
        results = results if isinstance(results, (list, tuple)) else [results]
        return graphs.views(self.values, [n.meta.get("example_value") if isinstance(n, torch.fx.Node) else None
                                          for n in results])

    def _find_symbols(self):
        """Returns {symbol: (which input, dim)}. dim is None if the input is a number."""
        found = {}
        for i, value in enumerate(self.values):
            sizes = enumerate(value.shape) if isinstance(value, torch.Tensor) else [(None, value)]
            for dim, size in sizes:
                if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
                    found.setdefault(size.node.expr, (i, dim))
        return found

    def _share(self, args, results):
        """Returns the results. Those that share memory are made as views."""
        symbols = {s: args[i] if dim is None else args[i].shape[dim] for s, (i, dim) in self.symbols.items()}
        results = list(results)
        for r, view in self.views.items():
            results[r] = view.make(args, results, symbols)
        return results

    def _kind(self, i):
        """Returns the kind of an input: input, weight (of a module), size (of another input), number (the code is for
        its value)."""
        value, node = self.values[i], self.inputs[i]
        if i in self.sizes:
            return "size"
        if not isinstance(value, torch.Tensor):
            return "number"
        if value.ndim == 0 and node.users and all(u.op == "call_method" and u.target == "item" for u in node.users):
            return "number"                            # a Python float
        source = _source(node)
        if isinstance(value, torch.nn.Parameter) or "._parameters[" in source or "._buffers[" in source:
            return "weight"
        return "input"

    # ---- a call

    def __call__(self, *args):
        if self.failed:
            return self.graph(*args)
        numbers = [v.item() if isinstance(v, torch.Tensor) else v for v in map(args.__getitem__, self.numbers)]
        code = next((c for c in self.codes if c.takes(args, numbers)), None)
        if code is None:
            code = self._compile(args, numbers)
        if code is None:
            return self.graph(*args)
        try:
            results = code(args)
            return self._share(args, results) if self.views else results
        except errors.SizeMismatch as e:
            errors.warn("sizes that torch.export has fixed: such calls run without Kiln (%s)" % e, once=True)
            return self.graph(*args)

    def _compile(self, args, numbers):
        if len(self.codes) == MOST:
            errors.warn("a graph whose weights or numbers changed %d times runs without Kiln" % MOST)
            self.failed = True
            return None
        try:
            code = _Code(self, args, numbers)
        except Exception as e:                         # PyTorch's or Kiln's error: the graph runs as it is
            lines = str(e).strip().splitlines()
            errors.warn("a graph runs without Kiln: %s: %s" % (type(e).__name__, lines[0] if lines else ""))
            self.failed = True
            return None
        self.codes.append(code)
        return code


class _Code:
    """A graph compiled for these weights and numbers."""

    def __init__(self, graph, args, numbers):
        self.at, self.numbers = graph.weights, numbers
        for freeze_buffers in True, False:
            module, inputs, values, shapes = _with_constants(graph, args, freeze_buffers)
            call = capture.Call(module)
            program = capture.exported(module, call, [(tuple(values), {})], shapes)
            if not (freeze_buffers and graphs.written(program) & set(program.graph_signature.inputs_to_buffers)):
                break
        _refuse_random(program)
        self.inputs, self.kept = inputs, [i for i in graph.weights if i not in inputs]
        self.weights = [args[i] for i in self.kept]
        self.versions = list(map(arrays.TORCH.version, self.weights))
        self.model = models.Job(program, None, **graph.options).finish()
        self.signature = self.model._signatures["forward"]
        self.written = [i for i, key in enumerate(self.signature.keys) if key in self.signature.written]

    def takes(self, args, numbers):
        return all(map(tree.identical, numbers, self.numbers)) and \
            all(map(operator.is_, self.weights, map(args.__getitem__, self.kept))) and \
            self.versions == list(map(arrays.TORCH.version, self.weights))

    def __call__(self, args):
        views = [arrays.TORCH.view(args[i], "") for i in self.inputs]
        results = self.model._run("forward", [(k, v[0]) for k, v in zip(self.signature.keys, views)], arrays.TORCH)
        for place in self.written:
            arrays.TORCH.wrote(args[self.inputs[place]], views[place][1])
        return self.signature.build(results)


def _with_constants(graph, args, freeze_buffers):
    """Makes a graph whose only inputs are tensors. Returns (module, which inputs, their values, dynamic_shapes)."""
    root = torch.nn.Module()
    made = copy.deepcopy(graph.graph.graph)
    nodes = [n for n in made.nodes if n.op == "placeholder"]
    for name, value in _attributes(graph.graph):
        root.register_buffer(name, value) if isinstance(value, torch.Tensor) else setattr(root, name, value)
    inputs = []
    for i, node in enumerate(nodes):
        kind = graph.kinds[i]
        if kind == "weight" and (freeze_buffers or isinstance(args[i], torch.nn.Parameter)):
            name = "weight_%d" % i
            if isinstance(args[i], torch.nn.Parameter):
                root.register_parameter(name, args[i])
            else:
                root.register_buffer(name, args[i])
            with made.inserting_before(node):
                _replace(made, node, made.get_attr(name))
        elif kind == "number":
            _replace_number(made, node, args[i])
        elif kind == "size":
            continue
        else:
            inputs.append(i)
    last = nodes[inputs[-1]] if inputs else None
    for i, (k, dim) in graph.sizes.items():
        source = nodes[k]
        with made.inserting_after(last):
            _replace(made, nodes[i], made.call_method("size", (source, dim)))
    module = torch.fx.GraphModule(root, made)
    values = [args[i] for i in inputs]
    shapes = {nodes[i].target: {d: torch.export.Dim.AUTO for d, s in enumerate(graph.values[i].shape)
                                if isinstance(s, torch.SymInt)} for i in inputs}
    return module.eval(), inputs, values, shapes


def _attributes(module):
    """Returns what the graph refers to as self.NAME, including nested modules."""
    found = {}
    for node in module.graph.nodes:
        if node.op in ("get_attr", "call_module"):
            name = node.target.partition(".")[0]
            found[name] = getattr(module, name)
    return found.items()


def _replace(made, node, by):
    node.replace_all_uses_with(by)
    made.erase_node(node)


def _replace_number(made, node, value):
    """Replaces a number by a constant: a Python number, or every node that reads it from a tensor."""
    value = value.item() if isinstance(value, torch.Tensor) else value
    for user in list(node.users):
        if isinstance(user.target, str) and user.target == "item" and user.op == "call_method":
            for other in list(user.users):
                other.args = torch.fx.map_arg(other.args, lambda n: value if n is user else n)
                other.kwargs = torch.fx.map_arg(other.kwargs, lambda n: value if n is user else n)
            made.erase_node(user)
        else:
            user.args = torch.fx.map_arg(user.args, lambda n: value if n is node else n)
            user.kwargs = torch.fx.map_arg(user.kwargs, lambda n: value if n is node else n)
    made.erase_node(node)


# ---- random numbers


def _refuse_random(program):
    for node in graphs.calls(program):
        name = node.target._schema.name
        drawing = torch.Tag.nondeterministic_seeded in node.target.tags
        train, dropout, p = (graphs.argument(node, n, None) for n in ("train", "dropout_p", "p"))
        if drawing and (train is False or dropout == 0.0 or ("dropout" in name and p == 0.0)):
            continue
        if drawing:
            raise errors.Unsupported("%s draws random numbers, which PyTorch's generator would give otherwise" % name)
