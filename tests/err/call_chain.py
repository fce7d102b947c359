def helper(x: int):
  return torch.relu(x)
def forward(x: int):
  return helper(x)
# ---
# err/call_chain.py:2:10: error: Arguments for call are not valid.
# The following variants are available:
#   aten::relu(Tensor self) -> Tensor:
#     Expected a value of type 'Tensor' for argument 'self' but instead found type 'int'.
#   aten::relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!):
#     Expected a value of type 'Tensor' for argument 'self' but instead found type 'int'.
# The original call is
#   return torch.relu(x)
#          ^~~~~~~~~~
# err/call_chain.py:4:10: note: 'helper' is being compiled since it was called from here
#   return helper(x)
#          ^~~~~~
