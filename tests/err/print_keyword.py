def f():
    print(1, end="")
# ---
# err/print_keyword.py:2:5: error: print doesn't accept any keyword arguments
#     print(1, end="")
#     ^~~~~
