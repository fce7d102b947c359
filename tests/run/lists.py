def forward():
    l = [3, 1, 2]
    l.append(5)
    l.extend([7, 8])
    l.insert(0, 9)
    l.insert(-1, 10)
    l.insert(100, 11)
    print(l, l.pop(), l.pop(0), l.pop(-2), l)
    l.remove(5)
    print(l, l.index(2), l.count(2), 3 in l, 33 not in l)
    l.reverse()
    print(l)
    l.sort()
    print(l)
    l.sort(reverse=True)
    print(l, sorted(l), l.copy(), l[::-1], l[1:], l[-2:], l[::2], l[5:1], l + [1], l * 2, 2 * l)
    l.clear()
    print(l, len(l))
    l += [1, 2, 3, 4, 5, 6]
    del l[0]
    del l[-1]
    print(l)
    print(l, max(l), min(l), sum(l), any([False, True]), all([True, True]))
    l *= 2
    print(l)
    a, b, c = [1, 2, 3]
    print(a, b, c, list("abc"), list([1, 2]), [x * 2 for x in [1, 2]], [x for x in "ab"])
    print([1, 2] == [1, 2], [1, 2] != [1], [1, 2] < [1, 3], [1, 2] >= [1, 2], [2] > [1], [1] <= [1])
# ---
# run/lists.py:28:44: error: Arguments for call are not valid.
# The following variants are available:
#   aten::lt.Tensor(Tensor self, Tensor other) -> Tensor:
#     Expected a value of type 'Tensor' for argument 'self' but instead found type 'List[int]'.
#   aten::lt.Scalar(Tensor self, Scalar other) -> Tensor:
#     Expected a value of type 'Tensor' for argument 'self' but instead found type 'List[int]'.
#   aten::lt.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!):
#     Expected a value of type 'Tensor' for argument 'self' but instead found type 'List[int]'.
#   aten::lt.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!):
#     Expected a value of type 'Tensor' for argument 'self' but instead found type 'List[int]'.
#   aten::lt.int(int a, int b) -> bool:
#     Expected a value of type 'int' for argument 'a' but instead found type 'List[int]'.
#   aten::lt.float(float a, float b) -> bool:
#     Expected a value of type 'float' for argument 'a' but instead found type 'List[int]'.
#   aten::lt.int_float(int a, float b) -> bool:
#     Expected a value of type 'int' for argument 'a' but instead found type 'List[int]'.
#   aten::lt.float_int(float a, int b) -> bool:
#     Expected a value of type 'float' for argument 'a' but instead found type 'List[int]'.
#   aten::lt(Scalar a, Scalar b) -> bool:
#     Expected a value of type 'number' for argument 'a' but instead found type 'List[int]'.
#   aten::lt.str(str a, str b) -> bool:
#     Expected a value of type 'str' for argument 'a' but instead found type 'List[int]'.
#   aten::lt(float a, Tensor b) -> Tensor:
#     Expected a value of type 'float' for argument 'a' but instead found type 'List[int]'.
#   aten::lt(int a, Tensor b) -> Tensor:
#     Expected a value of type 'int' for argument 'a' but instead found type 'List[int]'.
#   aten::lt(complex a, Tensor b) -> Tensor:
#     Expected a value of type 'complex' for argument 'a' but instead found type 'List[int]'.
# The original call is
#     print([1, 2] == [1, 2], [1, 2] != [1], [1, 2] < [1, 3], [1, 2] >= [1, 2], [2] > [1], [1] <= [1])
#                                            ^~~~~~~~~~~~~~~
