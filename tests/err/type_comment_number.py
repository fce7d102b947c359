def f(x):
    # type: (int, int)
    return x
# ---
# err/type_comment_number.py:2:13: error: Number of type annotations (2) did not match the number of function parameters (1)
#     # type: (int, int)
#             ^~~~~~~~~~
