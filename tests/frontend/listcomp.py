def f(n: int) -> List[int]:
    return [i * i for i in range(n)]
