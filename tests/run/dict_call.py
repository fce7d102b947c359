def forward():
    a = dict({"foo" : 1, "bar" : 2}, baz=3)
    d = {"foo" : 1, "bar" : 2}
    b = dict(d, baz=3)
    print(a, b, d)
    x: Dict[str, int] = dict([])
    y = dict(zip(["foo", "baz", "bar"], [1, 2, 3]))
    z = dict({chr(65 + i) : i for i in range(4)}, foo=2)
    print(x, y, z, dict(foo=1, bar=3), dict([("foo", 1)], foo=2), dict([(i, str(i)) for i in range(3)]))
    w: Dict[str, float] = dict()
    q: Dict[int, Optional[int]] = dict([(i, None) for i in range(2)])
    print(w, dict(enumerate(["p", "q"])), q, dict(d.items()), dict())
# ---
# {foo: 1, bar: 2, baz: 3} {foo: 1, bar: 2, baz: 3} {foo: 1, bar: 2}
# {} {foo: 1, baz: 2, bar: 3} {A: 0, B: 1, C: 2, D: 3, foo: 2} {foo: 1, bar: 3} {foo: 2} {0: 0, 1: 1, 2: 2}
# {} {0: p, 1: q} {0: None, 1: None} {foo: 1, bar: 2} {}
# None
