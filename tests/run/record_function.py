import torch
from torch.profiler import record_function

class Recorded:
    record : Optional[__torch__.torch.classes.profiler._RecordFunction]
    def __init__(self, name: str):
        self.name = name
        self.record = None
    def __enter__(self):
        self.record = ops.profiler._record_function_enter_new(self.name, None)
        return self
    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any):
        record = self.record
        assert record is not None
        ops.profiler._record_function_exit(record)

def forward():
    x = torch.ones(2)
    with torch.autograd.profiler.record_function("outer"):
        with torch.profiler.record_function("inner", None) as r:
            x = x + 1
    with record_function("a"):
        print(x)
    with Recorded("b") as b:
        print(b.name, b.record is not None)
# ---
#  2
#  2
# [ CPUFloatType{2} ]
# b True
# None
