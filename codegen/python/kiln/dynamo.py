"""torch.compile(model, backend="kiln"): graphs of PyTorch's compiler, for inference.

A graph is compiled in its first call, through torch.export.  Weights are its arguments; those that belong to modules
become constants of the code, which holds for them and their versions: others, and weights that were changed, get code
of their own.  Sizes that the graph has as symbols are open."""
import copy
import operator
from typing import Any, Callable, Dict, List, Optional

import torch
import torch.fx

from . import arrays, capture, errors, model as models

MOST = 8                                               # codes for one graph, for its weights and numbers


def backend(graph: torch.fx.GraphModule, example_inputs: List[Any], options: Optional[Dict[str, Any]] = None,
            mode: Optional[str] = None) -> Callable:
    """What the entry point names.  options: as kiln.compile has them (torch.compile(..., options={"threads": 2}))."""
    if torch.is_grad_enabled() and any(getattr(v, "requires_grad", False) for v in example_inputs):
        errors.warn("a graph that needs gradients runs without Kiln: call the model under torch.no_grad()", once=True)
        return graph.forward
    return _Graph(graph, options or {})


def _source(node):
    source = getattr(node, "_dynamo_source", None)
    name = getattr(source, "name", "")
    return name() if callable(name) else name


class _Graph:
    """A graph, and the codes that it has."""

    def __init__(self, graph, options):
        self.graph, self.options, self.codes, self.failed = graph, options, [], False
        self.inputs = [n for n in graph.graph.nodes if n.op == "placeholder"]
        self.values = [n.meta.get("example_value") for n in self.inputs]
        self.sizes = self._find_sizes()
        kinds = [self._kind(i) for i in range(len(self.inputs))]
        self.kinds = kinds
        self.weights = [i for i, k in enumerate(kinds) if k == "weight"]
        self.numbers = [i for i, k in enumerate(kinds) if k == "number"]

    def _find_sizes(self):
        """For inputs that are a size of a tensor among them: (which, dim)."""
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

    def _kind(self, i):
        """input, weight (of a module), size (of an input), number (the code is for its value)."""
        value, node = self.values[i], self.inputs[i]
        if i in self.sizes:
            return "size"
        if not isinstance(value, torch.Tensor):
            return "number"
        if value.ndim == 0 and node.users and all(u.op == "call_method" and u.target == "item" for u in node.users):
            return "number"                            # a float of Python's
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
            return code(args)
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
        except Exception as e:                         # PyTorch's and Kiln's: the graph runs as it is
            lines = str(e).strip().splitlines()
            errors.warn("a graph runs without Kiln: %s: %s" % (type(e).__name__, lines[0] if lines else ""))
            self.failed = True
            return None
        self.codes.append(code)
        return code


def _version(tensor):
    return 0 if tensor.is_inference() else tensor._version


class _Code:
    """A graph compiled for these weights and numbers."""

    def __init__(self, graph, args, numbers):
        self.at, self.numbers = graph.weights, numbers
        for freeze_buffers in True, False:
            module, inputs, values, shapes = _with_constants(graph, args, freeze_buffers)
            call = capture.Call(module)
            program = capture.exported(module, call, [(tuple(values), {})], shapes)
            if not (freeze_buffers and _writes_buffers(program)):
                break
        _refuse_random(program)
        self.inputs, self.kept = inputs, [i for i in graph.weights if i not in inputs]
        self.weights = [args[i] for i in self.kept]
        self.versions = list(map(_version, self.weights))
        self.model = models.Job(program, None, **graph.options).finish()
        self.signature = self.model._signatures["forward"]
        self.keys = [k.encode() for k in self.signature.keys]

    def takes(self, args, numbers):
        return numbers == self.numbers and all(map(operator.is_, self.weights, map(args.__getitem__, self.kept))) and \
            self.versions == list(map(_version, self.weights))

    def __call__(self, args):
        views = [arrays.TORCH.view(args[i], "") for i in self.inputs]
        model = self.model
        with model._lock:
            model._instance.call(b"forward", [(k, v[0]) for k, v in zip(self.keys, views)])
            results = model._instance.take(arrays.TORCH.own)
        return self.signature.build(results)


def _with_constants(graph, args, freeze_buffers):
    """The graph with tensors as its only inputs: (module, which inputs, their values, dynamic_shapes)."""
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
    """What the graph refers to as self.NAME, nested modules among it."""
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
    """By a constant: of a number of Python's, or of all that asks a tensor for it."""
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


# ---- what an exported graph does


def _calls(program):
    for module in program.graph_module.modules():
        for node in getattr(module, "graph", torch.fx.Graph()).nodes:
            if node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload):
                yield node


def _argument(node, name, default):
    """An argument of an operator's call, by its name in the schema."""
    if name in node.kwargs:
        return node.kwargs[name]
    for i, a in enumerate(node.target._schema.arguments):
        if a.name == name:
            return node.args[i] if i < len(node.args) else a.default_value
    return default


def _origin(node):
    """The node whose memory a tensor has: through views, and what gives back the argument that it wrote."""
    while node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload) and node.args and \
            isinstance(node.args[0], torch.fx.Node) and any(r.alias_info for r in node.target._schema.returns):
        node = node.args[0]
    return node


def _written(node):
    """The arguments that a call writes to; a norm's statistics, when it learns."""
    schema = node.target._schema
    found = [_argument(node, a.name, None) for a in schema.arguments if a.alias_info and a.alias_info.is_write]
    if "norm" in schema.name and any(_argument(node, n, False) for n in ("training", "train", "use_input_stats")):
        found += [_argument(node, "running_mean", None), _argument(node, "running_var", None)]
    return [n for n in found if isinstance(n, torch.fx.Node)]


def _writes_buffers(program):
    """Does it write to a buffer of its module?  A graph inside of it, as of a condition, is taken to."""
    buffers = set(program.graph_signature.inputs_to_buffers)
    return any(node.graph is not program.graph or _origin(n).name in buffers
               for node in _calls(program) for n in _written(node))


def _refuse_random(program):
    for node in _calls(program):
        name = node.target._schema.name
        drawing = torch.Tag.nondeterministic_seeded in node.target.tags
        if drawing and (_argument(node, "train", None) is False or _argument(node, "dropout_p", None) == 0.0 or
                        ("dropout" in name and _argument(node, "p", None) == 0.0)):
            continue
        if drawing:
            raise errors.Unsupported("%s draws random numbers, which PyTorch's generator would give otherwise" % name)
