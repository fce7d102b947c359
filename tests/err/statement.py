def forward(x: Tensor):
  return x +
# ---
# err/statement.py:2:13: error: expected ident but found 'newline' here
#   return x +
#             ^
