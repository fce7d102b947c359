#!/usr/bin/python3
"""tests/oracle/ties.py - records PyTorch's gradients at ties and boundaries: ties.py FILE... writes the last two columns

A line is   ID | x[3](0,nan,1) i[2]i(0,1) | expression | in double | in float   (tests/grad/rows.c).  Lines whose calls
this PyTorch lacks are not changed: run it with 1.13 first, then with a newer one and --missing.
"""
import argparse, re, subprocess, sys, warnings
from typing import List, Optional, Tuple
import torch

warnings.simplefilter("ignore")
ARGUMENT = re.compile(r"(\w+)\[([\d,]*)\]([ib]?)\(([^)]*)\)('?)")


class Operators:
    """torch.NAME as in TorchScript: operators by their own names first, then the members of torch."""
    def __init__(self):
        self.prim = Internal()

    def __getattr__(self, name):
        if name in ("tensor", "eye", "zeros", "ones", "full", "arange"):
            return self.made(getattr(torch, name))
        try:
            return getattr(torch.ops.aten, name)
        except AttributeError:
            return getattr(torch, name)


    def made(self, function):
        types = {3: torch.int32, 4: torch.int64, 7: torch.float64, 11: torch.bool}
        return lambda *a, dtype=None, **more: function(*a, dtype=types.get(dtype, dtype), **more)


class Internal:
    """ops.prim.NAME that have a counterpart in torch."""
    def gelu_erf(self, x): return torch.nn.functional.gelu(x)
    def gelu_tanh(self, x): return torch.nn.functional.gelu(x, approximate="tanh")
    def div_trunc(self, x, y): return torch.div(x, y, rounding_mode="trunc")
    def nan_to_num(self, x, a, b, c): return torch.nan_to_num(x, a, b, c)


class Ops:
    aten, prim = Operators(), Internal()


TYPES = {"torch": torch, "Tensor": torch.Tensor, "List": List, "Optional": Optional, "Tuple": Tuple}
NAMES = {"torch": Operators(), "ops": Ops(), "inf": float("inf"), "int": int, "float": float, "bool": bool}


def arguments(text, dtype):
    values, by = {}, []
    for name, sizes, kind, numbers, fixed in ARGUMENT.findall(text):
        kinds = {"": dtype, "i": torch.int64, "b": torch.bool}
        numbers = [float(v) for v in numbers.split(",")] if numbers else []
        t = torch.tensor(numbers, dtype=torch.float64).to(kinds[kind]).reshape([int(d) for d in sizes.split(",") if d])
        t = t.clone()       # not a view, for which writes have another meaning for gradients
        if not kind and not fixed:
            by.append(name)
            t.requires_grad_()
        values[name] = t
    return values, by


def tensors(out):
    return [out] if isinstance(out, torch.Tensor) else [t for o in out for t in tensors(o)]


def gradients(text, expression, dtype):
    """Returns the gradients by name, or the text of the error."""
    values, by = arguments(text, dtype)
    try:
        torch.manual_seed(1)
        total = []
        for t in tensors(eval(expression, NAMES, values)):
            if t.requires_grad:
                w = 0.5 + 0.25 * torch.arange(t.numel(), dtype=torch.float64)
                total.append((t, w.reshape(t.shape).to(t.dtype)))
        if not total:
            return {n: None for n in by}
        g = torch.autograd.grad([t for t, w in total], [values[n] for n in by], [w for t, w in total], allow_unused=True)
        return {n: None if v is None else v.flatten().tolist() for n, v in zip(by, g)}
    except (RuntimeError, ValueError, IndexError, NotImplementedError) as e:
        return str(e).split("\n")[0].replace("|", "/")


def written(g):
    if isinstance(g, str):
        return "raises " + g
    return "; ".join(n + " " + ("none" if v is None else " ".join("%.10g" % x for x in v)) for n, v in g.items())


def is_close(a, b):
    if isinstance(a, str) or isinstance(b, str):
        return False
    for n in a:
        for x, y in zip(a[n] or [], b[n] or []):
            if not (x == y or (x != x and y != y) or abs(x - y) <= 5e-5 * (1 + abs(x))):
                return False
    return True


def read(line):
    """Returns the source text of functions that a file names: # with FILE, # printed by PROGRAM ARGUMENT..."""
    if line.startswith("# with "):
        return open(line.split()[2]).read()
    return subprocess.run(["python3", *line.split()[3:]], check=True, stdout=subprocess.PIPE, text=True).stdout


def record(line, missing):
    parts = [p.strip() for p in line.split("|")]
    if len(parts) < 3 or parts[0] == "smooth" or line.startswith("#") or (missing and len(parts) > 3):
        return line
    try:
        double = gradients(parts[1], parts[2], torch.float64)
        single = gradients(parts[1], parts[2], torch.float32)
    except (AttributeError, TypeError, NameError, AssertionError) as e:
        sys.stderr.write("%s: %s: %s\n" % (parts[2], type(e).__name__, e))
        return line
    if isinstance(double, str) and re.search("derivative for .* is not implemented|Overloaded torch operator", double):
        return line
    parts = parts[:3] + [written(double)]
    if not isinstance(double, str) and not isinstance(single, str):
        parts.append("same" if is_close(double, single) else written(single))
    return " | ".join(parts) + "\n"


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("file", nargs="+")
    ap.add_argument("--missing", action="store_true", help="only lines without answers")
    a = ap.parse_args()
    for name in a.file:
        lines = open(name).readlines()
        for line in lines:
            if line.startswith(("# with ", "# printed by ")):
                exec(read(line), TYPES)
                NAMES.update((n, f) for n, f in TYPES.items() if n not in NAMES)
        lines = [record(line, a.missing) for line in lines]
        open(name, "w").writelines(lines)
