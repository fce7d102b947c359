class A:
    def __init__(self):
        self.x = 1

def f():
    a = A()
    del a[0]
# ---
# err/delete_item.py:7:9: error: Class does not define __delitem__
#     del a[0]
#         ^~~~
