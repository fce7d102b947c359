from typing import Any, Dict, List, Tuple
def items(d: Dict[str, int]) -> List[Tuple[str, int]]:
    return d.items()
def kind(v: Any) -> str:
    if isinstance(v, List[int]):
        return "ints"
    if isinstance(v, List[Tuple[int, int]]):
        return "pairs"
    if isinstance(v, List[Tuple[str, int]]):
        return "items"
    return "other"
def is_items(v: Any) -> bool:
    return isinstance(v, List[Tuple[str, int]])
def forward():
    n = int(torch.ones(1).item())
    d = {"a": n, "b": 2}
    l = items(d)
    l.append(("z", n))
    print(l, kind(l), kind(d.items()), kind([n]), kind(list(d.values())), len(d))
    d.clear()
    print(kind(items(d)), kind(d.items()), is_items(d.items()))
    d["c"] = n
    for k, v in d.items():
        print(k, v)
    m = {"a": torch.tensor([-3., 2.])}
    held = m["a"]
    m["a"] += 0.5
    m["a"] %= 2
    print(m["a"], held)
    return l
# ---
# [(a, 1), (b, 2), (z, 1)] items items ints ints 2
# items items True
# c 1
# -0.5000
#  0.5000
# [ CPUFloatType{2} ] -3
#  2
# [ CPUFloatType{2} ]
# [(a, 1), (b, 2), (z, 1)]
