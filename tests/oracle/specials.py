#!/usr/bin/env python3
"""Records tests/modules/specials.tar.xz by PyTorch 1.13 (Debian: python3-torch): pointwise operators of all dtypes where formulas
break: zeros of both signs, infinities, NaN, the smallest and largest numbers, the ends of integers. tests/modules/ways makes the
same calls in all ways of Kiln.

    tests/oracle/specials.py [--keep DIR]        with --keep nothing is archived

The operators are the MAP entries of rt/ops/{map,pair,special}.def. A case is a module whose forward(t, p, q) returns a list:
operators on t[k], which has dtype k, or on p[k] and q[k]. A result x with zeros is followed by 1 / x, which shows their signs.
"""
import argparse, itertools, math, os, re, signal, sys, tempfile, warnings
import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from module_answers import as_array
from write_calls import PRELUDE
from writes import archive, script

ARCHIVE = os.path.join(HERE, "../modules/specials.tar.xz")
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128, torch.uint8, torch.int8, torch.int16,
          torch.int32, torch.int64, torch.bool]
LEAST = {torch.float16: 2.0 ** -24, torch.bfloat16: 2.0 ** -133, torch.float32: 2.0 ** -149, torch.float64: 2.0 ** -1074}
MOST = 10             # largest number of operators of a case
SECONDS = 2           # time limit of an operator

# Results that are not compared, by operator. real (and integers): loops of four and more numbers overflow in intermediate
# results, lose digits, or return the other of two zeros; 1.13 takes shift counts modulo the width. complex: C's infinities (inf +
# nan i) differ from PyTorch's formulas, which give NaN, and its vector code subtracts from +0 to negate.
REAL = """log1p erfinv special_erfinv gelu floor_divide remainder fmod pow igamma igammac special_gammainc special_gammaincc fmax fmin addcmul
lerp clamp_min clamp_max special_zeta special_airy_ai special_bessel_j1 special_bessel_y1 special_modified_bessel_k0 special_modified_bessel_k1
special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 threshold
bitwise_left_shift bitwise_right_shift __lshift__ __rshift__""".split()
COMPLEX = """abs acos asin atan exp neg reciprocal rsqrt sgn sinc sigmoid silu sub rsub div pow ldexp addcdiv addcmul lerp mul""".split()

NO_SIGNS = "tan", "polygamma", "special_ndtr"    # signs of zeros are not compared: denormal numbers become 0, here or in PyTorch


def reals(dtype, few):
    f, inf = torch.finfo(dtype), math.inf
    v = [0.0, -0.0, inf, -inf, math.nan, LEAST[dtype], -LEAST[dtype], f.tiny, f.max, -f.max, 1.0, -1.0, 0.5, -2.5, 3.0, 1 + f.eps]
    if not few:
        v += [-f.tiny, f.tiny / 2, f.max / 2, 1 - f.eps / 2, -1 - f.eps, -0.5, 1.5, -1.5, 2.5, 3.5, 0.1, -0.75, 2.0, -2.0, -3.0, 10.0, -10.0, 20.0, -20.0,
              88.7, -88.7, 171.5, -200.0, 709.7, -745.0, 1e-4, -1e-4, 1e4, math.pi / 2, math.pi]
    return torch.tensor(v, dtype=torch.float64).to(dtype)


def integers(dtype):
    if dtype == torch.bool:
        return torch.tensor([False, True])
    i = torch.iinfo(dtype)
    return torch.tensor(sorted({max(i.min, k) for k in (i.min, i.min + 1, -7, -2, -1)} | {0, 1, 2, 3, 7, i.max // 2, i.max - 1, i.max}), dtype=dtype)


def complexes(dtype, few):
    part = torch.float32 if dtype == torch.complex64 else torch.float64
    v = torch.tensor([0.0, -0.0, math.inf, math.nan, 1.0, -2.0] + ([] if few else [-math.inf, 0.5, 100.0]), dtype=part)
    return torch.complex(v.repeat_interleave(len(v)), v.repeat(len(v)))


def values(dtype, few):
    return reals(dtype, few) if dtype.is_floating_point else complexes(dtype, few) if dtype.is_complex else integers(dtype)


def pairs(dtype):
    """Returns all pairs. For integers those that a processor can divide."""
    v = values(dtype, True)
    a, b = v.repeat_interleave(len(v)), v.repeat(len(v))
    if dtype.is_floating_point or dtype.is_complex or dtype == torch.bool:
        return a, b
    whole = (b != 0) & ~((b == -1) & (a == torch.iinfo(dtype).min))
    return a[whole], b[whole]


ONE, TWO = [values(d, False) for d in DTYPES], [pairs(d) for d in DTYPES]


def rows_text(name):
    """Returns the entries of a .def file. Adjacent string literals are joined."""
    with open(f"{HERE}/../../rt/ops/{name}.def") as f: return re.sub(r'"\s*\n\s*"', "", f.read())


def calls():
    """Returns operators of a tensor {a} and further tensors {b} of its dtype, with numbers for their other arguments."""
    numbers = dict(Scalar=["2", "0.5", "-1"], int=["0", "1", "2"], float=["0.5"], bool=["True"])
    for name in "map", "pair", "special":
        for row in re.finditer(r'^MAP\(\w+,\s*"aten::(\w+)[\w.]*\((.*?)\) -> Tensor"', rows_text(name), re.M):
            if "_polynomial_" in row[1]:             # with a huge degree it never ends
                continue
            options, tensors = [], iter(["{a}", "{b}", "{b}"])
            for arg in row[2].split(", "):
                if arg == "*" or "=" in arg:
                    break
                options.append([next(tensors)] if arg.startswith("Tensor ") else numbers.get(arg.split()[0], []))
            for args in itertools.product(*options):
                yield row[1], f"torch.ops.aten.{row[1]}({', '.join(args)})"


def answers(text, k):
    """Does PyTorch answer for dtype k within the time limit and without a signal?"""
    a, b = TWO[k] if "{b}" in text else (ONE[k], None)
    pid = os.fork()
    if not pid:
        signal.alarm(SECONDS)
        try:
            out = eval(text.format(a="a", b="b"), dict(torch=torch, a=a, b=b))
            os._exit(0 if isinstance(out, torch.Tensor) else 1)
        except Exception:
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


def results(texts):
    """Returns lines of a case: operators on each dtype for which they are compared."""
    for name, text in texts:
        for k, dtype in enumerate(DTYPES):
            if name in (COMPLEX if dtype.is_complex else REAL) or not answers(text, k):
                continue
            a, b = TWO[k] if "{b}" in text else (ONE[k], None)
            out = eval(text.format(a="a", b="b"), dict(torch=torch, a=a, b=b))
            line = text.format(a=f"p[{k}]" if b is not None else f"t[{k}]", b=f"q[{k}]")
            yield f"r.append({line})"
            if name not in NO_SIGNS and out.is_floating_point() and bool((out == 0).any()):
                yield "r.append(1 / r[-1])"


def record(path, lines):
    source = (PRELUDE + "class M(torch.nn.Module):\n    def forward(self, t: List[Tensor], p: List[Tensor], q: List[Tensor]) -> List[Tensor]:\n"
              "        r: List[Tensor] = []\n" + "".join(f"        {line}\n" for line in lines) + "        return r\n")
    script(path, source)
    given = dict(t=ONE, p=[a for a, _ in TWO], q=[b for _, b in TWO])
    out = torch.jit.load(path)(**given)
    case = {f"0.in.{name}.{k}": as_array(v) for name, list in given.items() for k, v in enumerate(list)}
    case.update({f"0.out.{k}": as_array(v) for k, v in enumerate(out)})
    np.savez(path[:-3] + ".npz", **case, **{"0.method": np.array("forward"), "0.profile": np.array(True), "0.new": np.array(True)})
    return len(out)


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("--keep")
    a = p.parse_args()
    texts = list(dict.fromkeys(calls()))
    with tempfile.TemporaryDirectory() as tmp:
        folder, count = a.keep or tmp, 0
        os.makedirs(folder, exist_ok=True)
        for k in range(0, len(texts), MOST):
            lines = list(results(texts[k:k + MOST]))
            count += record(os.path.join(folder, f"specials{k // MOST:02}.pt"), lines) if lines else 0
        print(f"{len(texts)} operators, {count} results")
        if not a.keep:
            archive(folder, ARCHIVE)


if __name__ == "__main__":
    main()
