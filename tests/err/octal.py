def forward():
  return "\0"
# ---
# err/octal.py:2:11: error: ill formed octal specifier
#   return "\0"
#           ^~
