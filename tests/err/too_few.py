class Counter:
    def __init__(self, start: int):
        self.count = start
def forward(x: int):
    return Counter()
# ---
# err/too_few.py:5:12: error: __torch__.Counter.__init__(__torch__.Counter self, int start) -> NoneType:
# Argument start not provided.
#     return Counter()
#            ^~~~~~~
