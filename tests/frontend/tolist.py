def f(x: Tensor) -> List[float]:
    l : List[float] = x.tolist()
    return l
