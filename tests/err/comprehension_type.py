def forward(x: List[int]):
    return [k.upper() for k in x]
# ---
# err/comprehension_type.py:2:13: error: 'int' object has no attribute or method 'upper'.
#     return [k.upper() for k in x]
#             ^~~~~~~
