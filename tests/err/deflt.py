def forward(x: int = y):
  return x
# ---
# err/deflt.py:1:22: error: this is not a constant expression
# def forward(x: int = y):
#                      ^
