def f(a: Optional[Tensor]) -> Tensor:
    return a.sum()
# ---
# err/none_attr.py:2:12: error: 'Optional[Tensor]' object has no attribute or method 'sum'.
#     return a.sum()
#            ^~~~~
