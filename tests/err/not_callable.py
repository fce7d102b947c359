def forward(x: int):
    return x(1)
# ---
# err/not_callable.py:2:12: error: cannot call a value of type 'int'
#     return x(1)
#            ^
