def f(a: Tensor) -> int:
    return a.foo
