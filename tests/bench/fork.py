"""Measures the benefit of fork: the same work on one thread and on two, by specialized and by generic code.

usage: fork.py KILN [ROUNDS]      wants two idle cores; each line: milliseconds on 1 and 2 threads, and how many times as fast

Rounds of one and of two threads alternate. The best of each counts, since other processes only make it slower.
"""
import json, os, subprocess, sys, tempfile

if len(sys.argv) < 2:
    sys.exit(__doc__)
KILN, ROUNDS = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 7
sys.argv[1:] = [KILN]
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../program"))
from hostile import model, npy, npz

WORK = """  def work(self: __torch__.M, x: Tensor, n: int) -> Tensor:
    y = x
    for _0 in range(n):
      y = torch.tanh(torch.mm(y, x))
    return y
"""
FORK = "    def forked%d():\n      return (self).%s\n    f%d = fork(forked%d)\n"
HEAD = "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n"


def forks(count, call, end):
    return "".join(FORK % (i, call, i, i) for i in range(count)) + "    " + end + "\n"


MODELS = {
    "two forks": WORK + HEAD + forks(2, "work(x, 60, )", "return torch.add(torch.wait(f0), torch.wait(f1))"),
    "a fork and the caller": WORK + HEAD + forks(1, "work(x, 60, )", "return torch.add((self).work(x, 60, ), torch.wait(f0))"),
    "sixteen forks": WORK + HEAD + forks(16, "work(x, 8, )",
                                         "return torch.stack([%s])" % ", ".join("torch.wait(f%d)" % i for i in range(16))),
    "forks in forks": WORK + "  def pair(self: __torch__.M, x: Tensor) -> Tensor:\n"
                      + forks(2, "work(x, 30, )", "return torch.add(torch.wait(f0), torch.wait(f1))")
                      + HEAD + forks(2, "pair(x, )", "return torch.add(torch.wait(f0), torch.wait(f1))"),
}


def milliseconds(program, threads, folder):
    subprocess.run([program, "-i", "x.npz", "--threads", str(threads), "--bench=5", "--json", "b.json"], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    with open(os.path.join(folder, "b.json")) as f:
        return json.load(f)["min_ms"]


def main():
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "x.npz"), "wb") as f:
            f.write(npz(x=npy([192, 192])))
        for name, code in MODELS.items():
            with open(os.path.join(folder, "m.pt"), "wb") as f:
                f.write(model(code))
            for kind, options in (("specialized", []), ("generic", ["--max-specializations", "0"])):
                subprocess.run([KILN, "build", "m.pt", "-i", "x.npz", "-o", "p", *options], cwd=folder, check=True)
                times = [[milliseconds("./p", n, folder) for n in (1, 2)] for _ in range(ROUNDS)]
                one, two = (min(t[k] for t in times) for k in (0, 1))
                print(f"{name:24} {kind:12} {one:8.2f} {two:8.2f}   {one / two:.2f}")


main()
