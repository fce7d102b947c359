"""Random nn.Modules as TorchScript source: what tests/oracle/modules.py holds against PyTorch.

make(seed) -> Made: the source of a class M, its inputs for some calls, and the calls.

Every tensor is hard or soft. A hard one holds small multiples of 1/8: no operation on it rounds, so decisions (comparisons,
floor, argmax, what is printed) are made on hard ones only; soft ones (exp, mean, a product of products) are only computed with.
Sizes are tracked as numbers or as sizes of arguments ("x.size(0)"), dtypes by torch's own promotion: most statements are
right for the inputs that programs are profiled on, and a few raise, deliberately or because other inputs come.
"""
import random
from dataclasses import dataclass, field
import torch

FLOATS = ["float32", "float32", "float32", "float64", "float16", "bfloat16"]
INTS = ["int64", "int64", "int32", "uint8", "int16"]
LIMIT = 3            # multiplications of hard floats, one after the other


def dt(name):
    return getattr(torch, name)


def promote(a, b):
    """The dtype of an operation on two tensors (dtype, rank)."""
    return str(torch.result_type(torch.empty((1,) * a[1], dtype=dt(a[0])), torch.empty((1,) * b[1], dtype=dt(b[0]))))[6:]


def is_float(d):
    return d in ("float32", "float64", "float16", "bfloat16")


def is_int(d):
    return d in ("int64", "int32", "uint8", "int16", "int8")


def broadcast(a, b):
    """The shape of an operation on shapes a and b, or None."""
    if len(a) < len(b):
        a, b = b, a
    out = list(a)
    for i in range(1, len(b) + 1):
        if out[-i] == b[-i] or b[-i] == 1:
            continue
        if out[-i] != 1:
            return None
        out[-i] = b[-i]
    return tuple(out)


@dataclass
class Var:
    """A variable, an attribute, or an expression; kind: T tensor, i int, f float, b bool, s str, LT list of tensors, Li list of
    ints, DT dict of tensors by str, OT optional tensor."""
    text: str
    kind: str = "T"
    dtype: str = "float32"
    shape: tuple = ()
    hard: bool = True
    depth: int = 0
    writable: bool = True            # no expanded view, no result of a constant
    keep: bool = False               # sizes and dtype stay when it is assigned
    grad: bool = False


@dataclass
class Method:
    name: str
    params: list
    result: Var
    pure: bool = False


@dataclass
class Made:
    source: str
    params: list                     # of forward: Var
    methods: list                    # exported ones besides forward: no arguments
    entry: object = None             # one more that is called: a Method
    training: bool = False
    features: set = field(default_factory=set)


FEATURES = ["views", "inplace", "attrs", "containers", "control", "errors", "prints", "methods", "subs", "layers", "fork", "nograd",
            "random", "ints", "complex", "shared", "half", "training", "strings", "optional", "early", "raise", "overlap", "slices",
            "loops", "dicts", "params", "scalars"]


class Body:
    """A function that is being written: its lines and what is known in it."""

    def __init__(self, gen, vars, name):
        self.g, self.r = gen, gen.r
        self.lines, self.indent = [], 2
        self.vars = list(vars)
        self.name = name
        self.loop = 0
        self.pure = False
        self.budget = 0
        self.ret = None

    # ---- text

    def line(self, text):
        self.lines.append("    " * self.indent + text)

    def fresh(self, prefix="v"):
        self.g.count += 1
        return f"{prefix}{self.g.count}"

    def on(self, feature):
        return feature in self.g.features

    def chance(self, p):
        return self.r.random() < p

    # ---- choosing

    def all(self, kind, test=lambda v: True):
        vs = [v for v in self.vars if v.kind == kind and test(v)]
        if not self.pure:
            vs += [v for v in self.g.attrs if v.kind == kind and test(v)]
        return vs

    def pick(self, kind, test=lambda v: True):
        found = self.all(kind, test)
        return self.r.choice(found[-6:] if self.chance(0.5) else found) if found else None

    def size(self, dim):
        return str(dim)

    def sizes(self, shape):
        return "[" + ", ".join(self.size(d) for d in shape) + "]"

    def make_new(self, shape, dtype, hard=True):
        """An expression that makes such a tensor."""
        r = self.r
        how = r.choice(["ones", "zeros", "full", "arange"] if is_float(dtype) or is_int(dtype) else ["ones", "zeros"])
        if how == "arange" and len(shape) == 1:
            return f"torch.arange({self.size(shape[0])}, dtype=torch.{dtype})"
        if how in ("full", "arange"):
            return f"torch.full({self.sizes(shape)}, {r.choice([1, 2, 3, 0])}, dtype=torch.{dtype})"
        return f"torch.{how}({self.sizes(shape)}, dtype=torch.{dtype})"

    # ---- tensor expressions

    def tensor(self, depth=2, hard=None, test=lambda v: True):
        """Some tensor expression as a Var; hard=True: it must be hard."""
        ok = lambda v: (not hard or v.hard) and test(v)
        for _ in range(8):
            e = self.pick("T", lambda v: not hard or v.hard) if depth <= 0 or self.chance(0.3) else self.operation(depth, hard)
            if e and ok(e):
                return e
        e = self.pick("T", ok)
        return e or Var(self.make_new((2, 3), "float32"), "T", "float32", (2, 3))

    def like(self, shape, dtype=None, hard=None, depth=1):
        """An expression whose shape can be broadcast to `shape` and, mostly, whose dtype can be cast to `dtype`."""
        def fits(v):
            return broadcast(v.shape, shape) == tuple(shape) and (dtype is None or torch.can_cast(
                dt(promote((v.dtype, len(v.shape)), (dtype, len(shape)))), dt(dtype)))
        for _ in range(6):
            e = self.tensor(depth, hard)
            if fits(e) and (not hard or e.hard):
                return e
        e = self.pick("T", lambda v: fits(v) and (not hard or v.hard))
        if e:
            return e
        small = tuple(shape[len(shape) - 1:]) if self.chance(0.5) else tuple(shape)
        d = dtype or "float32"
        return Var(self.make_new(small, d), "T", d, small)

    def operation(self, depth, hard=None):
        r = self.r
        kinds = [(4, self.unary), (4, self.binary), (2, self.number_op), (2, self.reduction), (1, self.joined), (1, self.choose),
                 (1, self.converted), (1, self.compare)]
        if self.on("views"):
            kinds.append((3, self.view))
        if not hard:
            kinds += [(2, self.soft)]
            if self.on("layers"):
                kinds.append((1, self.layer))
            if self.on("random"):
                kinds.append((1, self.drawn))
        if self.on("ints"):
            kinds.append((2, self.int_op))
        if self.on("complex"):
            kinds.append((2, self.complex_op))
        if self.on("containers"):
            kinds.append((1, self.from_container))
        return r.choices([k for _, k in kinds], [w for w, _ in kinds])[0](depth - 1, hard)

    def unary(self, depth, hard):
        a = self.tensor(depth, hard)
        real = a.dtype != "bool" and not a.dtype.startswith("complex")
        ops = ["{}.clone()", "{}.contiguous()", "{}.detach()"]
        if real:
            ops += ["torch.abs({})", "torch.relu({})", "{}.clamp(-2, 2)", "torch.sign({})", "{}.flip([0])" if a.shape else "{}.clone()"]
        if real and a.dtype != "uint8":
            ops += ["-{}", "{}.neg()"]
        if is_float(a.dtype) and a.hard:
            ops += ["torch.floor({})", "torch.round({})", "torch.ceil({})", "torch.trunc({})"]
        if a.shape:
            ops += ["{}.roll(1, 0)", "{}.contiguous()"]
        if len(a.shape) == 2 and real:
            ops += ["{}.triu()", "{}.tril(1)"]
        if a.shape and a.hard and a.depth < 2 and a.dtype in ("float32", "float64", "int64"):
            ops += ["{}.cumsum(0)"]
        if a.dtype == "bool":
            ops += ["~{}", "{}.logical_not()"]
        op = r_choice(self.r, ops)
        alias = "detach" in op or "contiguous" in op
        return Var("(" + op.format(a.text) + ")" if op[0] in "-~" else op.format(a.text), "T", a.dtype, a.shape, a.hard,
                   a.depth + ("cumsum" in op), writable=not alias or a.writable, grad=a.grad and "detach" not in op)

    def number_op(self, depth, hard):
        a = self.tensor(depth, hard)
        if a.dtype == "bool":
            return a
        grown = 0
        n, kind = r_choice(self.r, [("2", "i"), ("1", "i"), ("-1", "i"), ("0.5", "f"), ("3", "i"), ("1.5", "f"), ("0.25", "f")])
        i = self.pick("i")
        if i and self.chance(0.3):
            n, kind = i.text, "i"
        if a.dtype == "uint8" and n == "-1":
            n = "1"
        d = a.dtype if kind == "i" or not (is_int(a.dtype)) else "float32"
        op = r_choice(self.r, ["{a} + {n}", "{a} * {n}", "{n} - {a}", "{a} - {n}", "torch.add({a}, {a}, alpha={n})"])
        if "*" in op or "alpha" in op:
            grown = 1
        if "alpha" in op and kind == "f" and is_int(a.dtype):
            op = "{a} + {n}"
        return Var("(" + op.format(a=a.text, n=n) + ")", "T", d, a.shape, a.hard and a.depth + grown <= LIMIT, a.depth + grown, grad=a.grad)

    def binary(self, depth, hard):
        a = self.tensor(depth, hard)
        b = self.like(a.shape, None, hard, depth)
        if self.chance(0.5):
            a, b = b, a
        shape = broadcast(a.shape, b.shape)
        if shape is None:
            return None
        d = promote((a.dtype, len(a.shape)), (b.dtype, len(b.shape)))
        hard2, grown = a.hard and b.hard, max(a.depth, b.depth)
        op = r_choice(self.r, ["{} + {}", "{} + {}", "{} - {}", "{} * {}", "torch.maximum({}, {})", "torch.minimum({}, {})", "torch.add({}, {})"])
        if d.startswith("complex") and "imum" in op or d == "bool" and "-" in op:
            op = "{} * {}"
        if "*" in op:
            grown = a.depth + b.depth + 1
        return Var("(" + op.format(a.text, b.text) + ")", "T", d, shape, hard2 and (grown <= LIMIT or is_int(d)), grown, grad=a.grad or b.grad)

    def compare(self, depth, hard):
        a = self.tensor(depth, True, lambda v: not v.dtype.startswith("complex"))
        op = r_choice(self.r, [">", "<", ">=", "<=", "==", "!="])
        if self.chance(0.5):
            return Var(f"({a.text} {op} {r_choice(self.r, ['0', '1', '0.5', '-1'])})", "T", "bool", a.shape)
        b = self.like(a.shape, None, True, depth)
        shape = broadcast(a.shape, b.shape)
        if shape is None or b.dtype.startswith("complex"):
            return None
        return Var(f"({a.text} {op} {b.text})", "T", "bool", shape)

    def reduction(self, depth, hard):
        a = self.tensor(depth, hard)
        if a.dtype.startswith("complex") or not a.shape:
            return a
        d = "int64" if a.dtype == "bool" or is_int(a.dtype) else a.dtype
        dim = self.r.randrange(len(a.shape))
        rest = a.shape[:dim] + a.shape[dim + 1:]
        kept = a.shape[:dim] + (1,) + a.shape[dim + 1:]
        asked = dim if self.chance(0.6) else dim - len(a.shape)
        grown = a.depth + 1
        choices = [(f"{a.text}.sum()", d, (), grown), (f"{a.text}.sum({asked})", d, rest, grown),
                   (f"{a.text}.sum({asked}, keepdim=True)", d, kept, grown)]
        if a.dtype != "bool" and all(s != 0 for s in a.shape):
            choices += [(f"{a.text}.amax({asked})", a.dtype, rest, a.depth), (f"{a.text}.amin({asked}, True)", a.dtype, kept, a.depth),
                        (f"{a.text}.max()", a.dtype, (), a.depth)]
            if a.hard:
                choices += [(f"torch.max({a.text}, {asked})[0]", a.dtype, rest, a.depth),
                            (f"torch.sort({a.text}, {asked})[0]", a.dtype, a.shape, a.depth)]
        choices += [(f"({a.text} != 0).any({asked})", "bool", rest, 0), (f"({a.text} != 0).all()", "bool", (), 0)] if a.hard else []
        text, d, shape, grown = r_choice(self.r, choices)
        return Var(text, "T", d, shape, a.hard and (grown <= LIMIT or is_int(d)), grown, grad=a.grad)

    def joined(self, depth, hard):
        a = self.tensor(depth, hard)
        b = self.pick("T", lambda v: v.shape == a.shape and v.dtype == a.dtype and (not hard or v.hard)) or a
        if not a.shape or self.chance(0.5):
            return Var(f"torch.stack([{a.text}, {b.text}])", "T", a.dtype, (2,) + a.shape, a.hard and b.hard, max(a.depth, b.depth))
        known = isinstance(a.shape[0], int)
        if not known:
            return Var(f"torch.cat([{a.text}, {b.text}])[:{a.text}.size(0)]", "T", a.dtype, a.shape, a.hard and b.hard, max(a.depth, b.depth))
        return Var(f"torch.cat([{a.text}, {b.text}])", "T", a.dtype, (2 * a.shape[0],) + a.shape[1:], a.hard and b.hard, max(a.depth, b.depth))

    def choose(self, depth, hard):
        a = self.tensor(depth, hard)
        c = self.like(a.shape, None, True, depth)
        b = self.pick("T", lambda v: v.shape == a.shape and v.dtype == a.dtype and (not hard or v.hard)) or a
        if c.dtype.startswith("complex") or broadcast(c.shape, a.shape) != a.shape:
            return None
        cond = c.text if c.dtype == "bool" else f"({c.text} > 0)"
        if self.chance(0.3) and a.dtype != "bool":
            return Var(f"{a.text}.masked_fill({cond}, {r_choice(self.r, ['0', '1', '2'])})", "T", a.dtype, a.shape, a.hard, a.depth)
        return Var(f"torch.where({cond}, {a.text}, {b.text})", "T", a.dtype, a.shape, a.hard and b.hard, max(a.depth, b.depth), grad=a.grad or b.grad)

    def converted(self, depth, hard):
        a = self.tensor(depth, hard)
        if a.dtype.startswith("complex"):
            return a
        d = self.g.dtype()
        if not is_float(d) and not a.hard or d == "uint8" and a.dtype != "bool":
            d = "float64"
        how = r_choice(self.r, ["{}.to(torch.{})", "{}.type_as({})" if False else "{}.to(torch.{})", "{}.to({}.dtype)"])
        if how.endswith("dtype)"):
            o = self.pick("T", lambda v: is_float(v.dtype))
            if not o:
                return a
            return Var(f"{a.text}.to({o.text}.dtype)", "T", o.dtype, a.shape, a.hard, a.depth, grad=a.grad)
        return Var(how.format(a.text, d), "T", d, a.shape, a.hard, a.depth, grad=a.grad and is_float(d))

    def soft(self, depth, hard):
        a = self.tensor(depth, None, lambda v: is_float(v.dtype))
        if not is_float(a.dtype):
            return None
        ops = ["torch.tanh({})", "torch.sigmoid({})", "torch.sin({})", "torch.exp(torch.tanh({}))", "torch.sqrt(torch.abs({}) + 1)",
               "({} / 3)", "({} * 0.3)", "torch.nn.functional.gelu({})", "torch.nn.functional.softplus({})"]
        shape = a.shape
        if a.shape:
            ops += ["torch.softmax({}, -1)", "torch.log_softmax({}, 0)", "({}.mean(-1, keepdim=True) + {} * 0)", "torch.cumsum({} * 0.1, -1)"]
        return Var(r_choice(self.r, ops).format(a.text, a.text), "T", a.dtype, shape, False, 9, grad=a.grad)

    def int_op(self, depth, hard):
        a = self.tensor(depth, True, lambda v: is_int(v.dtype))
        if not is_int(a.dtype):
            return None
        op = r_choice(self.r, ["{} // 2", "{} % 3", "{} & 3", "{} | 1", "{} ^ 2", "{} << 1", "{} >> 1", "torch.div({}, 2, rounding_mode='floor')",
                               "torch.remainder({}, 5)", "torch.fmod({}, 4)", "torch.bitwise_and({}, 6)"])
        return Var("(" + op.format(a.text) + ")", "T", a.dtype, a.shape, True, a.depth)

    def complex_op(self, depth, hard):
        a = self.pick("T", lambda v: v.dtype == "complex64")
        if not a:
            b = self.tensor(depth, hard, lambda v: v.dtype == "float32")
            if b.dtype != "float32":
                return None
            return Var(f"torch.complex({b.text}, {b.text} * 0.5)", "T", "complex64", b.shape, b.hard, b.depth + 1)
        op, d = r_choice(self.r, [("{}.conj()", "complex64"), ("{}.real", "float32"), ("{}.imag", "float32"), ("({} * 1j)", "complex64"),
                                  ("torch.view_as_real({})", ""), ("{}.resolve_conj()", "complex64"), ("({} + 1)", "complex64")])
        if d == "":
            if "conj" in a.text:
                return a
            return Var(op.format(a.text), "T", "float32", a.shape + (2,), a.hard, a.depth)
        return Var(op.format(a.text), "T", d, a.shape, a.hard, a.depth)

    def from_container(self, depth, hard):
        c = self.pick(r_choice(self.r, ["LT", "LT", "DT"]), lambda v: not hard or v.hard)
        if not c:
            return None
        key = r_choice(self.r, ["'a'", "'b'"]) if c.kind == "DT" else r_choice(self.r, ["0", "-1", "1", "0"])
        return Var(f"{c.text}[{key}]", "T", c.dtype, c.shape, c.hard, c.depth)

    def layer(self, depth, hard):
        layers = self.g.layers
        if not layers or self.pure:
            return None
        text, kind, cols = r_choice(self.r, layers)
        a = self.like(("2", cols) if False else (2, cols), "float32", None, depth)
        if a.dtype != "float32":
            return None
        x = a.text if a.shape == (2, cols) else f"({a.text} + torch.zeros([2, {cols}]))"
        return Var(f"{text}({x})", "T", "float32", (2, 3) if kind == "Linear" else (2, cols), False, 9, grad=True)

    def drawn(self, depth, hard):
        a = self.tensor(depth, None, lambda v: v.dtype == "float32")
        if a.dtype != "float32":
            return None
        op = r_choice(self.r, ["torch.rand_like({})", "torch.dropout({}, 0.5, True)", "torch.nn.functional.dropout({}, 0.5, self.training)" if
                               not self.pure else "torch.rand_like({})", "torch.randn_like({})", "torch.dropout({}, 0.0, True)"])
        return Var(op.format(a.text), "T", "float32", a.shape, False, 9)

    # ---- views: (text, shape) of a view of v

    def view_of(self, v):
        s, t, r = v.shape, v.text, self.r
        out = []
        if s:
            dim = r.randrange(len(s))
            rest = s[:dim] + s[dim + 1:]
            index = r_choice(r, ["0", "-1"])
            out += [(f"{t}.select({dim}, {index})", rest), (f"{t}.unsqueeze({dim})", s[:dim] + (1,) + s[dim:])]
            if dim == 0:
                out += [(f"{t}[{index}]", rest)]
            if s[dim] == 1:
                out += [(f"{t}.squeeze({dim})", rest)]
            if isinstance(s[dim], int) and s[dim] > 1:
                n = s[dim]
                a = r.randrange(0, n)
                b = r.randrange(a, n + 1) if self.chance(0.3) else n
                step = r_choice(r, [1, 1, 2])
                m = len(range(a, b, step))
                pre = ":, " * dim
                out += [(f"{t}[{pre}{a}:{b}{':2' if step == 2 else ''}]", s[:dim] + (m,) + s[dim + 1:])] * 2
                out += [(f"{t}.narrow({dim}, {a}, {n - a})", s[:dim] + (n - a,) + s[dim + 1:])]
                if n % 2 == 0:
                    out += [(f"{t}.chunk(2, {dim})[1]", s[:dim] + (n // 2,) + s[dim + 1:]), (f"{t}.split({n // 2}, {dim})[0]", s[:dim] + (n // 2,) + s[dim + 1:])]
                    out += [(f"torch.unbind({t}, {dim})[1]", rest)]
        else:
            out += [(f"{t}.view([1])", (1,)), (f"{t}.unsqueeze(0)", (1,))]
        if len(s) == 2:
            out += [(f"{t}.t()", s[::-1]), (f"{t}.transpose(0, 1)", s[::-1]), (f"{t}.permute([1, 0])", s[::-1])]
            if s[0] == s[1]:
                out += [(f"{t}.diagonal()", (s[0],))]
        if all(isinstance(d, int) for d in s) and s:
            n = 1
            for d in s:
                n *= d
            out += [(f"{t}.reshape([-1])", (n,)), (f"{t}.flatten()", (n,))]
        return out

    def view(self, depth, hard):
        a = self.tensor(depth, hard)
        out = self.view_of(a)
        if self.chance(0.12):
            out = [(f"{a.text}.unsqueeze(0).expand({self.sizes((2,) + a.shape)})", (2,) + a.shape)]
            if a.shape and a.shape[0] == 1:
                out = [(f"{a.text}.expand({self.sizes((3,) + a.shape[1:])})", (3,) + a.shape[1:])]
            return Var(out[0][0], "T", a.dtype, out[0][1], a.hard, a.depth, writable=False, grad=a.grad)
        if not out:
            return a
        text, shape = r_choice(self.r, out)
        return Var(text, "T", a.dtype, shape, a.hard, a.depth, writable=a.writable, grad=a.grad)

    # ---- numbers and conditions

    def integer(self):
        i = self.pick("i")
        x = self.pick("T", lambda v: v.shape)
        h = self.pick("T", lambda v: v.hard and is_int(v.dtype) and not v.shape)
        choices = ["1", "2", "0"]
        if i:
            choices += [i.text, i.text, f"({i.text} + 1)", f"{i.text} % 3"]
        if x:
            choices += [f"{x.text}.size(0)", f"{x.text}.dim()", f"len({x.text})", f"{x.text}.numel()"]
        if h:
            choices += [f"int({h.text})", f"int({h.text}.item())"]
        lst = self.pick("LT") or self.pick("Li")
        if lst:
            choices += [f"len({lst.text})"]
        return r_choice(self.r, choices)

    def condition(self):
        r = self.r
        choices = [f"{self.integer()} {r_choice(r, ['>', '<', '==', '!=', '>='])} {self.integer()}"]
        h = self.pick("T", lambda v: v.hard and not v.dtype.startswith("complex"))
        if h:
            choices += [f"bool({h.text}.sum() > {r_choice(r, ['0', '1', '3', '-2'])})", f"bool(({h.text} > 0).any())", f"bool(({h.text} == 0).all())",
                        f"{h.text}.dtype == torch.float32", f"{h.text}.dim() == 2", f"{h.text}.is_floating_point()"]
            if h.shape:
                choices += [f"{h.text}.size(0) > 2"]
        b = self.pick("b")
        if b:
            choices += [b.text, f"not {b.text}"]
        o = self.pick("OT")
        if o and "." not in o.text:
            choices += [f"{o.text} is None", f"{o.text} is not None"]
        if not self.pure:
            choices += ["self.training"]
        d = self.pick("DT")
        if d:
            choices += [f"'b' in {d.text}", f"len({d.text}) > 1"]
        s = self.pick("s")
        if s:
            choices += [f"{s.text} == 'a'", f"len({s.text}) > 2"]
        c = r_choice(r, choices)
        if self.chance(0.15):
            c = f"{c} {r_choice(r, ['and', 'or'])} {r_choice(r, choices)}"
        return c

    # ---- statements

    def bind(self, e, name=None):
        name = name or self.fresh()
        v = Var(name, e.kind, e.dtype, e.shape, e.hard, e.depth, e.writable, False, e.grad)
        self.vars.append(v)
        return v

    def assign(self):
        e = self.tensor(3)
        old = self.pick("T", lambda v: "." not in v.text and "[" not in v.text)
        if old and self.chance(0.3) and (self.indent == 2 or (old.dtype, old.shape) == (e.dtype, e.shape)) and old.hard == e.hard and not old.keep:
            self.line(f"{old.text} = {e.text}")
            self.vars = [v for v in self.vars if v is not old] if self.indent == 2 else self.vars
            if self.indent == 2:
                self.bind(e, old.text)
            return
        self.line(f"{self.fresh()} = {e.text}")
        self.bind(e, f"v{self.g.count}")

    def assign_view(self):
        a = self.pick("T")
        out = self.view_of(a)
        if not out:
            return
        text, shape = r_choice(self.r, out)
        v = self.bind(Var(text, "T", a.dtype, shape, a.hard, a.depth, writable=a.writable, grad=a.grad))
        self.line(f"{v.text} = {text}")

    def target(self):
        """What is written: a tensor or a view of one."""
        v = self.pick("T", lambda v: v.writable and not v.grad and not (self.pure and v.text[0] != "v"))
        if v and self.chance(0.4):
            out = self.view_of(v)
            if out:
                text, shape = r_choice(self.r, out)
                return Var(text, "T", v.dtype, shape, v.hard, v.depth)
        return v

    def written(self, v, grown):
        v.depth = min(v.depth + 0, 9)

    def write(self):
        """In-place operations and their augmented forms."""
        v = self.target()
        if not v:
            return self.assign()
        wrong = self.on("errors") and self.chance(0.12)
        e = self.like(v.shape, None if wrong else v.dtype, v.hard, 1)
        if wrong and self.chance(0.5):
            e = self.tensor(1, v.hard)
        if v.hard and (e.depth >= LIMIT and is_float(v.dtype)):
            e = Var(self.make_new(v.shape, v.dtype), "T", v.dtype, v.shape)
        t = v.text
        real = not v.dtype.startswith("complex")
        ops = [f"{t}.add_({e.text})", f"{t}.copy_({e.text})", f"{t}.zero_()", f"{t}.fill_(1)"]
        if v.dtype != "bool":
            ops += [f"{t}.sub_({e.text})", f"{t}.mul_(-1)" if v.dtype != "uint8" else f"{t}.add_(1)", f"{t}.add_(2)", f"{t}.add_({e.text}, alpha=2)"]
            if real:
                ops += [f"{t}.clamp_(-3, 3)", f"{t}.relu_()", f"{t}.masked_fill_({t} > 1, 0)" if v.hard else f"{t}.clamp_(-1, 1)"]
        if is_float(v.dtype):
            ops += [f"{t}.mul_(0.5)", f"{t}.neg_()"]
            if not v.hard:
                ops += [f"{t}.tanh_()", f"{t}.sigmoid_()", f"{t}.mul_({e.text})", f"{t}.addcmul_({e.text}, {e.text}, value=0.1)"]
        s0 = v.shape[0] if v.shape else 0
        if v.shape and isinstance(s0, int) and s0 > 1 and real:
            rows = self.sizes((1,) + v.shape[1:])
            one = f"torch.ones({rows}, dtype=torch.{v.dtype})"
            at = f"torch.tensor([{self.r.randrange(s0)}])"
            ops += [f"{t}.index_fill_(0, {at}, 1)", f"{t}.index_copy_(0, {at}, {one})", f"{t}.scatter_(0, torch.zeros({rows}, dtype=torch.int64), {one})",
                    f"{t}.index_put_([{at}], {one}[0])"]
            if v.dtype != "bool":
                ops += [f"{t}.index_add_(0, {at}, {one})", f"{t}.scatter_add_(0, torch.zeros({rows}, dtype=torch.int64), {one})"]
        if is_float(v.dtype) and (e.shape == v.shape and e.dtype == v.dtype):
            ops += [f"torch.add({e.text}, 1, out={t})", f"torch.maximum({t}, {e.text}, out={t})", f"{t}.data.add_({e.text})", f"{t}.detach().neg_()"]
        if real and v.hard and v.dtype != "bool":
            ops += [f"{t}.remainder_(3)", f"{t}.floor_()" if is_float(v.dtype) else f"{t}.bitwise_or_(1)", f"{t}.gt_(0)", f"{t}.eq_({e.text})", f"{t}.logical_not_()",
                    f"{t}.div_(2, rounding_mode='floor')", f"{t}.clamp_min_(-1)"]
        if self.chance(0.45):
            simple = t.isidentifier() or t.startswith("self.") and t[5:].replace(".", "").isidentifier() or t.endswith("]")
            if simple and ("(" not in t):
                ops = [f"{t} += {e.text}"] * 2 + ([f"{t} -= {e.text}", f"{t} += 1", f"{t} *= 2" if is_int(v.dtype) else f"{t} *= 0.5"] if v.dtype not in ("bool",) else [])
                if wrong:
                    ops += [f"{t} *= 0.5", f"{t} /= 2", f"{t} += 0.5"]
        self.line(r_choice(self.r, ops))

    def slice_write(self):
        v = self.pick("T", lambda v: v.writable and not v.grad and v.shape and not (self.pure and v.text[0] != "v"))
        if not v:
            return self.assign()
        views = [(t, s) for t, s in self.view_of(v) if t.startswith(v.text + "[")]
        if not views:
            return self.write()
        text, shape = r_choice(self.r, views)
        how = self.r.random()
        if how < 0.3:
            n = r_choice(self.r, ["0", "1", "2", "-1" if v.dtype != "uint8" else "3"])
            self.line(f"{text} = {n}")
            return
        e = self.like(shape, v.dtype, v.hard, 1)
        if v.hard and e.depth >= LIMIT and is_float(v.dtype):
            e = Var(self.make_new(shape, v.dtype), "T", v.dtype, shape)
        if how < 0.45 and v.hard:
            self.line(f"{v.text}[{v.text} > 0] = {r_choice(self.r, ['0', '1'])}" if not v.dtype.startswith("complex") else f"{v.text}.zero_()")
        elif how < 0.55 and v.shape and isinstance(v.shape[0], int) and v.shape[0] > 1:
            self.line(f"{v.text}[torch.tensor([0, {v.shape[0] - 1}])] = {r_choice(self.r, ['0', '1'])}")
        else:
            op = r_choice(self.r, ["=", "=", "+=", "-=" if v.dtype != "bool" else "="])
            self.line(f"{text} {op} {e.text}")

    def overlap(self):
        v = self.pick("T", lambda v: v.writable and not v.grad and len(v.shape) >= 1 and v.dtype != "bool" and not (self.pure and v.text[0] != "v"))
        if not v:
            return
        t = v.text
        if "." not in t or self.on("shared"):         # of overlapping parts that are not dense PyTorch does not say in which order
            e = self.bind(Var(f"{t}.clone()", "T", v.dtype, v.shape, v.hard, v.depth))
            self.line(f"{e.text} = {t}.clone(memory_format=torch.contiguous_format)")
            t = e.text
        lines = [f"{t}[1:] += {t}[:-1]", f"{t}[1:] = {t}[:-1]", f"{t}[1:].add_({t}[:-1])", f"{t}[1:].copy_({t}[:-1])", f"{t}.add_({t})",
                 f"{t}[:] = {t}", f"{t} += {t}", f"{t}[::2] += {t}[::2]", f"{t}.add_({t}.flip([0]))", f"{t}.copy_({t}[-1])", f"{t}.add_({t}[0])", f"{t}.sub_({t}[-1])"]
        if len(v.shape) == 2 and v.shape[0] == v.shape[1]:
            lines += [f"{t}.add_({t}.t())", f"{t}.copy_({t}.t())", f"{t}.t().sub_({t})"]
        self.line(r_choice(self.r, lines))

    def set_attr(self):
        a = self.r.choice(self.g.attrs)
        r = self.r
        if a.kind == "T":
            if "." in a.text[5:] or a.text.startswith("self.p") or a.grad:
                return self.write()
            how = r.random()
            if how < 0.35:
                e = self.tensor(2, a.hard, lambda v: (v.shape, v.dtype) == (a.shape, a.dtype) and v.depth <= a.depth + 1 and not v.grad)
                if (e.shape, e.dtype) == (a.shape, a.dtype) and (e.hard or not a.hard) and not e.grad:
                    self.line(f"{a.text} = {e.text}")
                    return
            e = self.like(a.shape, a.dtype, a.hard, 1)
            if a.hard and e.depth >= LIMIT and is_float(a.dtype) or e.grad:
                e = Var(self.make_new(a.shape, a.dtype), "T", a.dtype, a.shape)
            op = r_choice(r, ["+=", "+=", "-=" if a.dtype != "bool" else "+="])
            lines = [f"{a.text} {op} {e.text}"] * 2 + [f"{a.text}.add_({e.text})", f"{a.text}.copy_({e.text})", f"{a.text} = {a.text}.clone()"]
            if a.dtype != "bool":
                lines += [f"{a.text} += 1", f"{a.text} = {a.text} + 1", f"{a.text} *= 2" if is_int(a.dtype) else f"{a.text} *= 0.5"]
            if a.shape:
                lines += [f"{a.text}[0] = 1", f"{a.text}[-1] += {e.text}[-1]" if e.shape == a.shape else f"{a.text}[-1] = 0"]
            self.line(r_choice(r, lines))
        elif a.kind == "i":
            self.line(r_choice(r, [f"{a.text} += 1", f"{a.text} = {self.integer()} % 5", f"{a.text} = {a.text} * 2 % 7", f"{a.text} -= 1"]))
        elif a.kind == "f":
            self.line(r_choice(r, [f"{a.text} = 0.5 - {a.text}", f"{a.text} *= -1.0", f"{a.text} = float({self.integer()})"]))
        elif a.kind == "b":
            self.line(r_choice(r, [f"{a.text} = not {a.text}", f"{a.text} = {self.condition()}"]))
        elif a.kind == "s":
            self.line(r_choice(r, [f"{a.text} = {a.text}[-4:] + 'x'", f"{a.text} += 'y'", f"{a.text} = str({self.integer()})"]))
        elif a.kind == "LT":
            e = self.like_exact(a)
            self.line(r_choice(r, [f"{a.text}.append({e})", f"{a.text}[0] = {e}", f"{a.text}[-1].add_(1)" if a.dtype != "bool" else f"{a.text}[0].zero_()",
                                   f"{a.text}.pop()" if self.chance(0.3) else f"{a.text}[0].mul_(1)", f"{a.text} = [{e}, {e}]", f"{a.text}[1] += 1" if a.dtype != "bool" else f"{a.text}[0].zero_()",
                                   f"{a.text}.insert(0, {e})", f"{a.text}.reverse()"]))
        elif a.kind == "Li":
            self.line(r_choice(r, [f"{a.text}.append({self.integer()})", f"{a.text}[0] = {self.integer()}", f"{a.text}[0] += 1", f"{a.text} = {a.text}[1:] + [3]", f"{a.text}.sort()"]))
        elif a.kind == "DT":
            e = self.like_exact(a)
            self.line(r_choice(r, [f"{a.text}['b'] = {e}", f"{a.text}['a'].add_(1)" if a.dtype != "bool" else f"{a.text}['a'].zero_()", f"{a.text}['a'] = {e}", f"{a.text}['c'] = {a.text}['a']"]))
        elif a.kind == "OT":
            e = self.like_exact(a)
            self.line(r_choice(r, [f"{a.text} = {e}", f"{a.text} = None"]))

    def like_exact(self, a):
        """Text of a tensor of a's sizes and dtype."""
        v = self.pick("T", lambda v: v.shape == a.shape and v.dtype == a.dtype and v.hard == a.hard and v.depth < LIMIT and not v.grad)
        if v and self.chance(0.7):
            return v.text if self.chance(0.7) else f"{v.text}.clone()"
        return self.make_new(a.shape, a.dtype)

    def new_container(self):
        r = self.r
        kind = r_choice(r, ["LT", "LT", "Li", "DT", "OT"])
        name = self.fresh("c")
        if kind == "Li":
            self.line(f"{name} = [{self.integer()}, {self.integer()}, 3]")
            self.vars.append(Var(name, "Li"))
            return
        a = self.tensor(1)
        b = self.like_exact(a)
        v = Var(name, kind, a.dtype, a.shape, a.hard, a.depth)
        if kind == "LT":
            self.line(f"{name} = [{a.text}, {b}]")
        elif kind == "DT":
            self.line(f"{name} = {{'a': {a.text}, 'b': {b}}}")
        elif self.indent > 2:
            return
        else:
            self.line(f"{name}: Optional[Tensor] = {r_choice(r, ['None', a.text])}")
            self.line(f"if {self.condition()}:")
            self.line(f"    {name} = {a.text}")
        self.vars.append(v)

    def use_container(self):
        r = self.r
        c = self.pick(r_choice(r, ["LT", "Li", "DT", "OT"]))
        if not c or (self.pure and c.text[0] not in "cv"):
            return self.new_container()
        if c.kind == "OT":
            if "." in c.text:
                name = self.fresh("c")
                self.line(f"{name} = {c.text}")
            else:
                name = c.text
            self.line(f"if {name} is not None:")
            self.line(f"    {name}.add_(1)" if c.dtype != "bool" and not c.grad else f"    print({name}.size())")
            return
        if c.kind == "Li":
            self.line(r_choice(r, [f"{c.text}.append({self.integer()})", f"{c.text}[-1] = {self.integer()}", f"{c.text}[0] += 2"]))
            return
        e = self.like_exact(c)
        if c.kind == "LT":
            self.line(r_choice(r, [f"{c.text}.append({e})", f"{c.text}[0] = {e}", f"{c.text}[-1].zero_()" if not c.grad else f"{c.text}[0] = {e}", f"{c.text}[0] += {e}" if c.dtype != "bool" and not c.grad else f"{c.text}.append({e})"]))
        else:
            self.line(r_choice(r, [f"{c.text}['a'] = {e}", f"{c.text}['z'] = {e}", f"{c.text}['a'].zero_()" if not c.grad else f"{c.text}['a'] = {e}", f"{c.text}['a'] += {e}" if c.dtype != "bool" and not c.grad else f"{c.text}['z'] = {e}"]))

    def number(self):
        name = self.fresh("n")
        self.line(f"{name} = {self.integer()}")
        self.vars.append(Var(name, "i"))

    def printed(self):
        r = self.r
        h = self.pick("T", lambda v: v.hard and not v.dtype.startswith("complex") and v.dtype not in ("float16", "bfloat16"))
        choices = [f"'{self.name}', {self.integer()}", f"{self.integer()}"]
        if h:
            choices += [f"{h.text}.size()", f"'t', {h.text}", f"{h.text}.sum()"]
        s = self.pick("s")
        if s and self.on("strings"):
            choices += [s.text, f"'{{}} is {{}}'.format({s.text}, {self.integer()})", f"f'{{{s.text}}}!'"]
        li = self.pick("Li")
        if li:
            choices += [li.text]
        f = self.pick("f")
        if f:
            choices += [f.text]
        self.line(f"print({r_choice(r, choices)})")

    def string(self):
        s = self.pick("s")
        name = self.fresh("s")
        a = s.text if s else "'ab'"
        i = self.integer()
        self.line(f"{name} = " + r_choice(self.r, [f"{a} + 'c'", f"'{{}}-{{}}'.format({a}, {i})", f"str({i})", f"{a}[1:]", f"{a}.upper()", f"'%d:%s' % ({i}, {a})", f"{a}.replace('a', 'b')"]))
        self.vars.append(Var(name, "s"))

    def scalars(self):
        """Statements on numbers, strings and containers, by example: {i} an int, {n} a new name, {l} ints, {s} text, {d} a dict."""
        r = self.r
        ints = ["{i} - 3 * {i}", "-7 // ({i} + 2)", "-7 % ({i} + 3)", "int(({i} + 2) ** 2)", "abs({i} - 2)", "max({i}, 2) - min({i}, 1)", "{i} // ({i} - 1)", "7 % ({i} - 2)",
                "int({f} * 4)", "round({f} * 3)", "math.floor({f})", "math.ceil({f} / 2)", "sum([{i}, 2, {i}])", "len({s})", "{s}.find('a')", "ord('a') + {i}",
                "({i} << 2) | 1", "{i} & 3 ^ {i}", "int({i} > 1) + int(True)", "{l}[0] + {l}[-1]", "len({l})", "{l}[{i}]", "max({l})", "{l}.pop()", "{l}.index(3)",
                "{l}.count(3)", "int('1' + str({i}))", "{i} if {b} else {i} + 5", "len([{n}q + 1 for {n}q in {l}])"]
        floats = ["{f} * 2.0", "{i} / 2", "1.0 / ({i} - 1)", "float({i}) ** 2", "{f} - {i}", "math.sqrt(abs({f}))", "{f} // 0.5", "{f} % 0.75", "max({f}, 0.25)", "abs({f})", "float('0.5') + {f}",
                  "{f} / {f}", "math.pow(2.0, {i})", "-{f}", "{f} if {b} else 2.5"]
        texts = ["{s} + str({i})", "'%s|%d' % ({s}, {i})", "'{{}}:{{}}'.format({i}, {f})", "{s}[{i}:]", "{s}[-1:]", "'a,b,c'.split(',')[{i}]", "','.join(['x', {s}])", "{s}.upper().lower()",
                 "{s}.strip('a')", "f'{{{i}}} and'", "str({l})", "str({f})", "str({b})", "{s} if {b} else 'no'", "'{{}}'.format({l})"]
        lists = ["[{i}, {i} + 1]", "{l} + [{i}]", "{l}[1:]", "{l}[::-1]", "sorted({l})", "[{n}q * 2 for {n}q in {l}]", "list(range({i}))", "{l} * 2", "[0] * ({i})", "{l}[-2:] + {l}[:1]", "{l}.copy()"]
        plain = ["{l}.append({i})", "{l}.extend([{i}, 1])", "{l}.insert({i}, 9)", "{l}.remove(3)", "{l}.reverse()", "{l}.sort(reverse=True)", "{l}[{i}] = 4", "{l}[0] += 2", "{l}.clear()", "del {l}[0]",
                 "{l} += [{i}]", "{n}t = ({i}, {f}, {s})\nprint({n}t[0], {n}t[2])", "for {n}a, {n}b in zip({l}, {l}):\n    print({n}a + {n}b)",
                 "for {n}a, {n}b in enumerate({l}):\n    {l}[{n}a] = {n}b + {n}a", "{n}d = {{'a': {i}, 'b': 2}}\n{n}d['c'] = {i}\nfor {n}k in {n}d:\n    print({n}k, {n}d[{n}k])",
                 "{n}d = {{1: {i}, 2: 5}}\n{n}d[{i}] = 7\nprint({n}d, len({n}d), {i} in {n}d, {n}d.pop({i}))", "{n}d = {{'k': {l}}}\n{n}d['k'].append({i})\nprint({n}d['k'], {l})",
                 "{n}m = [{l}, [{i}]]\n{n}m[0].append(8)\n{n}m[1] = {l}\nprint({n}m, {n}m[0] == {l})", "assert {i} < 3, 'too large: {{}}'.format({i})", "print({l} == [1, 2, 3], {i} in {l}, {s} in ['a', 'bc'])"]
        kind = r_choice(r, ["i", "i", "f", "s", "Li", "plain"])
        have = {"i": self.integer, "f": lambda: self.text_of("f", ["0.5", "1.5", "-2.25"]), "s": lambda: self.text_of("s", ["'ab'", "'xaz'"]), "b": lambda: f"({self.condition()})"}
        lst = self.pick("Li")
        if "{l}" in (text := r_choice(r, {"i": ints, "f": floats, "s": texts, "Li": lists, "plain": plain}[kind])) and not lst:
            lst = Var(self.fresh("c"), "Li")
            self.line(f"{lst.text} = [{self.integer()}, 2, 3]")
            self.vars.append(lst)
        name = self.fresh("n")
        # each {i} is another number
        while True:
            at = [(text.find("{" + w + "}"), w) for w in ("i", "f", "s", "b") if "{" + w + "}" in text.replace("{{", "  ")]
            if not at:
                break
            w = min(at)[1]
            text = text.replace("{" + w + "}", have[w](), 1)
        text = text.replace("{n}", name).replace("{l}", lst.text if lst else "").replace("{{", "{").replace("}}", "}")
        if kind == "plain":
            if "print" in text and self.pure:
                return
            for l in text.split("\n"):
                self.line(l)
            return
        self.line(f"{name} = {text}")
        self.vars.append(Var(name, kind))

    def text_of(self, kind, values):
        v = self.pick(kind)
        return v.text if v and self.chance(0.8) else r_choice(self.r, values)

    # ---- control flow

    def block(self, n):
        """Indented statements; variables that they bind end with them."""
        kept = list(self.vars)
        self.indent += 1
        before = len(self.lines)
        for _ in range(n):
            self.statement()
        if len(self.lines) == before:
            self.line("pass")
        self.indent -= 1
        self.vars = [v for v in kept]

    def branch(self):
        self.line(f"if {self.condition()}:")
        self.block(self.r.randint(1, 3))
        if self.on("early") and self.ret and self.chance(0.15):
            self.indent += 1
            self.line("return " + self.returned())
            self.indent -= 1
            if self.chance(0.5):
                return
        if self.chance(0.6):
            self.line("else:")
            self.block(self.r.randint(1, 3))

    def loop_(self):
        if self.loop >= 2:
            return
        r = self.r
        self.loop += 1
        i = self.fresh("i")
        how = r.random()
        lst = self.pick("LT")
        kept = list(self.vars)
        if how < 0.15 and lst:
            self.line(f"for {i} in {lst.text}[:2]:")
            self.vars.append(Var(i, "T", lst.dtype, lst.shape, lst.hard, lst.depth, grad=lst.grad))
        elif how < 0.3:
            self.line(f"{i} = 0")
            self.line(f"while {i} < {r_choice(r, ['2', '3'])}" + (f" and {self.condition()}:" if self.chance(0.4) else ":"))
            self.line(f"    {i} += 1")
            self.vars.append(Var(i, "i"))
        else:
            count = r_choice(r, ["2", "3", f"min(3, {self.integer()})", f"min(4, {self.integer()})"])
            self.line(f"for {i} in range({count}):")
            self.vars.append(Var(i, "i"))
        self.block(r.randint(1, 3))
        if self.chance(0.25):
            self.indent += 1
            self.line(f"if {self.condition()}:")
            self.line(f"    {r_choice(r, ['break', 'continue'])}")
            if self.chance(0.5):
                self.statement()
            self.indent -= 1
        self.vars = kept
        self.loop -= 1

    def no_grad(self):
        self.line("with torch.no_grad():")
        p = self.pick("T", lambda v: v.text == "self.p0")
        if p and not self.pure and self.chance(0.5):
            self.line(f"    self.p0.{r_choice(self.r, ['add_(1)', 'mul_(-1)', 'zero_()', 'clamp_(-1, 1)', 'copy_(self.p0 + 1)'])}")
        self.block(self.r.randint(1, 3))

    # ---- errors

    def error(self):
        """A statement that raises, sometimes only on some inputs."""
        r = self.r
        if self.chance(0.6):
            self.line(f"if {self.condition()}:")
            self.indent += 1
            self.raise_()
            self.indent -= 1
        else:
            self.raise_()

    def raise_(self):
        r = self.r
        i = self.integer()
        a = self.tensor(1)
        hard = self.pick("T", lambda v: v.hard and v.shape and not v.grad)
        name = self.fresh("e")
        lines = [f"{name} = {a.text} + torch.ones([7, 3])", f"{name} = [1, 2][{i} + 2]", f"{name} = 10 // ({i} * 0)", f"{name} = {{'a': 1}}['b']",
                 f"{name} = {a.text}.view([3, 7])", f"{name} = torch.cat([{a.text}, torch.ones([2, 9, 4])])", f"{name} = {a.text}.size(5)",
                 f"{name} = torch.matmul({a.text}, torch.ones([11, 2]))", f"{name} = {a.text}.reshape([-1, 13])", f"{name} = {i} % ({i} - {i})",
                 f"{name} = torch.ones([3]).to(torch.int64).add_(1.5)", f"{name} = torch.ones([1]).expand([3]).add_(1)",
                 f"{name} = torch.nn.functional.cross_entropy(torch.ones([2, 3]), torch.tensor([0, {r_choice(r, ['3', '9', '-1', '1'])}]))",
                 f"{name} = torch.nn.functional.embedding(torch.tensor([{i} + 5]), torch.ones([4, 2]))", f"{name} = torch.gather(torch.ones([2, 2]), 1, torch.tensor([[{i} + 2]]))",
                 f"{name} = torch.index_select({a.text}, 0, torch.tensor([{r_choice(r, ['99', '-99'])}]))", f"{name} = {a.text}.permute([0, 0])",
                 f"{name} = torch.stack([{a.text}, torch.ones([5])])", f"{name} = torch.ones([2]).unsqueeze(4)", f"{name} = torch.zeros([0]).max()",
                 f"{name} = torch.arange(3, dtype=torch.int64) // torch.zeros([3], dtype=torch.int64)", f"{name} = torch.arange(3) % 0",
                 f"{name} = int({a.text})", f"{name} = float({a.text} != {a.text})", f"{name} = {a.text}.squeeze().item()", f"{name} = torch.ones([3])[{i} + 3]", f"{name} = {a.text}.select(0, 50)",
                 f"{name} = torch.ones([2, 3]).sum(3)", f"{name} = torch.full([2], 1).softmax(0)", f"{name} = torch.linspace(0, 1, -2)", f"{name} = 'ab'[{i} + 7]",
                 f"{name} = torch.ones([2]).narrow(0, 1, 5)", f"{name} = torch.ones([3, 4]).t().view([12])", f"{name} = torch.ones([2, 2]).tril().logical_and_(torch.ones([3]))",
                 f"{name} = {a.text}.masked_select(torch.ones([2]))", f"{name} = torch.bitwise_and(torch.ones([2]), 1)", f"{name} = torch.ones([2], dtype=torch.bool) - torch.ones([2], dtype=torch.bool)",
                 f"{name} = torch.conv1d(torch.ones([1, 2, 3]), torch.ones([1, 2, 5]))", f"{name} = torch.layer_norm(torch.ones([2, 3]), [4])", f"{name} = torch.nn.functional.one_hot(torch.tensor([3]), 2)",
                 f"{name} = torch.tensor([1, 2]).mean()", f"{name} = int('a{i}')" if False else f"{name} = int('x')", f"{name} = torch.ones([2]) @ torch.ones([3])"]
        if self.on("raise") and self.chance(0.5):
            lines = [f"raise {r_choice(r, ['RuntimeError', 'ValueError', 'IndexError', 'KeyError', 'Exception', 'NotImplementedError'])}({r_choice(r, [repr('bad thing'), repr('value {}') + f'.format({i})', repr('')])})",
                     f"assert {self.condition()}, {r_choice(r, [repr('not so'), repr('{} of it') + f'.format({i})'])}", f"assert {self.condition()}"]
        if hard and self.chance(0.3):
            lines = [f"{hard.text}.add_(torch.ones([13]))", f"{hard.text}[99] = 1", f"{hard.text}[:, :, :, 0] = 1", f"{hard.text} += torch.ones([5, 1, 1, 9])", f"{hard.text}.copy_(torch.ones([17]))"]
            if is_int(hard.dtype) or hard.dtype == "bool":
                lines += [f"{hard.text} += 0.5", f"{hard.text}.mul_(1.5)", f"{hard.text}.add_(torch.ones([1]))", f"{hard.text} /= 2"]
        if self.pure and hard and hard.text[0] != "v":
            lines = [l for l in lines if not l.startswith(hard.text)] or [f"{name} = torch.ones([2]) @ torch.ones([3])"]
        self.line(r_choice(r, lines))

    # ---- calls

    def call(self):
        ms = [m for m in self.g.methods if not self.pure or m.pure]
        if not ms:
            return self.assign()
        m = self.r.choice(ms)
        args, bound = self.arguments(m)
        text = f"self.{m.name}({', '.join(args)})"
        if m.pure and self.on("fork") and not self.pure and self.chance(0.4):
            f = self.fresh("f")
            self.line(f"{f} = torch.jit.fork({text[:-1].replace('(', ', ', 1)})")
            if self.chance(0.5) and self.indent == 2:
                self.assign()
            text = f"torch.jit.wait({f})"
        res = m.result
        shape = tuple(bound.get(d, d) for d in res.shape)
        if any(isinstance(d, str) and d.startswith("a") for d in shape):
            shape = ()
        v = self.bind(Var("", "T", res.dtype, shape, res.hard, res.depth, grad=res.grad))
        self.line(f"{v.text} = {text}")

    def arguments(self, m):
        """Texts of the arguments of a method, and what its sizes are."""
        args, bound = [], {}
        last = None
        for p in m.params:
            if p.kind == "i":
                args.append(self.integer())
                continue
            fits = lambda v: v.dtype == p.dtype and len(v.shape) == len(p.shape) and (v.hard or not p.hard) and v.depth <= 1 and not v.grad and v.writable
            if last is not None and self.chance(0.3) and fits(last) and all(bound.get(d, s) == s for d, s in zip(p.shape, last.shape)):
                e = last                                    # the same tensor twice
            else:
                e = self.pick("T", lambda v: fits(v) and all(bound.get(d, s) == s for d, s in zip(p.shape, v.shape)))
            if e is None:
                shape = tuple(bound.get(d, 2 + k) for k, d in enumerate(p.shape))
                e = Var(self.make_new(shape, p.dtype), "T", p.dtype, shape)
            for d, s in zip(p.shape, e.shape):
                bound.setdefault(d, s)
            args.append(e.text)
            last = e
        return args, bound

    def stack(self):
        """Through the modules of a list, one after the other."""
        v = self.bind(Var("", "T", "float32", (2, 3), False, 9, grad=True))
        self.line(f"{v.text} = torch.ones([2, 3])")
        x = self.pick("T", lambda v: v.dtype == "float32" and broadcast(v.shape, (2, 3)) == (2, 3) and not v.text.startswith("self.p") and "(" not in v.text)
        if x and x is not v:
            self.line(f"{v.text} = {v.text} + {x.text}")
        i, layer = self.fresh("i"), self.fresh("l")
        self.line(f"for {i}, {layer} in enumerate(self.stack):")
        self.line(f"    {v.text} = {layer}({v.text})" + r_choice(self.r, ["", f" + {i}", f" * {v.text}"]))
        if self.chance(0.3):
            self.line(f"    if {self.condition()}:")
            self.line(f"        {v.text} = {v.text} + 1")

    def sub_call(self):
        if not self.g.subs or self.pure:
            return self.assign()
        name, m = self.r.choice(self.g.subs)
        args, bound = self.arguments(m)
        shape = tuple(bound.get(d, d) for d in m.result.shape)
        v = self.bind(Var("", "T", m.result.dtype, shape, m.result.hard, m.result.depth, grad=m.result.grad))
        self.line(f"{v.text} = self.{name}({', '.join(args)})")

    # ---- the whole

    def statement(self):
        self.budget -= 1
        if self.budget < 0 or len(self.lines) > 60:
            return self.assign() if len(self.lines) < 60 else None
        kinds = [(4, self.assign), (1, self.number)]
        if self.on("views"):
            kinds.append((2, self.assign_view))
        if self.on("inplace"):
            kinds.append((5, self.write))
        if self.on("slices"):
            kinds.append((3, self.slice_write))
        if self.on("overlap"):
            kinds.append((1, self.overlap))
        if self.on("attrs") and self.g.attrs and not self.pure:
            kinds.append((4, self.set_attr))
        if self.on("containers"):
            kinds += [(1, self.new_container), (2, self.use_container)]
        if self.on("control") and self.indent < 5:
            kinds.append((2, self.branch))
        if self.on("loops") and self.indent < 4:
            kinds.append((1, self.loop_))
        if self.on("errors"):
            kinds.append((1, self.error))
        if self.on("prints") and not self.pure:
            kinds.append((1, self.printed))
        if self.on("strings"):
            kinds.append((0.5, self.string))
        if self.on("scalars"):
            kinds.append((3, self.scalars))
        if self.on("methods"):
            kinds.append((2, self.call))
        if self.on("subs"):
            kinds.append((1, self.sub_call))
        if self.g.stacks and not self.pure:
            kinds.append((1, self.stack))
        if self.on("nograd") and self.indent < 4:
            kinds.append((0.5, self.no_grad))
        self.r.choices([k for _, k in kinds], [w for w, _ in kinds])[0]()

    def returned(self):
        out = []
        for p in self.ret:
            if p.kind == "T":
                v = self.pick("T")
                out.append(v.text if self.chance(0.7) else self.tensor(1).text)
            elif p.kind == "i":
                out.append(self.integer())
            elif p.kind == "LT":
                v = self.pick("LT")
                out.append(v.text if v else f"[{self.pick('T').text}]")
            elif p.kind == "s":
                v = self.pick("s")
                out.append(v.text if v else "'none'")
        return out[0] if len(out) == 1 else "(" + ", ".join(out) + ")"


def r_choice(r, xs):
    return xs[r.randrange(len(xs))]


TYPES = {"T": "Tensor", "i": "int", "f": "float", "b": "bool", "s": "str", "LT": "List[Tensor]", "Li": "List[int]", "DT": "Dict[str, Tensor]",
         "OT": "Optional[Tensor]"}


class Gen:
    def __init__(self, seed, without=()):
        self.r = random.Random(seed)
        self.count = 0
        self.features = {f for f in FEATURES if self.r.random() < 0.55} | ({"inplace"} if self.r.random() < 0.5 else set())
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
        """A tensor of small numbers as Python."""
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
        """Text of a method; the results are of kinds `ret`."""
        b = Body(self, [], name)
        sizes = {}
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
        """A class with state, and one or two attributes that are instances of it."""
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
        """A method that returns all attributes."""
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
    """plain(name, tensor) is an assignment."""
    if line.startswith("self.plain("):
        name, rest = line[len("self.plain("):-1].split(", ", 1)
        return f"self.{name[1:-1]} = {rest}"
    return line


def eval_shape(view, shape):
    t = torch.empty(shape)
    return tuple(eval(view.format("t"), {"t": t}).shape)


def make(seed, without=()):
    return Gen(seed, without).module()
