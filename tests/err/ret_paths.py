def f(a: int) -> int:
    if a > 0:
        return 1
# ---
# err/ret_paths.py:1:1: error: Function was not annotated as having type None, but does not return along all paths
# def f(a: int) -> int:
# ^~~~~~~~~~~~~~~~~~~~
