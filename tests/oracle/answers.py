#!/usr/bin/python3
"""tests/oracle/answers.py - writes the answers of this PyTorch to the calls in tests/ops/answers.txt. A PyTorch 2.x writes those
to the calls in tests/ops/answers2.txt"""
import os, sys, warnings
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "ops"))
if len(sys.argv) == 1: sys.argv.append("")
from answers_test import ANSWERS, calls, raised, source


def answer(call):
    try: torch.jit.CompilationUnit(source(call)).forward()
    except Exception as e: os.write(1, "\n".join(raised(str(e))).encode())


def said(call):
    """Runs a call in a process of its own, since PyTorch prints from C++ and some calls end the process."""
    end, out = os.pipe()
    if not os.fork():
        os.dup2(out, 1)
        try: answer(call)
        finally: os._exit(0)
    os.close(out)
    with open(end, errors="replace") as f: text = f.read()
    os.wait()
    return [line.rstrip() for line in text.splitlines()]


warnings.simplefilter("ignore")
path = ANSWERS[int(torch.__version__.split(".")[0])]
with open(path + ".new", "w") as f:
    for call, _ in calls(path):
        print(call, *("    " + line for line in said(call)), sep="\n", file=f)
os.rename(path + ".new", path)
