#!/usr/bin/python3
"""tests/oracle/run.py FILE... - runs sources of tests/run/ that use only torch and math by PyTorch, and prints differing output
"""
import difflib, importlib.util, subprocess, sys, tempfile
import torch
try:
    import torchvision
except ImportError:
    pass


def printed(path):
    with tempfile.NamedTemporaryFile("w", suffix=".py") as f:
        f.write("import math\nimport torch\nfrom torch import Tensor\n" + open(path).read())
        f.flush()
        spec = importlib.util.spec_from_file_location("source", f.name)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        print(torch.jit.script(module.forward)())


if sys.argv[1] == "--print":
    torch.set_num_threads(1)
    printed(sys.argv[2])
    sys.exit()
bad = 0
for path in sys.argv[1:]:
    want = [line[2:].rstrip() for line in open(path).read().split("# ---\n")[-1].splitlines()]
    got = subprocess.run([sys.executable, __file__, "--print", path], capture_output=True, text=True)
    lines = list(difflib.unified_diff(want, got.stdout.splitlines(), path, "PyTorch " + torch.__version__, lineterm="", n=0))
    print("\n".join(lines) if lines else f"{path}: the same")
    bad |= bool(lines)
sys.exit(bad)
