"""Lists of texts in .npz files, whole keys in kiln info, and files that were saved with a model.

usage: texts_test.py KILN
"""
import io, json, os, struct, subprocess, sys, unittest, zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../program"))
from hostile import KILN, Test, call, model, npy, npz

SOURCE = b"""def forward(words: List[str], d: Dict[str, List[str]]):
    out: List[str] = []
    for w in words:
        out.append(w.upper() + "!")
    return out, words, d, (words[0] if len(words) > 0 else "none", "two")
"""
EXTRA = {"config.json": b'{"a": 1}', "raw \x1b": bytes(range(256)) * 20, "empty": b""}


def texts(words, order="<", n=None):
    """Returns a 1-d unicode array, as NumPy writes it."""
    longest = max([len(w) for w in words] + [1])
    data = b"".join(w.ljust(longest, "\0").encode("utf-32-le" if order == "<" else "utf-32-be") for w in words)
    return npy([len(words) if n is None else n], "%sU%d" % (order, longest), data)


def members(data):
    """{key: (descr, shape, texts)} of unicode arrays."""
    found = {}
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        for name in z.namelist():
            b = z.read(name)
            n = struct.unpack("<H", b[8:10])[0]
            head = eval(b[10:10 + n])
            chars, body = int(head["descr"][2:]), b[10 + n:].decode("utf-32-le")
            found[name[:-4]] = head["descr"], head["shape"], [body[i:i + chars].rstrip("\0") for i in range(0, len(body), chars)]
    return found


class Texts(Test):
    def answers(self, argv, given):
        self.put("in.npz", npz(**given))
        status, _, err = call([*argv, "-i", "in.npz", "-o", "out.npz"], self.dir)
        self.assertEqual(status, 0, err)
        with open(os.path.join(self.dir, "out.npz"), "rb") as f:
            return members(f.read())

    def test_lists(self):
        """A list of texts is read from one array, also an empty one, in either byte order, with characters beyond ASCII, or from
        its elements. It is written as elements."""
        self.put("m.py", SOURCE)
        words = ["a", "l\u00f3ng\u4e00\U0001f600", ""]
        given = {"words": texts(words), "d.k": texts(["x", "yz"])}
        self.put("in.npz", npz(**given))
        self.check([KILN, "build", "m.py", "-i", "in.npz", "--cc", "tcc", "-o", "p"], 0)
        for argv in [KILN, "run", "m.py"], ["./p"]:
            for words_of in {"words": texts(words)}, {"words": texts(words, ">")}, {"words.%d" % i: texts([w]).replace(b"(1, )", b"()   ") for i, w in enumerate(words)}:
                got = self.answers(argv, {**words_of, "d.k": given["d.k"]})
                self.assertEqual({key: words for key, (_, _, words) in got.items()},
                                 {"out.0.0": ["A!"], "out.0.1": [got["out.0.1"][2][0]], "out.0.2": ["!"], "out.1.0": words[:1], "out.1.1": words[1:2],
                                  "out.1.2": [""], "out.2.k.0": ["x"], "out.2.k.1": ["yz"], "out.3.0": ["a"], "out.3.1": ["two"]}, argv)
                self.assertEqual(got["out.1.1"][:2], ("<U6", ()))
            self.put("in.npz", npz(words=texts([]), **{"d.k": texts([])}))
            self.check([*argv, "-i", "in.npz", "-o", "out.npz"], 0)
        self.check([KILN, "check", "m.py", "./p", "-i", "in.npz"], 0)

    def test_many(self):
        """As many texts as a large batch has, in time that grows linearly."""
        self.put("m.py", b"def forward(words: List[str]):\n    return len(words), words[59999]\n")
        words = ["word %d" % i for i in range(60000)]
        self.put("in.npz", npz(words=texts(words)))
        self.assertIn(b"(60000, word 59999)", call([KILN, "run", "m.py", "-i", "in.npz"], self.dir)[1].replace(b"'", b""))

    def test_wrong(self):
        self.put("m.py", b"def forward(words: List[str]):\n    return words\n")
        self.put("s.py", b"def forward(words: str):\n    return words\n")
        good = texts(["ab", "c"])
        for source, data, why in (("m.py", {"words": good.replace(b"(2, )", b"(2,1)")}, "texts are read from arrays of no or one dimension, not 2"),
                                  ("m.py", {"words": texts(["ab", "c"], n=3)}, "its type <U2 and its 16 bytes of data do not agree"),
                                  ("m.py", {"words": texts([], n=1 << 40).replace(b"<U1", b"<U0")}, "is too long"),
                                  ("m.py", {"words": texts(["ab", "\0"]).replace(b"b\0\0\0", b"\xff\xff\xff\xff")}, "'words': is no text"),
                                  ("m.py", {"words": good, "words.0": good}, "'words.0' is there twice"),
                                  ("m.py", {"words": npy([2])}, "is float32 of shape [2]; expected List[str]"),
                                  ("s.py", {"words": good}, "'words' is a list, tuple or dict; expected str")):
            self.put("in.npz", npz(**data))
            self.check([KILN, "run", source, "-i", "in.npz"], 1, why)

    def test_keys(self):
        """kiln info prints the whole keys of nested values."""
        self.put("m.py", b"def forward(d: Dict[str, List[Tensor]], t: Tuple[Tensor, List[Tuple[Tensor, int]]], s: Optional[List[str]] = None):\n"
                         b"    return d\n")
        arguments = json.loads(call([KILN, "info", "m.py", "--json"], self.dir)[1])["functions"][0]["arguments"]
        self.assertEqual([a["keys"] for a in arguments], [["d.KEY.0", "d.KEY.1", "..."], ["t.0", "t.1.0.0", "t.1.0.1", "t.1.1.0", "t.1.1.1", "..."], ["s"]])

    def test_extra_files(self):
        """Extra files appear in kiln info and in programs, and programs can write them."""
        self.put("m.pt", model(**{"extra/" + name: data for name, data in EXTRA.items()}))
        self.put("x.npz", npz(x=npy([2, 3])))
        self.put("plain.pt", model())
        shown = {f["name"]: f["bytes"] for f in json.loads(call([KILN, "info", "m.pt", "--json"], self.dir)[1])["extra_files"]}
        self.assertEqual(shown, {name.replace("\x1b", "?"): len(data) for name, data in EXTRA.items()})
        for options in ["--cc", "tcc"], ["--cc", "tcc", "--weights", "file"]:
            self.check([KILN, "build", "m.pt", "-i", "x.npz", *options, "-o", "p"], 0)
            lines = call(["./p", "--extra"], self.dir)[1].decode().splitlines()
            self.assertEqual({line.rsplit(None, 2)[0].strip(): int(line.split()[-2]) for line in lines}, shown)
            for name, data in EXTRA.items():
                self.assertEqual(call(["./p", "--extra=" + name], self.dir)[:2], (0, data))
                self.check(["./p", "--extra=" + name, "-o", "file"], 0)
                with open(os.path.join(self.dir, "file"), "rb") as f:
                    self.assertEqual(f.read(), data)
            self.check(["./p", "--extra=none"], 1, "no file 'none' was saved beside the model: --extra lists them")
            self.check(["./p", "-i", "x.npz"], 0)
        self.check([KILN, "build", "plain.pt", "-i", "x.npz", "--cc", "tcc", "-o", "q"], 0)
        self.assertEqual(call(["./q", "--extra"], self.dir)[:2], (0, b""))

    def test_library(self):
        """NAME_extra of a library."""
        self.put("m.pt", model(**{"extra/" + name: data for name, data in EXTRA.items()}))
        self.put("x.npz", npz(x=npy([2, 3])))
        self.put("use.c", b'#include "net.h"\n#include <stdio.h>\nint main(void) {\n  size_t n = 7;\n  net *m = net_open(0, 0, 0);\n'
                          b'  const void *at = net_extra(m, "config.json", &n);\n  if (!at || net_extra(m, "none", &n)) return 1;\n'
                          b'  fwrite(at, 1, n, stdout);\n  net_close(m);\n  return 0;\n}\n')
        self.check([KILN, "build", "m.pt", "-i", "x.npz", "--cc", "tcc", "--emit", "shared", "-o", "libnet.so"], 0)
        subprocess.run(["cc", "use.c", "./libnet.so", "-o", "use"], cwd=self.dir, check=True)
        self.assertEqual(call(["./use"], self.dir)[:2], (0, EXTRA["config.json"]))


if __name__ == "__main__":
    unittest.main()
