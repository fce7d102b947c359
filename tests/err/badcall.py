def f(a: Tensor) -> Tensor:
    return torch.add(a)
# ---
# err/badcall.py:2:12: error: Arguments for call are not valid.
# The following variants are available:
#   aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor:
#     Argument other not provided.
#   aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor:
#     Argument other not provided.
#   aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!):
#     Argument other not provided.
#   aten::add.Scalar_out(Tensor self, Scalar other, Scalar alpha=1, *, Tensor(a!) out) -> Tensor(a!):
#     Argument other not provided.
#   aten::add.t(t[] a, t[] b) -> t[]:
#     Could not match type Tensor to List[t] in argument 'a': cannot match List[t] to Tensor.
#   aten::add.str(str a, str b) -> str:
#     Expected a value of type 'str' for argument 'a' but instead found type 'Tensor'.
#   aten::add.int(int a, int b) -> int:
#     Argument b not provided.
#   aten::add.complex(complex a, complex b) -> complex:
#     Argument b not provided.
#   aten::add.float(float a, float b) -> float:
#     Argument b not provided.
#   aten::add.int_complex(int a, complex b) -> complex:
#     Argument b not provided.
#   aten::add.complex_int(complex a, int b) -> complex:
#     Argument b not provided.
#   aten::add.float_complex(float a, complex b) -> complex:
#     Argument b not provided.
#   aten::add.complex_float(complex a, float b) -> complex:
#     Argument b not provided.
#   aten::add.int_float(int a, float b) -> float:
#     Argument b not provided.
#   aten::add.float_int(float a, int b) -> float:
#     Argument b not provided.
#   aten::add(Scalar a, Scalar b) -> Scalar:
#     Argument b not provided.
#   aten::add(float a, Tensor b) -> Tensor:
#     Argument b not provided.
#   aten::add(int a, Tensor b) -> Tensor:
#     Argument b not provided.
#   aten::add(complex a, Tensor b) -> Tensor:
#     Argument b not provided.
# The original call is
#     return torch.add(a)
#            ^~~~~~~~~
