def f(a: Foo) -> int:
    return 1
