"""Runs recorded calls in all ways: run.py WAYS CASES.tar.xz [--in-turn]

--in-turn: the program of a case is made in one of the ways, each case in the next one."""
import os, subprocess, sys, tarfile, tempfile


def main(ways, cases, *options):
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(cases) as tar:
            tar.extractall(folder)
        names = sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".pt"))
        if "--in-turn" not in options:
            return subprocess.run([ways, *names]).returncode
        lines = "".join("%s %d\n" % (name[:-3], i) for i, name in enumerate(names, 1))
        return subprocess.run([ways, "-"], input=lines, text=True).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
