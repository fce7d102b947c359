def forward(x: Tensor):
    return f(x)
# ---
# err/near_none.py:2:12: error: undefined value f
#     return f(x)
#            ^
