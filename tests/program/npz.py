"""Reads, writes and compares .npz files with Python's own library alone.

An array is (dtype, shape, values): dtype as in NumPy's headers ('<f4'), shape a tuple, values a flat list.
    npz.py WANT.npz GOT.npz       status 1 and the first difference when they differ
"""
import ast, io, math, struct, sys, zipfile

CODES = {"f2": "e", "f4": "f", "f8": "d", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H",
         "u4": "I", "u8": "Q", "b1": "?", "c8": "f", "c16": "d", "V2": "H", "U1": "I"}                   # V2: bfloat16, U1: a character
NEAR = {"<f2": 2e-3, "<f4": 2e-4, "<f8": 1e-6, "<c8": 2e-4, "<c16": 1e-6}


def code(dtype, n):
    return f"<{n * 2 if dtype[1] == 'c' else n}{CODES[dtype[1:]]}"


def unpacked(dtype, values):
    """The values of the file's numbers."""
    if dtype[1] == "c":
        return [complex(*p) for p in zip(values[::2], values[1::2])]
    return [struct.unpack("<f", struct.pack("<I", v << 16))[0] for v in values] if dtype[1:] == "V2" else values


def packed(dtype, values):
    if dtype[1] == "c":
        return [p for v in values for p in (v.real, v.imag)]
    return [struct.unpack("<I", struct.pack("<f", v))[0] >> 16 for v in values] if dtype[1:] == "V2" else values


def read(path):
    arrays = {}
    with zipfile.ZipFile(path) as z:
        for name in z.namelist():
            data = z.read(name)
            size, = struct.unpack_from("<H", data, 8)
            head = ast.literal_eval(data[10:10 + size].decode("latin-1"))
            shape = head["shape"]
            assert data[:6] == b"\x93NUMPY" and not (head["fortran_order"] and len(shape) > 2), name
            values = unpacked(head["descr"], list(struct.unpack_from(code(head["descr"], math.prod(shape)), data, 10 + size)))
            if head["fortran_order"] and len(shape) == 2:
                values = [values[c * shape[0] + r] for r in range(shape[0]) for c in range(shape[1])]
            arrays[name[:-4]] = head["descr"], shape, values
    return arrays


def unit(dtype, size):
    """Largest error of rounding a number of this size once."""
    bits, least = {"bfloat16": (8, -133), "float16": (11, -24), "float32": (24, -149)}[dtype]
    return 2.0 ** max(math.frexp(size)[1] - 1 - bits, least - 1)


def write(path, arrays, compressed=False):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED) as z:
        for name, (dtype, shape, values) in arrays.items():
            head = repr({"descr": dtype, "fortran_order": False, "shape": tuple(shape)}).encode()
            head += b" " * (-(len(head) + 11) % 64) + b"\n"
            z.writestr(name + ".npy", b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head
                       + struct.pack(code(dtype, len(values)), *packed(dtype, values)))


def differs(want, got):
    """Describes the first difference between two dicts of arrays. None if they are equal."""
    for name in sorted(set(want) | set(got)):
        if name not in got or name not in want:
            return f"'{name}' is only in one of them"
        if want[name][:2] != got[name][:2]:
            return f"'{name}' is {got[name][:2]}, expected {want[name][:2]}"
        near = NEAR.get(want[name][0], 0)
        for i, (w, g) in enumerate(zip(want[name][2], got[name][2])):
            if not (w == g or w != w and g != g or abs(w - g) <= near * abs(w) + near / 10):
                return f"'{name}' differs at element {i}: {g}, expected {w}"
    return None


if __name__ == "__main__":
    why = differs(read(sys.argv[1]), read(sys.argv[2]))
    if why:
        sys.exit(f"{sys.argv[2]}: {why}")
