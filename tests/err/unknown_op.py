def forward(x: Tensor):
  return torch.reluu(x)
# ---
# err/unknown_op.py:2:10: error: Unknown builtin op: aten::reluu; did you mean aten::relu?
#   return torch.reluu(x)
#          ^~~~~~~~~~~
