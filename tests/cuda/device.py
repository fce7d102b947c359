"""The steps of device.sh, which measure a GPU.

    device.py machine|nets|kernels|models|limits KILN OUT

machine   the driver, clocks, the time of a launch, rates of copies from pinned and from pageable memory
nets      the networks of counts.py: programs on the device compared with generic code
kernels   kernels of each class at 20 sizes, with cold and warm caches, compared with PyTorch's (cuBLAS, cuDNN): kernels.csv
models    networks at batch 1 and 8: Kiln, eager PyTorch, torch.compile; float32, TF32, bfloat16: models.csv
limits    too little memory, two instances, 10,000 calls with flat memory

Device memory and times come from the driver by ctypes, so that all but PyTorch's columns also runs on an emulated device.
KILN_DEVICE_SMALL=1: a few small sizes.
"""
import csv, ctypes as c, os, subprocess, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, os.pardir, os.pardir)
sys.path[:0] = [HERE, os.path.join(ROOT, "codegen", "python"), os.path.join(ROOT, "tests", "program")]
SMALL = bool(os.environ.get("KILN_DEVICE_SMALL"))
TURNS = 3 if SMALL else 50
MAJOR, MINOR, CLOCK, MEMORY_CLOCK, BUS, SMS, L2 = 75, 76, 13, 36, 37, 16, 38


class Driver:
    """The CUDA driver, and the primary context of device 0, which is made current."""

    def __init__(self):
        self.cuda = c.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        self.context = c.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", c.byref(self.context), 0)
        self.call("cuCtxPushCurrent_v2", self.context)
        self.events = [c.c_void_p(), c.c_void_p()] if hasattr(self.cuda, "cuEventCreate") else None
        for e in self.events or []:
            self.call("cuEventCreate", c.byref(e), 0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.call("cuCtxPopCurrent_v2", c.byref(c.c_void_p()))
        self.cuda.cuDevicePrimaryCtxRelease_v2(0)

    def call(self, name, *args):
        status = getattr(self.cuda, name)(*args)
        if status:
            text = c.c_char_p()
            self.cuda.cuGetErrorString(status, c.byref(text))
            raise RuntimeError("%s: %s" % (name, (text.value or b"?").decode()))

    def attribute(self, which):
        n = c.c_int()
        self.call("cuDeviceGetAttribute", c.byref(n), which, 0)
        return n.value

    def alloc(self, n):
        at = c.c_uint64()
        self.call("cuMemAlloc_v2", c.byref(at), c.c_size_t(n))
        return at.value

    def free(self, at):
        self.call("cuMemFree_v2", c.c_uint64(at))

    def up(self, at, host, n):
        self.call("cuMemcpyHtoDAsync_v2", c.c_uint64(at), host, c.c_size_t(n), None)

    def wait(self):
        self.call("cuStreamSynchronize", None)

    def seconds(self, work):
        """Returns the seconds of work(), which enqueues on the default stream: measured by events, or by the clock if there are
        none."""
        if not self.events:
            self.wait()
            begin = time.perf_counter()
            work()
            self.wait()
            return time.perf_counter() - begin
        self.call("cuEventRecord", self.events[0], None)
        work()
        self.call("cuEventRecord", self.events[1], None)
        self.call("cuEventSynchronize", self.events[1])
        ms = c.c_float()
        self.call("cuEventElapsedTime", c.byref(ms), *self.events)
        return ms.value / 1e3

    def used(self):
        """Returns the bytes in use on the device. None if the driver cannot report them."""
        if not hasattr(self.cuda, "cuMemGetInfo_v2"):
            return None
        free, total = c.c_size_t(), c.c_size_t()
        self.call("cuMemGetInfo_v2", c.byref(free), c.byref(total))
        return total.value - free.value


def torch():
    """Returns PyTorch if it has a device, else None. PyTorch does not accept an emulated driver."""
    if SMALL:
        return None
    try:
        import torch as found
    except ImportError:
        return None
    return found if found.cuda.is_available() else None


def run(command, **env):
    r = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **env})
    if r.returncode:
        raise RuntimeError("%s: status %d: %s" % (" ".join(command), r.returncode, r.stderr[-500:]))
    return r.stdout, r.stderr


def arch():
    with open(f"{OUT}/arch") as f:
        return f.read().strip()


# ---- machine ---------------------------------------------------------------------------------------------------------

def machine(d):
    with open(f"{OUT}/arch", "w") as f:
        f.write("sm_%d%d\n" % (d.attribute(MAJOR), d.attribute(MINOR)))
    version = c.c_int()
    if hasattr(d.cuda, "cuDriverGetVersion"):
        d.call("cuDriverGetVersion", c.byref(version))
    print("driver %d, %s, clock %d kHz, memory %d kHz x %d bits, %d SMs, L2 %d bytes" % (
        version.value, arch(), *(d.attribute(a) for a in (CLOCK, MEMORY_CLOCK, BUS, SMS, L2))))
    n = 1 << (16 if SMALL else 28)
    there, pageable = d.alloc(n), c.create_string_buffer(n)
    kinds = [("pageable", pageable)]
    if hasattr(d.cuda, "cuMemAllocHost_v2"):
        pinned = c.c_void_p()
        d.call("cuMemAllocHost_v2", c.byref(pinned), c.c_size_t(n))
        kinds.append(("pinned", pinned))
    for name, host in kinds:
        best = min(d.seconds(lambda: d.up(there, host, n)) for _ in range(TURNS))
        print("copies up, %s: %.2f GB/s" % (name, n / best / 1e9))
    d.free(there)
    found = torch()
    if found:
        x = found.zeros(1, device="cuda")
        many = 1000
        print("a launch: %.2f us (PyTorch's add_, of %d)" % (
            min(d.seconds(lambda: [x.add_(1) for _ in range(many)]) for _ in range(5)) / many * 1e6, many))


# ---- libraries -------------------------------------------------------------------------------------------------------

def library(name, text, sizes):
    """Returns a kiln.door.Instance of the model in TorchScript, on device 0."""
    from kiln import door
    with open(f"{OUT}/{name}.py", "w") as f:
        f.write(text)
    inputs = sum((["--input", "%s=float32[%s]" % (key, "x".join(map(str, s)))] for key, s in sizes.items()), [])
    run([KILN, "build", f"{OUT}/{name}.py", *inputs, "--gpu", arch(), "--no-dynamic", "--no-source", "--cc", "tcc", "--cpu",
         "native", "--emit", "shared", "--name", door.NAME, "-o", f"{OUT}/lib{name}.so"])
    return door.Instance(door.load(f"{OUT}/lib{name}.so"), device="cuda")


class Call:
    """A call with arguments on the device. sizes: sizes by key."""

    def __init__(self, driver, instance, sizes):
        from kiln import door
        self.driver, self.instance, self.leaves, self.kept = driver, instance, [], []
        for key, shape in sizes.items():
            n = 4
            for s in shape:
                n *= s
            at = driver.alloc(n)
            driver.up(at, (c.c_float * (n // 4))(*([0.5] * min(n // 4, 1 << 20))), n)
            dims = (c.c_int64 * len(shape))(*shape)
            t = door.DLTensor(at, door.CUDA, 0, len(shape), 2, 32, 1, dims, None, 0)
            self.kept.append((t, dims, at))
            self.leaves.append((key, c.addressof(t)))

    def __call__(self):
        self.instance.call("forward", self.leaves)

    def free(self):
        for _, _, at in self.kept:
            self.driver.free(at)


# ---- kernels ---------------------------------------------------------------------------------------------------------

HEAD = "def forward(%s) -> Tensor:\n    return %s\n"
POWERS = [2 ** i for i in range(5, 25)]


def classes():
    """Returns name: expression, [sizes by key]."""
    side = [32, 64, 96, 128, 192, 256, 320, 384, 512, 640, 768, 1000, 1024, 1280, 1536, 2048, 2560, 3072, 3584, 4096]
    rows = [(r, n) for r in (1, 8, 128, 1024) for n in (64, 256, 768, 1024, 4096)]
    found = {
        "product": ("torch.matmul(x, y)", [{"x": (n, n), "y": (n, n)} for n in side]),
        "few rows": ("torch.matmul(x, y)", [{"x": (r, n), "y": (n, n)} for r in (1, 2, 4, 8) for n in (256, 768, 1024, 2048, 4096)]),
        "convolution": ("torch.conv2d(x, y, None, [1, 1], [1, 1])",
                        [{"x": (b, n, s, s), "y": (n, n, 3, 3)} for b in (1, 8) for n in (16, 32, 64, 128, 256) for s in (14, 56)]),
        "pointwise": ("torch.relu(x) * 2 + y", [{"x": (n,), "y": (n,)} for n in POWERS]),
        "softmax": ("torch.softmax(x, -1)", [{"x": s} for s in rows]),
        "norm": ("torch.layer_norm(x, [x.size(1)])", [{"x": s} for s in rows]),
        "sum": ("x.sum(0)", [{"x": s} for s in rows]),
        "transpose": ("x.transpose(0, 1).contiguous()", [{"x": (n, n)} for n in side]),
        "attention": ("torch.scaled_dot_product_attention(x, x, x)",
                      [{"x": (b, 12, n, 64)} for b in (1, 2, 4, 8) for n in (64, 128, 256, 512, 1024)]),
    }
    return {name: (e, sizes[:2] if SMALL else sizes) for name, (e, sizes) in found.items()}


def torch_seconds(driver, expression, sizes, flush):
    found = torch()
    if not found:
        return None
    args = {key: found.full(shape, 0.5, device="cuda") for key, shape in sizes.items()}
    code = compile(expression.replace("torch.scaled", "torch.nn.functional.scaled").replace(
        "torch.layer_norm", "torch.nn.functional.layer_norm"), "expression", "eval")
    return best(driver, lambda: eval(code, {"torch": found, **args}), flush)


def best(driver, work, flush):
    work()
    times = []
    for _ in range(TURNS):
        flush()
        times.append(driver.seconds(work))
    return min(times)


def kernels(driver):
    failed = 0
    n = 1 << (12 if SMALL else 28)                     # larger than any L2 cache
    at, zeros = driver.alloc(n), c.create_string_buffer(n)
    flush = lambda: driver.up(at, zeros, n)            # noqa: E731
    with open(f"{OUT}/kernels.csv", "w", newline="") as f:
        table = csv.writer(f)
        table.writerow(["class", "sizes", "kiln warm us", "kiln cold us", "torch warm us", "torch cold us"])
        for name, (expression, all_sizes) in classes().items():
            for i, sizes in enumerate(all_sizes):
                text = HEAD % (", ".join(f"{key}: Tensor" for key in sizes), expression)
                row = [name, " ".join("x".join(map(str, s)) for s in sizes.values())]
                try:
                    call = Call(driver, library("%s_%d" % (name.replace(" ", "_"), i), text, sizes), sizes)
                    row += ["%.2f" % (best(driver, call, way) * 1e6) for way in (lambda: None, flush)]
                    call.free()
                except Exception as e:
                    print("%s %s: %s" % (name, sizes, e))
                    row += ["failed", "failed"]
                    failed += 1
                for way in (lambda: None, flush):
                    t = torch_seconds(driver, expression, sizes, way)
                    row.append("" if t is None else "%.2f" % (t * 1e6))
                table.writerow(row)
                f.flush()
            print(name + ":", *row[1:])
    driver.free(at)
    return failed


# ---- networks --------------------------------------------------------------------------------------------------------

def nets(_):
    import counts, npz
    bad = 0
    for name, spec in counts.NETS.items():
        text, program = counts.SAME_TEXT.get(name, name), f"{OUT}/net-{name}"
        model = f"{HERE}/nets/{text}.pt"
        if not os.path.exists(model):
            model = f"{program}.py"
            with open(model, "w") as f:
                f.write(counts.text_of("common") + counts.text_of(text))
        npz.write(f"{program}.npz", counts.arrays(spec))
        try:
            run([KILN, "build", model, "-i", f"{program}.npz", "--gpu", arch(), "--cc", "tcc", "--cpu", "native", "--no-source", "-o",
                 program])
            run([program, "-i", f"{program}.npz", "-i", f"{program}.npz", "--selfcheck", "--device", "cuda"])
            print(name + ": ok")
        except RuntimeError as e:
            print("%s: %s" % (name, e))
            bad += 1
    return bad


def modules(found):
    """Returns name: module, example of a batch."""
    image = lambda n: found.randn(n, 3, 224, 224)      # noqa: E731
    all_of = {}
    try:
        import torchvision.models as v
        for name in ("resnet18", "resnet50", "mobilenet_v2", "efficientnet_b0", "vit_b_16", "convnext_tiny", "densenet121",
                     "squeezenet1_1"):
            all_of[name] = getattr(v, name)(), image
    except ImportError:
        print("torchvision is missing: its 8 networks are left out")
    layer = found.nn.TransformerEncoderLayer(768, 12, 3072, batch_first=True)
    all_of["encoder"] = found.nn.TransformerEncoder(layer, 12, enable_nested_tensor=False), lambda n: found.randn(n, 128, 768)
    all_of["lstm"] = found.nn.LSTM(256, 256, 2, batch_first=True), lambda n: found.randn(n, 64, 256)
    wide = [found.nn.Linear(4096, 4096) for _ in range(4)]
    all_of["mlp"] = found.nn.Sequential(*wide), lambda n: found.randn(n, 4096)
    return all_of


def models(driver):
    found = torch()
    if not found:
        print("SKIP: there is no PyTorch with a device")
        return 0
    import kiln
    failed = 0
    with open(f"{OUT}/models.csv", "w", newline="") as f, found.no_grad():
        table = csv.writer(f)
        table.writerow(["network", "batch", "numbers", "kiln ms", "eager ms", "compiled ms", "largest difference"])
        for name, (module, batch) in modules(found).items():
            for n in (1, 8):
                for numbers in ("float32", "tf32", "bfloat16"):
                    row = [name, n, numbers]
                    try:
                        row += measured(driver, kiln, found, module.eval(), batch(n), numbers)
                    except Exception as e:
                        row.append("failed: %s" % str(e)[:200])
                        failed += 1
                    table.writerow(row)
                    f.flush()
                    print(*row)
    return failed


def measured(driver, kiln, found, module, x, numbers):
    """Returns the milliseconds of Kiln, eager and compiled PyTorch, and the largest difference of results."""
    half = found.bfloat16 if numbers == "bfloat16" else found.float32
    found.backends.cuda.matmul.allow_tf32 = found.backends.cudnn.allow_tf32 = numbers == "tf32"
    module, x = module.to("cpu", half), x.to(half)
    ours = "" if numbers == "tf32" else kiln.compile(module, x, gpu=arch(), device="cuda")     # Kiln lacks TF32
    there, xs = module.to("cuda"), x.to("cuda")
    compiled = found.compile(there, mode="max-autotune")
    ms = [work and "%.3f" % (best(driver, lambda: work(xs), lambda: None) * 1e3) for work in (ours, there, compiled)]
    first = lambda y: y[0] if isinstance(y, tuple) else y      # noqa: E731
    return [*ms, ours and float((first(ours(xs)).float() - first(there(xs)).float()).abs().max())]


# ---- limits ----------------------------------------------------------------------------------------------------------

def limits(driver):
    sizes = {"x": (64, 64), "y": (64, 64)}
    text = HEAD % ("x: Tensor, y: Tensor", "torch.relu(torch.matmul(x, y))")
    one, two = library("limits", text, sizes), library("limits_too", text, sizes)
    calls = [Call(driver, one, sizes), Call(driver, two, sizes)]
    many = 20 if SMALL else 10000
    for i in range(many):
        calls[i % 2]()
        if i == many // 10:
            before = driver.used()
    print("%d calls of two instances: bytes in use %s, then %s" % (many, before, driver.used()))
    if before is not None and driver.used() > before:
        raise SystemExit("memory on the device grows")
    if driver.used() is not None:
        too_little(driver)
    for call in calls:
        call.free()
    del one, two, calls


def too_little(driver):
    """If the device has too little memory, a program computes on the CPU, with a warning. With --device cuda it ends with status
    6."""
    held = []
    for n in (1 << 30, 1 << 26, 1 << 22, 1 << 20):
        while True:
            try:
                held.append(driver.alloc(n))
            except RuntimeError:
                break
    program = [p for p in os.listdir(OUT) if p == "net-vit"]
    for p in program:
        for more, wanted in (([], 0), (["--device", "cuda"], 6)):
            r = subprocess.run([f"{OUT}/{p}", "-i", f"{OUT}/{p}.npz", *more], capture_output=True, text=True)
            print("too little memory%s: status %d, %s" % ("".join(" " + m for m in more), r.returncode, r.stderr.strip()[:200]))
            if r.returncode != wanted:
                raise SystemExit("status %d was expected" % wanted)
    for at in held:
        driver.free(at)


if __name__ == "__main__":
    STEP, KILN, OUT = sys.argv[1:]
    with Driver() as device:
        steps = {"machine": machine, "nets": nets, "kernels": kernels, "models": models, "limits": limits}
        found = steps[STEP](device)
    sys.exit(1 if found else 0)
