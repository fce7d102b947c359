#!/usr/bin/env python3
"""Runs recorded cases through libraries: each model is built with --emit shared and called by its keys. By hand; needs numpy.

    tests/door/recorded.py [--kiln build/kiln] [--only TEXT] [--part K/N] CASES...

Each call runs in a process of its own, on a fresh instance. A case that is a sequence runs in one process. If an error is
recorded, the call must return a status other than 0 and its text.
"""
import argparse, ctypes as c, os, subprocess, sys, tempfile
import numpy as np
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cases import arrays, calls, cases
from levels import differs

CODES = {"i": 0, "u": 1, "f": 2, "V": 4, "c": 5, "b": 6}           # of DLPack; two-byte void stands for bfloat16


class Tensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("device", c.c_int32 * 2), ("ndim", c.c_int32), ("code", c.c_uint8), ("bits", c.c_uint8),
                ("lanes", c.c_uint16), ("shape", c.POINTER(c.c_int64)), ("strides", c.POINTER(c.c_int64)), ("offset", c.c_uint64)]


def tensor(a):
    return Tensor(a.ctypes.data, (1, 0), a.ndim, CODES[a.dtype.kind], 8 * a.itemsize, 1, (c.c_int64 * max(a.ndim, 1))(*a.shape))


def array(t):
    kind = {code: kind for kind, code in CODES.items()}[t.code]
    dtype, shape = np.dtype("%s%d" % (kind, t.bits // 8)), tuple(t.shape[:t.ndim])
    if 0 in shape:
        return np.zeros(shape, dtype)
    strides = [s * dtype.itemsize for s in t.strides[:t.ndim]]
    last = sum((n - 1) * s for n, s in zip(shape, strides)) + dtype.itemsize
    return np.lib.stride_tricks.as_strided(np.frombuffer((c.c_char * last).from_address(t.data), dtype), shape, strides).copy()


def set_all(lib, m, given):
    kept = [np.ascontiguousarray(a).reshape(a.shape) for a in given.values()]
    for key, a in zip(given, kept):
        status = lib.c_set_text(m, key.encode(), str(a[()]).encode()) if a.dtype.kind == "U" else lib.c_set(m, key.encode(), c.byref(tensor(a)))
        if status:
            return status, kept
    return 0, kept


def worker(path, case, tmp, numbers):
    """Makes these calls on one instance. Writes each answer to a file."""
    lib, why, key, t = c.CDLL(path), c.create_string_buffer(512), c.c_char_p(), Tensor()
    lib.c_open.restype, lib.c_error.restype, lib.c_result_text.restype = c.c_void_p, c.c_char_p, c.c_char_p
    m = c.c_void_p(lib.c_open(None, why, c.c_size_t(512)))
    if not m:
        sys.exit("not opened: " + why.value.decode())
    for n, given, _ in calls(case):
        if str(n) not in numbers:
            continue
        status, kept = set_all(lib, m, arrays(given))
        status = status or lib.c_call(m, None, None, 0, None, 0)
        out = {}
        for i in range(0 if status else lib.c_results(m)):
            status = status or lib.c_result(m, i, c.byref(key), c.byref(t))
            text = lib.c_result_text(m, i)
            out[key.value.decode()] = np.array(text.decode()) if text is not None else array(t)
        if status:
            sys.exit("status %d: %s" % (status, lib.c_error(m).decode("utf-8", "replace")))
        np.savez(os.path.join(tmp, "%d.npz" % n), **out)
    lib.c_close(m)


def try_case(kiln, case, meta, tmp):
    """Returns the reason why an answer is not the recorded one. None if all are."""
    path, numbers = os.path.join(tmp, "c.so"), [n for n, _, _ in calls(case)]
    done = subprocess.run([kiln, "build", os.path.join(case, "model.pt"), "-i", next(calls(case))[1], "--emit", "shared", "--name", "c", "-o", path],
                          capture_output=True, text=True, errors="replace")
    if done.returncode:
        return "not built: " + done.stderr.strip()[-200:]
    for group in [numbers] if meta.get("sequence") else [[n] for n in numbers]:
        done = subprocess.run([sys.executable, __file__, "--worker", path, case, tmp, *map(str, group)], capture_output=True, text=True, errors="replace")
        if "error" in meta:
            if done.returncode != 1 or meta["error"] not in done.stderr:
                return f"call {group}: {done.stderr.strip()[-200:]}, an error was expected"
            continue
        if done.returncode:
            return f"call {group}: {done.returncode} {done.stderr.strip()[-300:]}"
    for n, _, recorded in calls(case) if "error" not in meta else ():
        why = differs(arrays(os.path.join(tmp, "%d.npz" % n)), arrays(recorded), meta.get("atol", 0))
        if why:
            return f"call {n}: {why}"
    return None


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--kiln", default="build/kiln")
    p.add_argument("--only", default="")
    p.add_argument("--part", default="0/1")
    p.add_argument("cases", nargs="+")
    o = p.parse_args()
    first, every = map(int, o.part.split("/"))
    passed = failed = 0
    for case, meta in cases(o.cases, o.only, first, every):
        with tempfile.TemporaryDirectory() as tmp:
            why = try_case(o.kiln, case, meta, tmp)
        passed += why is None
        failed += why is not None
        if why:
            print(f"{meta.get('test', case)}: {why}", flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    worker(*sys.argv[2:5], sys.argv[5:]) if sys.argv[1:2] == ["--worker"] else main()
