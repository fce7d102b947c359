class A:
    def __init__(self, x: int):
        self.x = x
    def __lt__(self, o: A) -> bool:
        return self.x < o.x

def forward():
    l = [(2, A(1)), (1, A(3)), (1, A(2))]
    l.sort()
    print([p[1].x for p in l])
    l.sort(reverse=True)
    print([p[1].x for p in l], [a.x for a in sorted([A(3), A(1), A(2)])])
# ---
# [2, 3, 1]
# [1, 3, 2] [1, 2, 3]
# None
