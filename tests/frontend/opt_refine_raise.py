def f(x: Optional[int]) -> int:
    if x is None:
        raise RuntimeError("none")
    return x + 1
