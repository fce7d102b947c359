def f():
    x: Union[List[int], List[str]] = [1.5]
# ---
# err/union_list.py:2:38: error: Union type annotation `Union[List[int], List[str]]` can hold List[int] or List[str], but none of those types match the types of the given list elements, which were unified to float
#     x: Union[List[int], List[str]] = [1.5]
#                                      ^~~~~
