# divmod of an int and a float uses C's int and float, as in PyTorch. Repeating a list with elements -1 times is an error.
def forward():
    big = 2147483647
    print(divmod(7, 2), divmod(-7, 2), divmod(7.5, 2.0), divmod(-7.5, 2.0), divmod(7.0, 0.1))
    print(divmod(7, 2.5), divmod(7, 0.1), divmod(-7, 0.3), divmod(2.5, -7), divmod(big + 6, 2.5), divmod(16777217, 1.0))
    print(divmod(1e12, 7), divmod(2.5, 2 * big + 5), divmod(9.2e18, 1), divmod(-1, 1e20))
    print([1, 2] * 0, [1, 2] * 2, torch.jit.annotate(List[int], []) * -1)
    print([0] * (1 - len([1, 2])))
# ---
# (3, 1) (-4, 1) (3., 1.5) (-4., 0.5) (69., 0.099999999999999617)
# (2., 2.) (70., -1.0430812835693359e-07) (-24., 0.20000028610229492) (-1., -4.5) (-858993472., 37.) (16777216., 1.)
# (142857142272., 0.) (0., 2.5) (9200000267938955264., 0.) (-1., 1.0000000200408773e+20)
# [] [1, 2, 1, 2] []
# error: Traceback of TorchScript (most recent call last):
#   File "run/divmod.py", line 8, in forward
#     print([0] * (1 - len([1, 2])))
#           ~~~~~~~~~~~~~~ <--- HERE
#
# RuntimeError: vector::reserve
