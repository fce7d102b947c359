def g(a: int):
    return a * 2.5
def f(a: int):
    return g(a) + 1
