def forward(x: Tensor, s: str):
  return torch.relu(s)
# ---
# err/arguments.py:2:10: error: Arguments for call are not valid.
# The following variants are available:
#   aten::relu(Tensor self) -> Tensor:
#     Expected a value of type 'Tensor' for argument 'self' but instead found type 'str'.
#   aten::relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!):
#     Expected a value of type 'Tensor' for argument 'self' but instead found type 'str'.
# The original call is
#   return torch.relu(s)
#          ^~~~~~~~~~
