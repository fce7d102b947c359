def f(x: Tensor, i: Tensor) -> Tensor:
    y = x.clone()
    y[0] = 5
    y[:, 1] = y[:, 0]
    y[i] = 2.5
    y[1, 1:] = torch.ones([1])
    y[i] += 1
    return y
