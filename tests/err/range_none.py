def f():
    for i in range():
        print(i)
# ---
# err/range_none.py:2:14: error: range expected at least 1 arguments, got 0
#     for i in range():
#              ^~~~~
