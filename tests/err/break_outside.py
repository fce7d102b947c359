def f():
    break
# ---
# err/break_outside.py:2:5: error: 'break' outside loop
#     break
#     ^~~~~
