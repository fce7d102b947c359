class Counter:
    def __init__(self, start: int):
        self.count = start
    def step(self):
        self.count += 1
        return self.count
def forward(n: int):
    return Counter(n).stpe()
# ---
# err/near_class.py:8:12: error: '__torch__.Counter' object has no attribute or method 'stpe'; did you mean step?
#     return Counter(n).stpe()
#            ^~~~~~~~~~~~~~~
