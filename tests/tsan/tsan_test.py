"""The thread pool, forked calls, and eight threads with an instance each of one program, under ThreadSanitizer.

usage: [CALLS=6] [THREADS="1 3"] tsan_test.py KILN LIBRT.a [NAME]...      the runtime, compiled with ThreadSanitizer (build/tsan); KILN writes the programs' C

Each program is tried specialized and not (that is the interpreter), on one thread and with a pool of its own.
"""
import glob, os, subprocess, sys, tempfile

KILN, LIBRT = map(os.path.abspath, sys.argv[1:3])
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../..")
FLAGS = ["-fsanitize=thread", "-g", "-O1", "-std=gnu11", "-w", "-march=x86-64-v3", "-I", os.path.join(ROOT, "rt"), "-I", os.path.join(ROOT, "rt/ops")]
ENV = {**os.environ, "TSAN_OPTIONS": "exitcode=66"}
CC = os.environ.get("CC", "cc")
SAMPLES = "digits", "halting", "lstm", "beam"
GUARDS = "state", "fork", "stream", "with", "loop"
CALLS = os.environ.get("CALLS", "6")
THREADS = os.environ.get("THREADS", "1 3").split()
passed = failed = 0


def run(name, argv, cwd):
    """Runs a command. setarch -R: ThreadSanitizer does not know all addresses where a randomizing kernel may place memory."""
    global passed, failed
    p = subprocess.run(["setarch", "-R", *argv], cwd=cwd, env=ENV, stdin=subprocess.DEVNULL, capture_output=True, timeout=600)
    said = (p.stdout + p.stderr).decode("utf-8", "replace")
    if p.returncode == 0 and "ThreadSanitizer" not in said:
        passed += 1
        return True
    failed += 1
    print("FAIL %s: status %d\n%s" % (name, p.returncode, said[:6000]), flush=True)
    return False


def inputs(name):
    if name in ("forks", "convs"):
        return os.path.join(HERE, name + ".py"), [os.path.join(ROOT, "tests/guards/fork.a.npz")]
    if name in SAMPLES:
        return os.path.join(ROOT, "samples", name, "model.pt"), [os.path.join(ROOT, "samples", name, "in.npz")]
    base = os.path.join(ROOT, "tests/guards", name)
    return base + ".pt", sorted(glob.glob(base + ".?.npz"))


def door():
    """tests/door/threads.c: libraries of two models, made here from their source and the runtime compiled with ThreadSanitizer.
    """
    folder = os.path.join(ROOT, "tests/door")
    models = {"net": ["net.py", "--input", "x=float32[1x4]"],
              "many": ["many.pt", "--method", "forward,grow,describe,keep,write,refuse,draw,say", "--input", "x=float32[2x3]"]}
    with tempfile.TemporaryDirectory() as tmp:
        def call(*argv):
            return subprocess.run(argv, check=True, cwd=tmp, stdout=subprocess.PIPE, text=True).stdout
        for name, options in models.items():
            call(KILN, "build", os.path.join(folder, options[0]), *options[1:], "--emit", "c", "--name", name, "--cpu", "x86-64-v3",
                 "--weights", "file", "-o", name)
            os.rename(os.path.join(tmp, name, name + ".weights"), os.path.join(tmp, name + ".weights"))
            call(CC, *FLAGS, "-c", f"{name}/{name}.c")
            roots = ["-Wl,-u," + line.split()[2] for line in call("nm", name + ".o").splitlines() if " T %s_" % name in line]
            call(CC, "-r", "-nostdlib", "-Wl,--gc-sections", *roots, "-o", name + ".whole.o", name + ".o", LIBRT)
            call("objcopy", "-w", "--keep-global-symbol=%s_*" % name, name + ".whole.o", name + ".o")
        call(CC, *FLAGS, "-Wno-unused-function", "-I", "net", "-I", "many", os.path.join(folder, "threads.c"), "net.o", "many.o", "-lm", "-lpthread", "-o", "threads")
        run("door", ["./threads", "400"], tmp)


def main():
    names = sys.argv[3:] or (*SAMPLES, *GUARDS, "forks", "convs", "door")
    if "door" in names:
        door()
    for name in names:
        if name == "door":
            continue
        model, given = inputs(name)
        for how, options in ("specialized", ["-i", given[0]]), ("generic", []):
            with tempfile.TemporaryDirectory() as tmp:
                subprocess.run([KILN, "build", model, *options, "--emit", "c", "--name", "c", "--weights", "file", "--cpu", "x86-64-v3", "-o", "c"],
                               check=True, cwd=tmp, stdout=subprocess.DEVNULL)
                os.rename(os.path.join(tmp, "c/c.weights"), os.path.join(tmp, "c.weights"))
                subprocess.run([CC, *FLAGS, "-I", "c", os.path.join(HERE, "instances.c"), LIBRT, "-Wl,--gc-sections", "-lm", "-lpthread",
                                "-o", "instances"], check=True, cwd=tmp)
                for threads in THREADS:
                    run("%s, %s, %s threads each" % (name, how, threads), ["./instances", CALLS, threads, *map(os.path.abspath, given)], tmp)
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(failed > 0)


main()
