#!/usr/bin/env python3
"""Calls the same library from Python: digits.py ./libdigits.so IN.npz      needs NumPy. Only the names `digits_*` are this
model's."""
import ctypes as c, sys
import numpy as np


class Tensor(c.Structure):                     # DLPack's DLTensor. Device 1 is the CPU
    _fields_ = [("data", c.c_void_p), ("device", c.c_int32 * 2), ("ndim", c.c_int32), ("code", c.c_uint8),
                ("bits", c.c_uint8), ("lanes", c.c_uint16), ("shape", c.POINTER(c.c_int64)),
                ("strides", c.POINTER(c.c_int64)), ("offset", c.c_uint64)]


CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
KINDS = {code: kind for kind, code in CODES.items()}


class Model:
    def __init__(self, path, name):
        lib, why = c.CDLL(path), c.create_string_buffer(256)
        for function in "set", "call", "results", "result", "error", "close":
            setattr(self, function, getattr(lib, name + "_" + function))
        self.error.restype = c.c_char_p
        opened = getattr(lib, name + "_open")
        opened.restype = c.c_void_p
        self.m = c.c_void_p(opened(None, why, 256))
        if not self.m:
            raise RuntimeError(why.value.decode())

    def __call__(self, method="forward", **arrays):
        kept = {k: np.ascontiguousarray(a) for k, a in arrays.items()}
        for key, a in kept.items():
            code, shape = CODES[a.dtype.kind], a.ctypes.shape_as(c.c_int64)
            t = Tensor(a.ctypes.data, (1, 0), a.ndim, code, 8 * a.itemsize, 1, shape)
            self.check(self.set(self.m, key.encode(), c.byref(t)))
        self.check(self.call(self.m, method.encode(), None, 0, None, 0))
        key, t, out = c.c_char_p(), Tensor(), {}
        for i in range(self.results(self.m)):
            self.check(self.result(self.m, i, c.byref(key), c.byref(t)))
            dtype, shape = np.dtype("%s%d" % (KINDS[t.code], t.bits // 8)), t.shape[:t.ndim]
            last = sum((n - 1) * t.strides[k] for k, n in enumerate(shape)) + 1 if 0 not in shape else 0
            flat = np.frombuffer((c.c_char * (last * dtype.itemsize)).from_address(t.data), dtype)
            strides = [s * dtype.itemsize for s in t.strides[:t.ndim]]
            out[key.value.decode()] = np.lib.stride_tricks.as_strided(flat, shape, strides).copy()
        return out

    def check(self, status):
        if status:
            raise RuntimeError("status %d: %s" % (status, self.error(self.m).decode()))


if __name__ == "__main__":
    p = Model(sys.argv[1], "digits")(**np.load(sys.argv[2]))["out"]
    print("a %d, by %.4f" % (p.argmax(), p.max()))
