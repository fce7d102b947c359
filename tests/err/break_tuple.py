def f(a: int) -> int:
    for i in (1, 2):
        break
    return 1
# ---
# err/break_tuple.py:3:9: error: Because we emit iteration over modulelists or tuples as unrolled loops, we do not support break or continue inside the body of these loops
#         break
#         ^~~~~
