#!/usr/bin/env python3
"""Records tests/modules/writes.tar.xz by PyTorch 1.13 (Debian: python3-torch): writes in place of all operators and dtypes, writes
that overlap, and errors of kernels with their tracebacks. tests/modules/ways makes the same calls in all ways of Kiln.

    tests/oracle/writes.py [--keep DIR] [GROUP...]       groups: types overlaps traces; with --keep nothing is archived

A case is a module whose forward(op, ...) has a branch for each write, on a clone, on an argument or on a buffer, between two
prints. Every call is profiled, so that specialized code has to raise or answer, too.  Calls that PyTorch's CPU does not
implement for a dtype are left out.
"""
import argparse, io, os, sys, tarfile, tempfile, types, linecache, warnings
import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from module_answers import answer, as_array, same
from write_calls import GROUPS

ARCHIVE = os.path.join(HERE, "../modules/writes.tar.xz")
warnings.filterwarnings("ignore")
torch.set_num_threads(1)
torch._C._set_graph_executor_optimize(False)


def script(path, source):
    """Scripts and saves the class M of a source that is not in a file."""
    name = os.path.basename(path)[:-3]
    module = types.ModuleType(name)
    module.__file__ = name + ".py"
    linecache.cache[module.__file__] = (len(source), None, source.splitlines(True), module.__file__)
    sys.modules[name] = module
    exec(compile(source, module.__file__, "exec"), module.__dict__)
    torch.jit.script(module.M()).save(path)


def answers(path, source, calls):
    """Returns results and prints of all calls of a module, which is saved."""
    script(path, source)
    m, out = torch.jit.load(path), []
    buffers = [b.clone() for b in m.buffers()]
    for method, args, new in calls:
        if new:
            for b, was in zip(m.buffers(), buffers):
                b.set_(was.clone())
            torch.manual_seed(67280421310721)
        out.append(answer(m, method, [v.clone() if isinstance(v, torch.Tensor) else v for v in args.values()]))
    return out


def plain(error):
    """Returns a traceback without the text around its lines, as Kiln prints it."""
    lines, out = error.splitlines(), []
    heres = [k for k, line in enumerate(lines) if "<--- HERE" in line]
    for k, line in enumerate(lines[:heres[-1] + 1]):
        if line.startswith(("The following", "Traceback")):
            out += [""] * (len(out) > 1) + [line]
        elif line.startswith("  File "):
            out.append(line)
        elif k in heres:
            out += lines[k - 1:k + 1]
    message = next(k for k in range(heres[-1], len(lines)) if lines[k].startswith("RuntimeError: "))
    return "\n".join(out + lines[message:])


def open_to_order(a, b):
    """Do both return different values? Then an operand was written to before it was read."""
    return not isinstance(a, str) and not isinstance(b, str) and not same(a, b)


def record(path, source, calls, copied):
    """Writes a case. Returns how many of its calls raise, and the number of calls. calls: (method, arguments by name, whether on
    a new instance). copied: the source with copies of the operands, or None."""
    again = answers(path, copied, calls) if copied else [("", "")] * len(calls)
    case, i, raised, left_out = {}, 0, 0, False
    for (method, args, new), (out, said), (other, _) in zip(calls, answers(path, source, calls), again):
        if new:
            left_out = False
        left_out |= isinstance(out, str) and ("not implemented for" in out or "not yet implemented" in out or "INTERNAL ASSERT" in out)
        left_out |= open_to_order(out, other)
        if left_out:
            continue
        case[f"{i}.method"] = np.array(method)
        case.update({f"{i}.in.{k}": as_array(v) for k, v in args.items()})
        if method == "forward":
            case[f"{i}.profile"] = case[f"{i}.strict"] = np.array(True)
        if new:
            case[f"{i}.new"] = np.array(True)
        if said:
            case[f"{i}.said"] = np.array(said)
        if isinstance(out, str):
            case[f"{i}.error"] = np.array(plain(out) if path.rsplit("/", 1)[1].startswith("traces") else out)
            if path.rsplit("/", 1)[1].startswith("traces"):
                case[f"{i}.traced"] = np.array(True)
            raised += 1
        else:
            case.update({f"{i}.{k}": as_array(v) for k, v in out.items()})
        i += 1
    np.savez(path[:-3] + ".npz", **case)
    return raised, i


def archive(folder, path=ARCHIVE):
    """Writes the cases as one file, whose bytes depend on nothing else."""
    with tarfile.open(path, "w:xz", preset=9) as t:
        for name in sorted(os.listdir(folder), key=lambda n: (n.rsplit(".", 1)[1], n)):
            data = open(os.path.join(folder, name), "rb").read()
            m = tarfile.TarInfo(name)
            m.size = len(data)
            t.addfile(m, io.BytesIO(data))


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("--keep")
    p.add_argument("groups", nargs="*")
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        folder = a.keep or tmp
        os.makedirs(folder, exist_ok=True)
        for group in a.groups or GROUPS:
            raised = calls = 0
            for name, source, todo, copied in GROUPS[group]():
                r, n = record(os.path.join(folder, name + ".pt"), source, todo, copied)
                raised, calls = raised + r, calls + n
            print(f"{group}: {calls} calls, {raised} raise")
        if not a.keep:
            archive(folder)


if __name__ == "__main__":
    main()
