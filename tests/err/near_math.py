import math
def forward(x: float):
    return math.sqtr(x)
# ---
# err/near_math.py:3:12: error: Unknown builtin op: aten::sqtr; did you mean aten::sqrt?
#     return math.sqtr(x)
#            ^~~~~~~~~
