#!/usr/bin/env python3
"""Compares the interpreter with PyTorch on the samples of PyTorch's own operator database (OpInfo, Debian's python3-torch).

    opinfo.py record DIR [WORD ...]     scripts, inputs and answers: one archive for each operator and dtype
    opinfo.py run DIR [WORD ...]        the interpreter on each (build/tests/methods); what passed is not run again (--all)
    opinfo.py list DIR [WORD ...]       what failed last, one line each

A sample becomes methods of one archive: the call as a function (f), as a method (m), in place (i), with out= (o),
with arguments of other layouts, returning strides too (t, s, e), and error samples (x), which must raise in Kiln when
they raise in PyTorch.  Tensors are arguments, all other values are literals in the source.  A method that PyTorch
cannot script is left out.  An answer that a second run does not repeat is random, and is recorded with seed 0.
"""
import json, math, os, random, re, subprocess, sys, warnings
import numpy as np
warnings.filterwarnings("ignore")

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOL = {"float16": (1e-2, 1e-3), "bfloat16": (4e-2, 1e-2), "float32": (2e-4, 2e-5), "float64": (1e-6, 1e-8),
       "complex64": (2e-4, 2e-5), "complex128": (1e-6, 1e-8)}
SAMPLES = {"float32": 24, "int64": 10, "float64": 6}        # 4 for other dtypes


# -------------------------------------------------------------------------------------------------------- record

def literal(x):
    import torch
    if isinstance(x, torch.Size): x = list(x)
    if isinstance(x, bool) or x is None: return str(x)
    if isinstance(x, float):
        return "math.nan" if x != x else ("-" if x < 0 else "") + "math.inf" if math.isinf(x) else repr(x)
    if isinstance(x, complex): return f"complex({literal(x.real)}, {literal(x.imag)})"
    if isinstance(x, (int, torch.dtype, torch.layout, torch.memory_format)): return str(x)
    if isinstance(x, torch.device): return f"torch.device('{x}')"
    if isinstance(x, str): return ascii(x)
    if isinstance(x, (list, tuple)):
        inner = ", ".join(literal(e) for e in x)
        return f"[{inner}]" if isinstance(x, list) else f"({inner}{',' if len(x) == 1 else ''})"
    raise TypeError(f"no literal for {type(x)}")


class Formals:
    """The arguments of a method that is being made."""
    def __init__(self): self.names, self.values = [], []

    def add(self, x):
        """Returns the expression for x in the source: the name of an argument, or x itself as text."""
        import torch
        if isinstance(x, torch.Tensor): kind = "Tensor"
        elif isinstance(x, (list, tuple)) and x and all(isinstance(e, torch.Tensor) for e in x): kind, x = "List[Tensor]", list(x)
        elif isinstance(x, (list, tuple)) and any(isinstance(e, torch.Tensor) for e in x):
            inner = ", ".join(self.add(e) for e in x)
            return f"[{inner}]" if isinstance(x, list) else f"({inner},)"
        elif isinstance(x, slice):
            return ":".join("" if e is None else self.add(e) for e in (x.start, x.stop, x.step)) if x.step is not None else \
                   ":".join("" if e is None else self.add(e) for e in (x.start, x.stop))
        elif x is Ellipsis: return "..."
        else: return literal(x)
        self.names.append(f"i{len(self.values)}: {kind}")
        self.values.append(x)
        return f"i{len(self.values) - 1}"


OPERATORS = {"__radd__": "{1} + {0}", "__rdiv__": "{1} / {0}", "__rmul__": "{1} * {0}", "__rsub__": "{1} - {0}", "__rmod__": "{1} % {0}",
             "__rpow__": "{1} ** {0}", "__rmatmul__": "{1} @ {0}", "__rand__": "{1} & {0}", "__ror__": "{1} | {0}", "__rxor__": "{1} ^ {0}"}


def sources(op, sample, first):
    """Returns (kind, source of the expression, Formals) for the ways to write this sample's call."""
    import torch
    f = Formals()
    args = [f.add(sample.input)] + ([] if op.name == "__getitem__" else [f.add(a) for a in sample.args])
    kw = [f"{k}={f.add(v)}" for k, v in sample.kwargs.items()]
    rest = ", ".join(args[1:] + kw)
    if op.name == "__getitem__":
        idx = sample.args[0]
        idx = idx if isinstance(idx, tuple) else (idx,)
        return [("f", f"{args[0]}[{', '.join(f.add(i) for i in idx)}]", f)]
    if op.name in OPERATORS: return [("f", OPERATORS[op.name].format(*args), f), ("m", f"{args[0]}.{op.name}({rest})", f)]
    out = []
    def resolves(name):
        at = torch
        for part in name.split("."):
            at = getattr(at, part, None)
            if at is None: return False
        return True
    plain = op.name
    if plain.startswith("masked."): plain = "_masked." + plain[7:]
    if resolves(plain): out.append(("f", f"torch.{plain}({', '.join(args + kw)})", f))
    for i, a in enumerate(op.aliases if first else []):
        if resolves(a.name): out.append((f"a{i}", f"torch.{a.name}({', '.join(args + kw)})", f))
    if isinstance(sample.input, torch.Tensor):
        if op.method_variant is not None and (first or not out):
            out.append(("m", f"{args[0]}.{op.name}({rest})", f))
        if op.inplace_variant is not None and first: out.append(("i", f"{args[0]}.{op.name.split('.')[-1]}_({rest})", f))
    return out


def layouts(values, how):
    """Returns the tensors of values in another layout, with the same elements unless expanded. None if the layout is the same."""
    import torch
    changed = False
    def one(x):
        nonlocal changed
        if not isinstance(x, torch.Tensor) or x.dim() == 0 or x.numel() == 0 or x.layout != torch.strided: return x
        n = x.dim()
        if how == "t" and n > 1:
            r = torch.empty_strided([x.shape[i] for i in reversed(range(n))], torch.empty(list(x.shape)[::-1]).stride(), dtype=x.dtype).permute(*reversed(range(n)))
        elif how == "c" and n == 4: r = torch.empty_like(x, memory_format=torch.channels_last)
        elif how == "s":
            r = torch.empty([2 * d for d in x.shape], dtype=x.dtype)[tuple(slice(None, None, 2) for _ in range(n))]
        elif how == "e" and x.shape[0] > 1: changed = True; return x.detach()[:1].expand_as(x)
        else: return x
        changed = True
        return r.copy_(x.detach())
    new = [[one(e) for e in v] if isinstance(v, list) else one(v) for v in values]
    return new if changed else None


def to_numpy(t):
    import torch
    t = t.detach()
    if t.is_conj(): t = t.resolve_conj()
    if t.is_neg(): t = t.resolve_neg()
    if t.layout != torch.strided or t.is_quantized: raise TypeError("layout")
    if t.dtype == torch.bfloat16: return t.contiguous().view(torch.int16).numpy().view(np.dtype("V2"))
    if t.dtype == torch.complex32: raise TypeError("complex32")
    return t.contiguous().numpy()


def flatten(x, key, to, strides=False):
    """Returns values as entries of an .npz, by the keys of `kiln run`."""
    import torch
    if x is None: return
    if isinstance(x, torch.Tensor):
        to[key] = to_numpy(x)
        if strides and x.stride() != torch.empty(x.shape, device="meta").stride(): to[key + ".strides"] = np.array(x.stride(), dtype=np.int64)
    elif isinstance(x, (bool, int, float, complex)): to[key] = np.array(x)
    elif isinstance(x, str): to[key] = np.array(x)
    elif isinstance(x, torch.dtype): raise TypeError("dtype")
    elif isinstance(x, list) and x and all(type(e) in (int, float, bool) for e in x): to[key] = np.array(x)
    elif isinstance(x, (list, tuple)):
        if isinstance(x, list) and not x: to[key] = np.zeros(0)
        for i, e in enumerate(x): flatten(e, f"{key}.{i}", to, strides)
    else: raise TypeError(str(type(x)))


def fresh(values):
    """Returns copies with the same strides, so that writes of one call do not affect the next."""
    import torch
    def copy(x):
        if isinstance(x, list): return [copy(e) for e in x]
        if not isinstance(x, torch.Tensor): return x
        small = x.detach()
        for i, s in enumerate(x.stride()):                    # expanded: all indices share one element
            if s == 0 and x.shape[i]: small = small.narrow(i, 0, 1)
        return torch.empty_strided(small.shape, small.stride(), dtype=x.dtype).copy_(small).expand_as(x)
    return [copy(v) for v in values]


def answer(fn, values):
    import torch
    torch.manual_seed(0)
    with torch.no_grad(): return fn(*fresh(values))


class Archive:
    """A model that is being made: methods that script, with inputs and answers."""
    def __init__(self, to):
        import torch
        self.to, self.cases, self.n = to, [], 0
        self.module = torch.jit.script(type("Calls", (torch.nn.Module,), {})())
        os.makedirs(to, exist_ok=True)

    def method(self, kind, expr, f, stride=False):
        """Adds a method. Returns False if PyTorch cannot script it or does not answer."""
        import torch
        name = f"{kind}{self.n}"
        self.n += 1
        body = f"    r = {expr}\n    return (r, r.stride())" if stride else f"    return {expr}"
        src = f"def {name}(self, {', '.join(f.names)}):\n{body}\n"
        try:                                                  # a method that failed to compile cannot be saved
            torch.jit.CompilationUnit(src.replace("(self, ", "("))
            self.module.define(src)
        except Exception as e:
            self.cases.append({"skip": name, "src": expr, "why": str(e).strip().splitlines()[0] if str(e).strip() else type(e).__name__})
            return False
        case = {"method": name, "src": expr}
        ins, outs = {}, {}
        fn = getattr(self.module, name)
        try:
            for n, v in zip(f.names, f.values): flatten(v, n.split(":")[0], ins, True)
            try: r = answer(fn, f.values)
            except Exception as e:
                case["error"] = str(e).strip().splitlines()[-1][:200] if str(e).strip() else "error"
                r = ()
            if "error" not in case:
                flatten(r, "out", outs)
        except TypeError as e: return False
        np.savez(os.path.join(self.to, name + ".in.npz"), **ins)
        if "error" not in case: np.savez(os.path.join(self.to, name + ".out.npz"), **outs)
        self.cases.append(case)
        return True

    def save(self):
        self.module.save(os.path.join(self.to, "model.pt"))
        json.dump(self.cases, open(os.path.join(self.to, "cases.json"), "w"), indent=0)


def record_one(op, dtype, to):
    import torch
    torch.manual_seed(1234)
    random.seed(1234)
    np.random.seed(1234)
    name = str(dtype)[6:]
    a = Archive(to)
    try: samples = list(op.sample_inputs("cpu", dtype, requires_grad=False))
    except Exception as e: print("  no samples:", op.name, name, str(e)[:100]); samples = []
    limit = SAMPLES.get(name, 4)
    if len(samples) > limit:
        rng = random.Random(5)
        samples = samples[:limit // 2] + rng.sample(samples[limit // 2:], limit - limit // 2)
    for k, s in enumerate(samples):
        first = k < 4
        try: ways = sources(op, s, first)
        except TypeError as e: a.cases.append({"skip": "?", "why": str(e)}); continue
        good = [w for w in ways if a.method(*w)]
        if not good: continue
        kind, expr, f = good[0]
        if k < 6:
            try: r = answer(getattr(a.module, [c["method"] for c in a.cases if c["src"] == expr and "method" in c][-1]), f.values)
            except Exception: r = None
            for how in "tsec" if isinstance(r, torch.Tensor) else "":
                v = layouts(f.values, how)
                if v is None: continue
                g = Formals()
                g.names, g.values = f.names, v
                a.method(how, expr, g, stride=True)
            if isinstance(r, torch.Tensor) and op.supports_out and kind == "f" and first:
                for size in (list(r.shape), [0]):
                    g = Formals()
                    g.names, g.values = f.names + [f"o: Tensor"], f.values + [torch.zeros(size, dtype=r.dtype)]
                    a.method("o", expr[:-1] + ", out=o)", g)
                break_dtype = torch.float64 if r.dtype != torch.float64 else torch.float32
                g = Formals()
                g.names, g.values = f.names + [f"o: Tensor"], f.values + [torch.zeros(list(r.shape), dtype=break_dtype)]
                a.method("o", expr[:-1] + ", out=o)", g)
    if name in ("float32", "int64") and op.error_inputs_func is not None:
        try: errors = list(op.error_inputs("cpu"))
        except Exception: errors = []
        for e in errors[:30]:
            try: ways = sources(op, e.sample_input, False)
            except Exception: continue
            for kind, expr, f in ways[:1]: a.method("x", expr, f)
    a.save()


def record(root, words, dtypes=None):
    import torch
    from torch.testing._internal.common_methods_invocations import op_db
    torch.set_num_threads(1)
    kinds = [torch.float32, torch.int64, torch.float64, torch.bool, torch.bfloat16, torch.complex64, torch.uint8, torch.int32,
             torch.float16, torch.complex128, torch.int8, torch.int16]
    for op in op_db:
        name = op.name + ("." + op.variant_test_name if op.variant_test_name else "")
        if words and not any(w in name for w in words) and "=" + name not in words: continue
        if name.startswith("jiterator"): continue
        for dtype in kinds:
            if dtype not in op.supported_dtypes("cpu"): continue
            to = os.path.join(root, name, str(dtype)[6:])
            if os.path.exists(os.path.join(to, "cases.json")): continue
            try: record_one(op, dtype, to)
            except Exception as e: print("  not recorded:", name, dtype, type(e).__name__, str(e)[:200], flush=True)
        print(name, flush=True)


# ----------------------------------------------------------------------------------------------------------- run

def widen(a):
    if a.dtype == np.dtype("V2"): return "bfloat16", (a.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)
    return a.dtype.name, a


def differs(got, want):
    for key in sorted(set(want) | set(got)):
        if key not in got: return f"no value for '{key}'"
        if key not in want: return f"unexpected value '{key}'"
        gname, g = widen(got[key])
        wname, w = widen(want[key])
        if w.shape != g.shape: return f"'{key}' has shape {g.shape}, expected {w.shape}"
        if w.dtype.kind == "U": return None if np.array_equal(g, w) else f"'{key}' is {g!r}, expected {w!r}"
        if w.size == 0 and w.ndim == 1 and key != "out": continue
        if gname != wname: return f"'{key}' is {gname}, expected {wname}"
        if wname in TOL:
            rtol, atol = TOL[wname]
            wide = np.complex128 if w.dtype.kind == "c" else np.float64
            g, w = g.astype(wide), w.astype(wide)
            if not np.allclose(g, w, rtol=rtol, atol=atol, equal_nan=True):
                with np.errstate(all="ignore"): d = np.abs(g - w) - atol - rtol * np.abs(w)
                at = int(np.argmax(np.where(np.isnan(d), np.inf, d))) if d.size else 0
                return f"'{key}' differs: {g.ravel()[at]:.8g}, expected {w.ravel()[at]:.8g}"
        elif not np.array_equal(g, w): return f"'{key}' differs: {g.ravel()[:6]}, expected {w.ravel()[:6]}"
    return None


def call(at, methods):
    """Runs all methods of one archive by build/tests/methods, which leaves METHOD.got.npz. Returns method -> (status, message).
    """
    p = subprocess.run([os.path.join(TOP, "build", "tests", "methods"), at] + methods, stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said = {}
    for line in p.stdout.decode("utf8", "replace").splitlines():
        m = re.match(r"(\w+) (\d+) ?(.*)", line)
        if m and m[1] in methods: said[m[1]] = (int(m[2]), m[3])
    for m in methods: said.setdefault(m, (p.returncode or 3, last(p.stderr.decode("utf8", "replace"))))
    return said


def last(text):
    """Returns the most informative line of a message."""
    parts = [l for l in re.split(r"[|\n]", text) if l.strip()]
    for l in parts:
        if "error" in l.lower(): return l.strip()[:220]
    return parts[-1][:220] if parts else "no message"


def judge(at, case, status, text):
    m = case["method"]
    if status > 128: return f"crash {status - 128}"
    if "error" in case:
        return None if status == 1 else f"status {status}, expected an error: {case['error']}" + (" - " + last(text) if status else "")
    if status: return f"status {status}: " + last(text)
    got = os.path.join(at, m + ".got.npz")
    with np.load(got) as z: have = {k: z[k] for k in z.files}
    os.unlink(got)
    with np.load(os.path.join(at, m + ".out.npz")) as z: want = {k: z[k] for k in z.files}
    return differs(have, want)


def each(root, words):
    for name in sorted(os.listdir(root)):
        if not os.path.isdir(os.path.join(root, name)) or words and not any(w in name or w == "=" + name for w in words): continue
        for dtype in sorted(os.listdir(os.path.join(root, name))):
            at = os.path.join(root, name, dtype)
            if os.path.exists(os.path.join(at, "cases.json")): yield name, dtype, at


def run(root, words, everything):
    total, bad, per = 0, 0, {}
    for name, dtype, at in each(root, words):
        cases = [c for c in json.load(open(os.path.join(at, "cases.json"))) if "method" in c]
        log = os.path.join(at, "results.json")
        new = json.load(open(log)) if os.path.exists(log) and not everything else {}
        todo = [c for c in cases if new.get(c["method"], 1) is not None]
        said = call(at, [c["method"] for c in todo]) if todo else {}
        for c in todo: new[c["method"]] = judge(at, c, *said[c["method"]])
        for c in todo:
            if new[c["method"]] is not None: print(f"FAIL {name} {dtype} {c['method']}: {c['src']}: {new[c['method']]}", flush=True)
        json.dump(new, open(log, "w"))
        n, b = len(new), sum(v is not None for v in new.values())
        total, bad = total + n, bad + b
        p = per.setdefault(dtype, [0, 0])
        p[0] += n; p[1] += b
    for d, (n, b) in sorted(per.items()): print(f"{d:12s} {n - b} of {n}  {100 * (n - b) / max(n, 1):.2f} %")
    print(f"{total - bad} passed, {bad} failed")


def show(root, words):
    for name, dtype, at in each(root, words):
        log = os.path.join(at, "results.json")
        if not os.path.exists(log): continue
        src = {c["method"]: c["src"] for c in json.load(open(os.path.join(at, "cases.json"))) if "method" in c}
        for m, why in json.load(open(log)).items():
            if why is not None: print(f"FAIL {name} {dtype} {m}: {src.get(m)}: {why}")


def main():
    words = [a for a in sys.argv[3:] if not a.startswith("--")]
    if len(sys.argv) < 3 or sys.argv[1] not in ("record", "run", "list"): sys.exit(__doc__)
    if sys.argv[1] == "record": record(sys.argv[2], words)
    elif sys.argv[1] == "run": run(sys.argv[2], words, "--all" in sys.argv)
    else: show(sys.argv[2], words)


if __name__ == "__main__": main()
