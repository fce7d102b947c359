def forward(n: int):
    l = [1, 2]
    l.append("a")
    return l
# ---
# err/list_element.py:3:5: error: Arguments for call are not valid.
# The following variants are available:
#   aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!):
#     Could not match type str to t in argument 'el': type variable 't' previously matched to type int is matched to type str.
# The original call is
#     l.append("a")
#     ^~~~~~~~
