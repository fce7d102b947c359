#!/usr/bin/env python3
"""Makes the operator matrix: tests/op/calls.pt, calls.npz and calls.txt, from the calls that tests/oracle/opinfo.py recorded.

    record.py DIR          DIR as `opinfo.py record DIR` and `opinfo.py run DIR` left it; needs Debian's python3-torch

A call is selected if its graph uses an operator that no call before it used with this dtype (in float32 also one call without
elements, one of a number, and two errors), if its tensors are small, and if Kiln gave PyTorch's answer (opinfo.py reports the
others).  calls.txt has a line for each:

    NAME LAYOUTS EXPRESSION, tab, KEY DTYPE SIZES OFFSET, ..., tab, the same of the results or `error`

The values are consecutive in the array of calls.npz that is named like the dtype.  LAYOUTS lists the layouts of the arguments
for which PyTorch gives the same answer: t transposed, s every second element, e expanded, c channels last; - none.
"""
import io, json, os, re, sys, zipfile
import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "oracle"))
from opinfo import layouts, fresh

DTYPES = ["float32", "int64", "complex64", "bool", "bfloat16", "float64", "uint8", "float16", "int32", "complex128", "int8", "int16"]
MOST = {"float32": 130, "int64": 130}            # largest number of elements of one call; 70 for other dtypes
RANDOM = re.compile(r"empty|rand|normal|bernoulli|multinomial|dropout|svd_lowrank|pca_lowrank|uniform|cauchy|exponential|geometric")


def load(path):
    with np.load(path) as z: return {k: z[k] for k in z.files}


def tensor(a):
    if a.dtype == np.dtype("V2"): return torch.from_numpy(np.ascontiguousarray(a).view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(np.array(a))


def formals(ins):
    """Returns names with types, and the values, from the keys of the inputs."""
    names, values = [], []
    for k in ins:
        base, _, part = k.partition(".")
        if part and part != "0": values[-1].append(tensor(ins[k])); continue
        names.append(f"{base}: {'List[Tensor]' if part else 'Tensor'}")
        values.append([tensor(ins[k])] if part else tensor(ins[k]))
    return names, values


def same(a, b):
    if isinstance(a, torch.Tensor):
        if a.dtype != b.dtype or a.shape != b.shape: return False
        if a.dtype.is_floating_point or a.dtype.is_complex:
            return torch.allclose(a.to(torch.complex128), b.to(torch.complex128), 1e-3, 1e-5, True)
        return torch.equal(a, b)
    if isinstance(a, (list, tuple)): return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    return a == b


def run(fn, values):
    torch.manual_seed(0)
    with torch.no_grad(): return fn(*fresh(values))


def good_layouts(fn, values, expr):
    """Returns the layouts for which the answer is the same as for contiguous values."""
    out = ""
    if RANDOM.search(expr): return "-"
    # not expanded: equal rows would be written twice or be singular
    hows = "tsc" if re.search(r"as_strided_scatter|tensorsolve", expr) else "tsec"
    for how in hows:
        v = layouts(values, how)
        if v is None: continue
        try:
            plain = [[e.contiguous().clone() for e in x] if isinstance(x, list) else x.contiguous().clone() for x in v]
            if same(run(fn, v), run(fn, plain)): out += how
        except Exception: pass
    return out or "-"


def candidates(at, good, most):
    """Returns the calls of a folder that may be used: functions before methods before other forms, larger ones first."""
    found = []
    for c in json.load(open(os.path.join(at, "cases.json"))):
        m = c.get("method")
        if m is None or m[0] not in "fmaiox" or m not in good or good[m] is not None or "empty" in c["src"]: continue
        ins = load(os.path.join(at, m + ".in.npz"))
        outs = {} if "error" in c else load(os.path.join(at, m + ".out.npz"))
        if any(k.endswith(".strides") for k in ins) or any(a.dtype.kind == "U" for a in outs.values()): continue
        size = sum(a.size for a in ins.values()) + sum(a.size for a in outs.values())
        if size <= most: found.append((size, c, ins, outs))
    return sorted(found, key=lambda x: ("fmaiox".index(x[1]["method"][0]), -x[0]))


class Pool:
    def __init__(self): self.parts, self.n = {}, {}

    def add(self, a):
        name = "bfloat16" if a.dtype == np.dtype("V2") else a.dtype.name
        flat = a.reshape(-1)
        at = self.n.get(name, 0)
        self.parts.setdefault(name, []).append(flat)
        self.n[name] = at + flat.size
        return f"{name} {'x'.join(map(str, a.shape)) or '-'} {at}"

    def text(self, arrays): return ", ".join(f"{k} {self.add(a)}" for k, a in arrays.items())


def main():
    root, seen, pool, lines = sys.argv[1], set(), Pool(), []
    module = torch.jit.script(type("Calls", (torch.nn.Module,), {})())
    for name in sorted(os.listdir(root)):
        for dtype in DTYPES:
            at = os.path.join(root, name, dtype)
            if not os.path.exists(os.path.join(at, "results.json")): continue
            good = json.load(open(os.path.join(at, "results.json")))
            errors, extra = 0, {"empty", "number"} if dtype == "float32" else set()
            for size, c, ins, outs in candidates(at, good, MOST.get(dtype, 70)):
                names, values = formals(ins)
                src = f"def c{len(lines)}({{}}{', '.join(names)}):\n    return {c['src']}\n"
                try: fn = getattr(torch.jit.CompilationUnit(src.format("")), f"c{len(lines)}")
                except Exception: continue
                used = {(s, dtype) for s in schemas(fn.inlined_graph)}
                first = values[0] if values and isinstance(values[0], torch.Tensor) else None
                kind = None if first is None else "empty" if not first.numel() else "number" if not first.dim() else None
                if "error" in c:
                    if dtype not in ("float32", "int64") or errors == 2: continue
                    errors += 1
                elif used <= seen and kind not in extra: continue
                extra -= {kind}
                seen |= used
                how = "-" if c["method"][0] in "iox" or "error" in c or dtype not in ("float32", "int64", "complex64", "float64") \
                      else good_layouts(fn, values, c["src"])
                module.define(src.format("self, "))
                lines.append(f"{name}:{dtype}:{c['method'][0]} {how} {c['src']}\t{pool.text(ins)}\t{'error' if 'error' in c else pool.text(outs)}")
        print(name, len(lines), flush=True)
    write(module, pool, lines)


def schemas(graph):
    """Returns the schemas of a graph's nodes, including nested blocks."""
    out = set()
    def walk(block):
        for n in block.nodes():
            if n.kind() not in ("prim::Constant", "prim::ListConstruct", "prim::TupleConstruct"): out.add(n.schema() if n.schema() != "(no schema)" else n.kind())
            for b in n.blocks(): walk(b)
    walk(graph)
    return out


def write(module, pool, lines):
    np.savez_compressed(os.path.join(HERE, "calls.npz"), **{k: np.concatenate(v) for k, v in pool.parts.items()})
    buffer = io.BytesIO()
    torch.jit.save(module, buffer)
    with zipfile.ZipFile(buffer) as z, zipfile.ZipFile(os.path.join(HERE, "calls.pt"), "w", zipfile.ZIP_DEFLATED) as to:
        for n in z.namelist():                               # without debug records, to keep it small
            if not n.endswith(".debug_pkl"): to.writestr(zipfile.ZipInfo(n), z.read(n), zipfile.ZIP_DEFLATED, 9)
    with open(os.path.join(HERE, "calls.txt"), "w") as f: f.write("\n".join(lines) + "\n")
    print(len(lines), "calls")


if __name__ == "__main__": main()
