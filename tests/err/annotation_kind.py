def f():
    x: Optional[int] = {"a": 1}
# ---
# err/annotation_kind.py:2:24: error: Expected an annotation of type Dict but got Optional[int]
#     x: Optional[int] = {"a": 1}
#                        ^~~~~~~~
