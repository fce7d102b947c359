def forward(x: List[int]):
  x.append('a')
# ---
# err/type_variable.py:2:3: error: Arguments for call are not valid.
# The following variants are available:
#   aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!):
#     Could not match type str to t in argument 'el': type variable 't' previously matched to type int is matched to type str.
# The original call is
#   x.append('a')
#   ^~~~~~~~
