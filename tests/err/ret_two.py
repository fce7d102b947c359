def f(a: int):
    if a > 0:
        return 1
    return 2.5
# ---
# err/ret_two.py:4:5: error: Previous return statement returned a value of type int but this return statement returns a value of type float
#     return 2.5
#     ^~~~~~~~~~
