# Operators and overloads that PyTorch has added since 1.13 (rt/ops/recent.def and newer entries elsewhere), and those of
# torchaudio, checked by their meaning. kiln run tests/ops/recent.py: a failing assertion is an error.

def same(a: Tensor, b: Tensor):
    assert a.dtype == b.dtype, str(a.dtype) + " is not " + str(b.dtype)
    assert a.size() == b.size(), str(a.size()) + " is not " + str(b.size())
    assert torch.allclose(a, b, equal_nan=True), str(a) + " is not " + str(b)

def reductions():
    x = torch.arange(24.).reshape([2, 3, 4]).sin()
    same(torch.var(x, [1], correction=0.5), ((x - x.mean([1], True)) ** 2).sum([1]) / 2.5)
    same(torch.std(x, correction=2), (((x - x.mean()) ** 2).sum() / 22).sqrt())
    v, m = torch.var_mean(x, [0, 2], correction=0, keepdim=True)
    same(v, ((x - m) ** 2).mean([0, 2], True))
    same(torch.all(x > -1, dim=[0, 2]), torch.tensor([True, True, True]))
    same(torch.any(x > 0.99, dim=[0, 1], keepdim=True), (x > 0.99).any(0, True).any(1, True))
    same(torch.all(x > 0, dim=None), torch.tensor(False))
    same(torch.any(x > 0, dim=[]), x > 0)
    same(torch._is_any_true(x > 2), torch.tensor(False))
    same(torch.linalg__powsum(x, 2, [1]), (x * x).sum([1]))
    same(torch.linalg_matrix_sqrth(torch.tensor([[13., 99.], [12., 13.]])), torch.tensor([[3., 2.], [2., 3.]]))

def shapes():
    x = torch.zeros([1, 3, 1, 1, 2])
    assert torch.squeeze(x, [0, -2]).size() == [3, 1, 2]
    assert x.squeeze([1, 2]).size() == [1, 3, 1, 2]
    assert torch.squeeze_copy(x, [0]).size() == [3, 1, 1, 2]
    x.squeeze_([2, 3])
    assert x.size() == [1, 3, 2]
    assert torch.broadcast_shapes([3, 1], [2]) == [3, 2]
    p = torch.empty_permuted([2, 3, 4], [2, 0, 1])
    assert p.size() == [2, 3, 4] and p.stride() == [3, 1, 6]
    same(torch._chunk_cat([torch.ones([3, 2]), torch.ones([2])], 0, 2), torch.tensor([1., 1., 1., 1., 1., 1., 1., 0., 0., 1.]).reshape([2, 5]))
    a, b = torch.ones([2, 2]), torch.ones([3, 2])
    same(torch.pad_sequence([a, b], True, 7., "left").select(2, 0), torch.tensor([[7., 1., 1.], [1., 1., 1.]]))

def ranges():
    same(torch.linspace(torch.tensor(1.), torch.tensor(2.), 3), torch.tensor([1., 1.5, 2.]))
    same(torch.linspace(0, torch.tensor(2), 3), torch.tensor([0., 1., 2.]))
    same(torch.logspace(torch.tensor(0.), 2, 3, 2.), torch.tensor([1., 2., 4.]))

def indices():
    x = torch.tensor([[0., 3.], [4., 0.]])
    same(torch.nonzero_static(x, size=3), torch.tensor([[0, 1], [1, 0], [-1, -1]]))
    same(torch.nonzero_static(x, size=1, fill_value=9), torch.tensor([[0, 1]]))
    at = torch.tensor([1])
    same(torch._unsafe_index(x, [at]), torch.tensor([[4., 0.]]))
    same(torch._unsafe_index_put(x, [at], torch.tensor(5.)), torch.tensor([[0., 3.], [5., 5.]]))
    far, ok = torch.tensor([1, 9]), torch.tensor([[True], [False]])
    same(torch._unsafe_masked_index(x, ok, annotate(List[Optional[Tensor]], [far]), 7), torch.tensor([[4., 0.], [7., 7.]]))
    same(torch._unsafe_masked_index_put_accumulate(x, ok, annotate(List[Optional[Tensor]], [far]), x), torch.tensor([[0., 3.], [4., 3.]]))
    same(torch.masked_scatter_backward(x, x > 0, [3]), torch.tensor([3., 4., 0.]))

def products():
    a, b = torch.tensor([[1, 2]], dtype=torch.int8), torch.tensor([[100], [100]], dtype=torch.int8)
    same(torch._int_mm(a, b), torch.tensor([[300]], dtype=torch.int32))
    same(torch._weight_int8pack_mm(torch.ones([1, 2]), a, torch.tensor([2.])), torch.tensor([[6.]]))
    u, h = torch.linalg_polar(torch.tensor([[0., -2.], [3., 0.]]))
    same(u, torch.tensor([[0., -1.], [1., 0.]]))
    same(h, torch.tensor([[3., 0.], [0., 2.]]))

def groups():
    """Products of groups of one matrix's rows or columns, or sums of groups. Elements in no group are 0."""
    a, b = torch.arange(12.).reshape([4, 3]).sin(), torch.arange(18.).reshape([3, 3, 2]).cos()
    ends = torch.tensor([1, 1, 3], dtype=torch.int32)
    same(torch._grouped_mm(a, b, ends), torch.cat([a[:1].mm(b[0]), a[1:3].mm(b[2]), torch.zeros([1, 2])]))
    same(torch._grouped_mm(a.to(torch.bfloat16), b.to(torch.bfloat16), ends)[:1], a[:1].to(torch.bfloat16).mm(b[0].to(torch.bfloat16)))
    w = b.transpose(1, 2)                                                                   # the shape is (3, 2, 3)
    same(torch._grouped_mm(w, a.t(), torch.tensor([1, 1, 4], dtype=torch.int32)), torch.cat([w[0].mm(a.t()[:, :1]), w[2].mm(a.t()[:, 1:])], 1))
    same(torch._grouped_mm(a.t(), a, ends), torch.stack([a[:1].t().mm(a[:1]), torch.zeros([3, 3]), a[1:3].t().mm(a[1:3])]))
    same(torch._grouped_mm(w, b), torch.bmm(w, b))
    same(torch.ops.transformers.grouped_mm_fallback(a, b, ends.to(torch.int64)), torch._grouped_mm(a, b, ends))

def norms():
    x = torch.tensor([[3., 4.]])
    y, r = torch._fused_rms_norm(x, [2], torch.tensor([1., 2.]), 0.)
    same(r, torch.tensor([[12.5]]).rsqrt())
    same(y, x * r * torch.tensor([1., 2.]))
    same(torch._safe_softmax(torch.tensor([[0., 0.], [float("-inf"), float("-inf")]]), 1), torch.tensor([[0.5, 0.5], [0., 0.]]))
    mean, var = torch.zeros([2]), torch.ones([2])
    same(torch._batch_norm_no_update(x, None, None, mean, var, 0.1, 0.)[0], x)
    z = torch._batch_norm_with_update(torch.cat([x, -x]), None, None, mean, var, 0.5, 0.)[0]
    same(z, torch.tensor([[1., 1.], [-1., -1.]]))
    same(var, torch.tensor([9.5, 16.5]))

def attention():
    q = torch.arange(48.).reshape([1, 4, 3, 4]).sin()
    k = torch.arange(40.).reshape([1, 2, 5, 4]).cos()
    v = torch.arange(40.).reshape([1, 2, 5, 4]).sin()
    k4, v4 = torch.repeat_interleave(k, 2, 1), torch.repeat_interleave(v, 2, 1)
    want = torch.matmul(torch.softmax(torch.matmul(q, k4.transpose(2, 3)) * 0.3, -1), v4)
    same(torch.scaled_dot_product_attention(q, k, v, scale=0.3, enable_gqa=True), want)
    same(torch._scaled_dot_product_attention_math(q, k, v, scale=0.3, enable_gqa=True)[0], want)
    y, total = torch._scaled_dot_product_flash_attention_for_cpu(q, k4, v4, scale=0.3)
    same(y, want)
    same(total, torch.logsumexp(torch.matmul(q, k4.transpose(2, 3)) * 0.3, [3]))

def resampling():
    x = torch.ones([1, 1, 9, 9])
    same(torch._upsample_lanczos2d_aa(x, [4, 20], False), torch.ones([1, 1, 4, 20]))
    # two results of four elements: sinc(t) sinc(t / 3) at t = (i + 0.5 - 2 o - 1) / 2, normalised
    y = torch._upsample_lanczos2d_aa(torch.tensor([[[[0., 0., 0., 1.]]]]), [1, 2], False)
    t = (torch.arange(4) + 0.5 - torch.tensor([[1.], [3.]])) / 2
    w = torch.sinc(t) * torch.sinc(t / 3)
    same(y.flatten(), w.select(1, 3) / w.sum([1]))

def boxes():
    a = torch.tensor([[5., 5., 1., 1., 0.], [5., 5., 2., 4., 90.]])
    b = torch.tensor([[5., 5., 1., 1., 45.], [5., 5., 4., 2., 0.], [9., 5., 1., 1., 0.]])
    same(torch.ops.torchvision.box_iou_rotated(a, b), torch.tensor([[0.70710678, 0.125, 0.], [0.125, 1., 0.]]))

def asking():
    x = torch.zeros([2, 3], dtype=torch.float64)
    assert x.nbytes == 48 and x.itemsize == 8 and not x.is_xla and not torch._is_tracing()
    assert torch.get_autocast_dtype("cpu") == torch.bfloat16
    torch._assert_scalar(1, "no")
    torch._assert_async(torch.tensor(True), "no")
    torch._assert_async(torch.tensor(1))
    w = torch.stft(torch.arange(20.).sin(), 8, 4, 4, torch.ones([4]), False, "reflect", False, None, True, True)
    assert w.size() == [5, 5]

def strided():
    """Operators of sparse tensors that also accept others."""
    x, y = torch.arange(6.).reshape([2, 3]), torch.ones([3, 2])
    same(torch._sparse_mm(x, y), x.mm(y))
    same(torch._sparse_addmm(torch.ones([2, 2]), x, y, beta=2, alpha=3), torch.addmm(torch.ones([2, 2]), x, y, beta=2, alpha=3))
    assert x.sparse_dim() == 0 and x.dense_dim() == 2
    if x.is_sparse:
        x = torch.sparse_csr_tensor(x.coalesce().indices()[0], x.indices()[1], x.values(), [2, 3]).to_sparse()
    same(x, x.to_dense())

def filters():
    x = torch.arange(24.).sin().reshape([2, 2, 6])
    a = torch.tensor([[0.3, -0.5, 1.0], [0.1, 0.2, 1.0]])
    out = torch.zeros([2, 2, 8])
    torch.ops.torchaudio._lfilter_core_loop(x, a, out)
    for t in range(6):
        same(out.select(2, t + 2), x.select(2, t) - out.select(2, t) * a.select(1, 0) - out.select(2, t + 1) * a.select(1, 1))
    b = torch.tensor([[1., 0., 0.], [1., 0., 0.]])
    same(torch.ops.torchaudio._lfilter(x, a.flip([1]), b), out.narrow(2, 2, 6))
    temp, sound = x[0].tanh(), torch.zeros([2, 6])
    last_in, last_out, i, o = torch.ones([2]), torch.ones([2]), torch.ones([2]), torch.ones([2])
    torch.ops.torchaudio._overdrive_core_loop(x[0], temp, last_in, last_out, sound)
    for t in range(6):
        o = temp.select(1, t) - i + 0.995 * o
        i = temp.select(1, t)
        same(sound.select(1, t), x[0].select(1, t) * 0.5 + o * 0.75)
    same(last_in, i)
    same(last_out, o)

def draws(g: Optional[Generator]):
    return torch.rand([2, 3], generator=g), torch.randn([20], generator=g), torch.randint(0, 10, [4], generator=g)

def same_draws(a: Tuple[Tensor, Tensor, Tensor], b: Tuple[Tensor, Tensor, Tensor]):
    same(a[0], b[0])
    same(a[1], b[1])
    same(a[2], b[2])

def generators():
    x = torch.ones([2, 3])
    g, h = torch.Generator(), torch.Generator(device=x.device, seed=7)
    assert g.initial_seed() == 67280421310721 and h.initial_seed() == 7
    torch.manual_seed(7)
    of_all = draws(None)
    after = torch.rand([3])
    mine = draws(h)
    same_draws(mine, of_all)
    draws(g)                                        # only numbers of this generator
    torch.manual_seed(7)
    draws(h)
    again = draws(None)
    same_draws(again, of_all)
    many = [g, h]
    many[1].manual_seed(7)
    of_list = draws(h)
    same_draws(of_list, of_all)
    same(torch.rand_like(after, generator=many[1]), after)
    same(torch.randint_like(x, torch.tensor(5), generator=g.manual_seed(3)), x.clone().random_(0, 5, generator=h.manual_seed(3)))
    s = g.seed()
    assert s == g.initial_seed() and s != g.seed()
    forked = torch.jit.fork(draws, g.manual_seed(7))
    same(torch.jit.wait(forked)[1], of_all[1])

def forward() -> int:
    filters()
    reductions()
    shapes()
    ranges()
    indices()
    products()
    groups()
    norms()
    attention()
    resampling()
    boxes()
    asking()
    strided()
    generators()
    return 0
