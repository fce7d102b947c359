# Conjugate and negative views. conj_test.py builds and runs this file; conj.npz holds PyTorch's answers. Each function gets a
# complex tensor of its own. Everything that it returns is a result.


def case_mul(z: Tensor):
    y = z.conj()
    z.mul_(2)
    return y, z


def case_add1j(z: Tensor):
    y = z.conj()
    y.add_(1j)
    return y, z


def case_imagmul(z: Tensor):
    z.conj().imag.mul_(3)
    return z, z.conj()


def case_imagneg(z: Tensor):
    y = z.conj().imag
    y.add_(1.)
    y[0].mul_(2.)
    return y, z


def case_realadd(z: Tensor):
    z.conj().real.add_(3)
    return z, z.conj().real


def case_adjoint(z: Tensor):
    y = z.adjoint()
    y.mul_(1j)
    y[0].fill_(1+2j)
    return y, z


def case_mH(z: Tensor):
    y = z.mH
    z.add_(1j)
    return y, z, y + 1, y.abs()


def case_H(z: Tensor):
    y = z.H
    y[1, 0] = 5j
    return y, z


def case_resolve(z: Tensor):
    y = z.conj().resolve_conj()
    y.mul_(2)
    return y, z, y.is_conj(), z.conj().is_conj(), z.is_conj()


def case_resolveneg(z: Tensor):
    y = z.conj().imag.resolve_neg()
    y.mul_(2)
    return y, z, y.is_neg(), z.conj().imag.is_neg()


def case_phys(z: Tensor):
    y = torch.conj_physical(z)
    y.mul_(2)
    return y, z, y.is_conj()


def case_phys_(z: Tensor):
    y = z.conj()
    y.conj_physical_()
    return y, z


def case_negview(z: Tensor):
    y = torch._neg_view(z)
    y.add_(1)
    w = torch._neg_view(z.real)
    w.mul_(2)
    return y, z, w, y.is_neg()


def case_real_conj(z: Tensor):
    r = z.real
    q = r.conj()
    q.add_(1)
    return r, z, q.is_conj()


def case_copyself(z: Tensor):
    z.copy_(z.conj())
    return z


def case_copyinto(z: Tensor):
    y = z.conj()
    y.copy_(torch.ones_like(z) * (2+3j))
    return y, z


def case_copyreal(z: Tensor):
    y = z.conj()
    y.copy_(torch.full([2, 3], 4.))
    return y, z


def case_fill(z: Tensor):
    y = z.conj()
    y.fill_(1+2j)
    return y, z


def case_zero(z: Tensor):
    y = z.conj()
    y[:, 1].zero_()
    return y, z


def case_indexput(z: Tensor):
    y = z.conj()
    y[torch.tensor([0, 1]), torch.tensor([2, 0])] = 7j
    return y, z


def case_masked(z: Tensor):
    y = z.conj()
    y.masked_fill_(y.real > 1, 2j)
    return y, z


def case_scatter(z: Tensor):
    y = z.conj()
    y.index_add_(0, torch.tensor([1]), torch.ones(1, 3, dtype=torch.complex64) * 1j)
    return y, z


def case_cat(z: Tensor):
    y = z.conj()
    r = torch.cat([y, z]), torch.stack([y, z], 1)
    z.mul_(2)
    return r, y


def case_unbind(z: Tensor):
    a, b = z.conj().unbind(0)
    a.add_(1j)
    return a, b, z


def case_split(z: Tensor):
    p = z.conj().split(2, 1)
    p[0].mul_(1j)
    return p[0], p[1], z


def case_list(z: Tensor):
    l = [z.conj(), z]
    l[0].add_(1j)
    l.append(z.imag)
    z.mul_(2)
    return l[0], l[1], l[2]


def case_dict(z: Tensor):
    d = {'a': z.conj()}
    z.add_(1j)
    return d['a'], len(d)


def case_tuple(z: Tensor):
    t = (z.conj(), z)
    t[0].add_(2j)
    return t


def case_matmul(z: Tensor):
    y = z.conj()
    r = y @ z.t(), torch.mm(z, y.t())
    return r


def case_sum(z: Tensor):
    y = z.conj()
    return y.sum(), y.mean(0), y.prod(1), y.imag.sum(), y.imag.max(), y.abs().argmax()


def case_reshape(z: Tensor):
    y = z.conj().reshape(6)
    y.mul_(1j)
    return y, z, z.conj().t().reshape(6), y.is_conj()


def case_contig(z: Tensor):
    y = z.conj().contiguous()
    y.add_(1j)
    w = z.t().conj().contiguous()
    w.add_(1j)
    return y, z, w, y.is_conj(), w.is_conj()


def case_to(z: Tensor):
    y = z.conj().to(torch.complex64)
    y.add_(1j)
    return y, z, z.conj().to(torch.complex128), z.conj().to(torch.float32)


def case_clone(z: Tensor):
    y = z.conj().clone()
    y.add_(1j)
    return y, z, y.is_conj()


def case_detach(z: Tensor):
    y = z.conj().detach()
    y.add_(1j)
    return y, z


def case_item(z: Tensor):
    return z[0, 1].conj().item(), complex(z[1, 1].conj()), float(z[0, 2].conj().imag), bool(z[0, 1].conj())


def case_eq(z: Tensor):
    return torch.equal(z.conj(), z), (z.conj() == z), torch.allclose(z.conj(), z)


def case_out(z: Tensor):
    y = torch.empty(2, 3, dtype=torch.complex64).conj()
    torch.add(z, 1, out=y)
    return y, y.is_conj()


def case_outresize(z: Tensor):
    y = torch.empty(0, dtype=torch.complex64).conj()
    torch.add(z, 1, out=y)
    return y, y.is_conj()


def case_squeeze_(z: Tensor):
    y = z.conj()
    y.unsqueeze_(0)
    y.add_(1j)
    return y, z, y.is_conj()


def case_transpose_(z: Tensor):
    y = z.conj()
    y.t_()
    y[0].add_(1j)
    return y, z


def case_resize_(z: Tensor):
    y = z.clone().conj()
    y.resize_([3])
    y.add_(1j)
    return y


def case_setsrc(z: Tensor):
    y = torch.zeros(2, 3, dtype=torch.complex64).conj()
    y.set_(z)
    return y, y.is_conj()


def case_asstrided(z: Tensor):
    y = z.conj().as_strided([2, 2], [1, 2])
    y.mul_(2)
    return y, z, y.is_conj()


def case_expand(z: Tensor):
    y = z.conj().unsqueeze(0).expand(2, 2, 3)
    z.add_(1j)
    return y, y + 1


def case_where(z: Tensor):
    y = z.conj()
    return torch.where(y.imag > 0, y, z), torch.where(y.imag > 0, y.imag, z.real)


def case_loop(z: Tensor):
    y = z.conj()
    for i in range(3):
        y = y.conj()
        y.add_(1j)
    return y, z, y.is_conj()


def case_branch(z: Tensor):
    y = z
    if bool(z.real.sum() > 0):
        y = z.conj()
    y.mul_(1j)
    return y, z, y.is_conj(), y + 1


def case_branch2(z: Tensor):
    y = z
    if bool(z.real.sum() < 0):
        y = z.conj()
    y.mul_(1j)
    return y, z, y.is_conj(), y + 1


def case_conjconj(z: Tensor):
    y = z.conj().conj()
    y.add_(1j)
    return y, z, y.is_conj()


def case_strides(z: Tensor):
    y = z.t().conj()
    a = y.stride(), (y + 1).stride(), y.abs().stride()
    return a, y.resolve_conj().stride(), torch.empty_like(y).stride(), y.imag.stride()


def case_viewascomplex(z: Tensor):
    y = torch.view_as_complex(torch._neg_view(torch.view_as_real(z)))
    y.add_(1j)
    return y, z, y.is_neg()


def case_isset(z: Tensor):
    return z.conj().is_set_to(z), z.conj().is_complex(), z.conj().dim(), z.conj().storage_offset(), z.conj().dtype == torch.complex64


def case_imagchain(z: Tensor):
    y = z.conj().imag
    w = y[1]
    w.sub_(y[0])
    return z, w, y, torch.relu(y), y * 2 + 1, y.sigmoid()


def case_imagops(z: Tensor):
    y = z.conj().imag
    return y.sort(1)[0], y.cumsum(1), torch.cat([y, y]), y.t() @ y, torch.softmax(y, 1), y.norm(), y.pow(2), y.clamp(min=0.), y.int(), y.double(), y.half()


def case_fft(z: Tensor):
    return torch.fft.fft(z.conj()), torch.fft.ifft(z).conj(), torch.linalg.svd(z.conj() @ z.mT)[1]


def case_addcmul(z: Tensor):
    y = z.conj()
    y.addcmul_(z, y, value=2)
    return y, z


def case_lerp(z: Tensor):
    y = z.conj()
    z.lerp_(y, 0.5)
    return y, z


def case_addpart(z: Tensor):
    y = z.conj()
    z.add_(y)
    return y, z


def case_sub(z: Tensor):
    y = z.conj()
    y -= z
    z *= 1j
    return y, z


def case_swap(z: Tensor):
    y = z.conj().swapaxes(0, 1)
    y[0] += 1
    return y, z


def case_ret_list(z: Tensor):
    return [z.conj(), z.conj().imag, z]


def case_tensoroftensors(z: Tensor):
    l = [z[0, 0].conj().imag, z[0, 1].conj().imag]
    return torch.tensor(float(l[0])), torch.as_tensor(z.conj()).is_conj(), [z[0, 0].conj()] == [z[0, 0]], torch.tensor([float(l[0])])


def case_bmm(z: Tensor):
    y = z.unsqueeze(0).conj()
    return torch.bmm(y, y.mT), torch.einsum('bij,bkj->ik', y, y), torch.outer(z[0].conj(), z[1])


def case_chunk(z: Tensor):
    a, b = z.conj().chunk(2, 0)
    b.mul_(2)
    return a, b, z


def case_diag(z: Tensor):
    y = z.conj().diagonal()
    y.add_(1j)
    return y, z


def case_flip(z: Tensor):
    return z.conj().flip(0), z.conj().roll(1), z.conj().repeat(2, 1), z.conj().tril(), z.conj().nonzero(), z.conj().index_select(1, torch.tensor([2, 0])), z.conj().gather(1, torch.zeros(2, 1, dtype=torch.int64))


def case_newzeros(z: Tensor):
    y = z.conj()
    return y.new_zeros([2]), torch.zeros_like(y).is_conj()


def case_inplaceview(z: Tensor):
    y = z.conj()[0]
    y.mul_(2)
    z.conj()[1].sub_(3j)
    return z


def forward(z: Tensor):
    return (
        case_mul(z.clone()),
        case_add1j(z.clone()),
        case_imagmul(z.clone()),
        case_imagneg(z.clone()),
        case_realadd(z.clone()),
        case_adjoint(z.clone()),
        case_mH(z.clone()),
        case_H(z.clone()),
        case_resolve(z.clone()),
        case_resolveneg(z.clone()),
        case_phys(z.clone()),
        case_phys_(z.clone()),
        case_negview(z.clone()),
        case_real_conj(z.clone()),
        case_copyself(z.clone()),
        case_copyinto(z.clone()),
        case_copyreal(z.clone()),
        case_fill(z.clone()),
        case_zero(z.clone()),
        case_indexput(z.clone()),
        case_masked(z.clone()),
        case_scatter(z.clone()),
        case_cat(z.clone()),
        case_unbind(z.clone()),
        case_split(z.clone()),
        case_list(z.clone()),
        case_dict(z.clone()),
        case_tuple(z.clone()),
        case_matmul(z.clone()),
        case_sum(z.clone()),
        case_reshape(z.clone()),
        case_contig(z.clone()),
        case_to(z.clone()),
        case_clone(z.clone()),
        case_detach(z.clone()),
        case_item(z.clone()),
        case_eq(z.clone()),
        case_out(z.clone()),
        case_outresize(z.clone()),
        case_squeeze_(z.clone()),
        case_transpose_(z.clone()),
        case_resize_(z.clone()),
        case_setsrc(z.clone()),
        case_asstrided(z.clone()),
        case_expand(z.clone()),
        case_where(z.clone()),
        case_loop(z.clone()),
        case_branch(z.clone()),
        case_branch2(z.clone()),
        case_conjconj(z.clone()),
        case_strides(z.clone()),
        case_viewascomplex(z.clone()),
        case_isset(z.clone()),
        case_imagchain(z.clone()),
        case_imagops(z.clone()),
        case_fft(z.clone()),
        case_addcmul(z.clone()),
        case_lerp(z.clone()),
        case_addpart(z.clone()),
        case_sub(z.clone()),
        case_swap(z.clone()),
        case_ret_list(z.clone()),
        case_tensoroftensors(z.clone()),
        case_bmm(z.clone()),
        case_chunk(z.clone()),
        case_diag(z.clone()),
        case_flip(z.clone()),
        case_newzeros(z.clone()),
        case_inplaceview(z.clone()),
    )
