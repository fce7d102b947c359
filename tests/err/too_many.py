def forward(x: Tensor):
  return torch.relu(x, x)
# ---
# err/too_many.py:2:10: error: Arguments for call are not valid.
# The following variants are available:
#   aten::relu(Tensor self) -> Tensor:
#     Expected at most 1 arguments but found 2 positional arguments.
#   aten::relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!):
#     Argument out not provided.
# The original call is
#   return torch.relu(x, x)
#          ^~~~~~~~~~
