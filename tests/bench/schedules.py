#!/usr/bin/env python3
"""Is the schedule of each kernel the fastest one?

    tests/bench/schedules.py [--json FILE] [--real-time CPU] FOLDER...      from a tree that is built

Each folder has model.pt and 1.in.npz, as ../shared/models/wide.py makes them.  `kiln show --stage kernels` prints their
kernels; those that are loops run by their own schedule and by all other legal ones (schedules.c), in turn, one thread.
Printed are, for each family, how many are within 5 and 15 per cent of the best schedule, and what it would save in all;
then the kernels that lose most, with the time of each schedule in ns: i2 is the inner axis, tile1 the axis in tiles with
it, by32 sums side by side, swap0 axis 0 in the place of the last."""
import argparse, json, os, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-ftree-vectorize", "-fno-strict-aliasing", "-fno-math-errno", "-fno-trapping-math",
         "-ffp-contract=fast", "-march=native", "-w", "-DVC_FLOATS=16", "-DVC_CLAMPS=0"]         # as build.c has them


def texts(kiln, folders, at):
    """Files of the networks' kernels."""
    for folder in folders:
        path = os.path.join(at, os.path.basename(os.path.normpath(folder)))
        with open(path, "wb") as f:
            subprocess.run([kiln, "show", "--stage", "kernels", os.path.join(folder, "model.pt"), "-i",
                            os.path.join(folder, "1.in.npz")], stdout=f, check=True)
        yield os.path.basename(path)


def times(a, at):
    """For each kernel (where, family, [(schedule, ns)]), the chosen schedule first."""
    c, program = os.path.join(at, "bench.c"), os.path.join(at, "bench")
    names = list(texts(os.path.join(ROOT, "build/kiln"), a.folders, at))
    with open(c, "wb") as f:
        subprocess.run([os.path.join(ROOT, "build/tests/bench/schedules"), *names], cwd=at, stdout=f, check=True)
    subprocess.run(["cc", "-I", ROOT, *FLAGS, c, "-o", program, "-lm"], check=True)
    first = ["chrt", "-f", "1", "taskset", "-c", str(a.real_time)] if a.real_time is not None else []
    for line in subprocess.run([*first, program], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines():
        where, family, *ways = line.split()
        yield where, family, [(how, float(ns)) for how, ns in (way.rsplit("=", 1) for way in ways)]


def chosen(row):
    return row[2][0][1]


def best(row):
    return min(ns for _, ns in row[2])


def summary(name, rows):
    def within(bound):
        return 100 * sum(chosen(r) <= bound * best(r) for r in rows) / len(rows)
    return "| %s | %d | %.0f | %.0f | %.2f |" % (name, len(rows), within(1.05), within(1.15), sum(map(chosen, rows)) / sum(map(best, rows)))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--json", help="all times, too")
    p.add_argument("--real-time", type=int, metavar="CPU", help="time on this processor at real-time priority (needs root)")
    p.add_argument("folders", nargs="+")
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as at:
        rows = list(times(a, at))
    if not rows:
        sys.exit("no kernels that are loops")
    print("| family | kernels | within 5 % | within 15 % | time / best |\n| --- | --- | --- | --- | --- |")
    for family in sorted({r[1] for r in rows}):
        print(summary(family, [r for r in rows if r[1] == family]))
    print(summary("all", rows))
    for row in sorted(rows, key=lambda r: best(r) - chosen(r))[:20]:
        if chosen(row) > 1.05 * best(row):
            print("%.2f %s %s: %s" % (chosen(row) / best(row), row[0], row[1], " ".join("%s %.0f" % way for way in row[2])))
    if a.json:
        with open(a.json, "w") as f:
            json.dump([{"where": w, "family": k, "ns": dict(ways)} for w, k, ways in rows], f, indent=1)


if __name__ == "__main__":
    main()
