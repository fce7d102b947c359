"""Random nn.Modules as TorchScript source, which tests/oracle/modules.py runs in Kiln and in PyTorch.

make(seed) -> Made: the source of a class M, its inputs for some calls, and the calls.

Every tensor is hard or soft. A hard tensor contains small multiples of 1/8, so no operation on it rounds. Decisions
(comparisons, floor, argmax, prints) read only hard tensors. Soft ones (exp, mean, a product of products) are operands of
computations only. Sizes are tracked as numbers or as sizes of arguments ("x.size(0)"), dtypes by torch's own promotion. So
most statements are valid for the profiled inputs. A few raise, deliberately or on other inputs.
"""
import random
from dataclasses import dataclass, field
import torch
from module_body import Body
from module_values import Method, Var, is_float, r_choice


@dataclass
class Made:
    source: str
    params: list                     # of forward, each a Var
    methods: list                    # exported methods other than forward, without arguments
    entry: object = None             # another method to call: a Method
    training: bool = False
    features: set = field(default_factory=set)


FEATURES = ["views", "inplace", "attrs", "containers", "control", "errors", "prints", "methods", "subs", "layers", "fork", "nograd",
            "random", "ints", "complex", "shared", "half", "training", "strings", "optional", "early", "raise", "overlap", "slices",
            "loops", "dicts", "params", "scalars"]


TYPES = {"T": "Tensor", "i": "int", "f": "float", "b": "bool", "s": "str", "LT": "List[Tensor]", "Li": "List[int]", "DT": "Dict[str, Tensor]",
         "OT": "Optional[Tensor]"}


class Gen:
    def __init__(self, seed, without=()):
        self.r = random.Random(seed)
        self.count = 0
        self.features = {f for f in FEATURES if self.r.random() < 0.55} | ({"inplace"} if self.r.random() < 0.5 else set())
        self.features |= {"aliased"}             # operands of writes may be views of the written tensor; otherwise they are copies
        self.features -= set(without)
        self.attrs, self.methods, self.layers, self.subs, self.stacks = [], [], [], [], False
        self.init = []
        self.literals = []

    def dtype(self):
        r = self.r
        pool = ["float32"] * 5 + ["float64"]
        if "ints" in self.features:
            pool += ["int64", "int64", "int32", "bool", "uint8"]
        if "half" in self.features:
            pool += ["bfloat16", "float16"]
        return r_choice(r, pool)

    # ---- attributes

    def literal(self, shape, dtype, tries=20):
        """Returns a tensor of small numbers as Python text."""
        r = self.r
        n = 1
        for d in shape:
            n *= d
        low = 0 if dtype in ("uint8", "bool") else -3
        values = [r.randint(low, 3) if not is_float(dtype) else r.randint(-12, 12) / 4 for _ in range(n)]
        if r.random() < 0.3 and "shared" in self.features:
            values = [0] * n
        text = f"torch.tensor({values}, dtype=torch.{dtype}).reshape({list(shape)})"
        if "shared" not in self.features and n and tries and (values, dtype) in self.literals:
            return self.literal(shape, dtype, tries - 1)
        self.literals.append((values, dtype))
        return text

    def shape(self):
        return r_choice(self.r, [(3,), (4,), (2, 3), (3, 4), (), (1,), (3, 3), (4, 4), (2, 1), (0,), (3, 4), (4,)])

    def add_attrs(self):
        r = self.r
        tensors = []
        for i in range(r.randint(1, 4)):
            shape, dtype = self.shape(), self.dtype()
            name = f"t{i}"
            same = [t for t in tensors if t.shape]
            how = r.random()
            if "shared" in self.features and same and how < 0.6:
                o = r_choice(r, same)
                view = r_choice(r, ["{0}", "{0}[1:]" if o.shape[0] and isinstance(o.shape[0], int) and o.shape[0] > 1 else "{0}", "{0}.view(-1)", "{0}.t()" if len(o.shape) == 2 else "{0}",
                                    "{0}.clone()", "{0}.data", "{0}.detach()", "{0}[0]", "{0}[:-1]" if o.shape[0] and o.shape[0] > 1 else "{0}"])
                if view == "{0}[0]" and not o.shape[0]:
                    view = "{0}"
                shape, dtype = eval_shape(view, o.shape), o.dtype
                self.init.append(f"self.{r_choice(r, ['register_buffer', 'plain'])}({name!r}, {view.format(o.text)})")
            else:
                self.init.append(f"self.{r_choice(r, ['register_buffer', 'register_buffer', 'plain'])}({name!r}, {self.literal(shape, dtype)})")
            v = Var(f"self.{name}", "T", dtype, shape, True, 1)
            tensors.append(v)
            self.attrs.append(v)
        if "params" in self.features:
            shape = r_choice(r, [(3,), (4,), (3, 4)])
            self.init.append(f"self.p0 = nn.Parameter({self.literal(shape, 'float32')})")
            self.attrs.append(Var("self.p0", "T", "float32", shape, True, 1, grad=True))
            if "shared" in self.features and r.random() < 0.5:
                self.init.append("self.register_buffer('pd', self.p0.data)")
                self.attrs.append(Var("self.pd", "T", "float32", shape, True, 1))
        kinds = ["i", "f", "b"] + (["s"] if "strings" in self.features else [])
        for kind in kinds:
            if r.random() < 0.6:
                value = {"i": r.randint(0, 4), "f": r.choice([0.5, 1.0, -0.25]), "b": r.random() < 0.5, "s": r.choice(["a", "bc", ""])}[kind]
                self.init.append(f"self.{kind}0 = {value!r}")
                self.attrs.append(Var(f"self.{kind}0", kind))
        if "containers" in self.features:
            self.add_containers(tensors)

    def add_containers(self, tensors):
        r = self.r
        own = r_choice(r, tensors)
        shape, dtype = own.shape, own.dtype
        mine = f"{own.text}" if "shared" in self.features and r.random() < 0.5 else self.literal(shape, dtype)
        if r.random() < 0.6:
            self.init.append(f"self.lt = [{mine}, {self.literal(shape, dtype)}]")
            self.attrs.append(Var("self.lt", "LT", dtype, shape, True, 1))
        if r.random() < 0.4:
            self.init.append(f"self.li = {[r.randint(0, 3) for _ in range(3)]}")
            self.attrs.append(Var("self.li", "Li"))
        if "dicts" in self.features and r.random() < 0.7:
            self.init.append(f"self.dt = {{'a': {mine}, 'b': {self.literal(shape, dtype)}}}")
            self.attrs.append(Var("self.dt", "DT", dtype, shape, True, 1))
        if "optional" in self.features and r.random() < 0.7:
            self.init.append(f"self.ot = {r_choice(r, ['None', mine])}")
            self.attrs.append(Var("self.ot", "OT", dtype, shape, True, 1))

    def add_layers(self):
        r = self.r
        for i in range(r.randint(1, 2)):
            kind, cols = r_choice(r, [("Linear", 4), ("BatchNorm1d", 3), ("LayerNorm", 3), ("Dropout", 3), ("Dropout0", 4), ("BatchNorm1d", 4), ("Sequential", 3)])
            text = {"Linear": "nn.Linear(4, 3)", "BatchNorm1d": f"nn.BatchNorm1d({cols})", "LayerNorm": f"nn.LayerNorm({cols})", "Dropout": "nn.Dropout(0.5)",
                    "Dropout0": "nn.Dropout(0.0)", "Sequential": "nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 3))"}[kind]
            self.init.append(f"self.layer{i} = {text}")
            self.layers.append((f"self.layer{i}", kind, cols))
        if r.random() < 0.4:
            self.stacks = True
            self.init.append(f"self.stack = nn.ModuleList([nn.Linear(3, 3), {r_choice(r, ['nn.Tanh()', 'nn.ReLU(inplace=True)', 'nn.BatchNorm1d(3)', 'nn.Dropout(0.25)', 'nn.Identity()'])}])")

    # ---- functions

    def function(self, name, params, ret, statements, pure=False):
        """Returns the text of a method. The results are of kinds `ret`."""
        b = Body(self, [], name)
        b.pure = pure
        for p in params:
            b.vars.append(p)
        b.ret = ret
        b.budget = statements * 3
        before = [(v, v.depth) for v in self.attrs]
        for _ in range(statements):
            b.statement()
        text = b.returned()
        b.line(f"return {text}")
        for v, d in before:
            v.depth = d
        args = ", ".join(f"{p.text}: {TYPES[p.kind]}" for p in params)
        kinds = ", ".join(TYPES[p.kind] for p in ret)
        kinds = kinds if len(ret) == 1 else f"Tuple[{kinds}]"
        head = f"    def {name}(self{', ' if args else ''}{args}) -> {kinds}:"
        return [head] + b.lines, b

    def add_method(self, i):
        r = self.r
        pure = r.random() < 0.4
        d = self.dtype()
        rank = r.choice([1, 2, 2])
        sizes = [f"a.size({k})" for k in range(rank)]
        params = [Var("a", "T", d, tuple(sizes), True, 0)]
        if r.random() < 0.6:
            params.append(Var("b", "T", d if r.random() < 0.7 else self.dtype(), tuple(sizes), True, 0))
        if r.random() < 0.5:
            params.append(Var("n", "i"))
        b = Body(self, params, f"m{i}")
        b.pure = pure
        b.budget = 10
        attrs, self.attrs = self.attrs, [] if pure else self.attrs
        for _ in range(r.randint(1, 4)):
            b.statement()
        result = b.tensor(2)
        self.attrs = attrs
        if result.grad:
            result = Var(f"{result.text}.detach()", "T", result.dtype, result.shape, result.hard, result.depth)
        b.line(f"return {result.text}")
        args = ", ".join(f"{p.text}: {TYPES[p.kind]}" for p in params)
        m = Method(f"m{i}", params, Var("", "T", result.dtype, result.shape, result.hard, result.depth), pure)
        return [f"    def m{i}(self, {args}) -> Tensor:"] + b.lines, m

    def add_sub(self):
        """Adds a class with state, and one or two attributes that are instances of it."""
        r = self.r
        outer = (self.attrs, self.methods, self.layers, self.subs, self.init)
        self.attrs, self.methods, self.layers, self.subs, self.init = [], [], [], [], []
        self.add_attrs()
        lines, m = self.add_method(0)
        text = ["class Sub(nn.Module):"] + self.annotations() + ["    def __init__(self):", "        super().__init__()"] + ["        " + fix(l) for l in self.init] + [""]
        text += [lines[0].replace("def m0", "def forward")] + lines[1:] + [""]
        inner = self.attrs
        self.attrs, self.methods, self.layers, self.subs, self.init = outer
        self.init.append("self.sub = Sub()")
        self.subs.append(("sub", m))
        how = r.random()
        if how < 0.4:
            self.init.append("self.sub2 = self.sub")
            self.subs.append(("sub2", m))
        elif how < 0.7:
            self.init.append("self.sub2 = Sub()")
            self.subs.append(("sub2", m))
        for v in inner:
            if v.kind == "T" and r.random() < 0.7:
                name = r_choice(r, self.subs)[0]
                self.attrs.append(Var(f"self.{name}.{v.text[5:]}", "T", v.dtype, v.shape, v.hard, v.depth, grad=v.grad))
                if "shared" in self.features and r.random() < 0.3 and not v.grad:
                    self.init.append(f"self.register_buffer('of_sub', self.sub.{v.text[5:]})")
                    self.attrs.append(Var("self.of_sub", "T", v.dtype, v.shape, v.hard, v.depth))
                    break
        return text

    def annotations(self):
        return ["    ot: Optional[Tensor]", ""] if any(l.startswith("self.ot = ") for l in self.init) else []

    def state(self):
        """Returns a method that returns all attributes."""
        parts = []
        for v in self.attrs:
            if v.kind == "T":
                parts.append((f"{v.text}.clone()", "Tensor"))
            elif v.kind in ("i", "f", "b", "s"):
                parts.append((v.text, TYPES[v.kind]))
            elif v.kind in ("LT", "Li", "DT"):
                parts.append((v.text, TYPES[v.kind]))
        parts += [(f"{t}.running_mean", "Optional[Tensor]") for t, kind, _ in self.layers if kind == "BatchNorm1d"]
        parts += [("0", "int"), ("0", "int")] if len(parts) < 2 else []
        return ["    @torch.jit.export", f"    def state(self) -> Tuple[{', '.join(t for _, t in parts)}]:", f"        return ({', '.join(p for p, _ in parts)})"]

    def module(self):
        r = self.r
        text = ["import torch, math", "from torch import nn, Tensor", "from typing import Dict, List, Optional, Tuple", "", ""]
        sub = self.add_sub() if "subs" in self.features else []
        self.add_attrs()
        if "layers" in self.features:
            self.add_layers()
        methods = []
        if "methods" in self.features:
            for i in range(r.randint(1, 3)):
                lines, m = self.add_method(i)
                methods += lines + [""]
                self.methods.append(m)
        entry = None
        if self.methods and r.random() < 0.5:
            entry = r_choice(r, [m for m in self.methods])
            methods = [f"    @torch.jit.export\n{l}" if l.startswith(f"    def {entry.name}(") else l for l in methods]
        d = self.dtype()
        params = [Var("x", "T", d, ("x.size(0)", "x.size(1)"), True, 0)]
        if r.random() < 0.7:
            params.append(Var("y", "T", r_choice(r, [d, d, self.dtype()]), r_choice(r, [("x.size(0)", "x.size(1)"), ("x.size(1)",), ("x.size(0)", 1), (), (1, "x.size(1)"), (3, 4), (4, 4)]), True, 0))
        params.append(Var("k", "i"))
        if "complex" in self.features and r.random() < 0.5:
            params.append(Var("z", "T", "complex64", ("z.size(0)",), True, 0))
        if "optional" in self.features and r.random() < 0.4:
            params.append(Var("o", "OT", "float32", ("x.size(1)",), True, 0))
        if "containers" in self.features and r.random() < 0.3:
            params.append(Var("l", "LT", "float32", (3,), True, 0))
        ret = [Var("", "T") for _ in range(r.randint(1, 3))] + [Var("", k) for k in ("i", "LT", "s") if r.random() < 0.2]
        forward, _ = self.function("forward", params, ret, r.randint(3, 12))
        text += sub + [""] + ["class M(nn.Module):"] + self.annotations() + ["    def __init__(self):", "        super().__init__()"]
        text += ["        " + fix(l) for l in self.init] + [""] + methods + self.state() + [""] + forward
        return Made("\n".join(text) + "\n", params, ["state"], entry, "training" in self.features, self.features)


def fix(line):
    """Replaces plain(name, tensor) by an assignment."""
    if line.startswith("self.plain("):
        name, rest = line[len("self.plain("):-1].split(", ", 1)
        return f"self.{name[1:-1]} = {rest}"
    return line


def eval_shape(view, shape):
    t = torch.empty(shape)
    return tuple(eval(view.format("t"), {"t": t}).shape)


def make(seed, without=()):
    return Gen(seed, without).module()
