def f(x: Tensor) -> Tensor:
    y = x.clone()
    y += 1
    y *= 2
    y -= x
    y /= 3
    y %= 2
    y **= 2
    return y
