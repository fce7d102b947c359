def forward(x: Lsit[int], y: Tenser):
    return x
# ---
# err/near_type.py:1:16: error: Unknown type constructor Lsit; did you mean List?
# def forward(x: Lsit[int], y: Tenser):
#                ^~~~~~~~~
