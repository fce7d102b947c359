def forward():
    d = {"a": 1, "b": 2}
    print(d, d["a"], "a" in d, "z" not in d, len(d), d.keys(), d.values(), d.items())
    d["c"] = 3
    print(d.get("a"), d.get("q"), d.get("q", 5), d.pop("a"), d.pop("zz", 9), d.setdefault("k", 4), d.setdefault("b", 4), d)
    d.update({"x": 10, "b": 20})
    print(d, d.popitem(), d)
    del d["b"]
    e = d.copy()
    d.clear()
    print(d, e)
    for k in e:
        print(k)
    for k, v in e.items():
        print(k, v)
    print({i: i * i for i in range(3)}, dict([(1, 2), (3, 4)]), {1: "a"}, {1.5: 2}, {True: 3})
    print(list(e), list(e.keys()), [k for k in e])
# ---
# {a: 1, b: 2} 1 True True 2 [a, b] [1, 2] [(a, 1), (b, 2)]
# 1 None 5 1 9 4 2 {b: 2, c: 3, k: 4}
# {c: 3, k: 4, x: 10} (b, 20) {c: 3, k: 4, x: 10}
# error: Traceback of TorchScript (most recent call last):
#   File "run/dicts.py", line 8, in forward
#     del d["b"]
#         ~~~~~~ <--- HERE
#
# RuntimeError: KeyError: b
