def helper(a: int, b: int = 2) -> int:
    return a + b
def forward(x: int):
    return helper(x, c=1)
# ---
# err/kwarg_unknown.py:4:12: error: helper(int a, int b=2) -> int:
# Keyword argument c unknown.
#     return helper(x, c=1)
#            ^~~~~~
