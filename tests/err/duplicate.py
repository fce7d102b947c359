def forward(x: int, x: int):
  return x
# ---
# err/duplicate.py:1:21: error: duplicate argument 'x' in function definition
# def forward(x: int, x: int):
#                     ^~~~~~
