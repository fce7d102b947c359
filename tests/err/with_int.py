def forward(n: int):
    with n:
        pass
    return n
# ---
# err/with_int.py:2:10: error: With item expression must return an object with __enter__ and __exit__ methods
#     with n:
#          ^
