def forward(x: Tuple[int, int]):
    x[0] = 1
    return x
# ---
# err/set_constant.py:2:5: error: Tuple[int, int] does not support subscripted assignment
#     x[0] = 1
#     ^~~~
