def forward():
    x : Optional[int] = None
    if x is None:
        print("none")
    x = 3
    if x is not None:
        print(x + 1)
    y : Any = 3
    if isinstance(y, int):
        print(y + 1)
    z : Union[int, str] = "a"
    if isinstance(z, str):
        print(z + "b")
    else:
        print(z + 1)
    print(isinstance(3, int), isinstance(3, float), isinstance("a", (int, str)), isinstance([1], list), isinstance((1,), tuple), isinstance(torch.ones(1), torch.Tensor))
# ---
# none
# 4
# 4
# ab
# True False True True True True
# None
