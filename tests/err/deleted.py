def forward(x: int):
    del x
    return x
# ---
# err/deleted.py:3:12: error: undefined value x: it was deleted and was used here
#     return x
#            ^
# err/deleted.py:2:5: note: this is where
#     del x
#     ^~~~~
