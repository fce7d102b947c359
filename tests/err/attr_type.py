class Counter:
    def __init__(self, start: int):
        self.count = start
def forward(x: int):
    c = Counter(x)
    c.count = "a"
    return c
# ---
# err/attr_type.py:6:5: error: Wrong type for attribute assignment. Expected int but got str
#     c.count = "a"
#     ^~~~~~~
