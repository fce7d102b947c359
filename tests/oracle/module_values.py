"""Tensor expressions of random modules: the facts known about variables, and operations on them (module_source.py makes the
whole)."""
from dataclasses import dataclass
import torch

FLOATS = ["float32", "float32", "float32", "float64", "float16", "bfloat16"]
INTS = ["int64", "int64", "int32", "uint8", "int16"]
LIMIT = 3            # largest number of successive multiplications of hard floats


def dt(name):
    return getattr(torch, name)


def promote(a, b):
    """Returns the dtype of an operation on two tensors (dtype, rank)."""
    return str(torch.result_type(torch.empty((1,) * a[1], dtype=dt(a[0])), torch.empty((1,) * b[1], dtype=dt(b[0]))))[6:]


def is_float(d):
    return d in ("float32", "float64", "float16", "bfloat16")


def is_int(d):
    return d in ("int64", "int32", "uint8", "int16", "int8")


def broadcast(a, b):
    """Returns the shape of an operation on shapes a and b, or None."""
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
    writable: bool = True            # neither an expanded view nor the result of a constant
    keep: bool = False               # assignments must keep its sizes and dtype
    grad: bool = False


@dataclass
class Method:
    name: str
    params: list
    result: Var
    pure: bool = False


def r_choice(r, xs):
    return xs[r.randrange(len(xs))]


class Values:
    """A function that is being written: its lines, the facts known in it, and expressions of known values."""

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
        """Returns an expression that makes such a tensor."""
        r = self.r
        how = r.choice(["ones", "zeros", "full", "arange"] if is_float(dtype) or is_int(dtype) else ["ones", "zeros"])
        if how == "arange" and len(shape) == 1:
            return f"torch.arange({self.size(shape[0])}, dtype=torch.{dtype})"
        if how in ("full", "arange"):
            return f"torch.full({self.sizes(shape)}, {r.choice([1, 2, 3, 0])}, dtype=torch.{dtype})"
        return f"torch.{how}({self.sizes(shape)}, dtype=torch.{dtype})"

    # ---- tensor expressions

    def tensor(self, depth=2, hard=None, test=lambda v: True):
        """Returns some tensor expression as a Var. hard=True: it must be hard."""
        ok = lambda v: (not hard or v.hard) and test(v)
        for _ in range(8):
            e = self.pick("T", lambda v: not hard or v.hard) if depth <= 0 or self.chance(0.3) else self.operation(depth, hard)
            if e and ok(e):
                return e
        e = self.pick("T", ok)
        return e or Var(self.make_new((2, 3), "float32"), "T", "float32", (2, 3))

    def like(self, shape, dtype=None, hard=None, depth=1):
        """Returns an expression whose shape can be broadcast to `shape` and, mostly, whose dtype can be cast to `dtype`."""
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
        a = self.like((2, cols), "float32", None, depth)
        if a.dtype != "float32":
            return None
        # the norm of equal elements is only rounding errors; the added ramp is exact
        ramp = f"((torch.arange({2 * cols}, dtype=torch.float32) * 0.375 - 1) ** 2).reshape([2, {cols}])"
        return Var(f"{text}({a.text} + {ramp})", "T", "float32", (2, 3) if kind == "Linear" else (2, cols), False, 9, grad=True)

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
