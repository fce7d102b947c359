#!/usr/bin/env python3
"""Compares eager kernels of rt/ops with PyTorch (Debian: python3-torch), without the compiler.

    tests/oracle/ops.py aten::add.Tensor ...         these operators, of one tensor or two, on tensors of every dtype
    tests/oracle/ops.py --eval 'check("aten::add.Tensor", T(2, 3), T(3), alpha=2)'
    from ops import *                                 check(), T(), every dtype in DTYPES

The operators' kernels are compiled into one shared library (rebuilt if a source is newer) and called through ctypes. Their
tensors use PyTorch's own memory, so strides, offsets and aliasing are the real ones. check() compares dtype, sizes, strides,
values, whether there is an error, and the writes of in-place operators. It also checks that the kernel computes the same type
without data (cx->meta). Operators with a body have no kernel and are skipped.
"""
import ctypes as C, glob, os, re, subprocess, sys, warnings
import torch
warnings.filterwarnings("ignore")

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIB = os.path.join(TOP, "build", "oracle", "libops.so")
DTYPES = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64,
          torch.complex64, torch.complex128, torch.bool, torch.bfloat16]
CODE = {torch.uint8: 0, torch.int8: 1, torch.int16: 2, torch.int32: 3, torch.int64: 4, torch.float16: 5, torch.float32: 6,
        torch.float64: 7, torch.complex32: 8, torch.complex64: 9, torch.complex128: 10, torch.bool: 11, torch.qint8: 12,
        torch.quint8: 13, torch.qint32: 14, torch.bfloat16: 15}
NAMES = {v: k for k, v in CODE.items()}
NONE, INT, DOUBLE, BOOL, DEVICE, TENSOR, STR, LIST, DICT, TUPLE, OBJECT, ENUM, COMPLEX = range(13)


class U(C.Union):
    _fields_ = [("i", C.c_int64), ("f", C.c_double), ("p", C.c_void_p)]


class IValue(C.Structure):
    _fields_ = [("tag", C.c_uint64), ("u", U)]


class RtTensor(C.Structure):
    _fields_ = [("refs", C.c_int32), ("dtype", C.c_uint8), ("ndim", C.c_uint8), ("flags", C.c_uint8), ("layout", C.c_uint8),
                ("room", C.c_uint16), ("offset", C.c_int64), ("dims", C.POINTER(C.c_int64)), ("strides", C.POINTER(C.c_int64)),
                ("storage", C.c_void_p)]


class RtList(C.Structure):
    _fields_ = [("refs", C.c_int32), ("elem", C.c_void_p), ("n", C.c_int64), ("cap", C.c_int64), ("v", C.POINTER(IValue))]


class RtStorage(C.Structure):
    _fields_ = [("refs", C.c_int32), ("kind", C.c_uint8), ("readonly", C.c_bool), ("bytes", C.c_int64), ("data", C.c_void_p)]


class RtCxHead(C.Structure):
    _fields_ = [("status", C.c_int), ("message", C.c_char_p), ("cls", C.c_char_p), ("trace", C.c_char_p),
                ("visit", C.c_void_p), ("nvisit", C.c_int), ("meta", C.c_bool)]


def build():
    """Builds the shared library object by object. Compiles only sources that are newer than their objects."""
    os.makedirs(os.path.dirname(LIB), exist_ok=True)
    newest = max(os.path.getmtime(f) for f in glob.glob(TOP + "/rt/*.h") + glob.glob(TOP + "/rt/*.def") + glob.glob(TOP + "/rt/ops/*.h"))
    objects, changed, broken = [], False, []
    for src in sorted(glob.glob(TOP + "/rt/*.c") + glob.glob(TOP + "/rt/ops/*.c")):
        if os.path.basename(src) == "start.c":
            continue
        obj = os.path.join(os.path.dirname(LIB), os.path.basename(src) + ".o")
        defs = src[:-2] + ".def"
        need = max(newest, os.path.getmtime(src), os.path.getmtime(defs) if os.path.exists(defs) else 0)
        if not os.path.exists(obj) or os.path.getmtime(obj) < need:
            changed = True
            if subprocess.run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-O1", "-g", "-fPIC", "-w", "-fno-strict-aliasing", "-c", src, "-o", obj]).returncode:
                broken.append(src)
                continue
        objects.append(obj)
    if broken:
        print("do not compile, left out:", *broken)
    if changed or not os.path.exists(LIB):
        subprocess.run(["gcc", "-shared", "-o", LIB] + objects + ["-lm", "-lpthread"], check=True)


build()
rt = C.CDLL(LIB, mode=os.RTLD_LAZY)
for fn, res, args in [("rt_storage_over", C.c_void_p, [C.c_void_p, C.c_void_p, C.c_int64, C.c_bool]),
                      ("rt_tensor_over", C.c_void_p, [C.c_void_p, C.c_void_p, C.c_int, C.c_int, C.c_void_p, C.c_void_p, C.c_int64]),
                      ("rt_str_new", C.c_void_p, [C.c_void_p, C.c_char_p, C.c_int64]),
                      ("rt_list_new", C.c_void_p, [C.c_void_p, C.c_void_p, C.c_int64]),
                      ("rt_list_push", C.c_int, [C.c_void_p, C.c_void_p, IValue]),
                      ("rt_complex", IValue, [C.c_void_p, C.c_double, C.c_double]),
                      ("rt_cx_init", C.c_int, [C.c_void_p]), ("rt_clear_error", None, [C.c_void_p]),
                      ("rt_generator_seed", None, [C.c_void_p, C.c_uint64]),
                      ("rt_call_kernel", C.c_int, [C.c_void_p, C.c_void_p, C.POINTER(IValue), C.POINTER(IValue), C.c_int])]:
    getattr(rt, fn).restype, getattr(rt, fn).argtypes = res, args
CX = C.create_string_buffer(1 << 16)
cx = C.addressof(CX)
rt.rt_cx_init(cx)
head = RtCxHead.from_buffer(CX)


def value(tag, i=0, f=None, p=None):
    v = IValue(tag)
    if f is not None: v.u.f = f
    elif p is not None: v.u.p = p
    else: v.u.i = i
    return v


KEEP = []


def to_rt(x, meta=False):
    """Converts a Python value to an IValue. Tensors share PyTorch's memory."""
    if x is None: return value(NONE)
    if isinstance(x, bool): return value(BOOL, int(x))
    if isinstance(x, int): return value(INT, x)
    if isinstance(x, float): return value(DOUBLE, f=x)
    if isinstance(x, complex): return rt.rt_complex(cx, x.real, x.imag)
    if isinstance(x, str): return value(STR, p=rt.rt_str_new(cx, x.encode(), -1))
    if isinstance(x, torch.dtype): return value(INT, CODE[x])
    if isinstance(x, torch.device): return value(DEVICE, 0)
    if isinstance(x, torch.memory_format):
        return value(INT, {torch.contiguous_format: 0, torch.preserve_format: 1, torch.channels_last: 2, torch.channels_last_3d: 3}[x])
    if isinstance(x, torch.layout): return value(INT, 0)
    if isinstance(x, torch.Tensor):
        KEEP.append(x)
        st = x.storage()
        s = rt.rt_storage_over(cx, C.c_void_p(st.data_ptr() or 64), st.nbytes(), False)
        if meta:
            RtStorage.from_address(s).kind = 2
            RtStorage.from_address(s).data = None
        n = x.dim()
        A = C.c_int64 * max(n, 1)
        t = rt.rt_tensor_over(cx, s, CODE[x.dtype], n, A(*x.shape), A(*x.stride()), x.storage_offset())
        if not t: raise RuntimeError("rt_tensor_over: " + str(head.message))
        return value(TENSOR, p=t)
    if isinstance(x, (list, tuple)):
        kind = "int"
        for k, ty in [("tensor", torch.Tensor), ("bool", bool), ("int", int), ("float", float), ("str", str)]:
            if x and all(isinstance(e, ty) for e in x): kind = k; break
        elem = C.addressof(C.c_char.in_dll(rt, "rt_type_" + kind))
        l = rt.rt_list_new(cx, elem, len(x))
        for e in x: rt.rt_list_push(cx, l, to_rt(e, meta))
        return value(LIST, p=l)
    raise TypeError(f"no IValue for {x!r}")


def tensor_type(t): return NAMES.get(t.dtype), [t.dims[i] for i in range(t.ndim)], [t.strides[i] for i in range(t.ndim)]


def from_rt(v, meta=False):
    if v.tag == NONE: return None
    if v.tag == INT: return v.u.i
    if v.tag == BOOL: return bool(v.u.i)
    if v.tag == DOUBLE: return v.u.f
    if v.tag == COMPLEX: return complex(*(C.c_double * 2).from_address(v.u.p + 8))
    if v.tag == STR:
        n = C.c_int64.from_address(v.u.p + 8).value
        return C.string_at(v.u.p + 16, n).decode("utf8", "replace")
    if v.tag == LIST:
        l = RtList.from_address(v.u.p)
        return [from_rt(l.v[i], meta) for i in range(l.n)]
    if v.tag == TENSOR:
        t = RtTensor.from_address(v.u.p)
        d, dims, strides = tensor_type(t)
        if meta: return ("meta", d, tuple(dims), tuple(strides))
        s = RtStorage.from_address(t.storage)
        KEEP.append(s)
        raw = (C.c_char * max(s.bytes, 1)).from_address(s.data) if s.data else C.create_string_buffer(1)
        flat = torch.frombuffer(raw, dtype=torch.uint8, count=s.bytes) if s.bytes else torch.zeros(0, dtype=torch.uint8)
        base = flat.view(d) if s.bytes else torch.zeros(0, dtype=d)
        return torch.as_strided(base, dims, strides, t.offset)
    raise TypeError(f"tag {v.tag}")


TOL = {torch.float16: (2e-3, 1e-3), torch.bfloat16: (2e-2, 1e-2), torch.float32: (2e-5, 2e-6), torch.float64: (1e-9, 1e-11),
       torch.complex64: (2e-5, 2e-6), torch.complex128: (1e-9, 1e-11)}


def same(got, want, where="", strides=True):
    if isinstance(want, torch.Tensor):
        if not isinstance(got, torch.Tensor): return f"{where} is {got!r}"
        if got.dtype != want.dtype: return f"{where} is {got.dtype}, expected {want.dtype}"
        if got.shape != want.shape: return f"{where} has shape {tuple(got.shape)}, expected {tuple(want.shape)}"
        if strides and want.numel() > 1 and [s for s, d in zip(got.stride(), got.shape) if d > 1] != [s for s, d in zip(want.stride(), want.shape) if d > 1]:
            return f"{where} has strides {got.stride()}, expected {want.stride()}"
        if want.dtype in TOL:
            r, a = TOL[want.dtype]
            wide = torch.complex128 if want.is_complex() else torch.float64
            if not torch.allclose(got.to(wide), want.to(wide), rtol=r, atol=a, equal_nan=True):
                return f"{where} differs: {got.flatten()[:8]} expected {want.flatten()[:8]}"
        elif not torch.equal(got, want): return f"{where} differs: {got.flatten()[:8]} expected {want.flatten()[:8]}"
        return None
    if isinstance(want, (list, tuple)):
        if not isinstance(got, (list, tuple)) or len(got) != len(want): return f"{where} is {got!r}, expected {len(want)} elements"
        for i, (g, w) in enumerate(zip(got, want)):
            why = same(g, w, f"{where}[{i}]", strides)
            if why: return why
        return None
    if isinstance(want, torch.dtype): want = CODE[want]
    if isinstance(want, float) and want != want: return None if got != got else f"{where} is {got}, expected nan"
    if type(want) in (int, float, bool, complex, str, type(None)):
        ok = got == want or isinstance(want, float) and abs(got - want) <= 1e-6 * max(1, abs(want))
        return None if ok and type(got) == type(want) else f"{where} is {got!r}, expected {want!r}"
    return None


def metas(v):
    if isinstance(v, torch.Tensor): return ("meta", v.dtype, tuple(v.shape))
    if isinstance(v, (list, tuple)): return [metas(e) for e in v]
    return v


def row_ids():
    """Maps names of operators to ids in the table. They differ where rt.h already uses the name."""
    rows = "".join(open(f).read() for f in glob.glob(TOP + "/rt/ops/*.def"))
    return {name: ident for ident, name in re.findall(r'^(?:MAP|OP|ALSO|OUT|BODY)\((\w+),\s*"([^("]*)', rows, re.M)}


IDS = row_ids()


def find(name):
    ns, rest = name.split("::")
    op, _, over = rest.partition(".")
    packet = getattr(getattr(torch.ops, ns), op)
    overload = getattr(packet, over or "default")
    return overload, IDS.get(name, "none")


passed, failed, skipped = 0, 0, 0


def check(name, *args, strides=True, meta=True, quiet=False, **kwargs):
    """Runs operator `name` here and in PyTorch on copies of the arguments. Prints and counts differences."""
    global passed, failed, skipped
    KEEP.clear()
    overload, ident = find(name)
    try: kernel = C.cast(getattr(rt, "rt_" + ident), C.c_void_p)
    except AttributeError:
        skipped += 1
        if not quiet: print(f"skip {name}: no kernel rt_{ident}")
        return None
    schema = overload._schema
    full = []
    for i, a in enumerate(schema.arguments):
        if i < len(args) and not a.kwarg_only: full.append(args[i])
        elif a.name in kwargs: full.append(kwargs[a.name])
        else: full.append(a.default_value)

    def copy(x):
        if isinstance(x, torch.Tensor):
            s = x.storage()
            base = torch.empty(0, dtype=x.dtype).set_(s.clone()) if s.size() else torch.zeros(0, dtype=x.dtype)
            return torch.as_strided(base, x.shape, x.stride(), x.storage_offset())
        if isinstance(x, (list, tuple)): return [copy(e) for e in x]
        return x
    mine, theirs = [copy(x) for x in full], [copy(x) for x in full]
    for i, (a, m) in enumerate(zip(schema.arguments, mine)):     # an int for int[2]
        if str(a.type).startswith(("List[int]", "Optional[List[int]]")) and isinstance(m, int): mine[i] = [m] * (a.N or 1)
    k = {a.name: v for a, v in zip(schema.arguments, theirs) if a.kwarg_only}
    p = [v for a, v in zip(schema.arguments, theirs) if not a.kwarg_only]
    torch.manual_seed(0)
    try: want, error = overload(*p, **k), None
    except (RuntimeError, IndexError, ValueError, NotImplementedError) as e: want, error = None, str(e).splitlines()[0]
    nout = len(schema.returns)

    def run(is_meta):
        head.meta = is_meta
        vin = (IValue * max(len(mine), 1))(*[to_rt(x, is_meta) for x in mine])
        vout = (IValue * max(nout, 1))()
        status = rt.rt_call_kernel(cx, kernel, vin, vout, nout)
        text = (head.message or b"").decode("utf8", "replace")
        head.meta = False
        rt.rt_clear_error(cx)
        if status: return status, text
        got = [from_rt(vout[i], is_meta) for i in range(nout)]
        return 0, got[0] if nout == 1 else tuple(got)
    why = None
    if meta and error is None and not any(x.numel() == 0 for x in full if isinstance(x, torch.Tensor)):
        status, got = run(True)
        if status == 1: why = "raises without data: " + str(got)
        elif status == 0:
            strip = lambda v: v[:3] if isinstance(v, tuple) and v and v[0] == "meta" else [strip(e) for e in v] if isinstance(v, (list, tuple)) else v
            if any(isinstance(e, torch.Tensor) for e in (want if isinstance(want, (list, tuple)) else [want])) and strip(got) != metas(want):
                why = f"type without data is {strip(got)}, expected {metas(want)}"
    gen = C.c_void_p.from_address(cx + GEN_OFFSET).value if GEN_OFFSET else None
    if gen: rt.rt_generator_seed(gen, 0)
    status, got = run(False)
    if why: pass
    elif error is not None:
        if status == 0: why = f"ran, PyTorch raises: {error}"
    elif status: why = f"raises ({status}): {got}"
    else:
        why = same(got, want, "result", strides)
        if not why:
            for a, m, t in zip(schema.arguments, mine, theirs):
                if isinstance(m, torch.Tensor) and not a.is_out: why = why or same(m, t, "argument " + a.name + " afterwards")
    if why:
        failed += 1
        brief = [f"{x.dtype}{tuple(x.shape)}".replace("torch.", "") if isinstance(x, torch.Tensor) else repr(x) for x in full]
        print(f"FAIL {name}({', '.join(brief)}): {why}")
        return False
    passed += 1
    return True


def gen_offset():
    """Returns the offset of RtCx.gen, as the C compiler computes it."""
    src = '#include <stdio.h>\n#include "%s/rt/rt.h"\nint main(void){printf("%%zu", offsetof(RtCx, gen));}' % TOP
    exe = os.path.join(os.path.dirname(LIB), "offset")
    subprocess.run(["gcc", "-w", "-x", "c", "-", "-o", exe], input=src.encode(), check=True)
    return int(subprocess.check_output([exe]))


GEN_OFFSET = gen_offset()


def T(*dims, dtype=torch.float32, low=-2.0, high=2.0, how="plain"):
    """Returns a tensor of these sizes. how: plain, strided (every second element of a larger one), transposed, offset, expanded.
    """
    big = [2 * d for d in dims] if how == "strided" else list(reversed(dims)) if how == "transposed" else list(dims)
    if how == "expanded" and big: big[0] = 1
    if dtype == torch.bool: x = torch.rand(big) > 0.5
    elif dtype.is_floating_point or dtype.is_complex: x = (torch.rand(big, dtype=torch.float64) * (high - low) + low).to(dtype)
    else: x = torch.randint(max(int(low), 0) if dtype == torch.uint8 else int(low) - 3, int(high) + 4, big).to(dtype)
    if dtype.is_complex: x = x + 1j * (torch.rand(big, dtype=torch.float64) - 0.5).to(dtype)
    if how == "strided": x = x[tuple(slice(None, None, 2) for _ in dims)]
    if how == "transposed" and dims: x = x.permute(*reversed(range(len(dims))))
    if how == "offset" and dims: x = torch.cat([x, x])[dims[0]:]
    if how == "expanded" and big: x = x.expand(*dims)
    return x


SHAPES = [(), (1,), (5,), (2, 3), (0,), (2, 0, 3), (3, 1, 4), (2, 3, 4, 5)]
HOW = ["plain", "strided", "transposed", "offset"]


def unary(name, *args, dtypes=DTYPES, **kw):
    """Checks name(x, *args) over dtypes, sizes and layouts."""
    for d in dtypes:
        for s in SHAPES:
            for how in HOW: check(name, T(*s, dtype=d, how=how), *args, **kw)


def binary(name, dtypes=DTYPES, **kw):
    for d in dtypes:
        for e in dtypes:
            check(name, T(2, 3, dtype=d), T(2, 3, dtype=e), **kw)
            check(name, T(2, 1, 3, dtype=d, how="strided"), T(4, 1, dtype=e), **kw)
            check(name, T(3, dtype=d), T(dtype=e), **kw)


def main():
    torch.manual_seed(7)
    if "--eval" in sys.argv:
        exec(" ".join(sys.argv[sys.argv.index("--eval") + 1:]), globals())
    else:
        for word in sys.argv[1:]:
            overload, _ = find(word)
            tensors = [a for a in overload._schema.arguments if str(a.type) == "Tensor"]
            (unary if len(tensors) == 1 else binary)(word)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    sys.exit(1 if failed else 0)


if __name__ == "__main__": main()
