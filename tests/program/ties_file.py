"""Inputs of ties.py, and ties.xz with the answers of PyTorch's engines.

The first line is JSON: for each engine its arrays as [key, dtype, shape]. Their elements follow, each as the difference from
the one before. qnnpack has only the arrays that differ from x86.
"""
import itertools, json, lzma, math, os, struct

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ties.xz")


def sums(k, shape):
    """Windows of k bytes, one for each sum from 0 to k * 255."""
    return "|u1", shape, [s // k + (j < s % k) for s in range(k * 255 + 1) for j in range(k)]


def inputs(count):
    return {"x": ("|u1", (256,), list(range(256))), "four": sums(4, (1, 1021, 2, 2)), "six": sums(6, (1, 1531, 2, 3)),
            "count": ("<i8", (), [count])}


def differences(dtype, n):
    """Returns the struct format of n differences of elements, and the number of the differences."""
    bytes = int(dtype[2:])
    return "<%d%s" % (n, {1: "B", 8: "Q"}[bytes]), 1 << 8 * bytes


def coded(dtype, values):
    form, all = differences(dtype, len(values))
    return struct.pack(form, *((v - w) % all for v, w in zip(values, [0, *values])))


def decoded(dtype, n, data):
    form, all = differences(dtype, n)
    values = [v % all for v in itertools.accumulate(struct.unpack(form, data))]
    return [v - all if v >= all // 2 else v for v in values] if dtype[1] == "i" else values


def write(engines):
    head = {engine: [[key, dtype, shape] for key, (dtype, shape, _) in arrays.items()] for engine, arrays in engines.items()}
    body = b"".join(coded(dtype, values) for arrays in engines.values() for dtype, _, values in arrays.values())
    with lzma.open(PATH, "w") as f:
        f.write(json.dumps(head).encode() + b"\n" + body)


def read():
    engines = {}
    with lzma.open(PATH) as f:
        for engine, rows in json.loads(f.readline()).items():
            engines[engine] = dict(engines.get("x86", {}))
            for key, dtype, shape in rows:
                engines[engine][key] = dtype, tuple(shape), decoded(dtype, math.prod(shape), f.read(math.prod(shape) * int(dtype[2:])))
    return engines
