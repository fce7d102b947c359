def forward(x: int):
    return x[0]
# ---
# err/not_subscriptable.py:2:12: error: 'int' object is not subscriptable
#     return x[0]
#            ^~~~
