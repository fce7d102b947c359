"""Runs recorded calls in all ways: run.py WAYS CASES.tar.xz [--in-turn]

--in-turn: the program of a case is made in only one of the ways. The next case uses the next way."""
import os, subprocess, sys, tarfile, tempfile
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import daily

DAYS = 3                                # number of days in which every case is tried once


def main(ways, cases, *options):
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(cases) as tar:
            tar.extractall(folder)
        names = sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".pt"))
        tried = daily.sample(enumerate(names, 1), DAYS)
        print("KILN_DAY=%d: %d of %d cases" % (daily.DAY, len(tried), len(names)), flush=True)
        if "--in-turn" not in options:
            return subprocess.run([ways, *(name for _, name in tried)]).returncode
        lines = "".join("%s %d\n" % (name[:-3], i) for i, name in tried)
        return subprocess.run([ways, "-"], input=lines, text=True).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
