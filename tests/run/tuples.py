from typing import Any, NamedTuple, Tuple
class Point(NamedTuple):
    x: int
    y: float
class Line(NamedTuple):
    name: str
    at: Tuple[int, int]
    length: float
def moved(p: Point, by: int) -> Point:
    return Point(p.x + by, p.y)
def kind(v: Any) -> str:
    if isinstance(v, Point):
        return "point at " + str(v.x)
    if isinstance(v, Line):
        return "line of " + v.name
    return "other"
def forward():
    n = int(torch.ones(1).item())
    t = (n, "a", 2.5)
    print(t, t[0], t[-1], t[-3], t[1:], t[:2], t[1:2], t[0:0], t[-2:])
    a, b, c = t
    print(a, b, c)
    (x, y), z = (n, 2), 3
    print(x, y, z)
    a, r, s = y, x, t
    print(a, r, s)
    for q in (n, 2, 3):
        print(q)
    p = Point(n, 0.5)
    l = Line("l", (n, 4), 1.5)
    print(p, p.x, p.y, p[1], p[-2], moved(p, 2), l, l.at, l[1][-1], l.length)
    u, v = moved(p, n)
    print(u, v)
    k = 0
    pair = (n, p)
    while k < 3:
        pair = (pair[1].x + k, moved(pair[1], pair[0]))
        k += 1
    print(pair)
    if n > 0:
        m = (p, l)
    else:
        m = (moved(p, 1), l)
    print(m)
    print(kind(p), kind(l), kind((n, 0.5)), kind(m[1]))
    return t
# ---
# (1, a, 2.5) 1 2.5 1 (a, 2.5) (1, a) (a,) () (a, 2.5)
# 1 a 2.5
# 1 2 3
# 2 1 (1, a, 2.5)
# 1
# 2
# 3
# (1, 0.5) 1 0.5 0.5 1 (3, 0.5) (l, (1, 4), 1.5) (1, 4) 4 1.5
# 2 0.5
# (5, (6, 0.5))
# ((1, 0.5), (l, (1, 4), 1.5))
# point at 1 line of l other line of l
# (1, a, 2.5)
