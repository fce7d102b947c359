#!/usr/bin/env python3
"""Compares torch.compile with Kiln's backend, kiln.compile, PyTorch's default backend and eager mode.

usage: backend.py [--threads N] [--real-time] [NAME...]       needs the package kiln, current PyTorch, torchvision, transformers

Networks with random weights, transformers in small configurations, each in a process of its own with caches of its own.
For each compiler: seconds from the module to the first result, the smallest time of 15 interleaved calls in ms, and whether the
answer is eager's (torch.testing: 1e-3 of the largest element)."""
import argparse, json, os, subprocess, sys, tempfile, time, warnings

VISION = {"resnet18": 224, "resnet50": 224, "mobilenet_v2": 224, "mobilenet_v3_small": 224, "shufflenet_v2_x1_0": 224, "squeezenet1_1": 224,
          "efficientnet_b0": 224, "densenet121": 224, "regnet_y_400mf": 224, "mnasnet1_0": 224, "convnext_tiny": 224, "swin_t": 224,
          "vit_b_16": 224}
SMALL = dict(hidden_size=256, num_hidden_layers=4, num_attention_heads=4, intermediate_size=512, vocab_size=1000)
TEXT = {"Bert": {}, "Roberta": dict(max_position_embeddings=130), "Electra": dict(embedding_size=128), "Albert": dict(embedding_size=64),
        "DistilBert": dict(dim=256, n_layers=4, n_heads=4, hidden_dim=512), "GPT2": dict(n_embd=256, n_layer=4, n_head=4),
        "Llama": dict(num_key_value_heads=2), "Mistral": dict(num_key_value_heads=2), "Qwen2": dict(num_key_value_heads=2),
        "GPTNeoX": {}, "OPT": dict(ffn_dim=512, word_embed_proj_dim=256), "T5": dict(d_model=256, num_layers=4, num_heads=4, d_kv=64, d_ff=512)}


def build(name):
    """Returns (module, keyword arguments of a call)."""
    import torch
    torch.manual_seed(0)
    if name in VISION:
        import torchvision
        return getattr(torchvision.models, name)(weights=None).eval(), {"x": torch.randn(1, 3, VISION[name], VISION[name])}
    import transformers
    config = getattr(transformers, name + "Config")(**{**SMALL, **TEXT[name]})
    ids = torch.randint(3, 1000, (1, 128))
    module = getattr(transformers, name + "Model")(config).eval()
    return module, {"input_ids": ids, **({"decoder_input_ids": ids} if name == "T5" else {"use_cache": False} if name in (
        "GPT2", "Llama", "Mistral", "Qwen2", "GPTNeoX", "OPT") else {})}


def tensors(value):
    from torch.utils import _pytree
    import torch
    return [v for v in _pytree.tree_leaves(value) if isinstance(v, torch.Tensor)]


def agrees(got, want):
    import torch
    a, b = tensors(got), tensors(want)
    return len(a) == len(b) and all(x.shape == y.shape and torch.isfinite(x).all() and
                                    (x - y).abs().max() <= 1e-3 * y.abs().max() for x, y in zip(a, b))


def real_time():
    """Gives every thread of this process real-time priority, for machines with other work."""
    for thread in os.listdir("/proc/self/task"):
        os.sched_setscheduler(int(thread), os.SCHED_FIFO, os.sched_param(1))


def one(name, a):
    """Measures one network and prints its row as JSON."""
    import torch, kiln
    torch.set_num_threads(a.threads)
    warnings.simplefilter("ignore")
    module, kwargs = build(name)
    names = {"x": next(iter(__import__("inspect").signature(module.forward).parameters))} if "x" in kwargs else {}
    kwargs = {names.get(k, k): v for k, v in kwargs.items()}
    said, ways, row = [], {"eager": module}, {"name": name}
    with torch.no_grad():
        want = module(**kwargs)
        for way in "kiln.compile", "backend", "inductor":
            torch._dynamo.reset()
            start = time.perf_counter()
            try:
                with warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    ways[way] = kiln.compile(module, kwargs) if way == "kiln.compile" else torch.compile(
                        module, backend="kiln" if way == "backend" else "inductor")
                    got = ways[way](**kwargs)
                row[way] = {"first": time.perf_counter() - start, "agrees": agrees(got, want)}
                without = [str(w.message) for w in said if "without Kiln" in str(w.message)]
                if without:
                    row[way]["why"] = without[0][:200]
            except Exception as e:
                row[way] = {"failed": "%s: %s" % (type(e).__name__, str(e)[:300])}
                ways.pop(way, None)
        for way in ways:
            row.setdefault(way, {})["ms"] = float("inf")
        if a.real_time:
            real_time()
        for _ in range(15):
            for way, f in ways.items():
                time.sleep(0.05)                # until the threads of the previous way have stopped waiting for work
                start = time.perf_counter()
                f(**kwargs)
                row[way]["ms"] = min(row[way]["ms"], 1e3 * (time.perf_counter() - start))
    print(json.dumps(row))


def cell(row, way, what):
    found = row.get(way, {})
    return "%.2f" % found[what] if what in found else "failed"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--real-time", action="store_true", help="time at real-time priority (needs root): other processes wait")
    p.add_argument("--one", help=argparse.SUPPRESS)
    p.add_argument("names", nargs="*")
    a = p.parse_args()
    if a.one:
        return one(a.one, a)
    print("| ms a call, %d thread%s | eager | default backend | kiln backend | kiln.compile | default / kiln | s to the first"
          " result: default | kiln backend | kiln.compile | agree |\n|%s" % (a.threads, "s" * (a.threads > 1), " --- |" * 10))
    ratios = []
    for name in a.names or [*VISION, *TEXT]:
        with tempfile.TemporaryDirectory() as folder:
            env = dict(os.environ, TORCHINDUCTOR_CACHE_DIR=folder, KILN_CACHE=os.path.join(folder, "kiln"), OMP_NUM_THREADS=str(a.threads))
            done = subprocess.run([sys.executable, __file__, *["--real-time"] * a.real_time, "--threads", str(a.threads), "--one", name],
                                  env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            row = json.loads(done.stdout)
        except ValueError:
            print("| %s | failed: status %d" % (name, done.returncode), flush=True)
            continue
        ratio = row["inductor"].get("ms", 0) / row["backend"].get("ms", float("inf"))
        ratios.append(ratio)
        print("| %s | %s | %.2f | %s | %s |" % (
            name, " | ".join(cell(row, way, "ms") for way in ("eager", "inductor", "backend", "kiln.compile")), ratio,
            " | ".join(cell(row, way, "first") for way in ("inductor", "backend", "kiln.compile")),
            ", ".join("%s: %s" % (way, row[way].get("failed") or row[way].get("why") or "differs") for way in ("backend", "kiln.compile", "inductor")
                      if not row[way].get("agrees") or "why" in row[way]) or "yes"), flush=True)
    product = 1.0
    for r in ratios:
        product *= r
    print("geometric mean of default / kiln: %.2f over %d" % (product ** (1 / max(len(ratios), 1)), len(ratios)))


if __name__ == "__main__":
    main()
