def forward(x: Tensor):
    y = x
  return y
# ---
# err/indentation.py:3:3: error: invalid indent level 2
#   return y
#   ^
