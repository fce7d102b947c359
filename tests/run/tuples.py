def forward():
    t = (1, "a", 2.5)
    print(t, t[0], t[-1], t[1:], t[:2], len((1, 2)), t == t, (1, 2) < (1, 3))
    a, b, c = t
    print(a, b, c)
    (x, y), z = (1, 2), 3
    print(x, y, z)
    a, *r = (1, 2, 3)
    print(a, r)
    for q in (1, 2, 3):
        print(q)
    return t
# ---
# run/tuples.py:3:54: error: Arguments for call are not valid.
# The following variants are available:
#   aten::eq.Tensor(Tensor self, Tensor other) -> Tensor:
#     Expected a value of type 'Tensor' for argument 'self' but instead found type 'Tuple[int, str, float]'.
#   aten::eq.Scalar(Tensor self, Scalar other) -> Tensor:
#     Expected a value of type 'Tensor' for argument 'self' but instead found type 'Tuple[int, str, float]'.
#   aten::eq.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!):
#     Expected a value of type 'Tensor' for argument 'self' but instead found type 'Tuple[int, str, float]'.
#   aten::eq.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!):
#     Expected a value of type 'Tensor' for argument 'self' but instead found type 'Tuple[int, str, float]'.
#   aten::eq.int_list(int[] a, int[] b) -> bool:
#     Expected a value of type 'List[int]' for argument 'a' but instead found type 'Tuple[int, str, float]'.
#   aten::eq.device(Device a, Device b) -> bool:
#     Expected a value of type 'Device' for argument 'a' but instead found type 'Tuple[int, str, float]'.
#   aten::eq.bool(bool a, bool b) -> bool:
#     Expected a value of type 'bool' for argument 'a' but instead found type 'Tuple[int, str, float]'.
#   aten::eq.enum(AnyEnumType a, AnyEnumType b) -> bool:
#     Expected a value of type 'AnyEnumType' for argument 'a' but instead found type 'Tuple[int, str, float]'.
#   aten::eq.int(int a, int b) -> bool:
#     Expected a value of type 'int' for argument 'a' but instead found type 'Tuple[int, str, float]'.
#   aten::eq.complex(complex a, complex b) -> bool:
#     Expected a value of type 'complex' for argument 'a' but instead found type 'Tuple[int, str, float]'.
#   aten::eq.float(float a, float b) -> bool:
#     Expected a value of type 'float' for argument 'a' but instead found type 'Tuple[int, str, float]'.
#   aten::eq.int_float(int a, float b) -> bool:
#     Expected a value of type 'int' for argument 'a' but instead found type 'Tuple[int, str, float]'.
#   aten::eq.float_int(float a, int b) -> bool:
#     Expected a value of type 'float' for argument 'a' but instead found type 'Tuple[int, str, float]'.
#   aten::eq.float_complex(float a, complex b) -> bool:
#     Expected a value of type 'float' for argument 'a' but instead found type 'Tuple[int, str, float]'.
#   aten::eq.complex_float(complex a, float b) -> bool:
#     Expected a value of type 'complex' for argument 'a' but instead found type 'Tuple[int, str, float]'.
#   aten::eq(Scalar a, Scalar b) -> bool:
#     Expected a value of type 'number' for argument 'a' but instead found type 'Tuple[int, str, float]'.
#   aten::eq.str(str a, str b) -> bool:
#     Expected a value of type 'str' for argument 'a' but instead found type 'Tuple[int, str, float]'.
#   aten::eq.float_list(float[] a, float[] b) -> bool:
#     Expected a value of type 'List[float]' for argument 'a' but instead found type 'Tuple[int, str, float]'.
#   aten::eq.Tensor_list(Tensor[] a, Tensor[] b) -> bool:
#     Expected a value of type 'List[Tensor]' for argument 'a' but instead found type 'Tuple[int, str, float]'.
#   aten::eq.bool_list(bool[] a, bool[] b) -> bool:
#     Expected a value of type 'List[bool]' for argument 'a' but instead found type 'Tuple[int, str, float]'.
#   aten::eq.str_list(str[] a, str[] b) -> bool:
#     Expected a value of type 'List[str]' for argument 'a' but instead found type 'Tuple[int, str, float]'.
#   aten::eq(float a, Tensor b) -> Tensor:
#     Expected a value of type 'float' for argument 'a' but instead found type 'Tuple[int, str, float]'.
#   aten::eq(int a, Tensor b) -> Tensor:
#     Expected a value of type 'int' for argument 'a' but instead found type 'Tuple[int, str, float]'.
#   aten::eq(complex a, Tensor b) -> Tensor:
#     Expected a value of type 'complex' for argument 'a' but instead found type 'Tuple[int, str, float]'.
# The original call is
#     print(t, t[0], t[-1], t[1:], t[:2], len((1, 2)), t == t, (1, 2) < (1, 3))
#                                                      ^~~~~~
