def f():
    x: Dict[str, str] = {str(i): i for i in range(2)}
# ---
# err/dict_value.py:2:25: error: Dict type annotation `Dict[str, str]` did not match the type of an actual value type `int`
#
#     x: Dict[str, str] = {str(i): i for i in range(2)}
#                         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~
