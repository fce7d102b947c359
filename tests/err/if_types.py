def forward(n: int):
    return 1 if n > 1 else "a"
# ---
# err/if_types.py:2:12: error: if-expression has type int in the true branch but type str in the false branch
#     return 1 if n > 1 else "a"
#            ^~~~~~~~~~~~~~~~~~~
