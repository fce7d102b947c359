"""What calls of operators print or raise, at the edges of what they take: answers.txt has each call and, indented, what
PyTorch 1.13 says; tests/oracle/answers.py writes that.

usage: answers_test.py KILN
"""
import os, subprocess, sys, tempfile, unittest

KILN = os.path.abspath(sys.argv[1])
ANSWERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "answers.txt")


def calls(path=ANSWERS):
    """Pairs of a call and what is said to it, as a list of lines."""
    found = []
    with open(path) as f:
        for line in f:
            if line.startswith("    "): found[-1][1].append(line[4:].rstrip())
            else: found.append((line.rstrip(), []))
    return found


def source(call): return f"def forward():\n    print({call})\n    return 0\n"


def raised(text):
    """Of a traceback its last part, the error."""
    return text[text.rindex("RuntimeError: "):].rstrip().splitlines()


class Answers(unittest.TestCase):
    def said(self, call, folder):
        path = os.path.join(folder, "call.py")
        with open(path, "w") as f: f.write(source(call))
        p = subprocess.run([KILN, "run", path], capture_output=True, text=True)
        if p.returncode: return raised(p.stderr)
        return [line.rstrip() for line in p.stdout.splitlines()[:-1]]

    def test_answers(self):
        with tempfile.TemporaryDirectory() as folder:
            for call, want in calls():
                with self.subTest(call=call): self.assertEqual(self.said(call, folder), want)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
