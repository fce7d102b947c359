import math
import torch
import torch.nn.functional as F
from math import sqrt
from typing import Dict, List, NamedTuple, Optional

class Color(Enum):
    RED = 1
    GREEN = 2

class P(NamedTuple):
    a: int
    b: str = "q"

@torch.jit.interface
class I:
    def go(self, x: int) -> int:
        pass

@torch.jit.script
class A:
    def __init__(self, x: int):
        self.x = x
        self.l: List[int] = []
    def go(self, x: int) -> int:
        return x * self.x
    @staticmethod
    def twice(y: int) -> int:
        return y * 2
    @property
    def double(self) -> int:
        return self.x * 2
    @double.setter
    def double(self, v: int):
        self.x = v // 2
    def __lt__(self, o: "A") -> bool:
        return self.x < o.x

@torch.jit.script
def use(i: I) -> int:
    return i.go(4)

def forward(x: int = 3):
    """What only a Python file has: imports, decorators, formatted strings, chains."""
    a, b = A(x), A(1)
    a.double = 8
    print(f"x is {x} {x + 1}!", f"{a.double}" f"{[1, 2]}", r"raw\n", use(a), A.twice(5))
    print(1 < x < 5, 1 < x < 3, 1_000, 0b11, 0o17, 0x10, sqrt(16.0), math.pi)
    print(Color.RED.value, Color.GREEN.name, P(3), P(a=1, b="z").b, [i.x for i in sorted([a, b])])
    with torch.no_grad():
        print(torch.is_grad_enabled(), F.relu(torch.tensor([-1., 2.])))
    print(torch.is_grad_enabled())
# ---
# x is 3 4! 8[1, 2] raw\n 16 10
# True False 1000 3 15 16 4. 3.1415926535897931
# 1 GREEN (3, q) z [1, 4]
# False  0
#  2
# [ CPUFloatType{2} ]
# True
# None
