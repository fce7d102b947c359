def forward(x: Tensor):
  return torch.relu(x, y=x)
# ---
# err/keyword.py:2:10: error: Arguments for call are not valid.
# The following variants are available:
#   aten::relu(Tensor self) -> Tensor:
#     Keyword argument y unknown.
#   aten::relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!):
#     Argument out not provided.
# The original call is
#   return torch.relu(x, y=x)
#          ^~~~~~~~~~
