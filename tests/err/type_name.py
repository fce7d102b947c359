def f(a: Foo) -> int:
    return 1
# ---
# err/type_name.py:1:10: error: Unknown type name 'Foo'
# def f(a: Foo) -> int:
#          ^~~
