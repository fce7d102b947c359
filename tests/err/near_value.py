def helper(a: int, b: int) -> int:
    return a + b
def forward(weight: int):
    return hepler(weight, 1) + wieght
# ---
# err/near_value.py:4:12: error: undefined value hepler; did you mean helper?
#     return hepler(weight, 1) + wieght
#            ^~~~~~
