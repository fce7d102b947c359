"""Cost of guards: programs with 50, 100 and 200 guards; bytes of C and of the program, seconds of the build.

usage: growth.py KILN DIR       (with torch; DIR keeps the programs)

Growth must be linear: a guard is an entry of a table and a few lines of C, never a copy of the code after it.
"""
import os, subprocess, sys, time
import torch
import numpy as np

BODY = """
    y = torch.relu(x) + {i}
    k = torch.nonzero(y > {i})
    x = x * 0.5 + y.sum() + k.to(x.dtype).sum()
"""


def make(folder, n):
    text = "import torch\ndef forward(x: torch.Tensor):\n" + "".join(BODY.format(i=i) for i in range(n)) + "    return x\n"
    path = os.path.join(folder, f"guards{n}.py")
    with open(path, "w") as f:
        f.write(text)
    sys.path.insert(0, folder)
    return torch.jit.script(__import__(f"guards{n}").forward)


def measure(kiln, folder, n):
    f = make(folder, n)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.f = f

        def forward(self, x: torch.Tensor):
            return self.f(x)

    base = os.path.join(folder, f"guards{n}")
    torch.jit.script(Net()).save(base + ".pt")
    np.savez(base + ".npz", x=np.arange(-3, 5, dtype=np.float32).reshape(2, 4))
    row = [n]
    for emit in ("c", "exe"):
        start = time.time()
        subprocess.run([kiln, "build", base + ".pt", "-i", base + ".npz", "-o", base + "_" + emit, "--emit", emit, "-O1"], check=True)
        row += [os.path.getsize(f"{base}_c/guards{n}_c.c" if emit == "c" else base + "_exe"), time.time() - start]
    return row


def main(kiln, folder):
    print("guards   C bytes  seconds    program  seconds")
    for n in (50, 100, 200):
        print("%6d %9d %8.2f %10d %8.2f" % tuple(measure(kiln, folder, n)))


main(*sys.argv[1:])
