from typing import Any, Dict, List, Tuple
def items(d: Dict[str, int]) -> List[Tuple[str, int]]:
    return d.items()
def kind(v: Any) -> str:
    if isinstance(v, List[Tuple[str, int]]):
        return "items"
    if isinstance(v, List[int]):
        return "ints"
    return "other"
def forward():
    n = int(torch.ones(1).item())
    d = {"a": n, "b": 2}
    l = items(d)
    l.append(("z", n))
    print(l, kind(l), kind(d.items()), kind([n]), kind(list(d.values())), len(d))
    for k, v in d.items():
        print(k, v)
    return l
# ---
# [(a, 1), (b, 2), (z, 1)] items items ints ints 2
# a 1
# b 2
# [(a, 1), (b, 2), (z, 1)]
