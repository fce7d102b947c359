#!/usr/bin/python3
"""tests/oracle/engines.py - records tests/program/ties.xz: the answers of PyTorch's quantized engines to tests/program/ties.py

    engines.py             writes the file, by PyTorch 2.15 or newer, which has all engines
    engines.py --compare   prints which arrays of each engine of this PyTorch differ from the file
"""
import os, sys, warnings
import torch

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "program")
sys.path.insert(0, PROGRAM)
import ties_file

CODES = {torch.uint8: "|u1", torch.int8: "|i1", torch.int64: "<i8"}


def answers(forward):
    """Returns {key: (dtype, shape, values)}: integers for four zero points, and checksums over all zero points as all.*"""
    given = ties_file.inputs(0)
    tensors = [torch.tensor(given[k][2], dtype=torch.uint8).reshape(given[k][1]) for k in ("x", "four", "six")]
    found = {}
    for count, prefix in (4, ""), (0, "all."):
        for key, t in forward(*tensors, count).items():
            found[prefix + key] = CODES[t.dtype], tuple(t.shape), t.flatten().tolist()
    return found


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    with open(os.path.join(PROGRAM, "ties.py")) as f:
        source = f.read()
    engines = {}
    for engine in torch.backends.quantized.supported_engines:
        if engine != "none":
            torch.backends.quantized.engine = engine
            # PyTorch folds packed weights of constants, so each engine needs a module of its own.
            engines[engine] = answers(torch.jit.CompilationUnit(source).forward)
    if sys.argv[1:] == ["--compare"]:
        recorded = ties_file.read()
        for engine, arrays in engines.items():
            want = recorded["qnnpack" if engine == "qnnpack" else "x86"]
            print(engine, *[k for k in arrays if arrays[k] != want[k]] or ["as recorded"])
        return
    x86, qnnpack = engines["fbgemm"], engines["qnnpack"]
    # oneDNN rounds the results of layers together with the zero point. x86 calls it for convolutions if the processor has VNNI.
    for engine in "x86", "onednn":
        assert [k for k in x86 if engines[engine][k] != x86[k] and "conv" not in k and "linear" not in k] == []
    ties_file.write({"x86": x86, "qnnpack": {k: v for k, v in qnnpack.items() if v != x86[k]}})


main()
