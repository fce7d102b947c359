def f(a: Tensor) -> Tensor:
    return torch.nosuch(a)
# ---
# err/badop.py:2:12: error: Unknown builtin op: aten::nosuch
#     return torch.nosuch(a)
#            ^~~~~~~~~~~~
