def forward(n: int):
    d = {1: "a"}
    return d["b"]
# ---
# err/dict_missing.py:3:12: error: Arguments for call are not valid.
# The following variants are available:
#   aten::__getitem__.t(t[](a) list, int idx) -> t(*):
#     Could not match type Dict[int, str] to List[t] in argument 'list': cannot match List[t] to Dict[int, str].
#   aten::__getitem__.str(str s, int index) -> str:
#     Expected a value of type 'str' for argument 's' but instead found type 'Dict[int, str]'.
#   aten::__getitem__.Dict_str(Dict(str, t) self, str key) -> t(*):
#     Expected a value of type 'Dict[str, str]' for argument 'self' but instead found type 'Dict[int, str]'.
#   aten::__getitem__.Dict_int(Dict(int, t) self, int key) -> t(*):
#     Expected a value of type 'int' for argument 'key' but instead found type 'str'.
#   aten::__getitem__.Dict_bool(Dict(bool, t) self, bool key) -> t(*):
#     Expected a value of type 'Dict[bool, str]' for argument 'self' but instead found type 'Dict[int, str]'.
#   aten::__getitem__.Dict_float(Dict(float, t) self, float key) -> t(*):
#     Expected a value of type 'Dict[float, str]' for argument 'self' but instead found type 'Dict[int, str]'.
#   aten::__getitem__.Dict_complex(Dict(complex, t) self, complex key) -> t(*):
#     Expected a value of type 'Dict[complex, str]' for argument 'self' but instead found type 'Dict[int, str]'.
#   aten::__getitem__.Dict_Tensor(Dict(Tensor, t) self, Tensor key) -> t(*):
#     Expected a value of type 'Dict[Tensor, str]' for argument 'self' but instead found type 'Dict[int, str]'.
# The original call is
#     return d["b"]
#            ^~~~~~
