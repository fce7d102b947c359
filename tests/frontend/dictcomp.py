def f(n: int) -> Dict[int, float]:
    return {i: float(i) * 2.0 for i in range(n)}
