def f(x: Tuple[3 + 4]):
    return x
# ---
# err/type_operator.py:1:16: error: Expression of type + cannot be used in a type expression
# def f(x: Tuple[3 + 4]):
#                ^~~~~
