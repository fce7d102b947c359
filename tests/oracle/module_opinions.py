"""Does PyTorch contradict itself where Kiln and PyTorch differ? It is asked only then. If it does, each way of Kiln must still
give one of PyTorch's answers.

final     numbers and strings that nothing writes are constants, as in Kiln, and PyTorch's optimizer is on: values that only a branch not
          taken needs are not computed and cannot raise
eager     the module in Python: PyTorch's passes keep one result of a forked call for all calls, so that a write to it stays
apart     writes read copies: PyTorch does not define in which order overlapping parts that are not dense are written
"""
import random, re
import torch
import module_answers
from module_answers import NoModule, answers, instance, plan, save_case, script
from module_source import make


def values(got):
    """Returns the answers of calls. None for those that raise."""
    return [None if isinstance(out, str) else out for out, _ in got]


def final(name, made):
    """Opens the module with its numbers and strings as constants."""
    methods = [m for m in re.split(r"^    def ", made.source, flags=re.M)[1:] if not m.startswith("__init__")]
    written = {n for m in methods for n in re.findall(r"\.(\w+) [-+*/]?= ", m)}
    m = instance(name, made)
    for sub in m.modules():
        sub.__constants__ = [n for n, v in vars(sub).items() if isinstance(v, (int, float, str)) and n not in written]
    try:
        torch.jit.script(m).save(name + ".final.pt")
    except RuntimeError as e:            # as constants they have other types
        raise NoModule(str(e))
    return lambda: torch.jit.load(name + ".final.pt")


OPINIONS = {"final": final, "eager": lambda name, made: lambda: instance(name, made)}


def without_calls(calls, out):
    """Returns the calls without those given, on the same instances."""
    kept, new = [], False
    for i, (method, arrays, first, profiled) in enumerate(calls):
        new |= first
        if i not in out:
            kept.append((method, arrays, new, profiled))
            new = False
    return kept


def moves_apart(name, seed, without, calls, got):
    """Does a call answer differently if operands of writes are copied first? Calls that raise in either version are left out of
    both."""
    made, other = make(seed, without), make(seed, without + ["aliased"])
    script(name + ".apart", other)

    def both(calls):
        return [values(answers(m, calls, lambda: torch.jit.load(path + ".pt"))) for m, path in ((made, name), (other, name + ".apart"))]

    calls = without_calls(calls, {i for i, (a, b) in enumerate(zip(values(got), both(calls)[1])) if a is None or b is None})
    return any(not module_answers.same(a, b) for a, b in zip(*both(calls)) if a is not None and b is not None)


def contradiction(name, seed, without, failed_ways):
    """Returns the name of the opinion by which each way of Kiln is right, or None. failed_ways(path): the ways whose answers
    differ from the case."""
    made = make(seed, without)
    calls = plan(random.Random(seed * 7 + 1), made)
    got = module_answers.judge(name, made, calls)
    wrong = failed_ways(name)
    for opinion, opened in OPINIONS.items():
        torch._C._set_graph_executor_optimize(opinion == "final")
        try:
            other = answers(made, calls, opened(name, made))
        except NoModule:
            continue
        finally:
            torch._C._set_graph_executor_optimize(False)
        if opinion == "eager" and [v is None for v in values(got)] != [v is None for v in values(other)]:
            continue
        if opinion == "eager":           # in Python the texts of errors have no traceback
            other = [(g if isinstance(g, str) else o, said) for (g, _), (o, said) in zip(got, other)]
        save_case(name + ".npz", calls, other)
        still = failed_ways(name)
        save_case(name + ".npz", calls, got)
        if not wrong & still:
            return opinion
    try:
        return "apart" if moves_apart(name, seed, without, calls, got) else None
    except NoModule:
        return None
