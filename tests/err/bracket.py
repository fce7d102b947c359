def forward(x: Tensor):
  return torch.relu(x
# ---
# err/bracket.py:2:20: error: '(' is never closed
#   return torch.relu(x
#                    ^
