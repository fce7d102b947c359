def forward(n: int):
    raise n
# ---
# err/assert_number.py:2:5: error: exceptions must derive from BaseException
#     raise n
#     ^~~~~~~
