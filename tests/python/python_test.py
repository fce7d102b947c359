"""The package `kiln` of codegen/python, run by a Python that has NumPy: KILN_PYTHON, this one or the system's.

usage: python_test.py KILN [WHEEL'S KILN] [NAME...]

models.py needs only NumPy. modules.py needs a supported PyTorch, and prints what it skips. wheel.py makes the wheel and uses it
like an installed one."""
import os, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(HERE, "..", "..", "codegen", "python")


def python():
    for one in os.environ.get("KILN_PYTHON"), sys.executable, "/usr/bin/python3":
        if one and subprocess.run([one, "-c", "import numpy"], stderr=subprocess.DEVNULL).returncode == 0:
            return one
    sys.exit(print("SKIP: a Python with NumPy is missing") or 0)


def main(kiln, carried=None, *names):
    names = names or ("models", "modules", *(["wheel"] if carried else []))
    with tempfile.TemporaryDirectory() as folder:
        settings = dict(os.environ, KILN_PROGRAM=os.path.abspath(kiln), KILN_CACHE=os.path.join(folder, "cache"), TMPDIR=folder,
                        PYTHONPATH=os.path.abspath(PACKAGE), PYTHONDONTWRITEBYTECODE="1", WHEEL_KILN=os.path.abspath(carried or kiln))
        status = subprocess.run([python(), "-W", "error", "-m", "unittest", *names], cwd=HERE, env=settings).returncode
        left = [f for f in os.listdir(folder) if f.startswith("kiln-")]
    if left:
        print("temporary folders are left: %s" % left)
    sys.exit(status or bool(left))


if __name__ == "__main__":
    main(*sys.argv[1:])
