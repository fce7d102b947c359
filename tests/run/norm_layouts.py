# Norms of tensors that are channels last, transposed or have gaps equal those of the same numbers in contiguous order.
def norms(x: Tensor):
    n, c = x.size(0), x.size(1)
    m, v = torch.zeros([c]), torch.ones([c])
    r = [torch.instance_norm(x, None, None, None, None, True, 0.1, 1e-5, False), torch.instance_norm(x, m, v, None, None, True, 0.5, 1e-5, False), m, v]
    m, v = torch.zeros([c]), torch.ones([c])
    r += [torch.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, False), torch.batch_norm(x, m, v, None, None, True, 0.5, 1e-5, False), m, v]
    return r + [torch.group_norm(x, 2, None, None, 1e-5, False), torch.layer_norm(x, x.size()[1:])]


def forward() -> None:
    x = torch.sin(torch.arange(240, dtype=torch.float32) * 1.7).reshape(2, 4, 5, 6)
    for y in [x.contiguous(memory_format=torch.channels_last), x.transpose(1, 3).contiguous().transpose(1, 3), torch.cat([x, x], 3)[:, :, :, :6],
              torch.stack([x, x], -1)[:, :, :, :, 1]]:
        print([bool(torch.allclose(a, b, 1e-4, 1e-5)) for a, b in zip(norms(x), norms(y))])
# ---
# [True, True, True, True, True, True, True, True, True, True]
# [True, True, True, True, True, True, True, True, True, True]
# [True, True, True, True, True, True, True, True, True, True]
# [True, True, True, True, True, True, True, True, True, True]
# None
