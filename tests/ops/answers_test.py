"""Prints and errors of operator calls at the edges of their valid arguments. A call is a line, and PyTorch's answer is indented
below it: of 1.13 in answers.txt; of 2.15 in answers2.txt, if that corrected or added something. tests/oracle/answers.py writes
the answers.

usage: answers_test.py KILN
"""
import os, subprocess, sys, tempfile, unittest

KILN = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
ANSWERS = {1: os.path.join(HERE, "answers.txt"), 2: os.path.join(HERE, "answers2.txt")}      # by PyTorch's major version


def calls(path):
    """Returns pairs of a call and its answer, as a list of lines."""
    found = []
    with open(path) as f:
        for line in f:
            if line.startswith("    "): found[-1][1].append(line[4:].rstrip())
            else: found.append((line.rstrip(), []))
    return found


def source(call): return f"def forward():\n    print({call})\n    return 0\n"


def raised(text):
    """Returns the last part of a traceback: the error, for which newer versions have more exact types."""
    return text[text.rindex("Error: "):].replace("Error: ", "RuntimeError: ", 1).rstrip().splitlines()


def words(lines):
    """Splits into words, since versions of PyTorch print numbers with different spaces."""
    return [line.split() for line in lines]


class Answers(unittest.TestCase):
    def said(self, call, folder):
        path = os.path.join(folder, "call.py")
        with open(path, "w") as f: f.write(source(call))
        p = subprocess.run([KILN, "run", path], capture_output=True, text=True)
        if p.returncode: return raised(p.stderr)
        return [line.rstrip() for line in p.stdout.splitlines()[:-1]]

    def hold(self, path):
        with tempfile.TemporaryDirectory() as folder:
            for call, want in calls(path):
                with self.subTest(call=call): self.assertEqual(words(self.said(call, folder)), words(want))

    def test_answers(self): self.hold(ANSWERS[1])
    def test_answers2(self): self.hold(ANSWERS[2])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
