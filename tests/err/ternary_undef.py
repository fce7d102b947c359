def forward(n: int):
    return n if m > 1 else 0
# ---
# err/ternary_undef.py:2:17: error: undefined value m
#     return n if m > 1 else 0
#                 ^
