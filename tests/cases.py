"""Folders of recorded cases: model.pt, N.in.npz, N.out.npz and perhaps meta.json ("error": expected text, "atol"). Needs numpy."""
import json, os
import numpy as np


def arrays(path):
    with np.load(path) as z:
        return {k: z[k] for k in z.files}


def cases(tops, only="", first=0, every=1):
    """Returns the folders of cases below these folders, each with its meta.json."""
    found = [r for top in tops for r, _, files in sorted(os.walk(top)) if "model.pt" in files and only in r][first::every]
    for case in found:
        meta = os.path.join(case, "meta.json")
        yield case, json.load(open(meta)) if os.path.exists(meta) else {}


def calls(case):
    """Returns the number of each call of a case, with the paths of its input and of the recorded answer."""
    for n in sorted(int(f.split(".")[0]) for f in os.listdir(case) if f.endswith(".in.npz")):
        yield n, os.path.join(case, f"{n}.in.npz"), os.path.join(case, f"{n}.out.npz")
