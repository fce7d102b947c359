class Inner:
    def __init__(self, n: int):
        self.n = n
    def go(self, x: Tensor):
        return x + self.m
class Outer:
    def __init__(self, n: int):
        self.inner = Inner(n)
    def go(self, x: Tensor):
        return self.inner.go(x)
def middle(o: Outer, x: Tensor):
    return o.go(x)
def forward(x: Tensor):
    return middle(Outer(1), x)
# ---
# err/chain.py:5:20: error: '__torch__.Inner' object has no attribute or method 'm'. Did you forget to initialize an attribute in __init__()?
#         return x + self.m
#                    ^~~~~~
# err/chain.py:10:16: note: '__torch__.Inner.go' is being compiled since it was called from here
#         return self.inner.go(x)
#                ^~~~~~~~~~~~~
# err/chain.py:12:12: note: '__torch__.Outer.go' is being compiled since it was called from here
#     return o.go(x)
#            ^~~~
# err/chain.py:14:12: note: 'middle' is being compiled since it was called from here
#     return middle(Outer(1), x)
#            ^~~~~~
