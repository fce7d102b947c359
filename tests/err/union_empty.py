def f():
    x: Union[List[int], List[str]] = []
# ---
# err/union_empty.py:2:38: error: Cannot assign an empty list to a variable annotated to be type Union[List[int], List[str]] because there are multiple possible List type candidates in the Union annotation
#     x: Union[List[int], List[str]] = []
#                                      ^~
