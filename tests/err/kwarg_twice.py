def helper(a: int, b: int) -> int:
    return a + b
def forward(x: int):
    return helper(x, a=1)
# ---
# err/kwarg_twice.py:4:12: error: helper(int a, int b) -> int:
# Argument b not provided.
#     return helper(x, a=1)
#            ^~~~~~
