"""Programs of random graphs, profiled on one or two sets of inputs, answer as the interpreter does on all four sets.

usage: programs_test.py KILN GRAPHS [FIRST COUNT]

Even seeds are profiled on the first set, odd ones on the third, too. BUGS are seeds that found a bug. oracle/graphs.py
compares the same programs with PyTorch, called in turn on one instance.  The last line counts the programs in which a guard
inside failed, so that a call continued in the generic code.
"""
import os, subprocess, sys, tempfile

BUGS = [
    37,                                  # a pass over the specialized graph inserted an operator with a body
]


bailed = 0                               # number of programs in which a call continued in the generic code


def count_bailed(program, sets):
    global bailed
    done = subprocess.run([program, "--guards", *sets], capture_output=True, text=True, errors="replace")
    bailed += "going on in the generic code" in done.stderr


def complaint(kiln, graphs, seed, folder, cc):
    at = lambda end: os.path.join(folder, f"{seed}.{end}")
    sets = [word for k in ("", "1", "2", "3") for word in ("-i", at(f"in{k}.npz"))]
    for argv in ([graphs, "--write", str(seed), folder],
                 [kiln, "build", "--cc", cc, at("pt"), *sets[:2], *(sets[4:6] if seed % 2 else []), "-o", at("program")],
                 [kiln, "check", at("pt"), at("program"), *sets]):
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace")
        if done.returncode:
            return f"{' '.join(argv[:2])} ends with {done.returncode}\n{done.stdout}{done.stderr}"
    count_bailed(at("program"), sets)
    return None


def main(kiln, graphs, first="1", count=None):
    failed, cc = 0, os.environ.get("CC", "gcc" if "sanitize" in os.environ.get("CFLAGS", "") else "tcc")    # tcc has no sanitizers
    count = int(count or (8 if "asan" in kiln else 40))          # a sanitized build takes 15 seconds
    seeds = [*range(int(first), int(first) + count), *BUGS]
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            why = complaint(kiln, graphs, seed, folder, cc)
        if why:
            failed += 1
            print(f"seed {seed}: {why}", flush=True)
    print(f"{len(seeds)} programs, {failed} failed, in {bailed} a guard inside failed")
    sys.exit(f"{failed} failed" if failed else 0)


main(*sys.argv[1:])
