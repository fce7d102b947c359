# Operators that return their argument, or a view of it, where nothing is to do: a write to the result changes the argument.
def changes(x: Tensor, y: Tensor) -> bool:
    z = x.clone()
    y.add_(1)
    return not torch.equal(x, z)

def forward():
    x = torch.arange(6.).view([2, 3])
    for k in range(2):
        print(changes(x, torch.conj_physical(x)), changes(x, torch.dequantize(x)))
        print(changes(x, torch.real(x)), changes(x, torch.conj(x)), changes(x, torch.resolve_conj(x)), changes(x, torch.resolve_neg(x)))
        print(changes(x, torch.dropout(x, 0.5, False)), changes(x, torch.feature_dropout(x, 0.5, False)), changes(x, torch.alpha_dropout(x, 0.5, False)), changes(x, torch.feature_alpha_dropout(x, 0.5, False)))
        print(changes(x, torch.positive(x)), changes(x, x.to(torch.float32)), changes(x, x.type_as(x)), changes(x, x.float()), changes(x, x.contiguous()))
        print(changes(x, x.expand_as(x)), changes(x, x.squeeze()), changes(x, torch.flatten(x, 1, 1)), changes(x, torch.sum_to_size(x, x.size())), changes(x, torch.movedim(x, 0, 0)))
        print(changes(x, torch.atleast_1d(x)), changes(x, torch.atleast_2d(x)), changes(x, torch.atleast_3d(x)), changes(x, torch.broadcast_tensors([x, x])[0]), changes(x, torch.unsafe_chunk(x, 1)[0]))
        print(changes(x, torch.flatten_dense_tensors([x])), changes(x, torch.flatten_dense_tensors([x, x])), changes(x, torch._unsafe_view(x, x.size())), changes(x, x.data), changes(x, torch.einsum("ij", [x])))
        x = x.t()
    c = torch.complex(x, x)
    print(changes(c, torch.conj_physical(c)), changes(c, torch._conj_physical(c)), changes(x, torch._conj_physical(x)), changes(x, torch.dequantize(x.double())))
    v = torch.arange(3.)
    print(changes(v, torch.cartesian_prod([v])), changes(v, torch.meshgrid([v])[0]), changes(v, torch.histogram(x, v)[1]))
    print(changes(v, torch.dequantize(torch.quantize_per_tensor(v, 1., 0, 13))))
# ---
# True True
# True True True True
# True True True True
# True True True True True
# True True True True True
# True True True True True
# True False True True True
# True True
# True True True True
# True True True True
# True True True True False
# True True True True True
# True True True True True
# False False True True True
# False False False False
# True True False
# False
# None
