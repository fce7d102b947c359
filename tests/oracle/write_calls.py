"""The calls that writes.py records: the writes, as TorchScript, and the modules that contain them."""
import torch

PAIRS = """f32 f32, i64 f32, f32 i64, b8 i64, i64 b8, b8 f32, b8 b8, f64 f32, f32 f64, c64 f32, f32 c64, i32 i64, i64 i32, u8 i8, f16 f32,
bf16 bf16, i64 i64, u8 i64, i64 c64, f16 i64, c64 c64"""
DTYPES = dict(f32=torch.float32, f64=torch.float64, f16=torch.float16, bf16=torch.bfloat16, i64=torch.int64, i32=torch.int32, i8=torch.int8,
              u8=torch.uint8, b8=torch.bool, c64=torch.complex64)

# Calls on self (u) with a tensor of self's sizes (y). i: indices of rows. j: a row index for each element.
WITH_TENSOR = """add_(y)|sub_(y)|mul_(y)|div_(y)|add_(y, alpha=2)|sub_(y, alpha=2)|div_(y, rounding_mode="floor")|div_(y, rounding_mode="trunc")
floor_divide_(y)|remainder_(y)|fmod_(y)|pow_(y)|float_power_(y)|true_divide_(y)|multiply_(y)|subtract_(y)|divide_(y)
lt_(y)|gt_(y)|le_(y)|ge_(y)|eq_(y)|ne_(y)|less_(y)|greater_(y)|less_equal_(y)|greater_equal_(y)|not_equal_(y)
bitwise_and_(y)|bitwise_or_(y)|bitwise_xor_(y)|bitwise_left_shift_(y)|bitwise_right_shift_(y)|logical_and_(y)|logical_or_(y)|logical_xor_(y)
atan2_(y)|hypot_(y)|copysign_(y)|nextafter_(y)|xlogy_(y)|gcd_(y)|lcm_(y)|heaviside_(y)|ldexp_(y)|igamma_(y)
clamp_(y)|clamp_(max=y)|clamp_min_(y)|clamp_max_(y)|lerp_(y, 0.5)|lerp_(y, y)|addcmul_(y, y)|addcmul_(y, y, value=0.5)|addcdiv_(y, y)|addcdiv_(y, y, value=2)
copy_(y)|fill_(y[0, 0])|masked_fill_(y.to(torch.bool), y[0, 0])|masked_fill_(y.to(torch.bool), 2)|masked_scatter_(u.to(torch.bool), y)
index_put_([i], y[:2])|index_put_([i], y[:2], accumulate=True)|index_copy_(0, i, y[:2])|index_add_(0, i, y[:2])|index_fill_(0, i, y[0, 0])
index_copy_(0, i - 3, y[:2])|index_copy_(1, i + 2, y[:, :2])|index_copy_(0, i, y)|index_copy_(0, i, y[0])|index_copy_(0, i[0], y[0])
index_fill_(1, i - 3, y[0, 1])|index_fill_(0, i + 2, y[0, 0])|index_fill_(0, i, y[0])|fill_(y[0])|fill_(y[0, 1])|masked_fill_(u > 0, y[0, 1])|masked_scatter_(u > 0, y)|masked_scatter_(u > 0, y[0])
copy_(y[0])|copy_(y.t())|t().copy_(y)|select(0, 0).copy_(y)|clamp_(y, u.clone())|clamp_(y[0], y[1])|addmm_(y, y)|addmm_(y.t(), y, beta=2, alpha=0.5)|select(0, 0).addmv_(y, y[0])
select(0, 0).addmv_(y, y[0], beta=2, alpha=0.5)|addbmm_(y.unsqueeze(0), y.unsqueeze(0), beta=2, alpha=0.5)|unsqueeze(0).baddbmm_(y.unsqueeze(0), y.unsqueeze(0))|addr_(y[:, 0], y[0], beta=2, alpha=0.5)
put_(i, y[0, :2])|scatter_(0, j, y)|scatter_add_(0, j, y)|scatter_(0, j, y, reduce="add")|addr_(y[:, 0], y[0])|__ior__(y)|__iand__(y)|__ixor__(y)"""
ALONE = """abs_()|acos_()|acosh_()|asin_()|asinh_()|atan_()|atanh_()|bitwise_not_()|ceil_()|cos_()|cosh_()|deg2rad_()|digamma_()|erf_()
erfc_()|erfinv_()|exp_()|exp2_()|expm1_()|floor_()|frac_()|lgamma_()|log_()|log10_()|log1p_()|log2_()|logical_not_()|neg_()|reciprocal_()|round_()
round_(decimals=1)|rsqrt_()|sgn_()|sign_()|sin_()|sinc_()|sinh_()|sqrt_()|square_()|tan_()|tanh_()|trunc_()|i0_()|sigmoid_()|relu_()
nan_to_num_()|logit_(0.1)|zero_()|conj_physical_()|rad2deg_()|triu_()|tril_(1)|cumsum_(0)|cumprod_(1)|fill_diagonal_(2)|renorm_(2., 0, 1.)
add_(2)|add_(1.5)|add_(1j)|sub_(2)|sub_(1.5)|mul_(2)|mul_(1.5)|mul_(1j)|div_(2)|div_(1.5)|div_(2, rounding_mode="floor")|floor_divide_(2)
remainder_(2)|remainder_(1.5)|fmod_(2)|fmod_(1.5)|pow_(2)|pow_(0.5)|pow_(-1)|float_power_(2)|lt_(1)|ge_(0.5)|eq_(1)|ne_(0.5)
bitwise_and_(1)|bitwise_or_(2)|bitwise_xor_(3)|bitwise_left_shift_(1)|copysign_(1)|copysign_(-1.)|xlogy_(2)|xlogy_(1.5)
clamp_(0, 1)|clamp_(-0.5)|clamp_min_(0.5)|clamp_max_(1)|hardtanh_()|fill_(1.5)|fill_(2)|fill_(1j)|masked_fill_(u > 0, 1.5)
mvlgamma_(1)|mvlgamma_(2)|mvlgamma_(0)|select(0, 0).triu_()|select(0, 0).tril_(1)|select(0, 0)[0].triu_()|tril_(-1)|fill_diagonal_(1.5)|fill_diagonal_(1j)|fill_diagonal_(300)|fill_diagonal_(2, True)
select(0, 0).fill_diagonal_(2)|unsqueeze(0).fill_diagonal_(2)|view(9, 1).fill_diagonal_(2, True)|index_fill_(0, i, 300)|index_fill_(0, i, 1j)|index_fill_(5, i, 2)|index_fill_(0, i.to(torch.int32), 2)|index_fill_(0, i.view(1, 2), 2)
masked_fill_(u > 0, 1j)|masked_fill_(u > 0, 300)|masked_fill_(u > 0, -1)|fill_(300)|fill_(-1)|fill_(1e300)|clamp_(0., 1.5)|clamp_(2, 1)|index_fill_(0, i, 1.5)|scatter_(0, j, 1.5)|scatter_(0, j, 2, reduce="multiply")"""
FUNCTIONS = """relu_(u)|elu_(u)|leaky_relu_(u)|hardtanh_(u, -1., 2.)|relu6(u, inplace=True)|selu_(u)|celu_(u)|threshold_(u, 0.5, 2.)|silu(u, inplace=True)
mish(u, inplace=True)|hardswish(u, inplace=True)|hardsigmoid(u, inplace=True)|dropout(u, 0.5, True, True)"""
MOST = 60             # largest number of calls of a case, since a program has at most so many specializations
PRELUDE = "import torch\nimport torch.nn.functional as F\nfrom torch import Tensor\nfrom typing import List, Optional\n\n"


def words(text):
    return [w for line in text.splitlines() for w in line.split("|")]


def branches(statements, indent=8):
    """Returns an if for each, in the order of `op`."""
    return "".join(f"{' ' * indent}{'elif' if k else 'if'} op == {k}:\n" + "".join(f"{' ' * indent}    {line}\n" for line in s)
                   for k, s in enumerate(statements))


# ---- all operators and dtypes

def numbers(dtype, shift):
    """Returns [3, 3] numbers with zeros, negative numbers and fractions, if the dtype has them."""
    base = torch.tensor([1.0, -0.5, 0.25, 2.0, -3.0, 0.0, 0.75, 1.5, 3.0]).roll(shift)
    if dtype.is_complex:
        return (base + 1j * base.roll(2)).to(dtype).view(3, 3)
    if dtype == torch.uint8:
        base = base.abs()
    return (base if dtype.is_floating_point or dtype == torch.bool else base * 2).to(dtype).view(3, 3)


def is_judged(text, a, b):
    """Is this call compared with PyTorch? Left out are calls whose message differs from PyTorch's: quotients with a rounding mode
    of complex and bool, and calls of which another one of two errors comes first. Left out as well are calls in which PyTorch
    itself is wrong: comparisons of complex numbers in place, and atan on its branch cut."""
    return not ("rounding_mode" in text and (b == "c64" or (a, b) == ("b8", "i64")) or a == "c64" and text.startswith(("eq_", "ne_", "not_equal_", "atan_", "arctan_"))
                or ("addmv_" in text or "baddbmm_" in text) and b == "b8" or "addr_" in text and "alpha" in text and a == "b8"
                or text in ("mvlgamma_(1)", "mvlgamma_(2)") and a in ("i64", "i32", "i8", "u8", "bf16"))


def typed(name, calls):
    """Returns calls (text, dtype, dtype), on clones and on arguments."""
    texts = sorted({t for t, _, _ in calls})
    statements = [[f"u = {u}", t if t.startswith("F.") else "u." + t, "return u, x"] for t in texts for u in ("x.clone()", "x")]
    source = (PRELUDE + "class M(torch.nn.Module):\n    def forward(self, op: int, x: Tensor, y: Tensor):\n"
              "        u, i, j = x, torch.tensor([2, 0]), torch.tensor([[0, 1, 2], [1, 2, 0], [2, 0, 1]])\n" + branches(statements) + "        return u, x\n")
    return name, source, [("forward", dict(op=2 * texts.index(t) + k % 2, x=numbers(DTYPES[a], 0), y=numbers(DTYPES[b], 4)), True)
                          for k, (t, a, b) in enumerate(calls)], None


def types():
    pairs = [p.split() for p in PAIRS.replace("\n", " ").split(",")]
    calls = [(t, a, b) for t in words(WITH_TENSOR) for a, b in pairs if is_judged(t, a, b)]
    calls += [(t, a, "f32") for t in words(ALONE) + ["F." + t for t in words(FUNCTIONS)] for a in DTYPES if is_judged(t, a, "f32")]
    for k in range(0, len(calls), MOST):
        yield typed(f"types{k // MOST:02}", calls[k:k + MOST])


# ---- writes that overlap

PLACES = """v[1:] v[:-1]|v[:-1] v[1:]|v[2:5] v[1:4]|v[:4] v[4:8]|v[::2] v[1::2]|v[::2] v[::2]|v[:8] v[::2]|v v|v v.view(16)|v[3:] v[3:]|v[:6] v[:7]
m m.t()|m.t() m|m.t() m.t()|m[1:] m[:-1]|m[:, 1:] m[:, :-1]|m[0] m[:, 0]|m[0] m[1]|m m[0]|m m[:, :1]|m v.view(4, 4)|m[:2] m[1:3].t()[:2].t()|m m.diagonal()
m.diagonal() m[0]|v[:4].expand(3, 4) o[:3]|v[:1].expand(4) v[4:8]|v[:1].expand(1) v[:1]|v.as_strided([2, 2], [2, 4]) v[:2]
v.as_strided([2, 3], [1, 2]) v[:3]|v[0:0] v[0:0]|m[0:0] m[0]|v[0] v[0]|v[0] v[1]|v[0] v|v[:1] v[0]|v[2:4] v[3]|v.expand(2, 16) v|w.t() w|w w.view(8, 2).t()
w.permute(1, 0)[1:] w.t()[:-1]|q.transpose(1, 2) q|q[:, 0] q[:, 1]|q[:, 0] q[0]|q q[:, :1]|v.view(1, 16) v|m.view(2, 8) v[:8]|v[4:8] m[1]|m[1] m.view(16)[4:8]|m[:, 0] m[:, 0]|o v"""
WRITES = """{d}.add_({s})|{d}.mul_({s})|{d}.copy_({s})|{d}.addcmul_({s}, o[0, 0])|{d}.addcdiv_(o[0, 0], {s})|{d}.lerp_({s}, 0.5)|{d}.lerp_(o[0, 0], {s})|{d}.clamp_({s})
{d}.gt_({s})|{d}.atan2_({s})|{d}.pow_({s})|torch.add({s}, 1, out={d})|torch.mul({s}, {s}, out={d})|torch.exp({s}, out={d})|torch.div(o[0], {s}, out={d})|{d}.masked_fill_({d} > 0, 1.5)
{d}.masked_fill_(o[0, 0] > 0, {s}.sum())|{d}.masked_scatter_({d} > 0, {s})|{d}.index_put_([i], {s}[0])|{d}.index_copy_(0, i, {s})|{d}.index_add_(0, i, {s})
{d}.fill_({s}.sum())|{d}.fill_(v[0])|{d}.fill_(2.)|{d}.zero_()|{d}.relu_()|{d}.neg_()|{d}.sub_(1.)|{d}.cumsum_(0)|{d}.index_fill_(0, i, 3.)|{d}.uniform_()|{d}.bernoulli_(0.5)
{d}.normal_()|{d}.floor_()|{d}.clamp_(-1., 1.)|torch.cumsum({s}, 0, out={d})|torch.sum({s}, 0, out={d})|{d}.scatter_(0, k, {s})|{d}.scatter_add_(0, k, {s})
{d}.put_(i, {s}.flatten()[:1])|{d}.index_put_([i], {s}[0], accumulate=True)|torch.cat([{s}, {s}], out={d})|torch.stack([{s}, {s}], out={d})"""
OTHERS = """m.addr_(m[0], m[1])
torch.where(m > 0, m.t(), m)|m.copy_(torch.where(m > 0, m.t(), m))|torch.argmax(m, 0, out=n[:4])
m.t().add_(m.t())|m.t().add_(m, alpha=2.)|m.t_().add_(m)|m.transpose_(0, 1).add_(o)|v.addcmul_(v[:1], v)|v[1:].addcmul_(o.view(16)[1:], v[:-1])|v[1:].addcmul_(v[:-1], o.view(16)[1:])
v[1:].addcdiv_(v[1:], v[:-1])|v[1:].addcdiv_(v[:-1], v[1:])|m.lerp_(m.t(), m)|m.lerp_(m, m.t())|v[1:].lerp_(o.view(16)[1:], v[:-1])|v[1:].clamp_(v[1:], v[:-1])|v[1:].clamp_(min=v[:-1])
v[1:].clamp_(max=v[:-1])|v[1:] += v[:-1]|v[1:] -= v[:-1]|v[1:] *= v[:-1]|v[1:] /= v[:-1]|v[1:] = v[:-1]|v[:-1] = v[1:]|m[:] = m.t()|m.t()[:] = m|m[0] = m[:, 0]|m[0] += m[:, 0]
m[m > 0] = m[0, 0]|m[m > 0] += 1.|m[i] = m[:2]|m[i] += m[1:3]|m[0, 0] = m[1, 1]|m[0, 0] += m[0, 0]|v[0] += v[0]|v[0] += v[1]
c.real.add_(c.imag)|c.imag.copy_(c.real)|c.add_(c.real)|c.real.copy_(c)|c.add_(c.conj())|c.copy_(c.conj())|torch.view_as_real(c).add_(c.real.unsqueeze(1))|torch.view_as_real(c).copy_(torch.view_as_real(c).flip(1))
torch.view_as_real(c)[:, 0].add_(torch.view_as_real(c)[:, 1])|torch.view_as_real(c).mul_(torch.view_as_real(c)[:1])|v.add_(n)|n.add_(v)|n[1:].add_(n[:-1])|n[1:].add_(v[1:])|n[1:].sub_(n[:-1] > 0)|n[1:].div_(n[:-1])
(n > 0)[1:].sub_((n > 0)[1:])|e[1:].sub_(e[:-1])|e[1:].logical_and_(e[:-1])|e[1:].bitwise_and_(e[:-1])|n[1:].bitwise_or_(n[:-1])|n[1:].floor_divide_(n[:-1])|n[1:].gcd_(n[:-1])
v.view(torch.int32)[1:].add_(v.view(torch.int32)[:-1])|v.copy_(v.view(torch.int32))|v.view(torch.int32).copy_(v)|v.add_(v.view(torch.int32))|v[1:].add_(v.view(torch.int32)[:-1])
m.add_(o, alpha=2.).t().add_(m)|m.set_(v)|m.resize_(2, 2).add_(m)|v.add_(o)|v.add_(v.view(2, 8))|v[1:].add_(v[:-2])|n[1:].add_(v[:-2])|n[1:].mul_(1.5)|n.expand(2, 16).mul_(1.5)|n.expand(2, 16).add_(v)
v[:1].expand(4).add_(v[:5])|e[1:].add_(v[:-1])|e[:1].expand(3).sub_(e[:3])|m.diagonal().add_(m.diagonal())|m.diagonal().add_(v[::5])|m.diagonal().copy_(m[:, 0])|q[0].t().mul_(q[0])|v.unfold(0, 2, 1).fill_(1.)
v.unfold(0, 2, 1)[:, 0].add_(v.unfold(0, 2, 1)[:, 1])|v.unfold(0, 2, 2).add_(v.unfold(0, 2, 2))|torch.relu_(v[:1].expand(3))|F.relu(v[:1].expand(3), inplace=True)|F.elu(v.expand(2, 16), inplace=True)
F.dropout(v[:1].expand(3), 0.5, True, True)|F.hardtanh_(v[:1].expand(3))|F.leaky_relu(v[:1].expand(3), inplace=True)|F.threshold_(v.expand(2, 16), 0., 1.)|m.fill_diagonal_(2.)
torch.add(v[1:], v[:-1], out=v[1:])|torch.add(v[1:], v[1:], out=v[1:])|torch.add(v[1:], v[1:], out=v[:-1])|torch.sub(v, v, out=v)|torch.add(v[:3], v[:3], out=v[:1].expand(3))|torch.neg(m, out=m.t())|torch.neg(m.t(), out=m)
torch.addcmul(v, v, v, out=v)|torch.addcmul(v[1:], v[:-1], v[1:], out=v[1:])|torch.clamp(v[:-1], 0., 1., out=v[1:])|torch.where(e, v, v)|torch.cat([v[:8], v[8:]], out=v)|torch.cat([v[8:], v[:8]], out=v)|torch.abs(v[1:], out=v[:-1])
torch.add(v, v, out=m)|torch.add(m, v, out=v)|torch.gt(v, 0, out=e)|torch.logical_not(e[1:], out=e[:-1])|torch.bitwise_not(n[1:], out=n[:-1])|torch.cumsum(v[1:], 0, out=v[:-1])|torch.index_select(m, 0, i, out=m[:2])
torch.gather(m, 1, k, out=m)|torch.take(v, i, out=v[:2])|torch.softmax(m, 0, out=m)|m.renorm_(2., 0, 1.)|m[:, 0].cumprod_(0)|m[:1].expand(4, 4).renorm_(2., 0, 1.)|m.masked_fill_(m > m.t(), 0.)
e.view(4, 4).masked_fill_(e.view(4, 4), 1)|e[1:].masked_fill_(e[:-1], 1)|e.view(4, 4).t().masked_fill_(e.view(4, 4), 0)|e[:1].expand(4).masked_fill_(e[:4], 1)|v[:1].expand(4).masked_fill_(e[:4], 1.)|v[1:].masked_scatter_(e[1:], v[:-1])
v.masked_scatter_(e, v)|n.index_fill_(0, n[:2].clamp(0, 3), 1)|n.index_copy_(0, i, n[:2])|n.index_add_(0, n[:2].clamp(0, 3), n[2:4])|n.scatter_(0, n.clamp(0, 3), n)|n.scatter_(0, n.abs_().clamp_(0, 3), 5)|n.put_(n[:2].clamp(0, 3), n[2:4])
n.scatter_(0, n[4:8].clamp_(0, 3), n[:4])|n.scatter_add_(0, n[4:8].clamp_(0, 3), n[:4])|n.index_put_([n[4:8].clamp_(0, 3)], n[:4])|n.index_put_([i], n[:2], accumulate=True)|v.expand(2, 16).index_put_([i.clamp(0, 1)], v)|v.expand(3, 16).scatter_(0, k, m)"""


def overlap_source(statements):
    """Returns the statement of op, on a clone if op is even, else on a buffer."""
    texts = [[f"v = {'self.b' if k % 2 else 'x.clone()'}", "m, w, q = v.view(4, 4), v.view(2, 8), v.view(4, 2, 2)", "print('before')", s,
              "print('behind')", "return v"] for k, s in enumerate(statements)]
    return (PRELUDE + "class M(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.register_buffer('b', torch.arange(16.) - 5)\n\n    @torch.jit.export\n    def state(self):\n        return self.b.clone()\n\n"
            "    def forward(self, op: int, x: Tensor, o: Tensor, n: Tensor, e: Tensor, c: Tensor):\n"
            "        i, k = torch.tensor([2, 0]), torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0], [2, 3, 0, 1], [3, 0, 1, 2]])\n"
            + branches(texts) + "        return x\n")


def overlap(name, statements, copied):
    """Returns the statements between prints, followed by the buffer's state."""
    calls = []
    for op in range(len(statements)):
        args = dict(op=op, x=torch.arange(16.) - 5, o=torch.arange(16.).view(4, 4) / 4 + 1, n=torch.arange(16) - 5,
                    e=torch.tensor([True, False, True, True] * 4), c=torch.view_as_complex(torch.arange(16.).view(8, 2)))
        calls.append(("forward", args, True))
        if op % 2:
            calls.append(("state", {}, False))
    return name, overlap_source(statements), calls, overlap_source(copied)


def is_settled(write, d, s):
    """Does PyTorch give this overlapping write a defined answer? It does not for draws and masked_scatter_ on a permuted tensor,
    which follow the order of memory instead of elements. It does not notice the overlap of a scan's `out`, or of a scan of a
    0-d tensor. For cat it is open which of two overlaps the message names."""
    return not ("torch.cat" in write and "expand" in d or "permute" in d and ("bernoulli_" in write or "masked_scatter_" in write) or "torch.cumsum" in write and ("as_strided" in d or s == "v[3]"))


def overlaps():
    """Returns all of OTHERS, and every write with every seventh place."""
    made = [c for c in [(w, *split(p)) for w in words(WRITES) for p in words(PLACES)][::7] if is_settled(*c)]
    texts = [(w.format(d=d, s=s), w.format(d=d, s=s + ".clone()")) for w, d, s in made] + [(t, t) for t in words(OTHERS)]
    for k in range(0, len(texts), MOST):
        yield overlap(f"overlaps{k // MOST:02}", [t for t, _ in texts[k:k + MOST]], [t for _, t in texts[k:k + MOST]])


def split(place):
    """Splits the two expressions at the blank outside of brackets."""
    depth = 0
    for at, c in enumerate(place):
        depth += (c in "([") - (c in ")]")
        if c == " " and not depth:
            return place[:at], place[at + 1:]


# ---- errors of kernels, with their tracebacks

RAISING = """F.cross_entropy(x, i + 9)|F.nll_loss(x, i + 9)|torch.embedding(x, i + 9)|x.index_select(0, i + 9)|x[i + 9]|x.gather(0, (i + 9).view(1, 3))|torch.mm(x, x[:2])
torch.bmm(x, x)|x + x[:, :2]|x.view(7)|x.reshape(2, -1, 4)|x.expand(2, 3)|torch.cat([x, x[0]])|torch.stack([x, x[0]])|x[7]|x.select(0, 5)|x.transpose(0, 4)|x.sum(3)
F.softmax(x, 5)|F.linear(x, x[:, :2])|x.squeeze(9)|x.chunk(0)[0]|x.split(2, 5)[0]|x.unfold(0, 9, 1)
F.batch_norm(x, x[0, :2], x[0, :2])|x.clone().add_(x[:, :2])|x[0].clone().add_(x)|(i + 1).add_(x[0])|x[0].clone().mul_(x)|x[:2].clone().copy_(x)
(x > 0).sub_(x > 0)|(x > 0) - (x > 0)|-(x > 0)|x.clone().scatter_(0, (i + 9).view(1, 3), x)|x.clone().index_put_([i + 9], x)|i // 0|i % 0|i.pow(-1)|x.clone().masked_scatter_(x > -9, x[0])
x.clone().squeeze_().t().add_(x[0, :2])|torch.addmm(x, x[:2], x)|torch.where(x > 0, x, x[:, :2])|x.clone()[1:].add_(x[:, :1].t())|x.clone().fill_(x)|x.item()|int(x)|x.tolist()|F.one_hot(i, 1)|torch.arange(0, 3, 0)|x.permute(0, 1, 1)
x.narrow(0, 2, 5)|x.repeat(2)|torch.dot(x[0], x[0, :2])|x.clone()[1:].mul_(x[0, :2])|x.clone().view(9)[1:].add_(x[0])|F.mse_loss(x, x[:, :2])|F.binary_cross_entropy(x - 9, x)|torch.einsum('ij,jk->ik', x, x[:2])|x.index_fill(0, i + 9, 1.)|x.median(9)[0]
F.layer_norm(x, [3], x[0].double())|F.layer_norm(x.double(), [3], x[0])|F.group_norm(x, 1, x[0].double(), x[0].double())|F.batch_norm(x, x[0], x[1].double())
F.batch_norm(x.double(), x[0], x[1], training=True)|F.batch_norm(x.double(), x[0].double(), x[1].double(), x[0])|F.instance_norm(x.view(1, 3, 3), weight=x[0].double())
F.batch_norm(x.double(), x[0], x[1], x[0].double())"""


def is_raised(expression):
    x, i = torch.arange(9.).view(3, 3) - 4, torch.arange(3)
    try:
        eval(expression, dict(torch=torch, F=torch.nn.functional, x=x, i=i))
    except Exception:
        return True
    return False


def traces():
    """Returns each call in a function that is called in a loop, after pointwise operators that are fused with it if possible."""
    texts = [t for t in words(RAISING) if is_raised(t)]
    for k in range(0, len(texts), MOST):
        part = texts[k:k + MOST]
        source = (PRELUDE + "\n\n".join(f"def f{n}(x: Tensor, i: Tensor):\n    y = x * 2\n    z = {t}\n    return z" for n, t in enumerate(part))
                  + "\n\n\nclass M(torch.nn.Module):\n    def forward(self, op: int, x: Tensor, i: Tensor):\n        y = (x + 1) - 1\n"
                  + branches([[f"print(f{n}(y, i))"] for n in range(len(part))]) + "        return y\n")
        yield f"traces{k // MOST}", source, [("forward", dict(op=n, x=torch.arange(9.).view(3, 3) - 4, i=torch.arange(3)), True) for n in range(len(part))], None


GROUPS = dict(types=types, overlaps=overlaps, traces=traces)
