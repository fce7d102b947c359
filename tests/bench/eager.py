#!/usr/bin/env python3
"""Eager kernels beside PyTorch's, on one thread: the interpreter's, which generic code has, too.

usage: eager.py [--json FILE] KILN [OPERATOR...]      needs PyTorch (Debian: python3-torch)

A row is an operator on operands of 16 K elements and more: the median time of a call by PyTorch, by `kiln run` (a loop of n calls
without one of a single call), and their ratio, above 1 where Kiln is faster. The two take turns; the least of three counts.
"""
import argparse, json, math, os, subprocess, tempfile, time
import numpy as np, torch


def T(*sizes): return torch.randn(*sizes)
def I(high, *sizes): return torch.randint(0, high, sizes)


def positive(n):
    a = T(n, n)
    return a @ a.t() + n * torch.eye(n)


# name: what is called, its operands
OPERATORS = {
    "add": ("x + y", dict(x=T(512, 512), y=T(512, 512))),
    "add_bcast": ("x + y", dict(x=T(512, 512), y=T(512, 1))),
    "mul_scalar": ("x * 2.0", dict(x=T(512, 512))),
    "exp": ("torch.exp(x)", dict(x=T(256, 256))),
    "tanh": ("torch.tanh(x)", dict(x=T(256, 256))),
    "gelu": ("torch.nn.functional.gelu(x)", dict(x=T(256, 256))),
    "sigmoid": ("torch.sigmoid(x)", dict(x=T(256, 256))),
    "where": ("torch.where(x > 0, x, y)", dict(x=T(256, 256), y=T(256, 256))),
    "add_f64": ("x + y", dict(x=T(256, 256).double(), y=T(256, 256).double())),
    "add_i64": ("x + y", dict(x=I(9, 256, 256), y=I(9, 256, 256))),
    "add_f16": ("x + y", dict(x=T(256, 256).half(), y=T(256, 256).half())),
    "clone": ("x.clone()", dict(x=T(512, 512))),
    "transpose_contig": ("x.t().contiguous()", dict(x=T(512, 512))),
    "permute_contig": ("x.permute(0, 2, 3, 1).contiguous()", dict(x=T(8, 64, 32, 32))),
    "to_double": ("x.to(torch.float64)", dict(x=T(512, 512))),
    "to_half": ("x.to(torch.float16)", dict(x=T(512, 512))),
    "cat": ("torch.cat([x, y], 1)", dict(x=T(256, 256), y=T(256, 256))),
    "stack": ("torch.stack([x, y], 2)", dict(x=T(256, 256), y=T(256, 256))),
    "index_select": ("torch.index_select(x, 0, i)", dict(x=T(1000, 128), i=I(1000, 512))),
    "index": ("x[i]", dict(x=T(1000, 128), i=I(1000, 512))),
    "gather": ("torch.gather(x, 1, i)", dict(x=T(256, 256), i=I(256, 256, 256))),
    "scatter": ("torch.scatter(x, 1, i, y)", dict(x=T(256, 256), i=I(256, 256, 256), y=T(256, 256))),
    "scatter_add": ("torch.scatter_add(x, 1, i, y)", dict(x=T(256, 256), i=I(256, 256, 256), y=T(256, 256))),
    "index_add": ("torch.index_add(x, 0, i, y)", dict(x=T(1000, 64), i=I(1000, 512), y=T(512, 64))),
    "masked_fill": ("x.masked_fill(x > 0, 1.0)", dict(x=T(256, 256))),
    "masked_select": ("torch.masked_select(x, x > 0)", dict(x=T(256, 256))),
    "nonzero": ("torch.nonzero(x > 0)", dict(x=T(256, 256))),
    "sum": ("x.sum()", dict(x=T(512, 512))),
    "sum0": ("x.sum(0)", dict(x=T(512, 512))),
    "sum1": ("x.sum(1)", dict(x=T(512, 512))),
    "mean_hw": ("x.mean([2, 3])", dict(x=T(8, 64, 32, 32))),
    "var": ("x.var(1)", dict(x=T(512, 512))),
    "max1": ("torch.max(x, 1)[0]", dict(x=T(512, 512))),
    "argmax0": ("torch.argmax(x, 0)", dict(x=T(512, 512))),
    "prod": ("x.prod(1)", dict(x=T(512, 512))),
    "norm": ("torch.norm(x)", dict(x=T(512, 512))),
    "logsumexp": ("torch.logsumexp(x, 1)", dict(x=T(256, 256))),
    "softmax": ("torch.softmax(x, -1)", dict(x=T(256, 256))),
    "softmax0": ("torch.softmax(x, 0)", dict(x=T(256, 256))),
    "log_softmax": ("torch.log_softmax(x, -1)", dict(x=T(256, 1000))),
    "cumsum": ("torch.cumsum(x, 1)", dict(x=T(512, 512))),
    "cumsum0": ("torch.cumsum(x, 0)", dict(x=T(512, 512))),
    "sort": ("torch.sort(x, 1)[0]", dict(x=T(128, 512))),
    "topk": ("torch.topk(x, 10, 1)[0]", dict(x=T(128, 1000))),
    "unique": ("torch._unique2(x)[0]", dict(x=I(1000, 20000))),
    "mm": ("torch.mm(x, y)", dict(x=T(256, 256), y=T(256, 256))),
    "mm_t": ("torch.mm(x, y.t())", dict(x=T(256, 256), y=T(256, 256))),
    "mm_f64": ("torch.mm(x, y)", dict(x=T(256, 256).double(), y=T(256, 256).double())),
    "mv": ("torch.mv(x, y)", dict(x=T(1024, 1024), y=T(1024))),
    "bmm": ("torch.bmm(x, y)", dict(x=T(16, 64, 64), y=T(16, 64, 64))),
    "linear": ("torch.nn.functional.linear(x, y)", dict(x=T(64, 512), y=T(512, 512))),
    "linear1": ("torch.nn.functional.linear(x, y)", dict(x=T(1, 1024), y=T(1024, 1024))),
    "einsum": ("torch.einsum('bij,bkj->bik', [x, y])", dict(x=T(8, 64, 64), y=T(8, 64, 64))),
    "conv3": ("torch.conv2d(x, w, None, [1, 1], [1, 1])", dict(x=T(1, 64, 32, 32), w=T(64, 64, 3, 3))),
    "conv1": ("torch.conv2d(x, w)", dict(x=T(1, 64, 32, 32), w=T(128, 64, 1, 1))),
    "conv_dw": ("torch.conv2d(x, w, None, [1, 1], [1, 1], [1, 1], 64)", dict(x=T(1, 64, 56, 56), w=T(64, 1, 3, 3))),
    "conv_g": ("torch.conv2d(x, w, None, [1, 1], [1, 1], [1, 1], 4)", dict(x=T(1, 64, 32, 32), w=T(64, 16, 3, 3))),
    "conv1d": ("torch.conv1d(x, w, None, [1], [1])", dict(x=T(4, 64, 256), w=T(64, 64, 3))),
    "conv3d": ("torch.conv3d(x, w, None, [1, 1, 1], [1, 1, 1])", dict(x=T(1, 16, 8, 32, 32), w=T(16, 16, 3, 3, 3))),
    "convT": ("torch.conv_transpose2d(x, w, None, [2, 2], [1, 1])", dict(x=T(1, 64, 16, 16), w=T(64, 32, 4, 4))),
    "maxpool": ("torch.max_pool2d(x, [2, 2])", dict(x=T(4, 64, 32, 32))),
    "maxpool3": ("torch.max_pool2d(x, [3, 3], [2, 2], [1, 1])", dict(x=T(1, 64, 112, 112))),
    "avgpool": ("torch.avg_pool2d(x, [2, 2])", dict(x=T(4, 64, 32, 32))),
    "adaptive": ("torch.adaptive_avg_pool2d(x, [7, 7])", dict(x=T(4, 64, 32, 32))),
    "bn": ("torch.batch_norm(x, w, w, m, v, False, 0.1, 1e-5, True)", dict(x=T(4, 64, 32, 32), w=T(64), m=T(64), v=T(64).abs())),
    "bn_train": ("torch.batch_norm(x, w, w, m, v, True, 0.1, 1e-5, True)", dict(x=T(4, 64, 32, 32), w=T(64), m=T(64), v=T(64).abs())),
    "ln": ("torch.layer_norm(x, [512])", dict(x=T(128, 512))),
    "gn": ("torch.group_norm(x, 8)", dict(x=T(4, 64, 32, 32))),
    "embedding": ("torch.embedding(w, i)", dict(w=T(10000, 128), i=I(10000, 512))),
    "interp": ("torch.upsample_bilinear2d(x, [64, 64], False)", dict(x=T(1, 32, 32, 32))),
    "nearest": ("torch.upsample_nearest2d(x, [64, 64])", dict(x=T(1, 32, 32, 32))),
    "pad": ("torch.constant_pad_nd(x, [1, 1, 1, 1], 0.0)", dict(x=T(4, 64, 32, 32))),
    "reflect": ("torch.reflection_pad2d(x, [1, 1, 1, 1])", dict(x=T(4, 64, 32, 32))),
    "flip": ("torch.flip(x, [1])", dict(x=T(512, 512))),
    "roll": ("torch.roll(x, [3], [1])", dict(x=T(512, 512))),
    "tril": ("torch.tril(x)", dict(x=T(512, 512))),
    "repeat": ("x.repeat([4, 2])", dict(x=T(256, 256))),
    "cdist": ("torch.cdist(x, y)", dict(x=T(256, 64), y=T(256, 64))),
    "grid": ("torch.grid_sampler(x, g, 0, 0, False)", dict(x=T(1, 32, 64, 64), g=torch.rand(1, 64, 64, 2)*2-1)),
    "fft": ("torch.abs(torch.fft_fft(x))", dict(x=T(64, 512))),
    "fft_odd": ("torch.abs(torch.fft_fft(x))", dict(x=T(64, 400))),
    "inverse": ("torch.linalg_inv(x)", dict(x=T(64, 64)+8*torch.eye(64))),
    "svd": ("torch.linalg_svd(x)[1]", dict(x=T(64, 64))),
    "cholesky": ("torch.linalg_cholesky(x)", dict(x=positive(64))),
    "cross_entropy": ("torch.cross_entropy_loss(x, i)", dict(x=T(256, 1000), i=I(1000, 256))),
    "randn_like": ("torch.randn_like(x)", dict(x=T(256, 256))),
    "dropout": ("torch.dropout(x, 0.5, True)", dict(x=T(256, 256))),
    "bincount": ("torch.bincount(i)", dict(i=I(1000, 20000))),
    "searchsorted": ("torch.searchsorted(s, x)", dict(s=torch.sort(T(1000))[0], x=T(20000))),
}


class Names:
    """torch.X as TorchScript has it, for Python."""
    def __getattr__(self, name):
        for module in torch, torch._C._nn, torch.nn.functional:
            if hasattr(module, name): return getattr(module, name)
        for start, module in ("linalg_", torch.linalg), ("fft_", torch.fft):
            if name.startswith(start): return getattr(module, name[len(start):])
        raise AttributeError(name)


def source(call, args):
    named = ", ".join(f"{k}: Tensor" for k in args)
    return f"def forward({named}, n: int=1) -> Tensor:\n    z = {call}\n    for turn in range(n):\n        z = {call}\n    return z\n"


def by_torch(call, args, n):
    code, names = compile(call, "call", "eval"), dict(torch=Names())
    start = time.perf_counter()
    for _ in range(n): eval(code, names, args)
    return (time.perf_counter() - start) / n


def by_kiln(kiln, folder, n):
    """Seconds of a call; what it says when it fails."""
    spent = []
    for turns in 0, n:
        with np.load(folder + "/args.npz") as args: np.savez(folder + "/in.npz", n=np.int64(turns), **args)
        start = time.perf_counter()
        p = subprocess.run([kiln, "run", folder + "/m.py", "-i", folder + "/in.npz", "-o", folder + "/out.npz", "-O0", "--no-grad"],
                           capture_output=True, text=True)
        spent.append(time.perf_counter() - start)
        if p.returncode: raise RuntimeError(p.stderr.strip().splitlines()[-1])
    return (spent[1] - spent[0]) / n


def row(kiln, name, folder):
    call, args = OPERATORS[name]
    with open(folder + "/m.py", "w") as f: f.write(source(call, args))
    np.savez(folder + "/args.npz", **{k: v.numpy() for k, v in args.items()})
    once = min(by_torch(call, args, 2) for _ in range(2))
    n = max(5, int(0.15 / once))
    pairs = [(by_torch(call, args, n), by_kiln(kiln, folder, n)) for _ in range(3)]
    return min(p[0] for p in pairs), max(min(p[1] for p in pairs), 1e-9)


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("--json")
    p.add_argument("kiln")
    p.add_argument("names", nargs="*")
    a = p.parse_args()
    torch.set_num_threads(1)
    found = {}
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        for name in a.names or OPERATORS:
            try: theirs, ours = row(os.path.abspath(a.kiln), name, folder)
            except Exception as e:
                print(f"{name:16} {e}")
                continue
            found[name] = dict(torch=theirs, kiln=ours, ratio=theirs / ours)
            print(f"{name:16} PyTorch {theirs * 1e6:9.1f} us  Kiln {ours * 1e6:9.1f} us  ratio {theirs / ours:6.2f}", flush=True)
    ratios = [r["ratio"] for r in found.values()]
    if ratios:
        print(f"{len(ratios)} operators, geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}, "
              f"{sum(r < 0.4 for r in ratios)} below 0.4")
    if a.json:
        with open(a.json, "w") as f: json.dump(found, f, indent=1)


if __name__ == "__main__":
    main()
