class Counter:
    def __init__(self, start: int):
        self.count = start
    def step(self):
        self.coutn = 1
def forward(n: int):
    c = Counter(n)
    c.step()
    return c.count
# ---
# err/near_attr.py:5:9: error: Tried to set nonexistent attribute: coutn; did you mean count?
#         self.coutn = 1
#         ^~~~~~~~~~
# err/near_attr.py:8:5: note: '__torch__.Counter.step' is being compiled since it was called from here
#     c.step()
#     ^~~~~~
