def f(a: int) -> int:
    d = {"a": 1}
    return d[a]
# ---
# err/dictkey.py:3:12: error: Arguments for call are not valid.
# The following variants are available:
#   aten::__getitem__.t(t[](a) list, int idx) -> t(*):
#     Could not match type Dict[str, int] to List[t] in argument 'list': cannot match List[t] to Dict[str, int].
#   aten::__getitem__.str(str s, int index) -> str:
#     Expected a value of type 'str' for argument 's' but instead found type 'Dict[str, int]'.
#   aten::__getitem__.Dict_str(Dict(str, t) self, str key) -> t(*):
#     Expected a value of type 'str' for argument 'key' but instead found type 'int'.
#   aten::__getitem__.Dict_int(Dict(int, t) self, int key) -> t(*):
#     Expected a value of type 'Dict[int, int]' for argument 'self' but instead found type 'Dict[str, int]'.
#   aten::__getitem__.Dict_bool(Dict(bool, t) self, bool key) -> t(*):
#     Expected a value of type 'Dict[bool, int]' for argument 'self' but instead found type 'Dict[str, int]'.
#   aten::__getitem__.Dict_float(Dict(float, t) self, float key) -> t(*):
#     Expected a value of type 'Dict[float, int]' for argument 'self' but instead found type 'Dict[str, int]'.
#   aten::__getitem__.Dict_complex(Dict(complex, t) self, complex key) -> t(*):
#     Expected a value of type 'Dict[complex, int]' for argument 'self' but instead found type 'Dict[str, int]'.
#   aten::__getitem__.Dict_Tensor(Dict(Tensor, t) self, Tensor key) -> t(*):
#     Expected a value of type 'Dict[Tensor, int]' for argument 'self' but instead found type 'Dict[str, int]'.
# The original call is
#     return d[a]
#            ^~~~
