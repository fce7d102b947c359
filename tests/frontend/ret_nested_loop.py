def f(x: int) -> int:
    s = 0
    for i in range(x):
        for j in range(i):
            if i * j > 20:
                return i * 100 + j
            if j > 7:
                break
            if j % 2 == 0:
                continue
            s += j
        s += 1000
    return s
