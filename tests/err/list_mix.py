def f(a: int) -> List[int]:
    return [1, "a"]
# ---
# err/list_mix.py:2:12: error: List type annotation `List[int]` did not match the types of the given list elements, which were unified to Union[int, str]
#     return [1, "a"]
#            ^~~~~~~~
