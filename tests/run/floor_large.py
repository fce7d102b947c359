# floor() and ceil() of a float beyond the range of int raise; int() of it does not.
def forward():
    print(math.floor(-9.223372036854775e18), math.ceil(2.5), math.floor(-2.5), int(1e30))
    print(math.floor(1e30))
# ---
# -9223372036854774784 3 -3 -9223372036854775808
# error: Traceback of TorchScript (most recent call last):
#   File "run/floor_large.py", line 4, in forward
#     print(math.floor(1e30))
#           ~~~~~~~~~~ <--- HERE
#
# RuntimeError: Cannot convert float 1000000000000000019884624838656.000000 to integer
