# A keyword is given twice.
def forward(x):
    return torch.cumsum(x, dim=0, dim=1)
# ---
# err/twice.py:3:12: error: Arguments for call are not valid.
# The following variants are available:
#   aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor:
#     Argument dim specified twice in schema.
#   aten::cumsum.out(Tensor self, int dim, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!):
#     Argument out not provided.
# The original call is
#     return torch.cumsum(x, dim=0, dim=1)
#            ^~~~~~~~~~~~
