def forward():
    z = complex(1, 2)
    print(z, abs(z), z + 1, z * z, z - 1.5, z / z, z == z, z ** 2, -z, 3j, 1 + 2j, complex(3), complex(1.5, -2.5), complex(True, False))
# ---
# 1.+2.j 2.2360679774997898 2.+2.j -3.+4.j -0.5+2.j 1.+0.j True -3.+4.0000000000000018j -1.-2.j 0.+3.j 1.+2.j 3.+0.j 1.5-2.5j 1.+0.j
# None
