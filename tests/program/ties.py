# Quantized operators at ties: every sum of a window and every integer of 8 bits. ties_test.py runs this file, and ties.xz holds
# PyTorch's answers. count: number of zero points whose integers are the results. If it is 0, the results are checksums over all
# 256 zero points.


def quantized(x: Tensor, signed: bool, scale: float, zero: int) -> Tensor:
    if signed:
        return torch._make_per_tensor_quantized_tensor((x.to(torch.int) - 128).to(torch.int8), scale, zero - 128)
    return torch._make_per_tensor_quantized_tensor(x, scale, zero)


def windows(q: Tensor, at: str, r: Dict[str, Tensor]):
    k = [q.size(2), q.size(3)]
    r[at + "mean23"] = q.mean([2, 3])
    r[at + "mean23_keep"] = q.mean([2, 3], True)
    r[at + "mean3"] = q.mean([3])
    r[at + "avg_pool2d"] = torch.ops.aten.avg_pool2d(q, k)
    r[at + "avg_pool2d_padded"] = torch.ops.aten.avg_pool2d(q, [2, 2], [2, 2], [1, 1])
    r[at + "avg_pool2d_inside"] = torch.ops.aten.avg_pool2d(q, [2, 2], [2, 2], [1, 1], False, False)
    r[at + "adaptive_avg_pool2d"] = torch.ops.aten.adaptive_avg_pool2d(q, [1, 1])
    r[at + "adaptive_avg_pool2d_rows"] = torch.ops.aten.adaptive_avg_pool2d(q, [2, 1])
    r[at + "adaptive_avg_pool2d_two"] = torch.ops.aten.adaptive_avg_pool2d(q, [1, 2])        # six elements: windows that overlap
    r[at + "avg_pool3d"] = torch.ops.aten.avg_pool3d(q.unsqueeze(2), [1, k[0], k[1]])
    r[at + "adaptive_avg_pool3d"] = torch.ops.aten.adaptive_avg_pool3d(q.unsqueeze(2), [1, 1, 1])
    r[at + "adaptive_avg_pool3d_rows"] = torch.ops.aten.adaptive_avg_pool3d(q.unsqueeze(2), [1, 2, 1])
    r[at + "adaptive_avg_pool1d"] = torch.adaptive_avg_pool1d(q.flatten(2), 1)
    r[at + "max_pool2d"] = torch.max_pool2d(q, k)
    r[at + "bilinear"] = torch.ops.aten.upsample_bilinear2d(q, [1, 1], False)
    r[at + "nearest"] = torch.ops.aten.upsample_nearest2d(q, [1, 3])


def lines(q: Tensor, at: str, r: Dict[str, Tensor]):
    n = q.size(1)
    r[at + "avg_pool1d"] = torch.avg_pool1d(q.flatten(2), [q.size(2) * q.size(3)])
    r[at + "mean_last"] = q.flatten(2).mean([-1])
    r[at + "mean_first"] = q.flatten(2)[0].t().contiguous().mean([0])
    r[at + "mean_all"] = torch.stack([q[0, i].mean() for i in [n - 1, n - 2, 1, 2, 3]])


def values(q: Tensor, other: Tensor, at: str, scale: float, zero: int, r: Dict[str, Tensor]):
    r[at + "requantized"] = torch.quantize_per_tensor(torch.dequantize(q), scale, zero, q.dtype)
    r[at + "add"] = torch.ops.quantized.add(q, other, scale, zero)
    if zero < (127 if q.dtype == torch.qint8 else 255):          # qnnpack rejects a range without elements
        r[at + "add_relu"] = torch.ops.quantized.add_relu(q, other, scale, zero)
    r[at + "mul"] = torch.ops.quantized.mul(q, other, scale, zero)
    r[at + "mul_relu"] = torch.ops.quantized.mul_relu(q, other, scale, zero)
    r[at + "cat"] = torch.ops.quantized.cat([q, other], 0, scale, zero)
    r[at + "cat_relu"] = torch.ops.quantized.cat_relu([q, other], 0, scale, zero)
    r[at + "cat_first"] = torch.cat([other, q], 0)
    r[at + "hardswish"] = torch.ops.quantized.hardswish(q, scale, zero)
    r[at + "layer_norm"] = torch.ops.quantized.layer_norm(q.reshape(64, 4), [4], None, None, 1e-5, scale, zero)
    r[at + "leaky_relu"] = torch.ops.quantized.leaky_relu(q, 0.5, False, scale, zero)
    r[at + "elu"] = torch.ops.quantized.elu(q, scale, zero)
    r[at + "sigmoid"] = torch.ops.quantized.sigmoid(q, 1. / 256, 0)
    r[at + "relu"] = torch.relu(q)
    r[at + "relu6"] = torch.ops.quantized.relu6(q, False)
    r[at + "clamp"] = torch.clamp(q, -1.5, 2.5)
    r[at + "hardtanh"] = torch.ops.aten.hardtanh(q, -1.5, 2.5)
    r[at + "tanh"] = torch.tanh(q)
    r[at + "hardsigmoid"] = torch.ops.aten.hardsigmoid(q)
    r[at + "threshold"] = torch.ops.quantized.threshold(q, 0.5, 0.25)
    r[at + "mul_scalar"] = torch.ops.quantized.mul_scalar(q, 0.5)
    r[at + "add_scalar"] = torch.ops.quantized.add_scalar(q, 0.5)


# Means that PyTorch adds in float32: the order of summation decides how halves are rounded.
def means(n: int, c: int, h: int, w: int, zero: int, r: Dict[str, Tensor]):
    x = torch.arange(n * c * h * w).mul(7919).remainder(32749).remainder(256).to(torch.uint8).reshape(n, c, h, w)
    q = quantized(x, False, 0.1, zero)
    last = q.contiguous(memory_format=torch.channels_last)
    at = "means" + str([n, c, h, w])
    r[at + "last23"] = last.mean([2, 3])
    r[at + "last13"] = last.mean([1, 3])
    r[at + "last023"] = last.mean([0, 2, 3])
    r[at + "last1"] = last.mean([1], True)
    r[at + "last"] = last.mean().reshape(1)
    r[at + "rows1"] = q.mean([1])
    r[at + "rows02"] = q.mean([0, 2])
    r[at + "turned1"] = q.transpose(2, 3).mean([1])


# Layers whose sums are the scaled input x, of sizes (1, 1, 1, n)
def layers(x: Tensor, at: str, scale: float, zero: int, r: Dict[str, Tensor]):
    w = torch.quantize_per_tensor(torch.ones([3, 1, 1, 1]), 1., 0, torch.qint8)
    b = torch.tensor([0., 0.5, 0.32])
    conv = torch.ops.quantized.conv2d_prepack(w, b, [1, 1], [0, 0], [1, 1], 1)
    linear = torch.ops.quantized.linear_prepack(w.flatten(1), b)
    r[at + "conv2d"] = torch.ops.quantized.conv2d(x, conv, scale, zero)
    r[at + "conv2d_relu"] = torch.ops.quantized.conv2d_relu(x, conv, scale, zero)
    r[at + "linear"] = torch.ops.quantized.linear(x.reshape(-1, 1), linear, scale, zero)
    r[at + "linear_relu"] = torch.ops.quantized.linear_relu(x.reshape(-1, 1), linear, scale, zero)
    r[at + "conv_relu_mean"] = torch.relu(torch.ops.quantized.conv2d(x, conv, scale, zero)).reshape(1, 3, 64, 4).mean([3])


def each(x: Tensor, four: Tensor, six: Tensor, zero: int, r: Dict[str, Tensor]):
    for signed in [False, True]:
        for scale in [1., 0.1]:
            at = str(int(signed)) + ("one." if scale == 1. else "tenth.")
            q = quantized(four, signed, scale, zero)
            last = q.contiguous(memory_format=torch.channels_last)
            windows(q, at + "four.", r)
            windows(last, at + "four.last.", r)
            lines(q, at + "four.", r)
            windows(quantized(six, signed, scale, zero), at + "six.", r)
            other = quantized(x.flip([0]).bitwise_and(3), signed, scale * 2, 1)
            values(quantized(x, signed, scale, 3), other, at, scale * 2, zero - 128 if signed else zero, r)
            values(quantized(x, signed, scale, zero), other, at + "in.", scale * 2, 1, r)
        if not signed:
            layers(quantized(x.reshape(1, 1, 1, 256), False, 0.5, 3), "half.", 1., zero, r)
            layers(quantized(x.reshape(1, 1, 1, 256), False, 0.1, 3), "tenth.", 0.2, zero, r)


def strides(q: Tensor) -> Tensor:
    r: List[int] = []
    for i in range(q.dim()):
        r.append(q.stride(i) if q.size(i) > 1 else 0)
    return torch.tensor(r)


def forward(x: Tensor, four: Tensor, six: Tensor, count: int):
    r: Dict[str, Tensor] = {}
    if count == 0:
        for zero in range(256):
            part: Dict[str, Tensor] = {}
            each(x, four, six, zero, part)
            for key, q in part.items():
                y = torch.int_repr(q).flatten().to(torch.long)
                y = (y * torch.arange(y.numel()).add(zero * 7919 + 1).remainder(65521)).sum().reshape(1)
                r[key] = r[key] + y if key in r else y
    else:
        zeros = [1, 0, 127, 254]
        for i in range(count):
            part: Dict[str, Tensor] = {}
            each(x, four, six, zeros[i], part)
            for c in [1, 3, 6, 8, 21, 40, 64]:
                means(2, c, 3, 2, zeros[i], part)
                means(1, c, 8, 8, zeros[i], part)
                means(1, c, 7, 7, zeros[i], part)
            for key, q in part.items():
                r[key + "." + str(zeros[i])] = torch.int_repr(q)
                if i == 0:
                    r[key + ".strides"] = strides(q)
    return r
