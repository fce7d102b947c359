def f(n: int) -> List[int]:
    l : List[int] = []
    for i in range(n, 0, -2):
        l.append(i)
    return l
