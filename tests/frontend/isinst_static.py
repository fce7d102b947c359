def f(a: int) -> int:
    if isinstance(a, str):
        return a.upper()
    return a
# ---
# graph(%a : int):
#   return (%a)
