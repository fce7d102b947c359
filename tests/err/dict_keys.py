def f():
    return {"a": 1, 2: 3}
# ---
# err/dict_keys.py:2:12: error: Dict keys must contain only a single type. Expected: str but found int instead
#     return {"a": 1, 2: 3}
#            ^~~~~~~~~~~~~~
