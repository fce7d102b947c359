def forward():
    z = complex(1, 2)
    print(z, z.real, z.imag, abs(z), z + 1, z * z, z - 1.5, z / z, z == z, z ** 2, -z, 3j, 1 + 2j, complex(3), complex(1.5, -2.5), complex(True, False))
# ---
# run/complex.py:3:14: error: builtin cannot be used as a value
#     print(z, z.real, z.imag, abs(z), z + 1, z * z, z - 1.5, z / z, z == z, z ** 2, -z, 3j, 1 + 2j, complex(3), complex(1.5, -2.5), complex(True, False))
#              ^~~~~~
