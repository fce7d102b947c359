import cmath
import torch
from enum import Enum
from typing import Any, Dict, List, Optional, Tuple, Union

class Color(Enum):
    RED = 1
    GREEN = 2

@torch.jit.script
class V:
    def __init__(self, x: int):
        self.x = x
    def __int__(self) -> int:
        return self.x
    def __float__(self) -> float:
        return self.x / 2
    def __complex__(self) -> complex:
        return complex(self.x, 1)
    def __bool__(self) -> bool:
        return self.x != 0
    def __hex__(self) -> str:
        return "h" + str(self.x)
    def __round__(self) -> int:
        return 10 * self.x

def typed(x,  # type: int
          y=2,  # type: int
          ):
    # type: (...) -> int
    return x + y

def some(x: int):
    if x > 0:
        return x

def narrow(x: Union[int, str, None]) -> int:
    if x is not None:
        if isinstance(x, str):
            x = x + "!"
        else:
            x = x + 1
        print(x)
    if isinstance(x, int):
        return x
    return 0

def forward():
    """What Python's front end knows of a source and the one for strings does not; narrowed unions."""
    v = V(3); print(int(v), float(v), complex(v), bool(v), hex(v), round(v))
    for c in Color:
        print(c.name, c.value)
    print([c.value for c in Color], (1, 2) + ("a",), "b" in "abc", "z" not in "abc")
    print("\x41\u0042\U00000043\103", len("a\0b"), "a\rb".splitlines(), typed(1), some(1), some(-1))
    print(narrow(4), narrow("a"), narrow(None), cmath.sqrt(1 + 2j), cmath.phase(1j))
    a = 5
    a %= 3
    print(a)
    x: Any = {"a": 1}
    if torch.jit.isinstance(x, Dict[str, int]):
        print(x["a"])
    y: Any = (1, "q")
    if torch.jit.isinstance(y, Tuple[int, str]):
        print(y[1])
    print("ab"[::0])
# ---
# 3 1.5 3.+1.j True h3 30
# RED 1
# GREEN 2
# [1, 2] (1, 2, a) True True
# ABCC 3 [a, b] 3 1 None
# 5
# a!
# 5 0 0 1.272019649514069+0.78615137775742328j 1.5707963267948966
# 2.
# 1
# q
# error: Traceback of TorchScript (most recent call last):
#   File "run/python_source.py", line 65, in forward
#     print("ab"[::0])
#           ~~~~~~~~~ <--- HERE
#
# RuntimeError: List slice should have non-zero step
