"""Runs a case of module_answers.py through the commands themselves: kiln run, and a program of kiln build --cc tcc, linked as by
a user.

tests/modules/ways calls the same code without these commands, ten times as fast. Sweeps use this way for a sample only."""
import os, subprocess
import numpy as np
import save


def sequence(case):
    """Returns the first calls on one instance, up to one that raises: (method, inputs, results or None, text of the error,
    prints)."""
    calls, i = [], 0
    while f"{i}.method" in case and not (i and f"{i}.new" in case):
        part = lambda word: {k.split(".", 1)[1]: case[k] for k in case if k.startswith(f"{i}.") and k.split(".")[1] == word}
        error = str(case[f"{i}.error"]) if f"{i}.error" in case else None
        calls.append((str(case[f"{i}.method"]), {k[3:]: v for k, v in part("in").items()}, None if error else part("out"), error,
                      str(case[f"{i}.said"]) if f"{i}.said" in case else ""))
        if error:
            break
        i += 1
    return calls


def run(argv):
    p = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=120)
    return p.returncode, p.stdout, p.stderr


def judge(calls, done, outs):
    """Returns how a process's answers to calls differ from PyTorch's."""
    status, said, text = done
    error = calls[-1][3]
    if status != (1 if error else 0):
        return f"status {status}: {text[-300:]}"
    if said != "".join(c[4] for c in calls):
        return f"prints {said!r}"
    if error and text.strip().splitlines()[-1:] != error.strip().splitlines()[-1:]:
        return f"raises {text.strip().splitlines()[-1:]}, expected {error.strip().splitlines()[-1:]}"
    for i, (c, out) in enumerate(zip(calls, outs)):
        got = {k: save.tensor(v) if v.dtype.kind != "U" else str(v) for k, v in np.load(out).items()} if c[2] is not None else {}
        why = save.differs(got, c[2] or {}, 0.0)
        if why:
            return f"call {i}: {why}"
    return None


def compare(name, kiln, level, tmp):
    """Returns the differences. None if there are none."""
    calls = sequence(dict(np.load(name + ".npz")))
    ins, outs = [os.path.join(tmp, f"{i}.in.npz") for i in range(len(calls))], [os.path.join(tmp, f"{i}.out.npz") for i in range(len(calls))]
    for c, path in zip(calls, ins):
        np.savez(path, **c[1])
    first = [calls[0]]
    why = judge(first, run([kiln, "run", f"-O{level}", name + ".pt", "-i", ins[0], "-o", outs[0]]), outs)
    if why:
        return f"kiln run -O{level}: {why}"
    methods = ",".join(dict.fromkeys(c[0] for c in calls))
    program = os.path.join(tmp, "program")
    status, _, text = run([kiln, "build", "--cc", "tcc", f"-O{level}", name + ".pt", "--method", methods, "-i", ins[0], "-o", program])
    if status:
        return f"kiln build -O{level}: {text[-500:]}"
    each = [w for i, o in zip(ins, outs) for w in ("-i", i, "-o", o)]
    why = judge(calls, run([program, "--method", ",".join(c[0] for c in calls), *each]), outs)
    return f"program -O{level}: {why}" if why else None
