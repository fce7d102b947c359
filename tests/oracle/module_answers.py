"""Records PyTorch's answers to calls of a module of module_source.py as a case: NAME.pt and NAME.npz, which tests/modules/ways
reads."""
import contextlib, io, linecache, random, sys, types, warnings
import numpy as np
import torch
import save

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
torch._C._set_graph_executor_optimize(False)     # its passes forget that a loop's results come back into it
VALUES = {"x.size(0)": 3, "x.size(1)": 4, "z.size(0)": 3, "a.size(0)": 3, "a.size(1)": 4}


OPEN = ["not implemented for",           # messages about dtypes that PyTorch's CPU lacks
        # messages of autograd, whose state Kiln does not keep
        "don't support automatic differentiation", "leaf Variable", "in no_grad mode", "multiple views"]


class NoModule(Exception):
    """The source is not valid TorchScript."""


class NoJudge(Exception):
    """PyTorch lacks something, or contradicts itself."""


def load(name, source):
    """Returns the class M of a source that is not in a file."""
    module = types.ModuleType(name)
    module.__file__ = name + ".py"
    linecache.cache[module.__file__] = (len(source), None, source.splitlines(True), module.__file__)
    sys.modules[name] = module
    exec(compile(source, module.__file__, "exec"), module.__dict__)
    return module.M


def instance(name, made):
    """Returns the module, in Python."""
    torch.manual_seed(7)
    m = load(name.rsplit("/", 1)[-1], made.source)()
    m.train(made.training)
    with torch.no_grad():
        for p in m.parameters():
            p.copy_((p * 8).round() / 8)
    return m


def script(name, made):
    """Scripts the module and saves it as NAME.pt."""
    try:
        torch.jit.script(instance(name, made)).save(name + ".pt")
    except Exception as e:
        raise NoModule(f"{type(e).__name__}: {e}")


# ---- inputs

def numbers(r, shape, dtype):
    n = int(np.prod(shape, dtype=np.int64))
    t = getattr(torch, dtype)
    if dtype == "bool":
        return torch.tensor([r.random() < 0.5 for _ in range(n)], dtype=t).reshape(shape)
    if dtype == "complex64":
        return torch.tensor([complex(r.randint(-8, 8) / 4, r.randint(-8, 8) / 4) for _ in range(n)], dtype=t).reshape(shape)
    if t.is_floating_point:
        return torch.tensor([r.randint(-12, 12) / 4 for _ in range(n)], dtype=t).reshape(shape)
    return torch.tensor([r.randint(0 if dtype == "uint8" else -4, 4) for _ in range(n)], dtype=t).reshape(shape)


def strides_of(r, t):
    """Returns other strides for a tensor, or None."""
    if t.dim() < 1 or r.random() < 0.75:
        return None
    how = r.randrange(3)
    if how == 0 and t.dim() == 2:
        return [1, max(1, t.shape[0])]
    contiguous = list(t.stride())
    if how == 1:
        return [s * 2 for s in contiguous]
    dim = r.randrange(t.dim())
    return [0 if i == dim else s for i, s in enumerate(contiguous)]


def input_arrays(r, params, sizes, dtypes):
    """Returns the arrays of a call's arguments by key."""
    out = {}
    for p in params:
        if p.kind == "i":
            out[p.text] = torch.tensor(r.choice([0, 1, 2, 3]))
        elif p.kind == "OT":
            if r.random() < 0.6:
                out[p.text] = numbers(r, [sizes.get(d, d) for d in p.shape], p.dtype)
        elif p.kind == "LT":
            for i in range(r.randint(1, 3)):
                out[f"{p.text}.{i}"] = numbers(r, [sizes.get(d, d) for d in p.shape], p.dtype)
        else:
            t = out[p.text] = numbers(r, [sizes.get(d, d) for d in p.shape], dtypes.get(p.dtype, p.dtype))
            s = strides_of(r, t)
            if s:
                out[p.text + ".strides"] = torch.tensor(s)
    return out


def arguments(params, arrays):
    out = []
    for p in params:
        if p.kind == "i":
            out.append(int(arrays[p.text]))
        elif p.kind == "OT":
            out.append(arrays[p.text].clone() if p.text in arrays else None)
        elif p.kind == "LT":
            out.append([t.clone() for k, t in arrays.items() if k.startswith(p.text + ".")])
        else:
            s = arrays.get(p.text + ".strides")
            out.append(save.strided(arrays[p.text], s.tolist()) if s is not None else arrays[p.text].clone())
    return out


def plan(r, made):
    """Returns the calls: (method, arrays, whether on a new instance, whether programs are profiled on it)."""
    other = dict(VALUES, **{"x.size(0)": r.choice([2, 5, 1, 0, 3]), "z.size(0)": r.choice([1, 3, 4])})
    third = dict(VALUES, **{"x.size(1)": r.choice([4, 4, 3, 5, 1])})
    cast = {"float32": r.choice(["float32", "float64", "int64", "float32"]), "int64": r.choice(["int64", "int32", "float32"])}
    a, b = input_arrays(r, made.params, VALUES, {}), input_arrays(r, made.params, VALUES, {})
    c, d = input_arrays(r, made.params, other, {}), input_arrays(r, made.params, third, cast)
    calls = [("forward", a, True, True), ("forward", b, False, False), ("state", {}, False, False), ("forward", c, False, r.random() < 0.4),
             ("forward", d, True, False), ("state", {}, False, False), ("forward", a, False, False), ("state", {}, False, False)]
    if made.entry:
        calls.insert(r.choice([2, 3, 6]), (made.entry.name, input_arrays(r, made.entry.params, VALUES, {}), False, False))
    return calls


def params_of(made, method):
    return made.params if method == "forward" else made.entry.params if made.entry and method == made.entry.name else []


# ---- answers

def as_array(t):
    t = t.resolve_conj().resolve_neg().contiguous() if isinstance(t, torch.Tensor) else t
    if isinstance(t, torch.Tensor) and t.dtype == torch.bfloat16:
        return t.view(torch.int16).numpy().view("V2")
    return t.numpy() if isinstance(t, torch.Tensor) else np.array(t)


def answer(m, method, args):
    """Returns the results by key, or the text of the error. Also returns the printed text."""
    said, out = io.StringIO(), {}
    with contextlib.redirect_stdout(said):
        try:
            save.flatten(getattr(m, method)(*args), "out", out)
        except Exception as e:
            out = str(e)
    return out, said.getvalue()


def answers(made, calls, open_module):
    """Returns results and prints of all calls, on instances that open_module() makes."""
    out, m = [], None
    for method, arrays, new, _ in calls:
        if new:
            m = open_module()
            torch.manual_seed(67280421310721)
        out.append(answer(m, method, arguments(params_of(made, method), arrays)))
    return out


def last(out):
    """Returns the error message, or None if the call returned."""
    return out.strip().splitlines()[-1:] if isinstance(out, str) else None


def same(a, b):
    if isinstance(a, str) or isinstance(b, str):
        return last(a) == last(b)
    return a.keys() == b.keys() and all(np.array_equal(as_array(a[k]), as_array(b[k]), equal_nan=as_array(a[k]).dtype.kind in "fc") for k in a)


def judge(name, made, calls):
    """Returns PyTorch's answers without its optimizer. If dead code that the optimizer removes may raise or draw, there is no
    answer."""
    def saved():
        return torch.jit.load(name + ".pt")

    got = answers(made, calls, saved)
    for out, _ in got:
        if any(text in str(last(out)) for text in OPEN):
            raise NoJudge(str(last(out)))
    drawn = "rand" in made.source or "dropout" in made.source.lower()
    if not drawn and not any(isinstance(out, str) for out, _ in got):
        return got
    torch._C._set_graph_executor_optimize(True)
    try:
        other = answers(made, calls, saved)
    finally:
        torch._C._set_graph_executor_optimize(False)
    for (a, _), (b, _) in zip(got, other):
        if not same(a, b):
            raise NoJudge("dead code raises or draws")
    return got


def save_case(path, calls, got):
    """Writes the calls with their answers to PATH. Returns how many raise."""
    case, raised = {}, 0
    for i, ((method, arrays, new, profiled), (out, said)) in enumerate(zip(calls, got)):
        case[f"{i}.method"] = np.array(method)
        if new:
            case[f"{i}.new"] = np.array(True)
        if profiled:
            case[f"{i}.profile"] = np.array(True)
        for k, v in arrays.items():
            case[f"{i}.in.{k}"] = as_array(v)
        if said:
            case[f"{i}.said"] = np.array(said)
        if isinstance(out, str):
            case[f"{i}.error"] = np.array(out)
            raised += 1
        else:
            case.update({f"{i}.{k}": as_array(v) for k, v in out.items()})
    np.savez(path, **case)
    return raised


def record(name, seed, made):
    """Writes NAME.pt and NAME.npz. Returns how many of the calls raise, and the number of calls."""
    script(name, made)
    calls = plan(random.Random(seed * 7 + 1), made)
    return save_case(name + ".npz", calls, judge(name, made, calls)), len(calls)


def again(name):
    """Compares another PyTorch's answers with those in a case. Returns the differences."""
    case = np.load(name + ".npz")
    m, i = None, 0
    while f"{i}.method" in case:
        if f"{i}.new" in case:
            m = torch.jit.load(name + ".pt")
            torch.manual_seed(67280421310721)
        method = getattr(m, str(case[f"{i}.method"]))
        arrays = {k.split(".", 2)[2]: case[k] for k in case if k.startswith(f"{i}.in.")}
        args = [save.value(a.type, a.name, arrays) for a in list(method.schema.arguments)[1:]]
        out, said = answer(m, str(case[f"{i}.method"]), args)
        want = {k.split(".", 1)[1]: case[k] for k in case if k.split(".")[1] == "out" and k.startswith(f"{i}.")}
        error = str(case[f"{i}.error"]) if f"{i}.error" in case else None
        if said != (str(case[f"{i}.said"]) if f"{i}.said" in case else ""):
            return f"call {i}: prints {said!r}"
        if isinstance(out, str) or error is not None:
            if not isinstance(out, str) or error is None or last(out) != last(error):
                return f"call {i}: {last(out) if isinstance(out, str) else 'returns'}, was {last(error) if error else 'an answer'}"
        else:
            why = save.differs(out, want, 0.0)
            if why:
                return f"call {i}: {why}"
        i += 1
    return None
