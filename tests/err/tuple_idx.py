def f(a: int) -> int:
    return (1, 2)[5]
# ---
# err/tuple_idx.py:2:19: error: Tuple index out of range. Tuple is length 2 and index is 5
#     return (1, 2)[5]
#                   ^
