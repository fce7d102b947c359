def forward(x: List[int]):
    x.apend(1)
    return x
# ---
# err/near_method.py:2:5: error: 'List[int]' object has no attribute or method 'apend'; did you mean append?
#     x.apend(1)
#     ^~~~~~~
