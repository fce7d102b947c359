# Errors of sums, softmax, interpolation and norms against double: at most as large as PyTorch's.
def near(y, z, units: float = 1.2) -> bool:
    return bool(float((y.double() - z).norm() / z.norm()) < units * 2.0 ** -24)

def off(y, z, k: int) -> bool:
    return near(y, z, 8.2 * math.sqrt(k / 500))

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
        print(near(torch.nn.functional.adaptive_avg_pool2d(x, [1, 1]), x.double().mean([2, 3], True), 1.2),
              near(torch.nn.functional.avg_pool2d(x, s), x.double().mean([2, 3], True), 14.0),
              near(torch.nn.functional.adaptive_avg_pool2d(x.contiguous(memory_format=torch.channels_last), [1, 1]), x.double().mean([2, 3], True)),
              near(torch.adaptive_avg_pool1d(x[0, 0], [1]), x[0, 0].double().mean([1], True)))
    n = torch.full([1, 1, 1, 3], 2 ** 60 + 1, dtype=torch.long)                 # integers: exact
    print(torch.equal(torch.nn.functional.avg_pool2d(n, [1, 3]), n[:, :, :, :1]), torch.nn.functional.avg_pool2d(torch.tensor([[[[-7, 0, 0]]]]), [1, 3]).item())
    x = torch.randn([16, 3000])
    for d in [0, 1]:
        print(near(torch.softmax(x, d), torch.softmax(x.double(), d), 2.2), near(torch.log_softmax(x, d), torch.log_softmax(x.double(), d)))
    for i, o in [(320, 800), (300, 1199), (333, 99), (28, 99)]:
        x = torch.randn([1, 1, 2, i])
        for align in [False, True]:
            print(near(torch.upsample_bilinear2d(x, [2, o], align, None, None),
                       torch.upsample_bilinear2d(x.double(), [2, o], align, None, None), 200.0))
    w, b, m, v = torch.rand([48]), torch.randn([48]), torch.randn([48]), torch.rand([48])
    for n in [torch.randn([2, 48]), torch.randn([2, 48, 5]), torch.randn([2, 48, 3, 5]), torch.randn([2, 3, 5, 48]).permute(0, 3, 1, 2)]:
        print(near(torch.batch_norm(n, w, b, m, v, False, 0.1, 1e-5, False),
                   torch.batch_norm(n.double(), w.double(), b.double(), m.double(), v.double(), False, 0.1, 1e-5, False)))
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
# True
# True
# True
# True
# None
