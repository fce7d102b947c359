def f(a: Optional[Tensor]) -> Tensor:
    return a.sum()
