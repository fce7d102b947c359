# How far long sums are off the same in double: at most as far as PyTorch's.  Interpolation's weights are PyTorch 1.13's to the
# last bit: of scales in float, coordinates in double; and so is what a batch norm in evaluation
# multiplies by and adds, all in float.
def near(y, z, units: float = 1.2) -> bool:
    return bool(float((y.double() - z).norm() / z.norm()) < units * 2.0 ** -24)

def off(y, z, k: int) -> bool:
    return near(y, z, 8.2 * math.sqrt(k / 500))

def linear(i: int, o: int, align: bool):
    scale = torch.tensor(float(i - (1 if align else 0))).float() / torch.tensor(float(o - (1 if align else 0))).float()
    at = torch.arange(o, dtype=torch.float64)
    at = scale.double() * at if align else (scale.double() * (at + 0.5) - 0.5).clamp(min=0.0)
    return (at - at.floor()).float(), at.floor().long()

def norms(x):
    w, b, m, v = torch.rand([48]), torch.randn([48]), torch.randn([48]), torch.rand([48])
    by = w * (1 / (v + torch.tensor(1e-5).float()).sqrt())
    more = (b.double() - m.double() * by.double()).float()
    view = [1, 48] + [1] * (x.dim() - 2)
    far = torch.batch_norm(x + 2.0 ** 40, w, b, m, v, False, 0.1, 1e-5, False)
    print(torch.equal(torch.batch_norm(x, w, b, m, v, False, 0.1, 1e-5, False), more.view(view).expand_as(x)),
          torch.equal(far, (by * 2.0 ** 40).view(view).expand_as(x)))

def forward():
    torch.manual_seed(1)
    for k in [500, 2500, 12500]:
        x, w, v = torch.rand([64, k]), torch.randn([k, 48]), torch.randn([48, k])
        for rows in [1, 2, 12, 64]:
            a = x[:rows]
            print(off(a.mm(w), a.double().mm(w.double()), k), off(a.mm(v.t()), a.double().mm(v.t().double()), k),
                  off(w.t().mm(x[:rows].t()), w.t().double().mm(x[:rows].t().double()), k))
        print(off(w.t().mv(x[0]), w.t().double().mv(x[0].double()), k), off(x[0].dot(v[0]), x[0].double().dot(v[0].double()), k))
    for s in [[7, 7], [56, 60]]:
        x = torch.rand([2, 24, s[0], s[1]])
        print(near(torch.adaptive_avg_pool2d(x, [1, 1]), x.double().mean([2, 3], True), 1.2),
              near(torch.avg_pool2d(x, s), x.double().mean([2, 3], True), 14.0),
              near(torch.adaptive_avg_pool2d(x.contiguous(memory_format=torch.channels_last), [1, 1]), x.double().mean([2, 3], True)),
              near(torch.adaptive_avg_pool1d(x[0, 0], [1]), x[0, 0].double().mean([1], True)))
    n = torch.full([1, 1, 1, 3], 2 ** 60 + 1, dtype=torch.long)                 # integers: exact
    print(torch.equal(torch.avg_pool2d(n, [1, 3]), n[:, :, :, :1]), torch.avg_pool2d(torch.tensor([[[[-7, 0, 0]]]]), [1, 3]).item())
    x = torch.randn([16, 3000])
    for d in [0, 1]:
        print(near(torch.softmax(x, d), torch.softmax(x.double(), d), 2.2), near(torch.log_softmax(x, d), torch.log_softmax(x.double(), d)))
    for i, o in [(320, 800), (300, 1199), (333, 99), (28, 99)]:
        x = torch.zeros([1, 1, 2, i])
        x[:, :, :, 1::2] = 1
        for align in [False, True]:
            w, at = linear(i, o, align)
            w = torch.where(at == i - 1, torch.zeros_like(w), w)
            y = torch.upsample_bilinear2d(x, [2, o], align, None, None)
            print(torch.equal(torch.where(at % 2 == 1, 1 - w, w), y[0, 0, 0]))
    for n in [torch.zeros([2, 48]), torch.zeros([2, 48, 5]), torch.zeros([2, 48, 3, 5]), torch.zeros([2, 3, 5, 48]).permute(0, 3, 1, 2)]:
        norms(n)
# ---
# True True True
# True True True
# True True True
# True True True
# True True
# True True True
# True True True
# True True True
# True True True
# True True
# True True True
# True True True
# True True True
# True True True
# True True
# True True True True
# True True True True
# True -2
# True True
# True True
# True
# True
# True
# True
# True
# True
# True
# True
# True True
# True True
# True True
# True True
# None
