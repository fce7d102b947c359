def forward():
    print(7 // 2, -7 // 2, 7 % 3, -7 % 3, 7 / 2, 2 ** 3, 2 ** -1, 7.5 // 2, -7.5 % 2, 1 << 3, 16 >> 2, 5 & 3, 5 | 3, 5 ^ 3, -5, not True)
    print(abs(-3), abs(-2.5), round(2.5), round(3.5), round(2.567, 2), divmod(7, 2), divmod(-7.5, 2.0), pow(2, 3), pow(2.0, 3), max(1, 2), min(1.5, 2), int(2.7), int(-2.7), float(3), bool(0), bool(2.5), complex(1, 2))
    print(1e20, 0.1, 1 / 3, 1e-7, -0.0, 4.0, 123456789.123, 1e16, 1e17, 12345678901234567890.0)
    print(1 < 2, 1 == 1.0, 1 != 2, True and False, True or False, 3 if True else 4)
    print(1 + 2.5, 1 - 2.5, 2 * 2.5, 5 // 2.0, 5 % 2.5, True + 1 if False else 2)
    print(float("inf"), float("-inf"), float("nan"), int(1e10))
# ---
# run/numbers.py:3:55: error: Arguments for call are not valid.
# The following variants are available:
#   aten::round(Tensor self) -> Tensor:
#     Expected a value of type 'Tensor' for argument 'self' but instead found type 'float'.
#   aten::round.decimals(Tensor self, *, int decimals) -> Tensor:
#     Expected a value of type 'Tensor' for argument 'self' but instead found type 'float'.
#   aten::round.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!):
#     Expected a value of type 'Tensor' for argument 'self' but instead found type 'float'.
#   aten::round.decimals_out(Tensor self, *, int decimals, Tensor(a!) out) -> Tensor(a!):
#     Expected a value of type 'Tensor' for argument 'self' but instead found type 'float'.
#   aten::round.int(int a) -> float:
#     Expected a value of type 'int' for argument 'a' but instead found type 'float'.
#   aten::round.float(float a) -> float:
#     Expected at most 1 arguments but found 2 positional arguments.
#   aten::round.Scalar(Scalar a) -> Scalar:
#     Expected at most 1 arguments but found 2 positional arguments.
# The original call is
#     print(abs(-3), abs(-2.5), round(2.5), round(3.5), round(2.567, 2), divmod(7, 2), divmod(-7.5, 2.0), pow(2, 3), pow(2.0, 3), max(1, 2), min(1.5, 2), int(2.7), int(-2.7), float(3), bool(0), bool(2.5), complex(1, 2))
#                                                       ^~~~~
