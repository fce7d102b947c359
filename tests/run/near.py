# Errors of functions, norms, softmax, products and regions in float against double, in units of 2 ** -24: of each element for
# functions, of the largest for sums.
def values(n: int, by: int = 7919):
    return ((torch.arange(n) * by) % 20011).float() / 2048.0 - 4.875

def each(name: str, y, z, units: float):
    y, z = torch.nan_to_num(y.double(), 12345.0, 3e38, -3e38), torch.nan_to_num(z, 12345.0, 3e38, -3e38)
    print(name, bool(((y - z).abs() <= units * 2.0 ** -24 * z.abs() + 1e-44).all()))

def largest(name: str, y, z, units: float = 4.0):
    print(name, y.numel(), bool((y.double() - z).abs().max() <= units * 2.0 ** -24 * z.abs().max()))

def functions(x):
    z = x.double()
    each("exp", torch.exp(x), torch.exp(z), 4.0)
    each("expm1", torch.expm1(x), torch.expm1(z), 4.0)
    each("log", torch.log(x.abs()), torch.log(z.abs()), 4.0)
    each("log2", torch.log2(x.abs()), torch.log2(z.abs()), 4.0)
    each("log1p", torch.log1p(x.abs()), torch.log1p(z.abs()), 4.0)
    each("tanh", torch.tanh(x), torch.tanh(z), 4.0)
    each("erf", torch.erf(x), torch.erf(z), 4.0)
    each("sigmoid", torch.sigmoid(x), torch.sigmoid(z), 6.0)
    largest("silu", torch.nn.functional.silu(x), torch.nn.functional.silu(z))
    largest("gelu", torch.nn.functional.gelu(x), torch.nn.functional.gelu(z))
    largest("gelu tanh", torch.nn.functional.gelu(x, approximate="tanh"), torch.nn.functional.gelu(z, approximate="tanh"))

def norms(c: int):
    x, w, b = values(9 * c).view(9, c) * 0.7, values(c, 31) * 0.2, values(c, 77)
    largest("layer_norm", torch.layer_norm(x, [c], w, b, 1e-5, False), torch.layer_norm(x.double(), [c], w.double(), b.double(), 1e-5, False))
    largest("layer_norm plain", torch.layer_norm(x, [c], None, None, 1e-5, False), torch.layer_norm(x.double(), [c], None, None, 1e-5, False))

def softmax(x, d: int):
    largest("softmax", torch.softmax(x, d), torch.softmax(x.double(), d))
    largest("log_softmax", torch.log_softmax(x, d), torch.log_softmax(x.double(), d))

def forward():
    for n in [20011, 7]:
        functions(values(n))
    functions(torch.tensor([0.0, 1e-38, 80.0, -80.0, 1.0, -1.0, 1e-3, -1e-3]))
    ends = torch.tensor([math.inf, -math.inf, 1e-45, -1e-45, 88.7, 88.8, -87.2, -104.1, 3e38])
    each("exp", torch.exp(ends), torch.exp(ends.double()).float().double(), 4.0)
    each("expm1", torch.expm1(ends), torch.expm1(ends.double()).float().double(), 4.0)
    each("log", torch.log(ends.abs()), torch.log(ends.double().abs()), 4.0)
    each("log1p", torch.log1p(ends.abs()), torch.log1p(ends.double().abs()), 4.0)
    each("tanh", torch.tanh(ends), torch.tanh(ends.double()), 4.0)
    each("erf", torch.erf(ends), torch.erf(ends.double()), 4.0)
    for c in [5, 8, 20, 128, 768, 2051]:
        norms(c)
    for m, n, k in [(40, 196, 96), (5, 17, 64), (7, 7, 500), (20, 31, 50), (12, 196, 30), (30, 50, 400), (10, 20, 500)]:
        x, w = values(m * k).view(m, k) * 0.3, values(k * n, 6007).view(k, n) * 0.7
        z = torch.mm(x.double(), w.double())
        largest("mm", torch.mm(x, w), z, 16.0)
        largest("mm by transposed", torch.mm(x, w.t().contiguous().t()), z, 16.0)
        largest("mm of transposed", torch.mm(x.t().contiguous().t(), w), z, 16.0)
        largest("addmm", torch.addmm(values(n, 77), x, w), z + values(n, 77).double(), 16.0)
        largest("addmm of a column", torch.addmm(values(1, 77), x, w[:, :1]), z[:, :1] + values(1, 77).double(), 16.0)
    x = values(2 * 24 * 196).view(2, 24, 14, 14)
    w, b = values(24, 31), values(24, 77)
    largest("group_norm", torch.group_norm(x, 4, w, b, 1e-5, False), torch.group_norm(x.double(), 4, w.double(), b.double(), 1e-5, False))
    for c in [3, 8, 91, 1000]:
        for d in [0, 1]:
            softmax(values(7 * c).view(7, c), d)
    softmax(values(2 * 21 * 37).view(2, 21, 37), 1)
    for n in [1, 2, 3, 5]:
        x, w = values(3 * n * 16).view(3, n, 16), values(48 * n, 31).view(3, 16, n)
        largest("bmm", torch.bmm(x, w), torch.bmm(x.double(), w.double()), 8.0)
    x = values(16 * 50 * 48).view(1, 16, 50, 48)
    at = values(200, 31).view(50, 4).abs() * 20
    rois = torch.cat([torch.zeros([50, 1]), at[:, :2], at[:, :2] + at[:, 2:]], 1)
    for ratio in [0, 2]:
        largest("roi_align", torch.ops.torchvision.roi_align(x, rois, 0.25, 7, 5, ratio, ratio == 2),
                torch.ops.torchvision.roi_align(x.double(), rois.double(), 0.25, 7, 5, ratio, ratio == 2), 100.0)
# ---
# exp True
# expm1 True
# log True
# log2 True
# log1p True
# tanh True
# erf True
# sigmoid True
# silu 20011 True
# gelu 20011 True
# gelu tanh 20011 True
# exp True
# expm1 True
# log True
# log2 True
# log1p True
# tanh True
# erf True
# sigmoid True
# silu 7 True
# gelu 7 True
# gelu tanh 7 True
# exp True
# expm1 True
# log True
# log2 True
# log1p True
# tanh True
# erf True
# sigmoid True
# silu 8 True
# gelu 8 True
# gelu tanh 8 True
# exp True
# expm1 True
# log True
# log1p True
# tanh True
# erf True
# layer_norm 45 True
# layer_norm plain 45 True
# layer_norm 72 True
# layer_norm plain 72 True
# layer_norm 180 True
# layer_norm plain 180 True
# layer_norm 1152 True
# layer_norm plain 1152 True
# layer_norm 6912 True
# layer_norm plain 6912 True
# layer_norm 18459 True
# layer_norm plain 18459 True
# mm 7840 True
# mm by transposed 7840 True
# mm of transposed 7840 True
# addmm 7840 True
# addmm of a column 40 True
# mm 85 True
# mm by transposed 85 True
# mm of transposed 85 True
# addmm 85 True
# addmm of a column 5 True
# mm 49 True
# mm by transposed 49 True
# mm of transposed 49 True
# addmm 49 True
# addmm of a column 7 True
# mm 620 True
# mm by transposed 620 True
# mm of transposed 620 True
# addmm 620 True
# addmm of a column 20 True
# mm 2352 True
# mm by transposed 2352 True
# mm of transposed 2352 True
# addmm 2352 True
# addmm of a column 12 True
# mm 1500 True
# mm by transposed 1500 True
# mm of transposed 1500 True
# addmm 1500 True
# addmm of a column 30 True
# mm 200 True
# mm by transposed 200 True
# mm of transposed 200 True
# addmm 200 True
# addmm of a column 10 True
# group_norm 9408 True
# softmax 21 True
# log_softmax 21 True
# softmax 21 True
# log_softmax 21 True
# softmax 56 True
# log_softmax 56 True
# softmax 56 True
# log_softmax 56 True
# softmax 637 True
# log_softmax 637 True
# softmax 637 True
# log_softmax 637 True
# softmax 7000 True
# log_softmax 7000 True
# softmax 7000 True
# log_softmax 7000 True
# softmax 1554 True
# log_softmax 1554 True
# bmm 3 True
# bmm 12 True
# bmm 27 True
# bmm 75 True
# roi_align 28000 True
# roi_align 28000 True
# None
