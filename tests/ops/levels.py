# Eager kernels with loops for each level of the processor, compared with the same computation by other operators. The returned
# tensors must have the same bits on any number of threads.

def near(what: str, a: Tensor, b: Tensor, most: float) -> Tensor:
    assert a.size() == b.size(), what + ": " + str(a.size()) + " is not " + str(b.size())
    error = float((a - b).abs().max()) / (float(b.abs().max()) + 1e-30)
    assert error <= most, what + " is off by " + str(error)
    return a.flatten()

def by_columns(x: Tensor, w: Tensor, stride: List[int], pad: List[int], dilation: List[int], groups: int) -> Tensor:
    k = [w.size(2), w.size(3)]
    columns = torch.im2col(x.double(), k, dilation, pad, stride)
    columns = columns.reshape([x.size(0), groups, -1, columns.size(2)])
    y = torch.matmul(w.double().reshape([1, groups, w.size(0) // groups, -1]), columns)
    high = (x.size(2) + 2 * pad[0] - dilation[0] * (k[0] - 1) - 1) // stride[0] + 1
    return y.reshape([x.size(0), w.size(0), high, -1])

def convolutions() -> Tensor:
    out: List[Tensor] = []
    for width in [5, 12, 16, 17, 33, 70]:
        for groups in [1, 2, 6]:
            for channels in [1, 3, 9]:
                for s, p, d in [(1, 1, 1), (2, 0, 1), (3, 2, 2), (1, 4, 3)]:
                    x = torch.randn([2, groups * channels, 7, width])
                    w = torch.randn([groups * (1 if channels == 1 else 5), channels, 3, 3])
                    if width + 2 * p >= 2 * d + 1 and 7 + 2 * p >= 2 * d + 1:
                        y = torch.conv2d(x, w, None, [s, s], [p, p], [d, d], groups)
                        out.append(near("conv2d", y, by_columns(x, w, [s, s], [p, p], [d, d], groups).float(), 2e-6))
    for outs in [6, 12]:                                 # all at one place, by channels
        x = torch.randn([2, 6, 3, 17])
        w = torch.randn([outs, 1, 1, 1])
        out.append(near("conv2d", torch.conv2d(x, w, None, [1, 1], [0, 0], [1, 1], 6), by_columns(x, w, [1, 1], [0, 0], [1, 1], 6).float(), 2e-6))
    x = torch.randn([1, 4, 3, 6, 20])
    w = torch.randn([4, 1, 3, 3, 3])
    y = torch.conv3d(x, w, None, [1, 1, 1], [1, 1, 1], [1, 1, 1], 4)
    out.append(near("conv3d", y, torch.conv3d(x.double(), w.double(), None, [1, 1, 1], [1, 1, 1], [1, 1, 1], 4).float(), 2e-6))
    return torch.cat(out)

def pools() -> Tensor:
    out: List[Tensor] = []
    for width in [3, 8, 19, 40]:
        for k, s, p, d in [(2, 2, 0, 1), (3, 1, 1, 1), (3, 2, 1, 2), (3, 3, 0, 1), (5, 1, 2, 1)]:
            x = torch.randn([2, 3, 11, width])
            if width + 2 * p >= d * (k - 1) + 1:
                y, at = torch.max_pool2d_with_indices(x, [k, k], [s, s], [p, p], [d, d])
                assert torch.equal(y, torch.max_pool2d(x.double(), [k, k], [s, s], [p, p], [d, d]).float())
                assert torch.equal(y, torch.max_pool2d(x, [k, k], [s, s], [p, p], [d, d]))
                assert torch.equal(y, torch.gather(x.flatten(2), 2, at.flatten(2)).reshape(y.size()))
                out.append(y.flatten())
                y = torch.avg_pool2d(x, [k, k], [s, s], [p, p])
                out.append(near("avg_pool2d", y, torch.avg_pool2d(x.double(), [k, k], [s, s], [p, p]).float(), 1e-6))
                x[1, 2, 5, 2] = float("nan")
                y = torch.max_pool2d(x, [k, k], [s, s], [p, p], [d, d])
                assert torch.equal(y.isnan(), torch.max_pool2d(x.isnan().float(), [k, k], [s, s], [p, p], [d, d]) > 0)
                last = x.contiguous(memory_format=torch.channels_last)
                z, at = torch.max_pool2d_with_indices(last, [k, k], [s, s], [p, p], [d, d])
                assert z.is_contiguous(memory_format=torch.channels_last)
                assert torch.equal(z.nan_to_num(9.0), y.nan_to_num(9.0))
                assert torch.equal(at, torch.max_pool2d_with_indices(x, [k, k], [s, s], [p, p], [d, d])[1])
                assert torch.equal(torch.max_pool2d(last, [k, k], [s, s], [p, p], [d, d]).nan_to_num(9.0), z.nan_to_num(9.0))
                z = torch.avg_pool2d(last.nan_to_num(0.0), [k, k], [s, s], [p, p])
                out.append(near("avg_pool2d", z, torch.avg_pool2d(x.nan_to_num(0.0), [k, k], [s, s], [p, p]), 1e-6))
                near("adaptive", torch.adaptive_avg_pool2d(last.nan_to_num(0.0), [3, 2]), torch.adaptive_avg_pool2d(x.nan_to_num(0.0), [3, 2]), 1e-6)
    return torch.cat(out)

def neighbours():
    for dtype in [torch.uint8, torch.bfloat16, torch.float32, torch.float64]:
        for channels in [1, 3, 8]:
            x = torch.randint(0, 200, [2, channels, 5, 6]).to(dtype)
            for size in [[10, 12], [7, 3], [5, 6]]:
                rows = (torch.arange(size[0]).float() * (5.0 / size[0])).floor().long()
                columns = (torch.arange(size[1]).float() * (6.0 / size[1])).floor().long()
                want = x[:, :, rows][:, :, :, columns]
                y = torch.upsample_nearest2d(x, size)
                z = torch.upsample_nearest2d(x.contiguous(memory_format=torch.channels_last), size)
                assert torch.equal(y, want) and torch.equal(z, want)
                assert y.is_contiguous() and z.is_contiguous(memory_format=torch.channels_last)

def transforms() -> Tensor:
    out: List[Tensor] = []
    for n in [1, 2, 3, 4, 8, 12, 15, 37, 74, 128, 210, 509]:
        k = torch.arange(n, dtype=torch.float64)
        turns = torch.outer(k, k).remainder(n) * (-6.283185307179586 / n)
        matrix = torch.complex(turns.cos(), turns.sin())
        for dtype, most in [(torch.float32, 2e-6), (torch.float64, 1e-13)]:
            x = torch.randn([11, n], dtype=torch.float64)
            exact = torch.matmul(x + 0j, matrix)
            x = x.to(dtype)
            y = torch.fft_fft(x)
            out.append(near("fft", torch.view_as_real(y).double(), torch.view_as_real(exact), most))
            out.append(near("one line", torch.view_as_real(torch.fft_fft(x[3] + 0j)).double(), torch.view_as_real(exact[3]), most))
            out.append(near("columns", torch.view_as_real(torch.fft_fft(x.t().contiguous() + 0j, None, 0)).double(),
                            torch.view_as_real(exact.t()), most))
            half = torch.fft_rfft(x)
            out.append(near("rfft", torch.view_as_real(half).double(), torch.view_as_real(exact[:, :n // 2 + 1]), most))
            near("an even number", torch.view_as_real(torch.fft_rfft(x[:10])).double(), torch.view_as_real(exact[:10, :n // 2 + 1]), most)
            near("of columns", torch.view_as_real(torch.fft_fft(x[:8].reshape([2, 4, n]).transpose(1, 2), None, 1)).double(),
                 torch.view_as_real(exact[:8].reshape([2, 4, n]).transpose(1, 2)), most)
            out.append(near("irfft", torch.fft_irfft(half, n), x, most).double())
            out.append(near("ifft", torch.view_as_real(torch.fft_ifft(y)), torch.view_as_real(x + 0j), most).double())
    return torch.cat(out)

def conversions():
    values = torch.cat([torch.arange(-300, 300).double() * 0.5, 2.0 ** torch.arange(7, 63).double(), -2.0 ** torch.arange(7, 64).double()])
    kinds = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float32, torch.float64]
    for a in kinds:
        x = values.to(a)
        gaps = torch.stack([x, x], 1)[:, 1]              # single elements, not vectors
        for b in kinds:
            y = x.to(b)
            assert torch.equal(y, gaps.to(b)), str(a) + " to " + str(b)
            if a == torch.int64 and b != torch.bool and b != torch.float32 and b != torch.float64:
                bits = 64 if b == torch.int64 else 32 if b == torch.int32 else 16 if b == torch.int16 else 8
                low = (x << (64 - bits)) >> (64 - bits)
                assert torch.equal(y.to(torch.int64), low & 255 if b == torch.uint8 else low)
    wide = torch.tensor([3e9, -3e9, 1e30, float("inf"), float("nan"), 2147483520.0, -2147483904.0, 2147483648.0], dtype=torch.float64).repeat([5])
    low = torch.full([5], -2147483648)
    want = torch.stack([low, low, low, low, low, low, low, low], 1).flatten()
    want[5::8] = 2147483520
    assert torch.equal(wide.to(torch.int32).to(torch.int64), want), str(wide.to(torch.int32))
    assert torch.equal(wide.to(torch.int64)[2:5], torch.full([3], -9223372036854775807 - 1))

def copies() -> Tensor:
    for dtype in [torch.uint8, torch.int16, torch.float16, torch.int32, torch.float32, torch.float64]:
        for rows, columns in [(32, 32), (33, 40), (67, 35), (128, 36), (40, 33)]:
            x = torch.randint(0, 100, [3, rows, columns]).to(dtype)
            y = x.transpose(1, 2).contiguous()
            assert y.is_contiguous() and torch.equal(y.transpose(1, 2), x)
            assert torch.equal(y[1].flatten(), torch.stack([x[1, i % rows, i // rows] for i in range(rows * columns)]))
        # rows of 1 to 9 elements, whose source is dense in another order
        for order in [[0, 3, 1, 2], [3, 1, 0, 2], [2, 3, 0, 1], [1, 0, 3, 2]]:
            for last in [1, 2, 3, 9]:
                x = torch.arange(19 * last * 2 * 31).reshape([19, last, 2, 31])
                y = x.to(dtype).permute(order).contiguous().flatten()
                places = x.permute(order).reshape([-1])
                assert torch.equal(y, x.to(dtype).flatten()[places])
                assert torch.equal(x.permute(order).to(dtype).contiguous().flatten(), y)
                z = torch.zeros([19, last, 2, 31], dtype=dtype).permute(order)
                assert torch.equal(z.copy_(y.reshape(z.size())).contiguous().flatten(), y)
    conversions()
    halves = torch.arange(-32768, 32768).to(torch.int16)
    f = torch.arange(0, 2048).to(torch.float32)
    assert torch.equal(f.to(torch.float16).to(torch.int64), torch.arange(0, 2048))
    for exponent in range(-30, 16):
        x = torch.arange(1024, 2048).double() * 2.0 ** (exponent - 10)
        y = x.to(torch.float16)
        if exponent >= -14:
            assert torch.equal(y.double(), x) and torch.equal(x.float()[::3].to(torch.float16), y[::3])
        assert bool((y.double() - x).abs().max() <= max(2.0 ** -25, 0.0))
    x = torch.tensor([65519.0, 65520.0, -1e30, float("inf"), float("nan"), 2.0 ** -25, 3 * 2.0 ** -26, 1 + 2.0 ** -11, 1 + 3 * 2.0 ** -11])
    y = x.repeat([3]).to(torch.float16).double()[:9]
    want = torch.tensor([65504.0, 2.0, -2.0, 2.0, 0.0, 0.0, 2.0 ** -24, 1.0, 1 + 2.0 ** -9]).double()
    want[1], want[2], want[3], want[4] = float("inf"), -float("inf"), float("inf"), float("nan")
    assert torch.allclose(y, want, 0.0, 0.0, True), str(y)
    return halves.double()

def values() -> Tensor:
    whole = torch.arange(-700, 700, dtype=torch.float64)
    big = torch.cat([2.0 ** torch.arange(0, 120).double(), torch.tensor([float("inf"), 0.0], dtype=torch.float64)])
    for dtype in [torch.float32, torch.float64]:
        x = whole.to(dtype)
        for y in [3.0, -3.0, 7.0]:                        # of integers stored as floats: exactly the same as for integers
            assert torch.equal(torch.remainder(x, y).double(), torch.remainder(whole.long(), int(y)).double())
            assert torch.equal(torch.fmod(x * 0.5, y * 0.5).double() * 2, torch.fmod(whole.long(), int(y)).double())
            assert torch.equal(torch.floor_divide(x, y).double(), torch.div(whole.long(), int(y), rounding_mode="floor").double())
        # quotients of small and large size
        assert torch.equal(torch.fmod(big.to(dtype)[:120], 3.0).double(), (torch.arange(0, 120) % 2 + 1).double())
        assert bool(torch.fmod(big.to(dtype)[120:], torch.zeros([2], dtype=dtype)).isnan().all())
        assert torch.equal(torch.fmod(x, float("inf")), x)
        assert torch.equal(torch.fmod(torch.tensor([-3.0, 3.0]).to(dtype), 3.0).reciprocal(), torch.tensor([-1.0, 1.0]).to(dtype) / 0)
        for e in [2.0, 3.0, -1.0, -2.0]:
            want = x
            for i in range(int(abs(e)) - 1):
                want = want * x
            assert torch.equal(torch.pow(x, e), 1 / want if e < 0 else want)
        assert torch.equal(torch.pow(x, 0.5).nan_to_num(-1.0), x.sqrt().nan_to_num(-1.0))
        assert torch.equal(torch.pow(x, -0.5).nan_to_num(-1.0), (1 / x.sqrt()).nan_to_num(-1.0))
        assert torch.equal(torch.clamp(x, -1.5), torch.where(x < -1.5, -1.5, x)) and torch.equal(torch.clamp(x, None, 2.0), torch.where(x > 2, 2.0, x))
        assert torch.equal(torch.clamp(x, -1.5, 2.0), torch.clamp(torch.clamp(x, -1.5), None, 2.0))
    for table in [torch.arange(60).reshape([3, 20]), torch.arange(60).float().reshape([3, 20]), torch.arange(60).to(torch.uint8).reshape([3, 20])]:
        at = torch.randint(-60, 60, [7, 9])
        assert torch.equal(torch.take(table, at), table.flatten()[at])
        assert torch.equal(torch.index_select(table, 1, at[0] % 20), table[:, at[0] % 20])
        assert torch.equal(torch.put(table, at[0], torch.take(table, at[0])), table)
    a = torch.randint(-2147483647, 2147483647, [9, 33]) * 3
    b = torch.randint(-2147483647, 2147483647, [33, 17])
    assert torch.equal(torch.mm(a, b), (a.unsqueeze(2) * b.unsqueeze(0)).sum(1))
    return torch.exp(whole)

def rows() -> Tensor:
    out: List[Tensor] = []
    for n in [1, 3, 15, 16, 17, 64, 100, 513, 2000]:
        x = torch.randn([37, n])
        out.append(near("sum(1)", x.sum(1), x.double().sum(1).float(), 1e-6))
        out.append(near("sum(0)", x.t().contiguous().sum(0), x.double().sum(1).float(), 1e-6))
        out.append(near("half sum(0)", x.t().contiguous().half().sum(0).float(), x.half().double().sum(1).float(), 2e-3))
        e = (x.double() - x.double().max(1, True)[0]).exp()
        out.append(near("softmax", torch.softmax(x, 1), (e / e.sum(1, True)).float(), 1e-6))
        out.append(near("softmax(0)", torch.softmax(x.t().contiguous(), 0), (e / e.sum(1, True)).float().t(), 1e-6))
        out.append(near("log_softmax", torch.log_softmax(x, 1), (e / e.sum(1, True)).log().float(), 1e-6))
        out.append(near("logsumexp", torch.logsumexp(x, 1), torch.logsumexp(x.double(), 1).float(), 1e-6))
        out.append(near("softmax of doubles", torch.softmax(x.double(), 1), e / e.sum(1, True), 1e-14).float())
        b = x.t().to(torch.bfloat16).contiguous()
        out.append(near("bfloat16 sum(0)", b.sum(0).float(), b.double().sum(0).float(), 4e-3))
        y = x.reshape([1, 37, n]).expand([3, 37, n]) + torch.arange(3).reshape([3, 1, 1])
        out.append(near("sum(1)", y.sum(1), y.double().sum(1).float(), 1e-6))
        out.append(near("mean(1)", y.mean(1), y.double().mean(1).float(), 1e-6))
        out.append(near("cumsum(1)", torch.cumsum(y, 1), torch.cumsum(y.double().transpose(1, 2).contiguous(), 2).transpose(1, 2).float(), 1e-6))
        assert torch.equal(torch.cumsum((y * 9).long(), 1), torch.cumsum((y * 9).long().transpose(1, 2).contiguous(), 2).transpose(1, 2))
        x[0, n - 1] = float("nan")
        x[1] = -float("inf")
        x[2, 0] = float("inf")
        y = torch.softmax(x, 1)
        assert bool(y[:3].isnan().all()) or n == 1 or bool(y[0].isnan().all())
        assert not bool(y[3:].isnan().any())
        assert bool(torch.logsumexp(x, 1)[0].isnan()) and float(torch.logsumexp(x, 1)[1]) == -float("inf")
    return torch.cat(out)

def pads():
    """Padding, compared by its definition: windows of the result are the input, other elements are one number, or elements found
    by index."""
    for dtype in [torch.uint8, torch.float16, torch.float32, torch.complex128]:
        for width in [1, 3, 7, 40, 300]:
            x = torch.arange(2 * 3 * 4 * width).reshape([2, 3, 4, width])
            places = torch.constant_pad_nd(x + 1, [2, 1, 0, 3, 1, 0], 0)
            assert torch.equal(places[:, 1:, :4, 2:-1], x + 1) and int((places > 0).sum()) == x.numel()
            for last in [False, True]:
                y = x.to(dtype).contiguous(memory_format=torch.channels_last) if last else x.to(dtype)
                z = torch.constant_pad_nd(y, [2, 1, 0, 3, 1, 0], 7)
                assert z.is_contiguous(memory_format=torch.channels_last if last else torch.contiguous_format)
                assert torch.equal(z, torch.where(places > 0, y.flatten()[(places - 1).clamp(min=0)], torch.full([1], 7).to(dtype)))
                assert torch.equal(torch.constant_pad_nd(y, [0, 0, 0, -2]), y[:, :, :2])
                if width > 2:
                    at = torch.cat([torch.arange(2, 0, -1), torch.arange(width), torch.arange(width - 2, width - 3, -1)])
                    assert torch.equal(torch.reflection_pad2d(y.to(torch.float64), [2, 1, 0, 0]), y.to(torch.float64)[:, :, :, at])

def broadcasts() -> Tensor:
    """Rows at any address, of any type, some with one element: the same as with all of them made contiguous."""
    out: List[Tensor] = []
    for width in [63, 64, 100, 512, 1100]:
        a = torch.randn([5, 7, width])
        for b in [torch.randn([7, 1]), torch.randn([width]), torch.randn([5, 1, 1]), torch.randn([5, 1, width]), torch.randn([5, 7, 2 * width])[..., ::2],
                  torch.randn([5, 7, width + 3])[:, :, 1:-2], torch.arange(7).unsqueeze(1), torch.randn([5, 1, width]).to(torch.float16)]:
            y = a * b + b
            whole = b.to(torch.float32).expand([5, 7, width]).contiguous()
            assert torch.equal(y, a * whole + whole)
            z = torch.zeros([5, 7, width + 5])
            z[:, :, 2:-3].add_(b)
            assert torch.equal(z[:, :, 2:-3], whole) and int((z[:, :, :2] != 0).sum()) + int((z[:, :, -3:] != 0).sum()) == 0
            out.append(y.flatten())
    return torch.cat(out)

def draws() -> Tensor:
    out: List[Tensor] = []
    for n in [5, 16, 17, 31, 700, 5000]:
        torch.manual_seed(n)
        x = torch.randn([n])
        torch.manual_seed(n)
        u = torch.rand([n])
        last = torch.rand([16])
        if n >= 16:
            if n % 16:
                u = torch.cat([u[:n // 16 * 16], u[n // 16 * 16:]])
            first = u[:16].double()
            radius = (-2 * (1 - first[:8]).log()).sqrt()
            angle = first[8:] * 6.283185307179586
            want = torch.cat([radius * angle.cos(), radius * angle.sin()]).float()
            if n >= 32 or n == 16:
                near("randn", x[:16], want, 1e-6)
            last = last.double()
            radius = (-2 * (1 - last[:8]).log()).sqrt()
            want = torch.cat([radius * (last[8:] * 6.283185307179586).cos(), radius * (last[8:] * 6.283185307179586).sin()]).float()
            if n % 16:
                near("the end of randn", x[n - 16:], want, 1e-6)
        out.append(x)
        out.append(torch.dropout(torch.ones([n]), 0.3, True))
        out.append(torch.randint(3, 1000, [n]).float())
        out.append(torch.bernoulli(torch.full([n], 0.25)))
    all = torch.cat(out)
    return all

def matrices() -> Tensor:
    x = torch.randn([3, 30, 30], dtype=torch.float64)
    a = torch.matmul(x, x.transpose(1, 2)) + 30 * torch.eye(30, dtype=torch.float64)
    low = torch.linalg_cholesky(a)
    assert torch.equal(low, torch.tril(low))
    near("cholesky", torch.matmul(low, low.transpose(1, 2)), a, 1e-13)
    near("upper cholesky", torch.linalg_cholesky(a, upper=True), low.transpose(1, 2), 1e-13)
    for m, n in [(30, 30), (5, 150), (70, 9)]:
        real = torch.randn([m, n], dtype=torch.float64)
        for z in [real + 0j, torch.complex(real, torch.randn([m, n], dtype=torch.float64))]:
            q, r = torch.linalg_qr(z)
            near("qr", torch.view_as_real(torch.matmul(q, r)), torch.view_as_real(z), 1e-13)
            near("q", torch.view_as_real(torch.matmul(q.transpose(0, 1).conj(), q)),
                 torch.view_as_real(torch.eye(min(m, n), dtype=torch.float64) + 0j), 1e-13)
            if m == n:
                near("inverse", torch.view_as_real(torch.matmul(z, torch.linalg_inv(z))),
                     torch.view_as_real(torch.eye(m, dtype=torch.float64) + 0j), 1e-11)
        near("real qr", torch.linalg_qr(real)[1].abs(), torch.linalg_qr(real + 0j)[1].abs(), 1e-13)
    a[1, 4, 4] = -1
    assert torch.equal(torch.linalg_cholesky_ex(a)[1].long(), torch.tensor([0, 5, 0]))
    return low.flatten()

def deformed() -> Tensor:
    """Deformed convolutions with equal offsets: the same as convolutions of the moved image. Means of regions of whole elements:
    the same as pools."""
    out: List[Tensor] = []
    for dtype, most in [(torch.float32, 2e-6), (torch.float64, 1e-13)]:
        x, w, b = torch.randn([2, 6, 11, 15], dtype=dtype), torch.randn([4, 3, 2, 3], dtype=dtype), torch.randn([4], dtype=dtype)
        wide = torch.constant_pad_nd(x, [6, 6, 6, 6])
        mask = torch.rand([12], dtype=dtype)
        offset, moved = torch.zeros([2, 2, 6, 2, 12, 15], dtype=dtype), torch.jit.annotate(List[Tensor], [])
        for group, (v, u) in enumerate([(0.25, -1.5), (2.0, 0.75)]):
            offset[:, group, :, 0], offset[:, group, :, 1] = v, u
            i, j, dv, du = 5 + int(v // 1), 5 + int(u // 1), v % 1, u % 1
            a = wide[:, 3 * group:3 * group + 3]
            rows = (1 - dv) * a[:, :, i:i + 13] + dv * a[:, :, i + 1:i + 14]
            moved.append((1 - du) * rows[:, :, :, j:j + 17] + du * rows[:, :, :, j + 1:j + 18])
        offset = offset.reshape([2, 24, 12, 15])
        weights = w * torch.stack([mask[:6], mask[:6], mask[6:], mask[6:]]).reshape([4, 1, 2, 3])
        y = torch.ops.torchvision.deform_conv2d(x, w, offset, torch.zeros([2, 1], dtype=dtype), b, 1, 1, 1, 1, 1, 1, 2, 2, False)
        out.append(near("deformed", y, torch.conv2d(torch.cat(moved, 1), w, b, groups=2), most).double().flatten())
        y = torch.ops.torchvision.deform_conv2d(x, w, offset, mask.reshape([1, 12, 1, 1]).expand([2, 12, 12, 15]), b, 1, 1, 1, 1, 1, 1, 2, 2, True)
        out.append(near("masked", y, torch.conv2d(torch.cat(moved, 1), weights, b, groups=2), most).double().flatten())
        rois = torch.tensor([[1.0, 0.0, 0.0, 14.0, 10.0], [0.0, 2.0, 3.0, 16.0, 13.0]], dtype=dtype)
        crops = torch.stack([x[1, :, :10, :14], torch.cat([x[0, :, 3:11, 2:15], torch.zeros([6, 8, 1], dtype=dtype)], 2).repeat([1, 2, 1])[:, :10]])
        for z in [x, x.contiguous(memory_format=torch.channels_last)]:
            y = torch.ops.torchvision.roi_align(z, rois, 1.0, 5, 7, 2, True)
            near("in the image", y[:1], torch.avg_pool2d(crops[:1], [2, 2]), most)
            near("partly", y[1:, :, :4, :6], torch.avg_pool2d(crops[1:], [2, 2])[:, :, :4, :6], most)
            out.append(y.double().flatten())
    return torch.cat(out)

def forward():
    torch.manual_seed(1)
    neighbours()
    pads()
    return convolutions(), pools(), broadcasts(), transforms(), copies(), values(), rows(), draws(), matrices(), deformed()
