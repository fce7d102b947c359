# Operators that sum, in the dtype of x. narrow_test.py builds and runs this file, and narrow.npz holds the answers in double.
# Each result has a row, or an element, for each row of x.


def response(x: Tensor) -> Tensor:              # local_response_norm of size 2, as in torch.nn.functional
    y = torch.constant_pad_nd(x.mul(x).unsqueeze(1), [0, 0, 1, 0])
    return x / torch.avg_pool2d(y, [2, 1], [1, 1]).squeeze(1).mul(1e-4).add(1.).pow(0.75)


def norms(x: Tensor, w: Tensor, b: Tensor, r: Dict[str, Tensor]):
    n, c = x.size(1), x.size(0)
    u, v, z = b[:1].expand(c).contiguous(), w[:1].expand(c).contiguous(), x.reshape(1, c, n)
    r["layer"] = torch.layer_norm(x, [n])
    r["layer_affine"] = torch.layer_norm(x, [n], w, b)
    r["batch_columns"] = torch.batch_norm(x.t(), v, u, None, None, True, 0.1, 1e-5, False).t()
    r["batch_planes"] = torch.batch_norm(z, v, u, None, None, True, 0.1, 1e-5, False).reshape(c, n)
    r["group"] = torch.group_norm(x.reshape(c, 1, n), 1)
    r["group_affine"] = torch.group_norm(x.reshape(c, n, 1), 1, w, b).reshape(c, n)
    r["instance"] = torch.instance_norm(z, None, None, None, None, True, 0.1, 1e-5, False).reshape(c, n)
    r["instance_affine"] = torch.instance_norm(z, v, u, None, None, True, 0.1, 1e-5, False).reshape(c, n)
    r["var"] = x.var([-1])
    r["var_columns"] = x.t().var([0])
    r["std"] = x.std([-1], False)
    s, m = torch.var_mean(x, [-1])
    r["var_of_mean"] = s
    r["mean_of_var"] = m
    r["mean"] = x.mean([-1])
    r["softmax"] = x.softmax(-1)
    r["log_softmax"] = x.log_softmax(-1)


def sums(x: Tensor, w: Tensor, r: Dict[str, Tensor]):
    n, c = x.size(1), x.size(0)
    z, rows, zero = x.reshape(1, c, n), torch.arange(c).unsqueeze(1).expand(c, n), torch.zeros([c, n], dtype=torch.long)
    o = torch.zeros([c, 1], dtype=x.dtype)
    u, v = w[:1].expand(c).contiguous(), w[1:2].expand(c).contiguous()
    r["batch_eval"] = torch.batch_norm(z, u, v, x[:, 0], (x[:, 1] - x[:, 0]).abs() + 1, False, 0.1, 1e-5, False).reshape(c, n)
    r["mean_columns"] = x.t().mean([0])
    r["sum"] = x.sum([-1])
    r["softmax_columns"] = x.t().softmax(0).t()
    r["log_softmax_columns"] = x.t().log_softmax(0).t()
    r["rms"] = torch.rms_norm(x, [n], w, 1e-5)
    r["logsumexp"] = x.logsumexp([-1])
    r["norm"] = x.norm(2, [-1])
    r["norm1"] = x.norm(1, [-1])
    r["norm3"] = torch.linalg_vector_norm(x, 3, [-1])
    r["chain_l2"] = x / x.norm(2, [-1], True).clamp_min(1e-12)
    r["chain_response"] = response(x / 64)
    r["cumsum"] = x.cumsum(-1)
    r["avg_pool"] = torch.avg_pool1d(z, [2])[0]
    r["adaptive_avg_pool"] = torch.adaptive_avg_pool1d(z, [2])[0]
    r["mm"] = x.mm(x.t())
    r["mm_copy"] = x.mm(x.t().contiguous())
    r["mv"] = x.mv(w)
    r["dot"] = torch.stack([torch.dot(x[0], w), torch.dot(x[1], w)])
    r["index_add"] = o.index_add(1, zero[0], x)
    r["scatter_add"] = o.scatter_add(1, zero, x)
    r["scatter_reduce"] = o.scatter_reduce(1, zero, x, "sum")
    r["index_put"] = o.index_put([rows, zero], x, True)
    r["put"] = o.put(rows, x, True)


def samples(x: Tensor, g: Tensor, r: Dict[str, Tensor]):
    n, c, k = x.size(1), x.size(0), g.size(0)
    at = g.reshape(1, 1, k, 2).expand(c, 1, k, 2)
    for align in [False, True]:
        for padding in [0, 1, 2]:
            name = str(padding) + str(int(align))
            r["grid_linear" + name] = torch.grid_sampler(x.reshape(c, 1, n, 1), at, 0, padding, align).reshape(c, k)
            r["grid_cubic" + name] = torch.grid_sampler(x.reshape(c, 1, n, 1), at, 2, padding, align).reshape(c, k)
        name = str(int(align))
        r["linear" + name] = torch.upsample_linear1d(x.reshape(1, c, n), [n + 3], align)[0]
        r["bilinear" + name] = torch.upsample_bilinear2d(x.reshape(1, c, 1, n), [2, n + 3], align)[0, :, 0]
        r["bicubic" + name] = torch.upsample_bicubic2d(x.reshape(1, c, 1, n), [2, n + 3], align)[0, :, 0]
        r["trilinear" + name] = torch.upsample_trilinear3d(x.reshape(1, c, 1, 1, n), [1, 2, n + 3], align)[0, :, 0, 0]


def forward(x: Tensor, w: Tensor, b: Tensor, g: Tensor):
    r: Dict[str, Tensor] = {}
    norms(x, w, b, r)
    sums(x, w, r)
    samples(x, g, r)
    return r
