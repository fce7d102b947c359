# Random functions with writes that do not count for the gradient: in loops, branches, on views of views, through lists, tuples,
# dicts. random_flows.txt calls them.

def r0(x: Tensor, y: Tensor):
    v1 = torch.stack([x, x])
    v2 = torch.zeros(2, 3, dtype=torch.float64)
    v2 *= -1.5
    v3 = y.view(1, 3)[0]
    for i in range(0):
        v4 = x * v3
        with torch.no_grad():
            v3.data.exp_()
    for i in range(3):
        v5 = v2.narrow(0, 0, 1).squeeze(0)
        v6 = x.data
    return v1.sum(0) * y + v2.sum(0) + v3

def r1(x: Tensor, y: Tensor):
    v1 = y.detach().clone()
    v2 = x.sin()
    n3 = 0
    while n3 < 2:
        for i in range(0):
            v4 = y * v1
            v5 = v4.reshape(3)
            l6 = [v2, v5]
            l6.append(v1)
            p7 = (x, v4)
            v8 = p7[0]
        for i in range(0):
            v9 = v1.unsqueeze(0).squeeze(0)
        v2.data.exp_()
        n3 += 1
    v10 = torch.zeros(2, 3, dtype=torch.float64)
    v11 = torch.relu(v10)
    n12 = 0
    while n12 < 2:
        v13 = y.view_as(x)
        n12 += 1
    v14 = v2.to(torch.float64)
    return v1 + v14 + v10.sum(0) + v2

def r2(x: Tensor, y: Tensor):
    v1 = torch.zeros(2, 3, dtype=torch.float64)
    with torch.no_grad():
        x.mul_(-1.5)
        v2 = v1.unbind(0)[1]
        v2 *= 2.0
    with torch.no_grad():
        if bool(y.sum() > 3):
            y.fill_(-1.5)
        else:
            v3 = x.add_(1.25)
        v2[0].sub_(-1.5)
        torch.relu_(x.detach())
    with torch.no_grad():
        for i in range(2):
            v2.copy_(v2 * 0.5)
        n4 = 0
        while n4 < 2:
            y.detach().mul_(0.5)
            n4 += 1
        for i in range(2):
            v1.data.fill_(-1.5)
    with torch.no_grad():
        v5 = y.type_as(x)
    return v2 * y + v5 + v1.sum(0)

def r3(x: Tensor, y: Tensor):
    v1 = torch.ones_like(torch.stack([y, x]))
    with torch.no_grad():
        x[1:].add_(1.25)
    v1.view(6)[:2].clamp_(-1.0, 1.0)
    v2 = torch.relu(y)
    for i in range(2):
        l3 = [y, x]
        v4 = l3[0]
        l3[0] = v4
        v1.view(6)[:2] *= -1.5
    v5 = torch.stack([v2, v2])
    return v2 + v5.sum(0) + v1.sum(0)

def r4(x: Tensor, y: Tensor):
    v1 = x + y
    v2 = y * v1
    v3 = y - y
    v4 = x.repeat(2, 1)
    v5 = v4.chunk(2)[0].view(3)
    v3.view(3, 1)[1] = 1.25
    l6 = [v2, v1]
    l6.append(y)
    v7 = l6[0]
    torch.set_grad_enabled(False)
    v3[0].add_(2.0)
    for t8 in v4.unbind(0):
        v7.view(1, 3)[0].fill_(0.5)
    torch.set_grad_enabled(True)
    return v1 * y + v3 + v4.sum(0) + v7

def r5(x: Tensor, y: Tensor):
    v1 = y.repeat(2, 1)
    v2 = v1[0]
    with torch.no_grad():
        v3 = y.view(1, 3)[0]
        v1[1:].zero_()
    return v2 * y + v1.sum(0) + v3

def r6(x: Tensor, y: Tensor):
    v1 = x / 2
    l2 = [x, v1]
    v3 = torch.stack([l2[0], l2[1]])[0:2]
    v4 = v3.clone()
    with torch.no_grad():
        v1.sub_(2.0)
        for i in range(3):
            x.data.mul_(0.5)
        v1[0] *= -1.5
    with torch.no_grad():
        v5 = x.lerp_(y, 0.5)
        v6 = v4.permute(1, 0).permute(1, 0)
    v7 = torch.minimum(v1, x)
    return v4.sum(0) * y + v3.sum(0) + v6.sum(0) + v7

def r7(x: Tensor, y: Tensor):
    v1 = x + 1
    with torch.no_grad():
        v1[1:].masked_fill_(v1[1:] > 1, 0.5)
        v2 = v1 * 2
        v3 = v1.view(1, 3)[0]
    v4 = v2.to(torch.float64)
    v5 = torch.einsum('i->i', v4)
    v6 = v3.expand(2, 3).clone()
    v7 = v4 * v5
    return v5 * y + v3 + v1 + v7

def r8(x: Tensor, y: Tensor):
    v1 = y * x
    v2 = v1.contiguous()
    v3 = v1.data
    v4 = v3.repeat(2, 1)
    v5 = v3.abs().sqrt()
    v6 = y.sigmoid()
    return v6 + v1 + v3 + v5

def r9(x: Tensor, y: Tensor):
    v1 = torch.minimum(x, x)
    v1.detach().mul_(3.0)
    v1 += y
    v2 = y[0:3]
    v3 = v2.expand(2, 3).clone()
    return v1 * y + v2 + v3.sum(0)

def r10(x: Tensor, y: Tensor):
    v1 = x.repeat(2, 1)
    with torch.no_grad():
        v2 = x.data.add_(1.25)
        with torch.enable_grad():
            v3 = y.sigmoid()
            v4 = v3.tanh()
        x.fill_(-1.5)
    v5 = v4 / 2
    l6 = [v4, v4]
    v7 = l6[0]
    l6[0] = v5
    v8 = v2 / 2
    return v7 * y + v8 + v4 + v1.sum(0)

def r11(x: Tensor, y: Tensor):
    v1 = y.exp()
    v2 = x.view_as(x)
    v3 = y.unsqueeze(0).squeeze(0)
    l4 = [x, x]
    v5 = l4[0]
    with torch.no_grad():
        for i in range(2):
            y.view(3, 1)[1].add_(1.25)
        n6 = 0
        while n6 < 2:
            v5.index_fill_(0, torch.tensor([1]), 4.0)
            n6 += 1
    return v2 + v3 + v5 + v1

def r12(x: Tensor, y: Tensor):
    v1 = x * 2
    for i in range(1):
        l2 = [y, y]
        l2.append(x)
        p3 = (x, x)
        v4 = p3[0]
    v5 = torch.stack([y, v1])
    v6 = y.type_as(x)
    with torch.no_grad():
        torch.relu_(x.view(3, 1)[1])
    with torch.no_grad():
        v1.detach().neg_()
        v1.detach().sub_(3.0)
        v1.clamp_(-1.0, 1.0)
    return v1 + v5.sum(0) + v6

def r13(x: Tensor, y: Tensor):
    v1 = torch.stack([x, x])
    v2 = y.detach()
    v3 = y.double()
    return v2 + v3 + v1.sum(0)

def r14(x: Tensor, y: Tensor):
    v1 = torch.zeros_like(x)
    v2 = y.reshape(3)
    l3 = [v2, y]
    v4 = torch.stack([l3[0], l3[1]])[0:2]
    v5 = v4[0].mul_(v4[0] + 1)
    v6 = v1.squeeze()
    v7 = v1.contiguous()
    with torch.no_grad():
        v1[:2] *= 3.0
        n8 = 0
        while n8 < 2:
            v2.view(1, 3)[0].copy_(v2.view(1, 3)[0] * 0.5)
            n8 += 1
    if bool(v6.sum() > 100):
        for i in range(3):
            v9 = v7.abs().sqrt()
            v10 = v9.flatten()
        with torch.no_grad():
            v4[0] = v4[0] * 2
            v11 = v6.exp()
            v12 = v1.view(3, 1)[1].mul_(1.25)
    else:
        for i in range(0):
            v4 *= 1.25
            d13 = {'a': v6}
            v14 = d13['a']
            v15 = v2.type_as(x)
        v16 = v7 + v7
    return v2 * y + v6 + v7 + v4.sum(0)

def r15(x: Tensor, y: Tensor):
    v1 = x + 1
    v1.view(3, 1)[1] = 2.0
    torch.set_grad_enabled(False)
    for i in range(3):
        v1[:2].sub_(0.5)
    for i in range(2):
        v2 = torch.relu_(x[:2])
    torch.set_grad_enabled(True)
    for i in range(1):
        for i in range(3):
            v3 = y.sigmoid()
            v4 = y.type_as(x)
        with torch.no_grad():
            y.view(1, 3)[0].fill_(1.25)
        l5 = [y, y]
        d6 = {'a': y}
        v7 = d6['a']
    v8 = torch.zeros(2, 3, dtype=torch.float64)
    with torch.no_grad():
        v1.view(3, 1)[1].mul_(v1.view(3, 1)[1] + 1)
        v8.view(6)[:2].add_(3.0)
    return v1 * y + v8.sum(0)

def r16(x: Tensor, y: Tensor):
    v1 = y.detach().clone()
    v2 = torch.zeros_like(x)
    v2[1:] *= -1.5
    return v1 + v2

def r17(x: Tensor, y: Tensor):
    v1 = x + y
    n2 = 0
    while n2 < 2:
        v3 = torch.einsum('i->i', y)
        v4 = v1.detach().clamp_(-1.0, 1.0)
        v5 = v4 / 2
        n2 += 1
    with torch.no_grad():
        y.lerp_(v1 * 2.0, 0.5)
        y.view(3, 1)[1].exp_()
        v6 = torch.ones_like(torch.stack([v1, v1]))
    with torch.no_grad():
        for i in range(3):
            v1.detach().neg_()
        v7 = -v1
        v7.view(1, 3)[0].masked_fill_(v7.view(1, 3)[0] > 1, 0.5)
    with torch.no_grad():
        x[1:] += 0.5
        v8 = torch.relu(v1)
        v8.data.addcmul_(y * 0.5, y * 0.5)
    with torch.no_grad():
        torch.relu_(v6.t()[1])
        with torch.enable_grad():
            v6.view(6)[:2].masked_fill_(v6.view(6)[:2] > 1, 0.5)
            v9 = v8 / 2
        v9.view(3, 1)[1].copy_(v9.view(3, 1)[1] * 0.5)
    with torch.no_grad():
        v10 = v1[0:3]
    with torch.no_grad():
        v11 = torch.zeros(2, 3, dtype=torch.float64)
        v9.data.add_(-1.5)
    return v1 + v10 + v11.sum(0) + v9

def r18(x: Tensor, y: Tensor):
    v1 = x * 3
    v2 = v1.data
    l3 = [v1, v1]
    v4 = l3[1]
    v5 = v2.exp()
    v6 = v4.contiguous()
    v7 = v4[0:3]
    with torch.no_grad():
        v8 = v7.addcmul_(v7 * 0.5, v7 * 0.5)
        torch.relu_(y.view(3, 1)[1])
    return v6 + v8 + v1 + v5

def r19(x: Tensor, y: Tensor):
    v1 = torch.zeros(2, 3, dtype=torch.float64)
    l2 = [x, x]
    l2.append(x)
    v3 = torch.stack([l2[0], l2[1]])[0:2]
    with torch.no_grad():
        y.exp_()
    for i in range(1):
        v4 = v1.transpose(0, 1).transpose(0, 1)
        torch.set_grad_enabled(False)
        for t5 in [x, y]:
            v6 = v3.view(6)[:2].masked_fill_(v3.view(6)[:2] > 1, 0.5)
        torch.set_grad_enabled(True)
        v7 = v3.narrow(0, 0, 1).squeeze(0)
    return v1.sum(0) * y + v3.sum(0)

def r20(x: Tensor, y: Tensor):
    v1 = torch.zeros_like(x)
    v2 = x.view(3, 1).view(3)
    v3 = v1.clone()
    with torch.no_grad():
        v2.detach().fill_(-1.5)
        v4 = torch.relu_(v1)
    l5 = [v4, y]
    v6 = l5[0]
    l5[0] = x
    n7 = 0
    while n7 < 2:
        with torch.no_grad():
            v8 = v6.sin()
            v9 = v4[0:3]
        v10 = v8.exp()
        n7 += 1
    v11 = v6 + 1
    return v1 + v4 + v3 + v2

def r21(x: Tensor, y: Tensor):
    v1 = y * y
    v2 = torch.atleast_1d(x)
    with torch.no_grad():
        v1.mul_(v2)
    v3 = v1.view_as(x)
    return v1 + v2 + v3

def r22(x: Tensor, y: Tensor):
    v1 = x.repeat(2, 1)
    for i in range(1):
        v2 = torch.zeros_like(y)
    v3 = v1.view(6)[:2].copy_(v1.view(6)[:2] * 0.5)
    l4 = [x, y]
    l4.append(y)
    p5 = (v1, v1)
    v6 = p5[0]
    with torch.no_grad():
        y.view(3, 1)[1].mul_(y.view(3, 1)[1] + 1)
        x.view(3, 1)[1] += 1.25
        v1.data.lerp_(v1, 0.5)
    return v1.sum(0) + v6.sum(0)

def r23(x: Tensor, y: Tensor):
    v1 = x * 2
    if bool(v1.sum() > 100):
        v1[0].clamp_(-1.0, 1.0)
    else:
        n2 = 0
        while n2 < 2:
            v1.view(3, 1)[1].mul_(-1.5)
            n2 += 1
    v3 = y.detach()
    return v3 * y + v1

def r24(x: Tensor, y: Tensor):
    v1 = x / 2
    v2 = v1.double()
    l3 = [v2, y]
    v4 = l3[1]
    v1.data.mul_(v1.data + 1)
    l5 = [v2, v1]
    v6 = l5[0]
    v7 = v6 / 2
    for i in range(2):
        with torch.no_grad():
            v4.data.mul_(v4.detach())
            v1[1:].fill_(3.0)
            v4[0].sub_(3.0)
    return v1 * y + v2 + v6 + v4

def r25(x: Tensor, y: Tensor):
    v1 = x * 2
    torch.set_grad_enabled(False)
    x.mul_(2.0)
    v2 = torch.minimum(v1, y)
    v3 = v1.repeat(2, 1)
    torch.set_grad_enabled(True)
    with torch.no_grad():
        v4 = y * 3
        v2.view(3, 1)[1].copy_(v2.view(3, 1)[1] * 0.5)
        v5 = v4.type_as(x)
    v6 = v4 * 3
    with torch.no_grad():
        x.view(1, 3)[0].sub_(-1.5)
    return v5 * y + v3.sum(0) + v6 + v1

def r26(x: Tensor, y: Tensor):
    v1 = y.detach().clone()
    l2 = [v1, y]
    v3 = l2[1]
    v4 = -y
    n5 = 0
    while n5 < 2:
        v6 = torch.atleast_1d(v4)
        v7 = v4 + 1
        with torch.no_grad():
            v4[:2].fill_(1.25)
        n5 += 1
    return v4 + v1 + v3

def r27(x: Tensor, y: Tensor):
    v1 = y + 1
    v2 = torch.zeros_like(y)
    torch.set_grad_enabled(False)
    v3 = y.exp()
    torch.set_grad_enabled(True)
    n4 = 0
    while n4 < 2:
        l5 = [v2, v3]
        v6 = l5[0]
        l5[0] = v3
        n4 += 1
    with torch.no_grad():
        v3[:2].copy_(v3[:2] * 0.5)
        with torch.enable_grad():
            torch.mul(y.detach(), 2.0, out=v3.data)
            v7 = v2.detach().clone()
        v8 = v1.view(3, 1)[1].exp_()
    with torch.no_grad():
        v9 = x.data.copy_(x.data * 0.5)
        with torch.enable_grad():
            v7.addcmul_(v7, v7)
            v10 = v2 + 1
        y.index_fill_(0, torch.tensor([1]), 4.0)
    n11 = 0
    while n11 < 2:
        v12 = x.to(torch.float64)
        n13 = 0
        while n13 < 2:
            v14 = v9.tanh()
            v15 = v12.data.neg_()
            v15[:2].sub_(0.5)
            n13 += 1
        n11 += 1
    return v10 * y + v7 + v3 + v9

def r28(x: Tensor, y: Tensor):
    v1 = torch.zeros_like(y)
    with torch.no_grad():
        x.view(3, 1)[1].copy_(x.view(3, 1)[1] * 0.5)
        y[1:] = -1.5
        if bool(x.sum() > 100):
            torch.relu_(x.detach())
    v2 = torch.minimum(v1, x)
    return v1 * y + v2

def r29(x: Tensor, y: Tensor):
    v1 = torch.stack([x, y])
    v1.mul_(0.5)
    v2 = y.sigmoid()
    torch.set_grad_enabled(False)
    v3 = y / 2
    torch.set_grad_enabled(True)
    v4 = v1.permute(1, 0).permute(1, 0)
    v5 = v2.tanh()
    return v4.sum(0) * y + v2 + v5 + v1.sum(0)

def r30(x: Tensor, y: Tensor):
    v1 = torch.zeros(2, 3, dtype=torch.float64)
    torch.set_grad_enabled(False)
    v2 = x.view_as(x)
    v3 = v1.type_as(y)
    torch.set_grad_enabled(True)
    v4 = torch.einsum('ij->ij', v3)
    return v4.sum(0) + v2 + v3.sum(0) + v1.sum(0)

def r31(x: Tensor, y: Tensor):
    v1 = torch.zeros(2, 3, dtype=torch.float64)
    with torch.no_grad():
        v2 = torch.relu_(y[1:])
    n3 = 0
    while n3 < 2:
        l4 = [x, y]
        l4.append(y)
        p5 = (y, y)
        v6 = p5[0]
        with torch.no_grad():
            v7 = v1.t()[1].clamp_(-1.0, 1.0)
            with torch.enable_grad():
                v1.data.masked_fill_(v1.data > 1, 0.5)
                v8 = x.abs().sqrt()
            v8.detach().clamp_(-1.0, 1.0)
        n3 += 1
    return v1.sum(0)

def r32(x: Tensor, y: Tensor):
    v1 = torch.stack([x, y])
    v2 = x.type_as(x)
    v3 = y.data
    with torch.no_grad():
        v4 = -v3
    v5 = v4[0:3]
    with torch.no_grad():
        for t6 in [v5, v3]:
            torch.relu_(t6[1:])
        y.masked_fill_(y > 1, 0.5)
    l7 = [x, v2]
    p8 = (v2, v2)
    v9 = p8[0]
    return v1.sum(0) + v9 + v4 + v2

def r33(x: Tensor, y: Tensor):
    v1 = y.tanh()
    l2 = [v1, x]
    v3 = torch.stack([l2[0], l2[1]])[0:2]
    v4 = y.data
    v5 = y * 2
    v6 = v5.mul_(v5 + 1)
    with torch.no_grad():
        v4.view(3, 1)[1] = v4.view(3, 1)[1] * 2
    v7 = v5.clone()
    return v5 * y + v4 + v1 + v6

def r34(x: Tensor, y: Tensor):
    v1 = y.abs().sqrt()
    v2 = v1.double()
    with torch.no_grad():
        v3 = v1 / 2
        x.data.addcmul_(v1, v1)
        v4 = torch.nn.functional.dropout(v3, 0.5, False)
    v5 = x.to(torch.float64)
    return v3 * y + v5 + v2 + v4

def r35(x: Tensor, y: Tensor):
    v1 = y - y
    v1.detach().add_(0.5)
    with torch.no_grad():
        x.neg_()
        v2 = y.view(1, 3)[0].add_(3.0)
    v3 = x.expand(2, 3).clone()
    for i in range(1):
        with torch.no_grad():
            v4 = y.view(3, 1)[1].mul_(3.0)
    v5 = v3.exp()
    return v1 * y + v3.sum(0) + v5.sum(0)

def r36(x: Tensor, y: Tensor):
    v1 = torch.ones_like(torch.stack([x, y]))
    v2 = v1.sin()
    if bool(v2.sum() > 0):
        with torch.no_grad():
            v3 = torch.relu(y)
            v1.detach().neg_()
            v4 = torch.zeros_like(y)
    else:
        v5 = torch.atleast_1d(y)
        v6 = x + v5
    v7 = y.reshape(3)
    with torch.no_grad():
        n8 = 0
        while n8 < 2:
            v2.copy_(v2 * 0.5)
            n8 += 1
        if bool(v1.sum() > 3):
            v2.view(6)[:2].clamp_(-1.0, 1.0)
        else:
            v2.detach().clamp_(-1.0, 1.0)
        y.view(1, 3)[0].sub_(0.5)
    torch.set_grad_enabled(False)
    n9 = 0
    while n9 < 2:
        v7[:2].add_(1.25)
        n9 += 1
    v2.view(6)[:2] *= 2.0
    v10 = y.detach().add_(2.0)
    torch.set_grad_enabled(True)
    v2 += 1.25
    return v2.sum(0) + v10 + v7 + v1.sum(0)

def r37(x: Tensor, y: Tensor):
    v1 = y.repeat(2, 1)
    v2 = v1.type_as(y)
    v3 = x * x
    torch.set_grad_enabled(False)
    v4 = v1.view(6)[:2].clamp_(-1.0, 1.0)
    for t5 in [v3, v3]:
        v6 = x.data.lerp_(y, 0.5)
    v7 = v1.detach()
    torch.set_grad_enabled(True)
    return v1.sum(0) + v2.sum(0) + v3 + v7.sum(0)

def r38(x: Tensor, y: Tensor):
    v1 = torch.cat([x, y]).view(2, 3)
    v1[1][0].mul_(v1[1][0] + 1)
    v2 = x.clone()
    with torch.no_grad():
        x[1:].add_(3.0)
    l3 = [x, x]
    v4 = torch.stack([l3[0], l3[1]])[0:2]
    v2.clamp_(-1.0, 1.0)
    l5 = [v2, v2]
    v6 = l3[1]
    return v2 + v6 + v4.sum(0) + v1.sum(0)

def r39(x: Tensor, y: Tensor):
    v1 = x * 2
    v2 = y.type_as(x)
    v3 = v1.reshape(3)
    v4 = v3.contiguous()
    v5 = torch.ones_like(torch.stack([v2, v3]))
    l6 = [v1, v2]
    d7 = {'a': v5}
    v8 = d7['a']
    v9 = x.detach().clone()
    return v3 + v1 + v4 + v8.sum(0)

def r40(x: Tensor, y: Tensor):
    v1 = torch.cat([y, y]).view(2, 3)
    v2 = v1.clone()
    l3 = [x, y]
    p4 = (x, v2)
    v5 = p4[0]
    with torch.no_grad():
        v6 = v1.reshape(6)[3:]
    v7 = torch.stack([l3[0], l3[1]])[0:2]
    v8 = y.contiguous()
    v9 = v5.expand(2, 3).clone()
    return v8 + v9.sum(0) + v7.sum(0) + v6

def r41(x: Tensor, y: Tensor):
    v1 = x - y
    with torch.no_grad():
        x.data.zero_()
        x[0].sub_(2.0)
    v1.view(1, 3)[0].exp_()
    v2 = x - y
    v3 = -v1
    l4 = [y, x]
    v5 = l4[1]
    l4[0] = v3
    v6 = v3.double()
    v7 = v5.contiguous()
    return v7 * y + v5 + v2 + v6

def r42(x: Tensor, y: Tensor):
    v1 = y * x
    with torch.no_grad():
        v2 = v1.clone()
    v3 = v1.fill_(0.5)
    with torch.no_grad():
        v2[1:] *= 0.5
        for i in range(3):
            torch.relu_(v3.detach())
    v4 = v3.detach().add_(1.25)
    torch.set_grad_enabled(False)
    v4.index_fill_(0, torch.tensor([1]), 4.0)
    torch.set_grad_enabled(True)
    v5 = torch.ones_like(torch.stack([v1, v2]))
    v6 = v5.select(0, 1)
    return v2 * y + v6 + v1 + v3

def r43(x: Tensor, y: Tensor):
    v1 = torch.ones_like(torch.stack([x, x]))
    v2 = x[0:3]
    with torch.no_grad():
        if bool(y.sum() > 3):
            v2.view(1, 3)[0].add_(2.0)
        y[:2].copy_(y[:2] * 0.5)
        v3 = v2.view_as(x)
    return v1.sum(0) * y + v2 + v3

def r44(x: Tensor, y: Tensor):
    v1 = x.detach().clone()
    l2 = [v1, x]
    v3 = l2[1]
    v4 = v3.detach().clone()
    v5 = torch.zeros_like(v1)
    v6 = torch.atleast_1d(v5)
    v7 = torch.ones_like(torch.stack([v4, v6]))
    return v6 + v1 + v4 + v7.sum(0)

def r45(x: Tensor, y: Tensor):
    v1 = x * y
    with torch.no_grad():
        n2 = 0
        while n2 < 2:
            torch.relu_(v1.view(1, 3)[0])
            n2 += 1
        v1.data.index_fill_(0, torch.tensor([1]), 4.0)
    v1.view(3, 1)[1].neg_()
    v3 = v1.exp()
    l4 = [v3, v1]
    l4.append(x)
    v5 = l4[0]
    l4[0] = v5
    v6 = v5 / 2
    if bool(v6.sum() > 0):
        with torch.no_grad():
            v7 = v6.data.masked_fill_(v6.data > 1, 0.5)
            v8 = v6.copy_(v6 * 0.5)
    else:
        l9 = [v3, v5]
        v10 = l9[1]
    return v6 + v3 + v1 + v5

def r46(x: Tensor, y: Tensor):
    v1 = torch.zeros(2, 3, dtype=torch.float64)
    with torch.no_grad():
        v2 = v1.unbind(0)[1]
        v2.view(3, 1)[1].copy_(v2.view(3, 1)[1] * 0.5)
        v3 = v2.view(1, 3)[0].exp_()
    for i in range(1):
        with torch.no_grad():
            v4 = y.view(1, 3)[0].exp_()
    v5 = v1.sin()
    l6 = [x, v2]
    v7 = l6[1]
    for i in range(2):
        v5 += 0.5
        v8 = x.detach()
    return v2 * y + v7 + v5.sum(0) + v1.sum(0)

def r47(x: Tensor, y: Tensor):
    v1 = torch.zeros(2, 3, dtype=torch.float64)
    v2 = v1.clone()
    with torch.no_grad():
        v1[1][0] += -1.5
        x[:2].mul_(1.25)
    return v1.sum(0) + v2.sum(0)

def r48(x: Tensor, y: Tensor):
    v1 = x.detach().clone()
    for i in range(1):
        v2 = torch.einsum('i->i', v1)
        v3 = v2.detach().clone()
        v4 = v1.data
    v5 = y.detach()
    v6 = v1.sin()
    v7 = v6 + 1
    return v7 * y + v5 + v6 + v1

def r49(x: Tensor, y: Tensor):
    v1 = -x
    v1.detach().mul_(v1.detach() + 1)
    with torch.no_grad():
        v1.detach().fill_(-1.5)
        with torch.enable_grad():
            v1[1:].mul_(3.0)
            v2 = x * 2
        v2[1:].zero_()
    with torch.no_grad():
        v3 = v2.view(3, 1)[1].mul_(0.5)
        v4 = -v1
    with torch.no_grad():
        v5 = v2[:2].mul_(v2[:2] + 1)
    v6 = torch.zeros_like(v4)
    with torch.no_grad():
        v4.view(3, 1)[1] = 1.25
    with torch.no_grad():
        for i in range(0):
            v7 = y[0].add_(-1.5)
    return v4 + v1 + v6 + v2

def r50(x: Tensor, y: Tensor):
    v1 = x.repeat(2, 1)
    with torch.no_grad():
        n2 = 0
        while n2 < 2:
            v1.view(6)[:2] += -1.5
            n2 += 1
    v3 = v1.detach()
    l4 = [y, x]
    l4.append(y)
    v5 = torch.stack([l4[0], l4[1]])[0:2]
    return v1.sum(0) * y + v3.sum(0) + v5.sum(0)

def r51(x: Tensor, y: Tensor):
    v1 = torch.zeros_like(x)
    with torch.no_grad():
        v2 = y.view_as(x)
    l3 = [v2, v2]
    v4 = l3[1]
    l3[0] = v2
    v1.neg_()
    v5 = x.unsqueeze(0).squeeze(0)
    return v4 * y + v2 + v5 + v1

def r52(x: Tensor, y: Tensor):
    v1 = torch.zeros_like(x)
    v2 = y.detach().clone()
    v3 = v1.flatten()
    if bool(v1.sum() > 0):
        v4 = torch.zeros(2, 3, dtype=torch.float64)
        with torch.no_grad():
            v3[0].clamp_(-1.0, 1.0)
            v5 = x.abs().sqrt()
            n6 = 0
            while n6 < 2:
                torch.relu_(v4[1][0])
                n6 += 1
        v3.view(3, 1)[1] = -1.5
    else:
        v7 = torch.ones_like(torch.stack([v3, v2]))
        l8 = [x, v1]
        v9 = torch.stack([l8[0], l8[1]])[0:2]
        v10 = x.data
    with torch.no_grad():
        v11 = v2.detach().neg_()
        with torch.enable_grad():
            v3.index_fill_(0, torch.tensor([1]), 4.0)
            v12 = v11.repeat(2, 1)
        v2.copy_(v2 * 0.5)
    with torch.no_grad():
        v11.fill_(-1.5)
        v11.mul_(-1.5)
    l13 = [v3, v11]
    l13.append(y)
    v14 = l13[1]
    l13[0] = v14
    return v14 * y + v3 + v12.sum(0) + v1

def r53(x: Tensor, y: Tensor):
    v1 = x * 2
    for i in range(0):
        with torch.no_grad():
            x.view(3, 1)[1].fill_(2.0)
            with torch.enable_grad():
                v1.sub_(3.0)
                v2 = torch.zeros_like(v1)
            torch.relu_(x.data)
        v2[0].mul_(3.0)
        v3 = torch.ones_like(torch.stack([y, y]))
    v4 = torch.stack([y, x])
    v5 = y.detach().clone()
    return v1 + v4.sum(0) + v5

def r54(x: Tensor, y: Tensor):
    v1 = torch.zeros_like(x)
    if bool(x.sum() > 0):
        n2 = 0
        while n2 < 2:
            v3 = v1.clamp_(-1.0, 1.0)
            v1[:2].copy_(v1[:2] * 0.5)
            n2 += 1
        v4 = torch.stack([v1, v1])
    else:
        v5 = torch.zeros_like(v1)
        v6 = v1.detach().masked_fill_(v1.detach() > 1, 0.5)
        v1[1:] = 1.25
    v7 = x.sigmoid()
    v8 = x + 1
    v9 = y.double()
    return v9 * y + v1 + v7 + v8

def r55(x: Tensor, y: Tensor):
    v1 = x.repeat(2, 1)
    with torch.no_grad():
        v1.data.masked_fill_(v1.data > 1, 0.5)
        with torch.enable_grad():
            v1.t()[1] += 2.0
            v2 = x + x
        v3 = y.data.add_(-1.5)
    v4 = v3.to(torch.float64)
    v5 = v4[0:3]
    v6 = torch.atleast_1d(v3)
    return v4 * y + v6 + v3 + v1.sum(0)

def r56(x: Tensor, y: Tensor):
    v1 = y.abs().sqrt()
    with torch.no_grad():
        for i in range(0):
            v2 = v1.view(1, 3)[0].sub_(2.0)
        x.detach().zero_()
    v3 = torch.einsum('i->i', x)
    v4 = y - y
    return v3 + v1 + v4

def r57(x: Tensor, y: Tensor):
    v1 = torch.ones_like(torch.stack([x, x]))
    torch.set_grad_enabled(False)
    v1[1:] = 0.5
    torch.set_grad_enabled(True)
    v2 = v1[1][0].clamp_(-1.0, 1.0)
    torch.set_grad_enabled(False)
    v3 = y.tanh()
    torch.set_grad_enabled(True)
    for i in range(3):
        l4 = [y, x]
        l4.append(x)
        v5 = l4[1]
        v6 = v3.to(torch.float64)
        v7 = y.expand(2, 3).clone()
    v8 = v1.permute(1, 0).permute(1, 0)
    with torch.no_grad():
        v8[0].zero_()
    return v1.sum(0) * y + v3 + v8.sum(0)

def r58(x: Tensor, y: Tensor):
    v1 = y - y
    with torch.no_grad():
        y.data.mul_(-1.5)
        y[:2].sub_(3.0)
        v1.data.exp_()
    v2 = v1.view(1, 3)[0]
    v3 = v2.detach()
    return v3 + v1 + v2

def r59(x: Tensor, y: Tensor):
    v1 = -x
    with torch.no_grad():
        v1.view(3, 1)[1] = -1.5
        v2 = torch.atleast_1d(x)
    with torch.no_grad():
        v3 = y.reshape(3)
        v4 = v1 * v3
    return v1 + v4 + v2 + v3

def r60(x: Tensor, y: Tensor):
    v1 = torch.zeros(2, 3, dtype=torch.float64)
    v1[:, 1:] += 0.5
    for i in range(1):
        with torch.no_grad():
            v1[0] *= 3.0
            v2 = x.unsqueeze(0).squeeze(0)
            if bool(x.sum() > 3):
                y.masked_fill_(y > 1, 0.5)
            else:
                x.view(3, 1)[1] += 0.5
        with torch.no_grad():
            for i in range(0):
                y.view(3, 1)[1] *= 2.0
        v3 = -v1
    v1.data.clamp_(-1.0, 1.0)
    for i in range(2):
        v4 = y.view(1, 3)[0]
    v1.add_(v1 * 2.0)
    return v1.sum(0) * y

def r61(x: Tensor, y: Tensor):
    v1 = y.exp()
    with torch.no_grad():
        v2 = torch.relu(v1)
        torch.relu_(v2.data)
    v3 = torch.atleast_1d(y)
    with torch.no_grad():
        v4 = v3.sub_(2.0)
        v5 = v3.view(3, 1).view(3)
    v6 = v3.sigmoid()
    for i in range(3):
        v7 = torch.ones_like(torch.stack([v4, v2]))
        l8 = [v2, v4]
        v9 = torch.stack([l8[0], l8[1]])[0:2]
    l10 = [v4, v6]
    v11 = l10[0]
    return v6 + v11 + v1 + v2

def r62(x: Tensor, y: Tensor):
    v1 = torch.zeros(2, 3, dtype=torch.float64)
    v1.t()[1].copy_(v1.t()[1] * 0.5)
    l2 = [x, x]
    v3 = torch.stack([l2[0], l2[1]])[0:2]
    with torch.no_grad():
        y.index_fill_(0, torch.tensor([1]), 4.0)
        v1.t()[1].masked_fill_(v1.t()[1] > 1, 0.5)
        v4 = v3.sub_(1.25)
    v5 = v1.unbind(0)[1]
    return v4.sum(0) * y + v1.sum(0) + v5 + v3.sum(0)

def r63(x: Tensor, y: Tensor):
    v1 = x + x
    v2 = y.sin()
    with torch.no_grad():
        v3 = x.type_as(x)
    with torch.no_grad():
        v1.view(3, 1)[1].mul_(-1.5)
    with torch.no_grad():
        v2.view(3, 1)[1].sub_(2.0)
    v4 = v3.sin()
    v5 = torch.zeros(2, 3, dtype=torch.float64)
    with torch.no_grad():
        v4[1:].sub_(3.0)
        for t6 in v5.unbind(0):
            t6.clamp_(-1.0, 1.0)
    return v2 * y + v5.sum(0) + v3 + v1

def r64(x: Tensor, y: Tensor):
    v1 = torch.ones_like(torch.stack([x, y]))
    torch.set_grad_enabled(False)
    v2 = y.add_(-1.5)
    v1.data.neg_()
    v3 = v2[1:].copy_(v2[1:] * 0.5)
    torch.set_grad_enabled(True)
    v4 = v2.double()
    v5 = v2.view_as(x)
    return v5 * y + v4 + v2 + v1.sum(0)

def r65(x: Tensor, y: Tensor):
    v1 = y.sin()
    n2 = 0
    while n2 < 2:
        l3 = [y, x]
        v4 = torch.stack([l3[0], l3[1]])[0:2]
        n2 += 1
    v5 = x / 2
    v1.view(1, 3)[0] = v1.view(1, 3)[0] * 2
    v1[0] = 0.5
    v5.data.clamp_(-1.0, 1.0)
    v6 = v1.repeat(2, 1)
    return v1 * y + v5 + v6.sum(0)

def r66(x: Tensor, y: Tensor):
    v1 = torch.minimum(x, y)
    torch.set_grad_enabled(False)
    v1.view(3, 1)[1].exp_()
    v1.data.masked_fill_(v1.data > 1, 0.5)
    torch.set_grad_enabled(True)
    v2 = x.tanh()
    return v2 * y + v1

def r67(x: Tensor, y: Tensor):
    v1 = y.tanh()
    v2 = x.reshape(3)
    for i in range(0):
        with torch.no_grad():
            v3 = y.view(3, 1)[1].zero_()
            v4 = y.view(1, 3)[0].zero_()
            x.detach().exp_()
        v5 = y.sigmoid()
    return v1 + v2

def r68(x: Tensor, y: Tensor):
    v1 = y.repeat(2, 1)
    with torch.no_grad():
        v1.view(6)[:2] = -1.5
        v2 = v1.view(6)[:2].neg_()
        x.detach().mul_(3.0)
    with torch.no_grad():
        for t3 in [y, x]:
            y.detach().masked_fill_(y.detach() > 1, 0.5)
    return v1.sum(0) * y

def r69(x: Tensor, y: Tensor):
    v1 = x * 2
    with torch.no_grad():
        torch.mul(y.detach(), 2.0, out=x)
        x[1:].masked_fill_(x[1:] > 1, 0.5)
    v2 = v1.unsqueeze(0).squeeze(0)
    torch.relu_(v2)
    return v2 + v1

def r70(x: Tensor, y: Tensor):
    v1 = torch.ones_like(torch.stack([x, y]))
    v2 = v1 + 1
    for i in range(3):
        v3 = x + x
        v1.sub_(2.0)
        v4 = v3.view(1, 3)[0]
    with torch.no_grad():
        v5 = v1[1][0].neg_()
    return v1.sum(0) * y + v2.sum(0)

def r71(x: Tensor, y: Tensor):
    v1 = x.tanh()
    with torch.no_grad():
        v2 = v1.unsqueeze(0).squeeze(0)
    v3 = v2 * 2
    l4 = [v3, v3]
    p5 = (v3, y)
    v6 = p5[0]
    v7 = y.view(1, 3)[0]
    p8 = (y, v7)
    v9 = p8[0]
    with torch.no_grad():
        for i in range(3):
            v9[1:].neg_()
    with torch.no_grad():
        v6.mul_(v6 * 2.0)
    return v9 + v1 + v6 + v7

def r72(x: Tensor, y: Tensor):
    v1 = torch.cat([y, y]).view(2, 3)
    with torch.no_grad():
        x.masked_fill_(x > 1, 0.5)
    v2 = x.to(torch.float64)
    v3 = v1.narrow(0, 0, 1).squeeze(0)
    v1[1:] *= 3.0
    v4 = y.repeat(2, 1)
    return v1.sum(0) + v3 + v4.sum(0) + v2

def r73(x: Tensor, y: Tensor):
    v1 = y * 2
    torch.set_grad_enabled(False)
    x[:2] *= -1.5
    for i in range(1):
        y.view(3, 1)[1].exp_()
    torch.set_grad_enabled(True)
    v1[1:] = 3.0
    return v1

def r74(x: Tensor, y: Tensor):
    v1 = x * 2
    v2 = y.view(1, 3)[0]
    v3 = y * y
    v1.view(3, 1)[1] *= 2.0
    v4 = v3.data.masked_fill_(v3.data > 1, 0.5)
    return v2 + v3 + v4 + v1

def r75(x: Tensor, y: Tensor):
    v1 = x * 3
    with torch.no_grad():
        y.data.addcmul_(y, y)
        x.mul_(1.25)
        v1.mul_(v1 + 1)
    v2 = v1.copy_(v1 * 0.5)
    v3 = v2.view(1, 3)[0]
    if bool(v2.sum() > 0):
        v4 = v2.repeat(2, 1)
    with torch.no_grad():
        v1[:2].mul_(2.0)
        v5 = v3.sin()
    with torch.no_grad():
        v2[:2] = v2[:2] * 2
        for i in range(1):
            v2.detach().add_(0.5)
        v2.view(3, 1)[1].masked_fill_(v2.view(3, 1)[1] > 1, 0.5)
    with torch.no_grad():
        for i in range(0):
            v6 = y.sub_(1.25)
        v7 = torch.zeros(2, 3, dtype=torch.float64)
        v7[1][0].exp_()
    return v1 + v7.sum(0) + v2 + v5

def r76(x: Tensor, y: Tensor):
    v1 = torch.minimum(x, y)
    if bool(y.sum() > 0):
        v2 = x.type_as(x)
        v3 = y.to(torch.float64)
    else:
        v4 = x.detach().clone()
    v5 = x * y
    v6 = v1.repeat(2, 1)
    return v5 * y + v6.sum(0) + v1

def r77(x: Tensor, y: Tensor):
    v1 = y.repeat(2, 1)
    with torch.no_grad():
        v1.view(6)[:2].mul_(0.5)
        v2 = y[1:].zero_()
    v3 = torch.minimum(y, x)
    v4 = v3 - y
    v5 = torch.minimum(v3, v4)
    v6 = v1.view(6)[:2].masked_fill_(v1.view(6)[:2] > 1, 0.5)
    v7 = v5[0].clamp_(-1.0, 1.0)
    v5[:2] *= 0.5
    return v4 * y + v1.sum(0) + v5 + v3

def r78(x: Tensor, y: Tensor):
    v1 = y.repeat(2, 1)
    n2 = 0
    while n2 < 2:
        for i in range(1):
            v1[:, 1:] = v1[:, 1:] * 2
        l3 = [y, x]
        v4 = torch.stack([l3[0], l3[1]])[0:2]
        n2 += 1
    with torch.no_grad():
        v5 = y.unsqueeze(0).squeeze(0)
    v6 = v5.data.add_(2.0)
    v7 = torch.nn.functional.dropout(v6, 0.5, False)
    with torch.no_grad():
        v6.detach().copy_(v6.detach() * 0.5)
        with torch.enable_grad():
            v8 = v1.detach().add_(-1.5)
            v9 = v6.exp()
        v7.data.index_fill_(0, torch.tensor([1]), 4.0)
    with torch.no_grad():
        v9[1:].copy_(v9[1:] * 0.5)
    return v7 + v1.sum(0) + v6 + v9

def r79(x: Tensor, y: Tensor):
    v1 = x - y
    v2 = torch.nn.functional.dropout(x, 0.5, False)
    with torch.no_grad():
        v2.view(3, 1)[1].add_(-1.5)
        v3 = v1.lerp_(x.detach(), 0.5)
    v4 = torch.zeros_like(y)
    with torch.no_grad():
        v5 = v4[1:].exp_()
    v3[:2].masked_fill_(v3[:2] > 1, 0.5)
    v6 = v1.detach().clone()
    return v1 + v3 + v4 + v6

def r80(x: Tensor, y: Tensor):
    v1 = y.sin()
    v2 = x.abs().sqrt()
    with torch.no_grad():
        v3 = torch.einsum('i->i', x)
    l4 = [v1, v3]
    v5 = l4[0]
    with torch.no_grad():
        v6 = v5.squeeze()
        v7 = v6 + v5
        v8 = v5.detach().clone()
    v9 = v8.view_as(x)
    return v2 * y + v1 + v3 + v6

def r81(x: Tensor, y: Tensor):
    v1 = y / 2
    n2 = 0
    while n2 < 2:
        with torch.no_grad():
            v3 = x.addcmul_(y * 0.5, y * 0.5)
        n2 += 1
    v4 = v1 * 3
    for i in range(2):
        with torch.no_grad():
            v1.data.add_(3.0)
            v4.view(3, 1)[1].copy_(v4.view(3, 1)[1] * 0.5)
        v5 = x.flatten()
    with torch.no_grad():
        v1.mul_(-1.5)
        with torch.enable_grad():
            v6 = v4.view(1, 3)[0].zero_()
            v7 = torch.cat([x, y]).view(2, 3)
        v1[1:] *= 1.25
    v8 = v7.data
    v9 = x.to(torch.float64)
    return v1 * y + v4 + v9 + v7.sum(0)

def r82(x: Tensor, y: Tensor):
    v1 = x / 2
    for i in range(2):
        v1[1:].clamp_(-1.0, 1.0)
        with torch.no_grad():
            v2 = v1.view(3, 1).view(3)
            v3 = v2 / 2
    v4 = x.detach().clone()
    v5 = v1.squeeze()
    n6 = 0
    while n6 < 2:
        for i in range(2):
            v7 = v5.sin()
            v8 = torch.nn.functional.dropout(v4, 0.5, False)
        l9 = [v1, v4]
        l9.append(v5)
        v10 = l9[1]
        l9[0] = v4
        v11 = v5.sigmoid()
        n6 += 1
    return v5 * y + v4 + v1

def r83(x: Tensor, y: Tensor):
    v1 = y.detach().clone()
    v1[0] += -1.5
    v2 = torch.relu(v1)
    v2[1:].clamp_(-1.0, 1.0)
    l3 = [y, y]
    v4 = l3[1]
    v5 = v1.view_as(x)
    v6 = torch.relu(v4)
    v5.copy_(v5 * 0.5)
    return v1 + v5 + v4 + v6

def r84(x: Tensor, y: Tensor):
    v1 = torch.zeros(2, 3, dtype=torch.float64)
    v2 = x.detach().clone()
    for i in range(1):
        v3 = x.squeeze()
        with torch.no_grad():
            v2.detach().clamp_(-1.0, 1.0)
    for i in range(0):
        with torch.no_grad():
            v2.sub_(2.0)
            v1 += v1
            v4 = torch.nn.functional.dropout(v1, 0.5, False)
        v1[:, 1:].masked_fill_(v1[:, 1:] > 1, 0.5)
    v1.data.lerp_(v1 * 1.25, 0.5)
    with torch.no_grad():
        v1.detach().zero_()
        v1.t()[1] *= 0.5
    return v1.sum(0) + v2

def r85(x: Tensor, y: Tensor):
    v1 = torch.zeros(2, 3, dtype=torch.float64)
    for i in range(0):
        for i in range(0):
            l2 = [x, y]
            l2.append(x)
            v3 = l2[0]
            v4 = torch.minimum(x, y)
            v3[:2].copy_(v3[:2] * 0.5)
        v5 = x.contiguous()
        l6 = [x, y]
        v7 = torch.stack([l6[0], l6[1]])[0:2]
    v8 = torch.atleast_1d(y)
    l9 = [v8, v8]
    p10 = (v8, x)
    v11 = p10[0]
    v11.data.mul_(0.5)
    v12 = v8.view(3, 1).view(3)
    v13 = v8.tanh()
    return v8 + v12 + v1.sum(0) + v11

def r86(x: Tensor, y: Tensor):
    v1 = torch.cat([y, y]).view(2, 3)
    v2 = y - y
    with torch.no_grad():
        for t3 in v1.unbind(0):
            y[0] = y[0] * 2
    v4 = x.type_as(x)
    v5 = torch.nn.functional.dropout(v2, 0.5, False)
    with torch.no_grad():
        x.clamp_(-1.0, 1.0)
    v6 = v4.detach().clone()
    return v5 * y + v1.sum(0) + v2 + v4

def r87(x: Tensor, y: Tensor):
    v1 = torch.zeros(2, 3, dtype=torch.float64)
    with torch.no_grad():
        v1.data.exp_()
    with torch.no_grad():
        v1[0].copy_(v1[0] * 0.5)
        with torch.enable_grad():
            v2 = v1[1:].mul_(v1[1:] + 1)
            v3 = y.detach().clone()
        v3.fill_(0.5)
    for i in range(2):
        v4 = v1.detach()
        v5 = x.reshape(3)
    return v1.sum(0) + v3

def r88(x: Tensor, y: Tensor):
    v1 = x.repeat(2, 1)
    for i in range(1):
        for i in range(2):
            v1[0].fill_(1.25)
        torch.set_grad_enabled(False)
        y.data.neg_()
        torch.set_grad_enabled(True)
        l2 = [x, y]
        v3 = l2[0]
        l2[0] = x
    v4 = x.to(torch.float64)
    v5 = v1[0]
    v6 = torch.zeros_like(v5)
    v7 = -v5
    v8 = v1.sin()
    return v6 * y + v8.sum(0) + v4 + v7

def r89(x: Tensor, y: Tensor):
    v1 = x + 1
    v2 = v1[:2].add_(2.0)
    v1.masked_fill_(v1 > 1, 0.5)
    v1.detach().sub_(0.5)
    with torch.no_grad():
        for i in range(1):
            y.view(3, 1)[1].add_(3.0)
        y.view(3, 1)[1] = 0.5
    return v1 * y

def r90(x: Tensor, y: Tensor):
    v1 = -x
    v2 = -v1
    l3 = [x, y]
    v4 = l3[0]
    v5 = v4 - y
    v1.detach().exp_()
    v6 = torch.zeros(2, 3, dtype=torch.float64)
    v7 = torch.relu(v6)
    return v6.sum(0) * y + v1 + v7.sum(0) + v2

def r91(x: Tensor, y: Tensor):
    v1 = x / 2
    v2 = x + 1
    with torch.no_grad():
        v2.data.masked_fill_(v2.data > 1, 0.5)
        with torch.enable_grad():
            v1.view(3, 1)[1].sub_(-1.5)
            v3 = v2.repeat(2, 1)
        y.detach().lerp_(y * 1.25, 0.5)
    return v3.sum(0) * y + v2 + v1

def r92(x: Tensor, y: Tensor):
    v1 = torch.cat([x, x]).view(2, 3)
    with torch.no_grad():
        v2 = torch.relu(x)
        v3 = v1.contiguous()
    torch.set_grad_enabled(False)
    n4 = 0
    while n4 < 2:
        v3.mul_(v3 + 1)
        n4 += 1
    v2.index_fill_(0, torch.tensor([1]), 4.0)
    v5 = y * 3
    torch.set_grad_enabled(True)
    with torch.no_grad():
        v6 = y + y
    v3.data.exp_()
    for i in range(2):
        for i in range(0):
            v7 = v2.sin()
            v6.masked_fill_(v6 > 1, 0.5)
            v7.neg_()
        l8 = [v2, v6]
        v9 = l8[0]
    v10 = x.contiguous()
    return v10 + v5 + v2 + v3.sum(0)

def r93(x: Tensor, y: Tensor):
    v1 = torch.stack([x, x])
    with torch.no_grad():
        y.masked_fill_(y > 1, 0.5)
        v1.detach().add_(v1)
    with torch.no_grad():
        v2 = v1[:, 1:].copy_(v1[:, 1:] * 0.5)
        if bool(x.sum() > 0):
            y.sub_(2.0)
    return v1.sum(0)

def r94(x: Tensor, y: Tensor):
    v1 = x.abs().sqrt()
    with torch.no_grad():
        v2 = x.squeeze()
    for i in range(1):
        v3 = y.sigmoid()
    v4 = v2.repeat(2, 1)
    v5 = v2.squeeze()
    v4[1][0].mul_(-1.5)
    v6 = v4.exp()
    return v4.sum(0) * y + v1 + v2 + v5

def r95(x: Tensor, y: Tensor):
    v1 = x + 1
    with torch.no_grad():
        y.mul_(3.0)
        y[1:].sub_(3.0)
    with torch.no_grad():
        v2 = v1.detach().sub_(-1.5)
        y.mul_(v2)
    return v1 + v2

def r96(x: Tensor, y: Tensor):
    v1 = torch.zeros_like(y)
    torch.set_grad_enabled(False)
    for i in range(0):
        y.data.add_(1.25)
    y[1:].mul_(-1.5)
    x.view(1, 3)[0].neg_()
    torch.set_grad_enabled(True)
    v2 = torch.einsum('i->i', v1)
    v3 = v2.to(torch.float64)
    v4 = v2.exp()
    return v1 * y + v2 + v3 + v4

def r97(x: Tensor, y: Tensor):
    v1 = y - y
    with torch.no_grad():
        v2 = v1.sub_(1.25)
        n3 = 0
        while n3 < 2:
            y[:2].zero_()
            n3 += 1
    v1.detach().exp_()
    v4 = v2.clone()
    v5 = v4.clone()
    return v2 * y + v1 + v4 + v5

def r98(x: Tensor, y: Tensor):
    v1 = torch.relu(y)
    v2 = torch.cat([y, v1]).view(2, 3)
    v2.detach().add_(3.0)
    return v1 * y + v2.sum(0)

def r99(x: Tensor, y: Tensor):
    v1 = y.abs().sqrt()
    v2 = v1.expand(2, 3).clone()
    v2.data.mul_(-1.5)
    v3 = y.double()
    v2.zero_()
    l4 = [v1, x]
    p5 = (v1, v3)
    v6 = p5[0]
    v7 = v1.sigmoid()
    return v6 * y + v7 + v1 + v3

def r100(x: Tensor, y: Tensor):
    v1 = x.repeat(2, 1)
    v1.detach().neg_()
    v2 = y / 2
    return v1.sum(0) * y + v2

def r101(x: Tensor, y: Tensor):
    v1 = x.repeat(2, 1)
    l2 = [x, x]
    l2.append(y)
    v3 = l2[1]
    v4 = x * 3
    v4[:2] = 1.25
    with torch.no_grad():
        v5 = -y
        v5.view(3, 1)[1] = v5.view(3, 1)[1] * 2
    with torch.no_grad():
        v3.view(3, 1)[1].mul_(v3.view(3, 1)[1] + 1)
        v4.view(3, 1)[1].masked_fill_(v4.view(3, 1)[1] > 1, 0.5)
    v6 = v3.reshape(3)
    l7 = [x, x]
    v8 = l7[1]
    l7[0] = v8
    return v1.sum(0) * y + v6 + v5 + v4

def r102(x: Tensor, y: Tensor):
    v1 = x.sigmoid()
    l2 = [x, v1]
    v3 = torch.stack([l2[0], l2[1]])[0:2]
    for t4 in [y, y]:
        with torch.no_grad():
            v5 = x.squeeze()
        l6 = [v1, x]
        v7 = l6[1]
        l6[0] = t4
    with torch.no_grad():
        v3.data.clamp_(-1.0, 1.0)
    return v1 + v3.sum(0)

def r103(x: Tensor, y: Tensor):
    v1 = torch.zeros(2, 3, dtype=torch.float64)
    v2 = torch.cat([x, y]).view(2, 3)
    v3 = x.repeat(2, 1)
    with torch.no_grad():
        v3[:, 1:].add_(1.25)
        if bool(v1.sum() > 100):
            v4 = v1.view(6)[:2].exp_()
        else:
            v5 = x[:2].neg_()
    v2.view(6)[:2].exp_()
    l6 = [x, y]
    v7 = l6[0]
    l6[0] = x
    v3.data.sub_(3.0)
    return v1.sum(0) + v2.sum(0) + v3.sum(0) + v7

def r104(x: Tensor, y: Tensor):
    v1 = torch.zeros_like(x)
    v1.copy_(v1 * 0.5)
    v1 += -1.5
    v2 = x.view_as(x)
    v3 = x.sigmoid()
    torch.set_grad_enabled(False)
    v2.data.exp_()
    v4 = v2.contiguous()
    torch.set_grad_enabled(True)
    v5 = -v2
    return v5 + v2 + v4 + v1

def r105(x: Tensor, y: Tensor):
    v1 = torch.ones_like(torch.stack([y, y]))
    with torch.no_grad():
        v1.copy_(v1)
        v1[1:].sub_(0.5)
    if bool(v1.sum() > 3):
        v2 = y.tanh()
    v3 = x + y
    l4 = [x, y]
    v5 = l4[1]
    with torch.no_grad():
        v6 = v5.detach().clone()
    return v5 + v6 + v1.sum(0) + v3

def r106(x: Tensor, y: Tensor):
    v1 = x + 1
    v2 = x.detach().clone()
    with torch.no_grad():
        y.data.mul_(y)
        for i in range(1):
            v1.mul_(v2 * 1.25)
    with torch.no_grad():
        v2[1:].masked_fill_(v2[1:] > 1, 0.5)
        y.data.neg_()
    return v2 + v1

def r107(x: Tensor, y: Tensor):
    v1 = torch.zeros(2, 3, dtype=torch.float64)
    v2 = x.detach().clone()
    v3 = torch.atleast_1d(v2)
    if bool(x.sum() > 100):
        v4 = y.sin()
        v5 = v4.view(3, 1).view(3)
    else:
        v6 = v2.tanh()
    l7 = [v3, v3]
    d8 = {'a': v2}
    v9 = d8['a']
    for i in range(3):
        v9.add_(v9)
    v10 = v2.abs().sqrt()
    return v10 + v9 + v1.sum(0) + v3

def r108(x: Tensor, y: Tensor):
    v1 = torch.ones_like(torch.stack([y, x]))
    with torch.no_grad():
        n2 = 0
        while n2 < 2:
            v1[:, 1:].copy_(v1[:, 1:] * 0.5)
            n2 += 1
    with torch.no_grad():
        x.neg_()
    with torch.no_grad():
        n3 = 0
        while n3 < 2:
            x.data.neg_()
            n3 += 1
    with torch.no_grad():
        v1[1][0] = 2.0
    return v1.sum(0)

def r109(x: Tensor, y: Tensor):
    v1 = torch.cat([y, y]).view(2, 3)
    torch.set_grad_enabled(False)
    v2 = y.detach().clone()
    v3 = torch.stack([v2, v2])
    v4 = x * 2
    torch.set_grad_enabled(True)
    torch.set_grad_enabled(False)
    for t5 in [v2, y]:
        v6 = t5[0].exp_()
    v7 = -v4
    y.view(3, 1)[1].masked_fill_(y.view(3, 1)[1] > 1, 0.5)
    torch.set_grad_enabled(True)
    torch.set_grad_enabled(False)
    v3[0] *= 1.25
    v3.detach().mul_(-1.5)
    torch.set_grad_enabled(True)
    v8 = v2.tanh()
    v9 = v1.sin()
    v10 = v7[0:3]
    l11 = [v10, v4]
    v12 = l11[0]
    return v9.sum(0) * y + v7 + v12 + v8

def r110(x: Tensor, y: Tensor):
    v1 = torch.ones_like(torch.stack([x, x]))
    torch.set_grad_enabled(False)
    y.neg_()
    torch.set_grad_enabled(True)
    v2 = v1[0]
    with torch.no_grad():
        v3 = x.view(1, 3)[0]
        torch.relu_(v1.detach())
        v1[:, 1:].masked_fill_(v1[:, 1:] > 1, 0.5)
    v4 = v1.split(1)[1].reshape(3)
    with torch.no_grad():
        v2.index_fill_(0, torch.tensor([1]), 4.0)
        with torch.enable_grad():
            v4.data.copy_(v4.data * 0.5)
            v5 = torch.stack([v3, v4])
        v2.data.copy_(v2.data * 0.5)
    v6 = v3[0:3]
    return v1.sum(0) * y + v3 + v5.sum(0) + v6

def r111(x: Tensor, y: Tensor):
    v1 = torch.zeros(2, 3, dtype=torch.float64)
    for i in range(2):
        v1.copy_(v1 * 0.5)
    l2 = [y, y]
    l2.append(y)
    v3 = torch.stack([l2[0], l2[1]])[0:2]
    v4 = v1.unbind(0)[1]
    l5 = [y, v4]
    v6 = l5[0]
    v7 = v4 / 2
    with torch.no_grad():
        torch.mul(v4, 2.0, out=x)
        v8 = v7.detach().mul_(-1.5)
    return v3.sum(0) + v4 + v1.sum(0) + v7

def r112(x: Tensor, y: Tensor):
    v1 = x * 2
    v1.detach().sub_(0.5)
    v2 = x * 3
    with torch.no_grad():
        torch.mul(v2, 2.0, out=v2)
    return v2 + v1

def r113(x: Tensor, y: Tensor):
    v1 = torch.ones_like(torch.stack([x, y]))
    with torch.no_grad():
        v2 = v1.data
    v2[0].copy_(v2[0] * 0.5)
    l3 = [x, x]
    v4 = l3[1]
    l3[0] = x
    torch.set_grad_enabled(False)
    v5 = v2.view(6)[::2]
    torch.set_grad_enabled(True)
    v6 = y.sigmoid()
    return v4 + v1.sum(0) + v2.sum(0) + v5

def r114(x: Tensor, y: Tensor):
    v1 = y.exp()
    v2 = y.contiguous()
    v2.detach().copy_(v2.detach() * 0.5)
    v3 = v2.expand(2, 3).clone()
    with torch.no_grad():
        x[1:].exp_()
    v4 = -v1
    v5 = v3.contiguous()
    v6 = v5.transpose(0, 1).transpose(0, 1)
    return v4 * y + v5.sum(0) + v1 + v6.sum(0)

def r115(x: Tensor, y: Tensor):
    v1 = torch.zeros(2, 3, dtype=torch.float64)
    with torch.no_grad():
        v2 = torch.einsum('ij->ij', v1)
        v3 = v2.mul_(v1 * -1.5)
        y.addcmul_(x, x)
    with torch.no_grad():
        v4 = v2.data
        v3.add_(1.25)
    v5 = x.detach().clone()
    with torch.no_grad():
        v4.t()[1] = v4.t()[1] * 2
        v4[1][0] = 1.25
        v6 = v3[1:].neg_()
    v7 = -x
    v8 = v7 - y
    v9 = v8.sin()
    return v5 + v9 + v8 + v1.sum(0)

def r116(x: Tensor, y: Tensor):
    v1 = x * 3
    v2 = torch.nn.functional.dropout(x, 0.5, False)
    l3 = [v2, v1]
    v4 = l3[1]
    l5 = [v4, y]
    l5.append(v2)
    v6 = l3[1]
    l3[0] = v6
    with torch.no_grad():
        v2[0] = 0.5
    with torch.no_grad():
        v4[1:].add_(-1.5)
        v7 = torch.relu_(v2.view(1, 3)[0])
    return v4 * y + v6 + v1 + v2

def r117(x: Tensor, y: Tensor):
    v1 = y.repeat(2, 1)
    v1[1][0].neg_()
    with torch.no_grad():
        v2 = x.detach().add_(0.5)
        with torch.enable_grad():
            v3 = torch.relu_(v2[:2])
            v4 = x.exp()
        x[1:].clamp_(-1.0, 1.0)
    v5 = v4.contiguous()
    return v2 * y + v4 + v1.sum(0) + v5

def r118(x: Tensor, y: Tensor):
    v1 = x * x
    l2 = [y, v1]
    v3 = torch.stack([l2[0], l2[1]])[0:2]
    v4 = torch.zeros(2, 3, dtype=torch.float64)
    v5 = v3.exp()
    n6 = 0
    while n6 < 2:
        l7 = [y, y]
        l7.append(v1)
        v8 = l2[1]
        n6 += 1
    with torch.no_grad():
        v5[1][0] = v5[1][0] * 2
        v3 *= 0.5
        v9 = v4.narrow(0, 0, 1).squeeze(0)
    v10 = v9.exp()
    v11 = v4 + 1
    return v3.sum(0) * y + v9 + v4.sum(0) + v11.sum(0)

def r119(x: Tensor, y: Tensor):
    v1 = y.clone()
    v2 = v1.exp()
    for i in range(3):
        l3 = [x, v2]
        l3.append(v1)
        v4 = torch.stack([l3[0], l3[1]])[0:2]
        with torch.no_grad():
            v5 = v1.view(3, 1).view(3)
    v6 = v2 / 2
    return v6 + v1 + v2

def r120(x: Tensor, y: Tensor):
    v1 = y.sin()
    with torch.no_grad():
        v2 = v1.detach()
        v3 = v2 + x
    for i in range(0):
        v4 = y.detach().clone()
        with torch.no_grad():
            v4.view(3, 1)[1].zero_()
            for i in range(2):
                y.view(1, 3)[0].zero_()
            if bool(v2.sum() > 0):
                v2.copy_(v2 * 0.5)
        with torch.no_grad():
            v1.copy_(v4)
            v3.mul_(v2)
    with torch.no_grad():
        v1.detach().index_fill_(0, torch.tensor([1]), 4.0)
    return v1 * y + v2 + v3

def r121(x: Tensor, y: Tensor):
    v1 = y * 3
    with torch.no_grad():
        y.detach().exp_()
        v1.add_(3.0)
        if bool(y.sum() > 3):
            torch.relu_(y.data)
        else:
            x[0].mul_(x[0] + 1)
    with torch.no_grad():
        for i in range(2):
            v1.data.add_(0.5)
        y.add_(3.0)
    v1.data.addcmul_(y, y)
    v2 = v1.tanh()
    with torch.no_grad():
        for i in range(1):
            torch.relu_(x)
    return v1 + v2

def r122(x: Tensor, y: Tensor):
    v1 = y * 2
    if bool(v1.sum() > 3):
        v2 = v1.squeeze()
        l3 = [v1, v1]
        v4 = l3[1]
        with torch.no_grad():
            v5 = v4.mul_(v4 + 1)
    v6 = v1.exp()
    return v6 + v1

def r123(x: Tensor, y: Tensor):
    v1 = y * 3
    v2 = x.flatten()
    with torch.no_grad():
        v2[1:].copy_(v2[1:] * 0.5)
        torch.relu_(v1[0])
        v1.fill_(1.25)
    v3 = torch.ones_like(torch.stack([v1, v2]))
    if bool(v2.sum() > 100):
        with torch.no_grad():
            v4 = v3[1][0].add_(2.0)
            x.view(1, 3)[0] += 2.0
            v2.fill_(2.0)
    else:
        v5 = v1.exp()
        if bool(v5.sum() > 3):
            v6 = v2.detach().clone()
            v7 = torch.atleast_1d(v1)
        else:
            v8 = v2.double()
            v9 = v2 / 2
    v10 = v1 + 1
    v11 = -v3
    return v3.sum(0) + v11.sum(0) + v1 + v2

def r124(x: Tensor, y: Tensor):
    v1 = y / 2
    if bool(v1.sum() > 0):
        l2 = [y, x]
        v3 = l2[0]
    else:
        l4 = [y, x]
        v5 = torch.stack([l4[0], l4[1]])[0:2]
        v1.masked_fill_(v1 > 1, 0.5)
    with torch.no_grad():
        v6 = x.squeeze()
    return v6 * y + v1

def r125(x: Tensor, y: Tensor):
    v1 = torch.minimum(x, x)
    for i in range(2):
        l2 = [v1, v1]
        l2.append(x)
        v3 = torch.stack([l2[0], l2[1]])[0:2]
        v1.detach().index_fill_(0, torch.tensor([1]), 4.0)
    v1.mul_(2.0)
    return v1 * y

def r126(x: Tensor, y: Tensor):
    v1 = y * 2
    v2 = x.view_as(x)
    v3 = torch.zeros_like(y)
    v4 = torch.zeros_like(v1)
    if bool(v3.sum() > 100):
        v5 = torch.nn.functional.dropout(v4, 0.5, False)
        with torch.no_grad():
            v6 = v4.neg_()
            v4.view(1, 3)[0].zero_()
            for i in range(0):
                v4.masked_fill_(v4 > 1, 0.5)
        v7 = torch.ones_like(torch.stack([v6, v4]))
    else:
        l8 = [v3, v4]
        v9 = l8[0]
    return v4 * y + v1 + v2 + v3

def r127(x: Tensor, y: Tensor):
    v1 = x.sigmoid()
    with torch.no_grad():
        v2 = v1.sigmoid()
    with torch.no_grad():
        n3 = 0
        while n3 < 2:
            v1[:2] = v1[:2] * 2
            n3 += 1
        v2.view(1, 3)[0].mul_(v2.view(1, 3)[0] + 1)
    with torch.no_grad():
        v4 = y.type_as(x)
        n5 = 0
        while n5 < 2:
            v4.view(3, 1)[1].mul_(1.25)
            n5 += 1
        for i in range(2):
            v6 = v4.clamp_(-1.0, 1.0)
    with torch.no_grad():
        v7 = torch.zeros(2, 3, dtype=torch.float64)
        v8 = v4.data.mul_(3.0)
        v9 = -v2
    v10 = torch.minimum(v9, v4)
    return v4 * y + v10 + v2 + v9

def r128(x: Tensor, y: Tensor):
    v1 = -y
    if bool(v1.sum() > 100):
        with torch.no_grad():
            x.view(1, 3)[0] = 1.25
            x[1:].mul_(x[1:] + 1)
    else:
        l2 = [y, y]
        l2.append(y)
        v3 = torch.stack([l2[0], l2[1]])[0:2]
        v1.zero_()
    if bool(v1.sum() > 0):
        l4 = [v1, x]
        v5 = torch.stack([l4[0], l4[1]])[0:2]
        v6 = v5.contiguous()
        v7 = -x
    with torch.no_grad():
        v8 = torch.relu_(x)
    return v1 * y + v8

def r129(x: Tensor, y: Tensor):
    v1 = x * 2
    with torch.no_grad():
        v2 = v1 + 1
        v3 = torch.atleast_1d(v1)
    with torch.no_grad():
        v4 = v2.contiguous()
    v2.copy_(v2 * 0.5)
    v5 = v4.reshape(3)
    v6 = v5 - y
    return v1 + v6 + v4 + v3

def r130(x: Tensor, y: Tensor):
    v1 = y.detach().clone()
    v1.view(3, 1)[1].neg_()
    torch.relu_(v1.view(1, 3)[0])
    if bool(x.sum() > 0):
        with torch.no_grad():
            y.data.index_fill_(0, torch.tensor([1]), 4.0)
            with torch.enable_grad():
                v1[:2].copy_(v1[:2] * 0.5)
                v2 = v1.detach().clone()
            y[1:] *= 3.0
        if bool(y.sum() > 3):
            v3 = y.detach().clone()
    else:
        with torch.no_grad():
            v1.data.neg_()
            x.copy_(x * 0.5)
        l4 = [v1, y]
        v5 = l4[1]
        l4[0] = v1
    v6 = y.clone()
    if bool(v1.sum() > 0):
        v6.view(3, 1)[1].masked_fill_(v6.view(3, 1)[1] > 1, 0.5)
    else:
        l7 = [x, x]
        l7.append(x)
        v8 = l7[1]
        v9 = v6.type_as(x)
        with torch.no_grad():
            torch.relu_(v8)
            v10 = v1[0:3]
    v11 = torch.stack([v6, x])
    return v11.sum(0) + v6 + v1

def r131(x: Tensor, y: Tensor):
    v1 = torch.stack([y, y])
    l2 = [y, x]
    l2.append(x)
    v3 = l2[1]
    v4 = v1 * 2
    with torch.no_grad():
        v5 = v3.to(torch.float64)
        v5.view(1, 3)[0].mul_(2.0)
    return v3 * y + v4.sum(0) + v1.sum(0) + v5

def r132(x: Tensor, y: Tensor):
    v1 = y - y
    l2 = [v1, x]
    l2.append(x)
    v3 = l2[0]
    with torch.no_grad():
        v4 = v3.masked_fill_(v3 > 1, 0.5)
    return v3 + v1 + v4

def r133(x: Tensor, y: Tensor):
    v1 = y + x
    v2 = x.expand(2, 3).clone()
    v3 = y * 3
    with torch.no_grad():
        v4 = y + y
        v3 *= 0.5
    with torch.no_grad():
        v2.add_(v2)
    return v2.sum(0) + v4 + v3 + v1

def r134(x: Tensor, y: Tensor):
    v1 = torch.ones_like(torch.stack([y, x]))
    l2 = [x, y]
    v3 = torch.stack([l2[0], l2[1]])[0:2]
    v4 = x + x
    v5 = v4.double()
    with torch.no_grad():
        v4.masked_fill_(v4 > 1, 0.5)
    v6 = l2[0]
    return v4 + v5 + v1.sum(0) + v3.sum(0)

def r135(x: Tensor, y: Tensor):
    v1 = x / 2
    with torch.no_grad():
        for i in range(3):
            v1.masked_fill_(v1 > 1, 0.5)
        torch.relu_(y)
        v1.view(3, 1)[1].mul_(-1.5)
    with torch.no_grad():
        v2 = y.exp()
        if bool(y.sum() > 3):
            v1.mul_(v1 + 1)
        v3 = y.flatten()
    v2.view(1, 3)[0] *= 1.25
    with torch.no_grad():
        v2.view(1, 3)[0].mul_(v2.view(1, 3)[0] + 1)
    v4 = v2 + 1
    v5 = v2 * v4
    return v2 * y + v5 + v3 + v1

def r136(x: Tensor, y: Tensor):
    v1 = torch.ones_like(torch.stack([x, x]))
    v2 = v1.split(1)[1].reshape(3)
    v2[0] *= 2.0
    with torch.no_grad():
        y.view(1, 3)[0].zero_()
        with torch.enable_grad():
            v2[:2].copy_(v2[:2] * 0.5)
            v3 = v2.tanh()
        v2[0] = v2[0] * 2
    l4 = [v2, v2]
    v5 = l4[0]
    l4[0] = v3
    v5.data.add_(0.5)
    v6 = l4[1]
    return v5 * y + v6 + v1.sum(0) + v3

def r137(x: Tensor, y: Tensor):
    v1 = x * 2
    if bool(v1.sum() > 100):
        with torch.no_grad():
            v2 = torch.relu(v1)
            v3 = x.data
        with torch.no_grad():
            if bool(v1.sum() > 100):
                v2.data.masked_fill_(v2.data > 1, 0.5)
            else:
                v3.detach().masked_fill_(v3.detach() > 1, 0.5)
            y[1:] += 1.25
            for i in range(2):
                v3.view(1, 3)[0].mul_(1.25)
        if bool(v2.sum() > 0):
            v4 = x.data
    l5 = [x, y]
    p6 = (x, y)
    v7 = p6[0]
    v8 = v7 + y
    return v8 + v7 + v1

def r138(x: Tensor, y: Tensor):
    v1 = torch.cat([y, x]).view(2, 3)
    v2 = y.to(torch.float64)
    v2.data.add_(y)
    return v1.sum(0) * y + v2

def r139(x: Tensor, y: Tensor):
    v1 = x - y
    v2 = torch.relu(x)
    l3 = [v1, v1]
    v4 = l3[1]
    v5 = torch.relu(v1)
    with torch.no_grad():
        y[1:].clamp_(-1.0, 1.0)
    return v5 + v4 + v2 + v1

def r140(x: Tensor, y: Tensor):
    v1 = torch.cat([x, y]).view(2, 3)
    torch.set_grad_enabled(False)
    v1[:, 1:].mul_(v1[:, 1:] + 1)
    x[1:] = 1.25
    torch.set_grad_enabled(True)
    v2 = torch.cat([y, x]).view(2, 3)
    with torch.no_grad():
        y.fill_(3.0)
    v3 = v1.flatten()[:3]
    v4 = x + v3
    return v1.sum(0) + v4 + v2.sum(0) + v3

def r141(x: Tensor, y: Tensor):
    v1 = torch.zeros(2, 3, dtype=torch.float64)
    with torch.no_grad():
        v2 = y.detach().add_(2.0)
        x.data.add_(0.5)
        v1.detach().mul_(-1.5)
    if bool(x.sum() > 0):
        v3 = v2.mul_(0.5)
        v4 = v3 + v3
        v3[0] *= 0.5
    else:
        n5 = 0
        while n5 < 2:
            v6 = v2.sin()
            n5 += 1
        for i in range(0):
            v7 = v2.copy_(x * 3.0)
            v1.t()[1] = 3.0
    return v2 * y + v1.sum(0)

def r142(x: Tensor, y: Tensor):
    v1 = torch.ones_like(torch.stack([x, y]))
    with torch.no_grad():
        for t2 in [y, x]:
            v3 = t2.view(3, 1)[1].add_(3.0)
        v4 = torch.relu(y)
    v5 = torch.relu(v1)
    return v4 * y + v5.sum(0) + v1.sum(0)

def r143(x: Tensor, y: Tensor):
    v1 = torch.cat([y, x]).view(2, 3)
    torch.set_grad_enabled(False)
    v1[:, 1:].exp_()
    torch.set_grad_enabled(True)
    v1[:, 1:].zero_()
    for t2 in [x, y]:
        for t3 in [y, y]:
            v4 = -v1
        with torch.no_grad():
            v1.t()[1] += 3.0
        with torch.no_grad():
            t2.view(1, 3)[0].clamp_(-1.0, 1.0)
            v5 = torch.einsum('i->i', y)
    v6 = torch.zeros(2, 3, dtype=torch.float64)
    v6.zero_()
    v7 = torch.nn.functional.dropout(v6, 0.5, False)
    return v7.sum(0) * y + v6.sum(0) + v1.sum(0)

def r144(x: Tensor, y: Tensor):
    v1 = torch.zeros(2, 3, dtype=torch.float64)
    v1[:, 1:].mul_(1.25)
    with torch.no_grad():
        if bool(x.sum() > 3):
            y.copy_(x.detach())
    return v1.sum(0) * y

def r145(x: Tensor, y: Tensor):
    v1 = torch.zeros_like(x)
    l2 = [x, v1]
    p3 = (v1, x)
    v4 = p3[0]
    v5 = v4.view(1, 3)[0]
    with torch.no_grad():
        for i in range(3):
            v5 += v5
    v6 = v4.contiguous()
    v7 = v6 - y
    v8 = torch.ones_like(torch.stack([v5, v6]))
    v9 = v7 * 2
    return v4 * y + v9 + v6 + v1

def r146(x: Tensor, y: Tensor):
    v1 = torch.cat([x, y]).view(2, 3)
    l2 = [y, y]
    l2.append(x)
    v3 = torch.stack([l2[0], l2[1]])[0:2]
    with torch.no_grad():
        for t4 in [x, x]:
            v3.view(6)[:2].masked_fill_(v3.view(6)[:2] > 1, 0.5)
        v5 = x * y
    return v3.sum(0) * y + v1.sum(0) + v5

def r147(x: Tensor, y: Tensor):
    v1 = x.repeat(2, 1)
    v2 = v1.reshape(6)[3:]
    v3 = torch.zeros_like(y)
    l4 = [x, v2]
    v5 = l4[1]
    with torch.no_grad():
        y[0].sub_(3.0)
        v6 = torch.relu_(v2)
        v7 = torch.relu(v6)
    v8 = -v6
    v9 = -y
    return v3 + v8 + v9 + v5

def r148(x: Tensor, y: Tensor):
    v1 = torch.cat([x, y]).view(2, 3)
    v2 = y.contiguous()
    with torch.no_grad():
        v1.t()[1] = v1.t()[1] * 2
    with torch.no_grad():
        y[:2] = 0.5
        v3 = y[:2].add_(3.0)
        v4 = v1[:, 1:].clamp_(-1.0, 1.0)
    return v2 * y + v1.sum(0)

def r149(x: Tensor, y: Tensor):
    v1 = torch.zeros(2, 3, dtype=torch.float64)
    with torch.no_grad():
        v2 = v1.unbind(0)[1]
        v3 = y.data.lerp_(v2, 0.5)
    with torch.no_grad():
        v4 = -v1
    v3[0].neg_()
    return v1.sum(0) + v2 + v4.sum(0) + v3

def r150(x: Tensor, y: Tensor):
    v1 = x * x
    with torch.no_grad():
        v1.view(1, 3)[0] *= 2.0
        n2 = 0
        while n2 < 2:
            v1.view(3, 1)[1].masked_fill_(v1.view(3, 1)[1] > 1, 0.5)
            n2 += 1
    if bool(y.sum() > 0):
        with torch.no_grad():
            y[0].sub_(0.5)
        v3 = y[0:3]
    else:
        for i in range(1):
            v4 = v1 - y
        if bool(x.sum() > 100):
            v5 = v1.contiguous()
            v5.detach().copy_(v5.detach() * 0.5)
            v1[1:].mul_(v1[1:] + 1)
        else:
            v6 = x - y
            v7 = v6 - y
        l8 = [v1, y]
        l8.append(x)
        v9 = torch.stack([l8[0], l8[1]])[0:2]
    v10 = x.view_as(x)
    l11 = [v1, x]
    l11.append(y)
    v12 = l11[1]
    v13 = v12 / 2
    v14 = v10.view_as(x)
    v15 = torch.zeros_like(y)
    return v13 * y + v14 + v12 + v1

def r151(x: Tensor, y: Tensor):
    v1 = y.repeat(2, 1)
    l2 = [x, y]
    v3 = torch.stack([l2[0], l2[1]])[0:2]
    v3[0].copy_(v3[0] * 0.5)
    v4 = y / 2
    with torch.no_grad():
        v4[1:].neg_()
    return v3.sum(0) + v4 + v1.sum(0)

def r152(x: Tensor, y: Tensor):
    v1 = torch.ones_like(torch.stack([y, x]))
    l2 = [x, x]
    v3 = torch.stack([l2[0], l2[1]])[0:2]
    with torch.no_grad():
        y.copy_(y * 0.5)
        v4 = v1[0].copy_(v1[0] * 0.5)
    v5 = torch.relu(x)
    v6 = torch.relu(x)
    return v5 + v6 + v1.sum(0) + v3.sum(0)

def r153(x: Tensor, y: Tensor):
    v1 = y.repeat(2, 1)
    v2 = x.view(3, 1).view(3)
    l3 = [y, v2]
    v4 = torch.stack([l3[0], l3[1]])[0:2]
    v5 = l3[1]
    v6 = l3[0]
    with torch.no_grad():
        v7 = v5.to(torch.float64)
        v5[1:] = -1.5
        v7.data.add_(-1.5)
    with torch.no_grad():
        v8 = v1[1:].zero_()
        y[1:] += 2.0
        for t9 in [v5, v7]:
            v1[1][0] = v1[1][0] * 2
    v10 = y.sin()
    return v5 + v10 + v7 + v6

def r154(x: Tensor, y: Tensor):
    v1 = x.repeat(2, 1)
    l2 = [x, x]
    v3 = l2[0]
    v3.data.copy_(v3.data * 0.5)
    v4 = y * 3
    return v3 + v1.sum(0) + v4

def r155(x: Tensor, y: Tensor):
    v1 = torch.zeros_like(y)
    with torch.no_grad():
        y[1:].zero_()
    n2 = 0
    while n2 < 2:
        v1.index_fill_(0, torch.tensor([1]), 4.0)
        v3 = v1.sin()
        n2 += 1
    return v1

def r156(x: Tensor, y: Tensor):
    v1 = torch.relu(y)
    with torch.no_grad():
        y.copy_(y * 0.5)
        v2 = y.sigmoid()
    l3 = [y, v2]
    v4 = l3[1]
    for i in range(0):
        v5 = l3[1]
        v6 = v5.view(3, 1)[1].fill_(3.0)
        v7 = x.clone()
    return v2 + v1 + v4

def r157(x: Tensor, y: Tensor):
    v1 = torch.zeros(2, 3, dtype=torch.float64)
    n2 = 0
    while n2 < 2:
        with torch.no_grad():
            v3 = v1.flatten()[:3]
            v4 = y.zero_()
        n2 += 1
    l5 = [y, x]
    v6 = l5[1]
    n7 = 0
    while n7 < 2:
        v8 = x.double()
        n7 += 1
    with torch.no_grad():
        y.detach().masked_fill_(y.detach() > 1, 0.5)
    return v1.sum(0) + v6

def r158(x: Tensor, y: Tensor):
    v1 = x.sin()
    if bool(x.sum() > 0):
        with torch.no_grad():
            v2 = y.detach().clone()
            y[1:].mul_(y[1:] + 1)
    v3 = x.clone()
    v3.view(1, 3)[0].mul_(v3.view(1, 3)[0] + 1)
    v4 = torch.relu(v3)
    v5 = v3.to(torch.float64)
    l6 = [v5, v3]
    l6.append(v3)
    v7 = l6[0]
    return v3 + v1 + v4 + v7

def r159(x: Tensor, y: Tensor):
    v1 = y.clone()
    v1.detach().clamp_(-1.0, 1.0)
    n2 = 0
    while n2 < 2:
        v3 = v1.unsqueeze(0).squeeze(0)
        n2 += 1
    with torch.no_grad():
        x[1:].mul_(x[1:] + 1)
        with torch.enable_grad():
            v4 = v1.view(3, 1)[1].masked_fill_(v1.view(3, 1)[1] > 1, 0.5)
            v5 = torch.zeros(2, 3, dtype=torch.float64)
        v5.add_(3.0)
    for t6 in [y, y]:
        v7 = torch.einsum('i->i', v1)
        v8 = t6[0:3]
    v9 = torch.zeros_like(v1)
    v10 = y.sin()
    return v5.sum(0) + v10 + v9 + v1

def r160(x: Tensor, y: Tensor):
    v1 = torch.zeros_like(y)
    v1.data.addcmul_(y, y)
    v1.view(1, 3)[0].copy_(v1.view(1, 3)[0] * 0.5)
    torch.set_grad_enabled(False)
    v1.exp_()
    x[0].neg_()
    torch.set_grad_enabled(True)
    v2 = torch.ones_like(torch.stack([y, x]))
    return v1 + v2.sum(0)

def r161(x: Tensor, y: Tensor):
    v1 = y.repeat(2, 1)
    for i in range(1):
        v2 = y.abs().sqrt()
        with torch.no_grad():
            v1[1:].neg_()
            with torch.enable_grad():
                v3 = v2.view(1, 3)[0].neg_()
                v4 = v1 + 1
            v4.detach().mul_(2.0)
        with torch.no_grad():
            v4[:, 1:].exp_()
    v5 = x.type_as(x)
    with torch.no_grad():
        v6 = v5[0].copy_(v5[0] * 0.5)
    return v1.sum(0) * y + v5

def r162(x: Tensor, y: Tensor):
    v1 = torch.minimum(x, y)
    l2 = [v1, v1]
    v3 = l2[0]
    with torch.no_grad():
        v1.view(3, 1)[1].exp_()
    return v1 + v3

def r163(x: Tensor, y: Tensor):
    v1 = x * 2
    v2 = v1.zero_()
    with torch.no_grad():
        v1.fill_(-1.5)
        v1.copy_(v2 * 1.25)
        v3 = v1.masked_fill_(v1 > 1, 0.5)
    v4 = v2.expand(2, 3).clone()
    with torch.no_grad():
        if bool(v2.sum() > 0):
            v2.masked_fill_(v2 > 1, 0.5)
        v4.add_(2.0)
        v3[1:] = v3[1:] * 2
    l5 = [v2, v2]
    l5.append(v1)
    v6 = l5[1]
    l5[0] = x
    v7 = v3.view(3, 1).view(3)
    return v3 + v7 + v4.sum(0) + v1

def r164(x: Tensor, y: Tensor):
    v1 = x * 3
    with torch.no_grad():
        v2 = v1.repeat(2, 1)
        v3 = torch.einsum('i->i', y)
        v1.mul_(v3)
    with torch.no_grad():
        v4 = torch.zeros(2, 3, dtype=torch.float64)
    l5 = [v3, v3]
    l5.append(v3)
    v6 = torch.stack([l5[0], l5[1]])[0:2]
    v7 = v6.exp()
    return v4.sum(0) + v2.sum(0) + v3 + v7.sum(0)

def r165(x: Tensor, y: Tensor):
    v1 = torch.stack([y, x])
    v2 = -x
    v3 = torch.cat([v2, v2]).view(2, 3)
    v2.data.exp_()
    with torch.no_grad():
        v1.view(6)[:2].masked_fill_(v1.view(6)[:2] > 1, 0.5)
    with torch.no_grad():
        v4 = torch.relu(y)
    with torch.no_grad():
        if bool(v2.sum() > 100):
            x[0].masked_fill_(x[0] > 1, 0.5)
        else:
            v5 = v3.zero_()
        v4.exp_()
    v4[:2].mul_(-1.5)
    return v2 * y + v1.sum(0) + v4 + v3.sum(0)

def r166(x: Tensor, y: Tensor):
    v1 = torch.minimum(y, x)
    with torch.no_grad():
        v1[:2].zero_()
    with torch.no_grad():
        v2 = y.contiguous()
    v3 = x.unsqueeze(0).squeeze(0)
    v4 = v1.sin()
    l5 = [v2, v3]
    v6 = l5[0]
    l5[0] = v4
    v7 = v3 * v3
    v7.add_(2.0)
    return v2 + v7 + v3 + v6

def r167(x: Tensor, y: Tensor):
    v1 = torch.zeros(2, 3, dtype=torch.float64)
    with torch.no_grad():
        v2 = x[0].add_(2.0)
    l3 = [x, x]
    v4 = l3[0]
    v5 = y.detach()
    return v5 * y + v4 + v1.sum(0)

def r168(x: Tensor, y: Tensor):
    v1 = x.clone()
    v2 = x + x
    v3 = torch.cat([v2, y]).view(2, 3)
    l4 = [x, v1]
    p5 = (v3, v1)
    v6 = p5[0]
    with torch.no_grad():
        v1[0] *= 3.0
    v7 = torch.stack([v2, y])
    v8 = torch.stack([l4[0], l4[1]])[0:2]
    return v8.sum(0) + v7.sum(0) + v3.sum(0) + v2

def r169(x: Tensor, y: Tensor):
    v1 = torch.zeros_like(y)
    with torch.no_grad():
        x.data.addcmul_(x, x)
    with torch.no_grad():
        torch.relu_(x[0])
    v2 = x.view(3, 1).view(3)
    return v2 * y + v1

def r170(x: Tensor, y: Tensor):
    v1 = y / 2
    with torch.no_grad():
        torch.relu_(v1)
    for i in range(0):
        v1.view(1, 3)[0].exp_()
    v2 = torch.cat([y, y]).view(2, 3)
    v2[0] = 1.25
    return v1 * y + v2.sum(0)

def r171(x: Tensor, y: Tensor):
    v1 = torch.cat([x, x]).view(2, 3)
    v2 = v1.t()[1].zero_()
    with torch.no_grad():
        y.view(3, 1)[1].masked_fill_(y.view(3, 1)[1] > 1, 0.5)
    v3 = x - y
    with torch.no_grad():
        v4 = torch.einsum('i->i', v3)
    v5 = v4 * 2
    return v1.sum(0) * y + v5 + v3 + v4

def r172(x: Tensor, y: Tensor):
    v1 = x * 3
    with torch.no_grad():
        if bool(v1.sum() > 100):
            x[0].neg_()
        v1.detach().sub_(3.0)
        v2 = torch.relu_(v1.view(1, 3)[0])
    v3 = x.contiguous()
    v4 = v3.view(1, 3)[0]
    v5 = v1.flatten()
    with torch.no_grad():
        v4.view(3, 1)[1].sub_(0.5)
        v5[:2] *= 3.0
        v4.lerp_(v1 * 2.0, 0.5)
    return v3 + v5 + v1 + v4

def r173(x: Tensor, y: Tensor):
    v1 = y + 1
    v2 = x.sigmoid()
    v3 = y.sigmoid()
    v3.data.fill_(3.0)
    l4 = [v2, y]
    l4.append(v1)
    v5 = l4[0]
    return v3 + v5 + v2 + v1

def r174(x: Tensor, y: Tensor):
    v1 = torch.cat([y, y]).view(2, 3)
    with torch.no_grad():
        x.index_fill_(0, torch.tensor([1]), 4.0)
        with torch.enable_grad():
            v1.zero_()
            v2 = v1.exp()
        y.detach().neg_()
    n3 = 0
    while n3 < 2:
        l4 = [y, y]
        p5 = (v1, y)
        v6 = p5[0]
        with torch.no_grad():
            v7 = -y
        n3 += 1
    v8 = v2.flatten()[:3]
    return v1.sum(0) + v2.sum(0) + v8

def r175(x: Tensor, y: Tensor):
    v1 = x.clone()
    v1[1:].mul_(-1.5)
    with torch.no_grad():
        torch.relu_(x[1:])
    v2 = v1 + y
    for i in range(2):
        v3 = y.contiguous()
        with torch.no_grad():
            v1.clamp_(-1.0, 1.0)
    v4 = torch.relu(x)
    v5 = v4.abs().sqrt()
    l6 = [v4, v2]
    l6.append(v5)
    v7 = torch.stack([l6[0], l6[1]])[0:2]
    return v5 * y + v1 + v2 + v7.sum(0)

def r176(x: Tensor, y: Tensor):
    v1 = x - y
    v1.detach().fill_(0.5)
    v2 = y - y
    with torch.no_grad():
        torch.relu_(v1[0])
        with torch.enable_grad():
            v2.data.mul_(v2.data + 1)
            v3 = -v1
        x[:2].exp_()
    return v1 * y + v3 + v2

def r177(x: Tensor, y: Tensor):
    v1 = y.clone()
    with torch.no_grad():
        v2 = x.expand(2, 3).clone()
        v2.neg_()
    v3 = v1[1:].add_(-1.5)
    v2[1][0] *= 1.25
    v4 = v1.tanh()
    return v2.sum(0) * y + v4 + v1

def r178(x: Tensor, y: Tensor):
    v1 = torch.zeros_like(y)
    with torch.no_grad():
        v1.add_(x)
    v2 = torch.atleast_1d(x)
    v3 = y + 1
    with torch.no_grad():
        torch.relu_(x[0])
        v1.add_(3.0)
        for i in range(1):
            v4 = v1.clamp_(-1.0, 1.0)
    l5 = [v1, x]
    v6 = torch.stack([l5[0], l5[1]])[0:2]
    v7 = v6.transpose(0, 1).transpose(0, 1)
    return v3 + v6.sum(0) + v1 + v2

def r179(x: Tensor, y: Tensor):
    v1 = x.tanh()
    v2 = x.detach()
    v3 = v1 * 3
    v3.detach().addcmul_(v2.detach(), v2.detach())
    n4 = 0
    while n4 < 2:
        v5 = v1.data
        v6 = v5.detach()
        n4 += 1
    l7 = [v2, v3]
    v8 = l7[1]
    l7[0] = v8
    return v2 + v1 + v8 + v3

def r180(x: Tensor, y: Tensor):
    v1 = torch.zeros_like(y)
    with torch.no_grad():
        v2 = y.exp()
        torch.mul(v2.detach(), 2.0, out=x)
    with torch.no_grad():
        v3 = torch.relu_(v1[:2])
    with torch.no_grad():
        v1.exp_()
    v2.view(1, 3)[0].clamp_(-1.0, 1.0)
    for i in range(3):
        with torch.no_grad():
            v1.neg_()
        v4 = y * 2
    return v1 + v2

def r181(x: Tensor, y: Tensor):
    v1 = torch.relu(y)
    v2 = torch.zeros(2, 3, dtype=torch.float64)
    for i in range(3):
        v3 = torch.minimum(x, y)
        torch.set_grad_enabled(False)
        torch.relu_(v3.detach())
        torch.set_grad_enabled(True)
        v4 = v1.tanh()
    with torch.no_grad():
        for i in range(2):
            v2.detach().add_(-1.5)
    return v1 + v2.sum(0)

def r182(x: Tensor, y: Tensor):
    v1 = y * 2
    v1.mul_(v1 + 1)
    with torch.no_grad():
        v1[:2] += 3.0
    for i in range(0):
        v1.view(1, 3)[0].zero_()
    return v1 * y

def r183(x: Tensor, y: Tensor):
    v1 = x.detach().clone()
    v1.data.mul_(v1.data + 1)
    with torch.no_grad():
        v2 = torch.einsum('i->i', x)
    l3 = [v1, y]
    v4 = l3[0]
    l3[0] = v2
    v1.view(1, 3)[0] *= 3.0
    with torch.no_grad():
        v5 = v1.tanh()
        v1[1:].masked_fill_(v1[1:] > 1, 0.5)
        v1.detach().add_(v2)
    p6 = (v5, v4)
    v7 = p6[0]
    l8 = [v5, v5]
    v9 = l3[1]
    return v5 + v1 + v2 + v4

def r184(x: Tensor, y: Tensor):
    v1 = x.repeat(2, 1)
    l2 = [x, x]
    v3 = torch.stack([l2[0], l2[1]])[0:2]
    v4 = y[0:3]
    if bool(v3.sum() > 3):
        with torch.no_grad():
            v1[0].zero_()
            y.view(3, 1)[1] = y.view(3, 1)[1] * 2
    with torch.no_grad():
        for i in range(0):
            v3.addcmul_(v1, v1)
        for i in range(0):
            v5 = v1[:, 1:].mul_(0.5)
    v6 = x.sin()
    return v4 * y + v1.sum(0) + v3.sum(0) + v6

def r185(x: Tensor, y: Tensor):
    v1 = x + 1
    with torch.no_grad():
        v2 = torch.zeros(2, 3, dtype=torch.float64)
        v1 *= 2.0
        v2.add_(1.25)
    l3 = [v1, x]
    v4 = torch.stack([l3[0], l3[1]])[0:2]
    return v4.sum(0) * y + v1 + v2.sum(0)

def r186(x: Tensor, y: Tensor):
    v1 = x.detach().clone()
    v1.zero_()
    v1.detach().lerp_(v1.detach(), 0.5)
    v2 = v1.view(3, 1)[1].exp_()
    v3 = torch.atleast_1d(y)
    for i in range(1):
        v4 = y.reshape(3)
    v5 = v1.view(1, 3)[0]
    with torch.no_grad():
        v5.view(1, 3)[0] = -1.5
        n6 = 0
        while n6 < 2:
            torch.relu_(v5.view(1, 3)[0])
            n6 += 1
    return v5 + v3 + v1

def r187(x: Tensor, y: Tensor):
    v1 = x.sigmoid()
    with torch.no_grad():
        x.index_fill_(0, torch.tensor([1]), 4.0)
        x.view(3, 1)[1] = 3.0
    with torch.no_grad():
        for i in range(3):
            y[0].sub_(-1.5)
        v2 = v1.view_as(x)
    return v2 + v1

def r188(x: Tensor, y: Tensor):
    v1 = x.repeat(2, 1)
    with torch.no_grad():
        y.data.mul_(x * 1.25)
        for i in range(1):
            v1[1][0] *= -1.5
    v2 = -y
    v3 = v2 + y
    return v1.sum(0) + v2 + v3

def r189(x: Tensor, y: Tensor):
    v1 = y.tanh()
    v2 = x.to(torch.float64)
    v3 = v2 * x
    with torch.no_grad():
        v4 = v2.view(1, 3)[0]
    l5 = [v4, v2]
    v6 = torch.stack([l5[0], l5[1]])[0:2]
    return v1 + v2 + v6.sum(0) + v4

def r190(x: Tensor, y: Tensor):
    v1 = torch.ones_like(torch.stack([y, y]))
    l2 = [y, y]
    v3 = torch.stack([l2[0], l2[1]])[0:2]
    with torch.no_grad():
        v4 = v3.detach()
    with torch.no_grad():
        v1.data.masked_fill_(v1.data > 1, 0.5)
        with torch.enable_grad():
            v1.zero_()
            v5 = v4 * 2
        v6 = v5[1:].zero_()
    return v3.sum(0) + v4.sum(0) + v5.sum(0) + v1.sum(0)

def r191(x: Tensor, y: Tensor):
    v1 = x + x
    with torch.no_grad():
        v2 = v1.detach()
    l3 = [v2, v2]
    l3.append(v2)
    v4 = l3[1]
    v5 = l3[1]
    v6 = v5.abs().sqrt()
    v6.view(3, 1)[1] += 1.25
    return v5 * y + v2 + v6 + v4

def r192(x: Tensor, y: Tensor):
    v1 = torch.zeros(2, 3, dtype=torch.float64)
    v2 = y.reshape(3)
    with torch.no_grad():
        torch.mul(v2.detach(), 2.0, out=v2.detach())
        v2.clamp_(-1.0, 1.0)
        v3 = v2 / 2
    v3.view(3, 1)[1].exp_()
    l4 = [v3, y]
    l4.append(v3)
    v5 = l4[0]
    l4[0] = v3
    with torch.no_grad():
        v6 = v3.view_as(x)
    v3[:2] += 2.0
    v7 = y.squeeze()
    return v3 + v7 + v5 + v2

def r193(x: Tensor, y: Tensor):
    v1 = y.exp()
    for i in range(2):
        v2 = v1 * 2
    if bool(y.sum() > 100):
        with torch.no_grad():
            n3 = 0
            while n3 < 2:
                v1[0].clamp_(-1.0, 1.0)
                n3 += 1
        for i in range(3):
            v1.view(1, 3)[0].masked_fill_(v1.view(1, 3)[0] > 1, 0.5)
            v4 = v1.view(1, 3)[0]
        with torch.no_grad():
            x.masked_fill_(x > 1, 0.5)
    v5 = y.clone()
    return v1 + v5

def r194(x: Tensor, y: Tensor):
    v1 = -x
    v2 = y.reshape(3)
    with torch.no_grad():
        v1[0] = v1[0] * 2
        v3 = v2.expand(2, 3).clone()
    with torch.no_grad():
        v4 = x.view(1, 3)[0].add_(-1.5)
        for t5 in [y, v1]:
            v2.view(3, 1)[1] += 1.25
        v6 = v3.reshape(6)[3:]
    with torch.no_grad():
        v6.data.mul_(v6.data + 1)
        v2.detach().mul_(0.5)
        v7 = v6 + y
    n8 = 0
    while n8 < 2:
        with torch.no_grad():
            y.mul_(3.0)
        v9 = v6.detach().clone()
        with torch.no_grad():
            v6.mul_(v6 + 1)
            v6.mul_(v6 + 1)
        n8 += 1
    for t10 in v3.unbind(0):
        l11 = [v6, t10]
        v12 = l11[0]
    return v6 + v1 + v2 + v3.sum(0)

def r195(x: Tensor, y: Tensor):
    v1 = y * 2
    v2 = x.data
    v2[:2] = v2[:2] * 2
    v3 = v2.unsqueeze(0).squeeze(0)
    v4 = v3 * v3
    return v2 + v3 + v1 + v4

def r196(x: Tensor, y: Tensor):
    v1 = y.abs().sqrt()
    v2 = torch.cat([v1, y]).view(2, 3)
    v3 = torch.minimum(x, x)
    v4 = v1.sigmoid()
    v5 = v2 + 1
    v2.data.exp_()
    v2.lerp_(v2, 0.5)
    return v3 * y + v5.sum(0) + v1 + v2.sum(0)

def r197(x: Tensor, y: Tensor):
    v1 = y.detach().clone()
    with torch.no_grad():
        y[:2].exp_()
        v2 = torch.nn.functional.dropout(v1, 0.5, False)
    v3 = v2.data
    v4 = torch.atleast_1d(v3)
    v5 = v3.double()
    v6 = v5.view_as(x)
    with torch.no_grad():
        v7 = v5.view_as(x)
        v8 = v5 + v4
        v9 = torch.einsum('i->i', v7)
    return v8 * y + v3 + v7 + v4

def r198(x: Tensor, y: Tensor):
    v1 = y - y
    with torch.no_grad():
        x[1:].mul_(x[1:] + 1)
        n2 = 0
        while n2 < 2:
            y[:2].sub_(-1.5)
            n2 += 1
    n3 = 0
    while n3 < 2:
        l4 = [v1, v1]
        v5 = l4[0]
        v6 = v5.view(1, 3)[0]
        n3 += 1
    return v1 * y

def r199(x: Tensor, y: Tensor):
    v1 = x * 2
    with torch.no_grad():
        y.view(1, 3)[0].copy_(y.view(1, 3)[0] * 0.5)
    l2 = [v1, y]
    v3 = torch.stack([l2[0], l2[1]])[0:2]
    with torch.no_grad():
        v4 = v3.data.mul_(v3.data + 1)
    return v3.sum(0) * y + v4.sum(0) + v1

def r200(x: Tensor, y: Tensor):
    v1 = torch.zeros(2, 3, dtype=torch.float64)
    for t2 in [y, x]:
        v3 = x * t2
        v4 = x.view(3, 1).view(3)
    with torch.no_grad():
        v1.clamp_(-1.0, 1.0)
        with torch.enable_grad():
            v1[:, 1:].add_(1.25)
            v5 = y + 1
        v6 = torch.relu_(v1)
    v7 = v5.reshape(3)
    v8 = torch.zeros_like(v7)
    l9 = [v7, v5]
    v10 = l9[1]
    l9[0] = v7
    with torch.no_grad():
        v10[0].mul_(1.25)
        for i in range(1):
            v8.view(3, 1)[1].fill_(1.25)
        v8.add_(y)
    v11 = y.type_as(x)
    return v10 * y + v6.sum(0) + v5 + v7

def r201(x: Tensor, y: Tensor):
    v1 = x.detach().clone()
    v1[:2].mul_(2.0)
    with torch.no_grad():
        v1.copy_(v1 * 0.5)
        with torch.enable_grad():
            v1.view(1, 3)[0].neg_()
            v2 = torch.zeros_like(y)
        v2[1:] = v2[1:] * 2
    n3 = 0
    while n3 < 2:
        v4 = v1.view(1, 3)[0]
        v2[1:] = v2[1:] * 2
        n3 += 1
    with torch.no_grad():
        y.view(1, 3)[0].copy_(y.view(1, 3)[0] * 0.5)
        v5 = torch.cat([y, v2]).view(2, 3)
    return v1 + v2 + v5.sum(0)

def r202(x: Tensor, y: Tensor):
    v1 = y + 1
    v2 = torch.stack([v1, x])
    torch.set_grad_enabled(False)
    v3 = v1.sigmoid()
    v2[0] = 0.5
    torch.set_grad_enabled(True)
    v4 = v3.view(1, 3)[0].copy_(v3.view(1, 3)[0] * 0.5)
    v5 = v2.type_as(y)
    with torch.no_grad():
        v1.data.index_fill_(0, torch.tensor([1]), 4.0)
        v1.detach().copy_(v1.detach() * 0.5)
        v5.mul_(v5 + 1)
    for i in range(1):
        with torch.no_grad():
            v6 = v3 + 1
            v7 = x.squeeze()
        l8 = [x, y]
        v9 = l8[0]
    return v3 + v2.sum(0) + v1 + v5.sum(0)

def r203(x: Tensor, y: Tensor):
    v1 = torch.cat([y, x]).view(2, 3)
    if bool(y.sum() > 0):
        v2 = torch.nn.functional.dropout(y, 0.5, False)
    else:
        v1.clamp_(-1.0, 1.0)
        with torch.no_grad():
            y.data.mul_(y)
            y[:2] *= -1.5
    l3 = [x, y]
    v4 = l3[1]
    for i in range(3):
        with torch.no_grad():
            v5 = v4.contiguous()
            v6 = v4[1:].masked_fill_(v4[1:] > 1, 0.5)
            v4.data.index_fill_(0, torch.tensor([1]), 4.0)
    v7 = torch.relu(v1)
    v8 = v4 + y
    v9 = v8.tanh()
    return v8 * y + v1.sum(0) + v4 + v7.sum(0)

def r204(x: Tensor, y: Tensor):
    v1 = x / 2
    with torch.no_grad():
        v2 = torch.atleast_1d(x)
    torch.set_grad_enabled(False)
    v3 = torch.relu_(v2)
    torch.set_grad_enabled(True)
    return v2 + v1 + v3

def r205(x: Tensor, y: Tensor):
    v1 = torch.ones_like(torch.stack([y, y]))
    with torch.no_grad():
        x.mul_(x + 1)
        v2 = x.clamp_(-1.0, 1.0)
        v3 = y.type_as(x)
    v4 = v1 + 1
    v5 = torch.einsum('ij->ij', v4)
    with torch.no_grad():
        for i in range(3):
            v3 += y * 0.5
        v3.view(3, 1)[1].sub_(0.5)
    with torch.no_grad():
        v6 = v2.exp_()
        v7 = v6.data.neg_()
    return v7 * y + v2 + v1.sum(0) + v4.sum(0)

def r206(x: Tensor, y: Tensor):
    v1 = y.detach().clone()
    v2 = x.view_as(x)
    v3 = y.flatten()
    return v1 + v3 + v2

def r207(x: Tensor, y: Tensor):
    v1 = x.sin()
    with torch.no_grad():
        v2 = y.detach().fill_(1.25)
        v3 = v2.data
    for i in range(1):
        with torch.no_grad():
            v1[0].masked_fill_(v1[0] > 1, 0.5)
            v4 = torch.stack([v1, v3])
            if bool(v3.sum() > 0):
                v1[0].mul_(v1[0] + 1)
            else:
                v4.detach().mul_(v4.detach())
        with torch.no_grad():
            v5 = torch.einsum('i->i', v2)
            v6 = torch.ones_like(torch.stack([v2, v3]))
            v7 = v6.detach()
        for i in range(3):
            v8 = torch.zeros_like(v3)
    for i in range(2):
        for i in range(2):
            v9 = v2.data
            v10 = v3.view(3, 1).view(3)
            v3.zero_()
        v11 = x.detach()
        v2.zero_()
    n12 = 0
    while n12 < 2:
        v13 = v3.view(1, 3)[0]
        v14 = v2.view(3, 1)[1].fill_(0.5)
        n12 += 1
    with torch.no_grad():
        v2[:2].mul_(0.5)
        v15 = v1.type_as(x)
        torch.relu_(v1[0])
    return v1 * y + v15 + v2 + v3

def r208(x: Tensor, y: Tensor):
    v1 = x + 1
    if bool(x.sum() > 3):
        v2 = y.view(1, 3)[0]
    v3 = torch.cat([y, y]).view(2, 3)
    v3.detach().copy_(v3.detach() * 0.5)
    l4 = [y, x]
    v5 = l4[1]
    v6 = torch.einsum('ij->ij', v3)
    v7 = torch.relu(v1)
    return v3.sum(0) * y + v7 + v1 + v5

def r209(x: Tensor, y: Tensor):
    v1 = torch.zeros_like(y)
    v2 = torch.zeros_like(x)
    with torch.no_grad():
        for i in range(2):
            v3 = y.zero_()
        x.data.masked_fill_(x.data > 1, 0.5)
    l4 = [v2, x]
    p5 = (v1, v1)
    v6 = p5[0]
    torch.set_grad_enabled(False)
    v2[0].neg_()
    v7 = v2.view(1, 3)[0]
    for i in range(3):
        v7.view(1, 3)[0].sub_(0.5)
    torch.set_grad_enabled(True)
    return v2 + v6 + v1 + v7

def r210(x: Tensor, y: Tensor):
    v1 = torch.zeros(2, 3, dtype=torch.float64)
    with torch.no_grad():
        x.index_fill_(0, torch.tensor([1]), 4.0)
        with torch.enable_grad():
            torch.mul(v1, 2.0, out=v1)
            v2 = y.tanh()
        v1 *= 3.0
    v3 = v1.reshape(6)[3:]
    return v1.sum(0) * y + v3 + v2

def r211(x: Tensor, y: Tensor):
    v1 = -y
    v2 = v1.squeeze()
    with torch.no_grad():
        v3 = v2.data
    for i in range(3):
        l4 = [v3, v3]
        p5 = (v3, v1)
        v6 = p5[0]
    l7 = [v1, v1]
    v8 = l7[0]
    l7[0] = x
    with torch.no_grad():
        v9 = x.data
        v10 = torch.zeros(2, 3, dtype=torch.float64)
    return v10.sum(0) * y + v3 + v1 + v8

def r212(x: Tensor, y: Tensor):
    v1 = y * y
    v2 = torch.zeros(2, 3, dtype=torch.float64)
    v3 = torch.zeros(2, 3, dtype=torch.float64)
    v4 = v2.view(2, 3)
    v2.sub_(1.25)
    v5 = v2[0].mul_(3.0)
    n6 = 0
    while n6 < 2:
        with torch.no_grad():
            for i in range(2):
                v2.view(6)[:2].fill_(1.25)
            v7 = v4[0].masked_fill_(v4[0] > 1, 0.5)
            torch.relu_(v2.view(6)[:2])
        v8 = v4.permute(1, 0).permute(1, 0)
        for i in range(2):
            v9 = v1.mul_(v1 + 1)
            v10 = v3.clone()
            v8.t()[1] = 1.25
        n6 += 1
    v11 = v3.reshape(6)[3:]
    return v2.sum(0) + v1 + v4.sum(0) + v3.sum(0)

def r213(x: Tensor, y: Tensor):
    v1 = y.tanh()
    with torch.no_grad():
        x[:2].mul_(x[:2] + 1)
        v2 = x.sin()
    v2[:2].masked_fill_(v2[:2] > 1, 0.5)
    torch.relu_(v2.detach())
    l3 = [v1, v2]
    v4 = l3[0]
    v5 = x.unsqueeze(0).squeeze(0)
    n6 = 0
    while n6 < 2:
        v7 = v4.detach().clone()
        v8 = v5.reshape(3)
        v9 = v7.detach()
        n6 += 1
    return v5 + v2 + v4 + v1

def r214(x: Tensor, y: Tensor):
    v1 = torch.zeros(2, 3, dtype=torch.float64)
    with torch.no_grad():
        for i in range(0):
            v1.detach().add_(3.0)
        torch.relu_(x.data)
    v2 = v1[:, :]
    if bool(y.sum() > 3):
        with torch.no_grad():
            v2[:, 1:].fill_(2.0)
            v3 = y[0].clamp_(-1.0, 1.0)
    else:
        v4 = y * 2
        v5 = v1.detach()
        v6 = x * y
    v7 = y.squeeze()
    l8 = [y, x]
    v9 = l8[1]
    l8[0] = x
    torch.set_grad_enabled(False)
    v2.detach().exp_()
    for i in range(3):
        v1.t()[1].add_(-1.5)
    torch.set_grad_enabled(True)
    return v2.sum(0) + v1.sum(0) + v7 + v9

def r215(x: Tensor, y: Tensor):
    v1 = y + 1
    n2 = 0
    while n2 < 2:
        v3 = x.data
        n2 += 1
    v4 = y.view_as(x)
    return v4 * y + v1

def r216(x: Tensor, y: Tensor):
    v1 = x.detach().clone()
    v1.add_(2.0)
    with torch.no_grad():
        n2 = 0
        while n2 < 2:
            v1.fill_(2.0)
            n2 += 1
        for i in range(2):
            y.data.add_(-1.5)
    torch.relu_(v1[1:])
    return v1 * y

def r217(x: Tensor, y: Tensor):
    v1 = torch.cat([y, x]).view(2, 3)
    l2 = [x, x]
    v3 = l2[1]
    l2[0] = y
    if bool(v3.sum() > 3):
        with torch.no_grad():
            torch.relu_(v1)
            if bool(v3.sum() > 3):
                y.mul_(y + 1)
            x[:2].sub_(2.0)
        with torch.no_grad():
            for i in range(0):
                v4 = v1.data.sub_(2.0)
            torch.relu_(x.view(1, 3)[0])
            v5 = y / 2
        v6 = v3.view(1, 3)[0]
    v7 = torch.zeros_like(y)
    with torch.no_grad():
        torch.relu_(v1.t()[1])
        v8 = v1.copy_(v1)
    v9 = v3.tanh()
    v10 = v8.data
    return v10.sum(0) * y + v3 + v8.sum(0) + v7

def r218(x: Tensor, y: Tensor):
    v1 = torch.minimum(y, x)
    v2 = x * 3
    v3 = v1 + v2
    v4 = v1 * v2
    with torch.no_grad():
        v3[0].zero_()
    return v1 * y + v3 + v2 + v4

def r219(x: Tensor, y: Tensor):
    v1 = x * y
    for i in range(0):
        n2 = 0
        while n2 < 2:
            v3 = y * y
            n2 += 1
    v1.view(1, 3)[0] = -1.5
    v1[0].mul_(v1[0] + 1)
    v1.view(3, 1)[1] = 2.0
    for i in range(3):
        v4 = v1[0:3]
        l5 = [v1, v1]
        v6 = l5[0]
        n7 = 0
        while n7 < 2:
            v4.view(1, 3)[0].sub_(3.0)
            v6.view(3, 1)[1].fill_(0.5)
            n7 += 1
    v8 = v1.detach().clone()
    return v1 * y + v8
