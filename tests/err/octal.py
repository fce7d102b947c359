def forward():
  return "\8"
# ---
# err/octal.py:2:11: error: ill formed octal specifier
#   return "\8"
#           ^~
