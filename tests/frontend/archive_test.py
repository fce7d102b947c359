"""Archives that are damaged, hostile, or of another kind: each ends with a message of its own, and good ones are read.

usage: archive_test.py DUMP     every archive is made here, by zipfile and a few bytes of pickle.
"""
import io, json, os, struct, subprocess, sys, tempfile, unittest, zipfile

DUMP = sys.argv.pop(1)
LIMIT = 20


def dump(data, *options, name="m.pt"):
    """Runs DUMP on a file. Returns (status, text)."""
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, name)
        with open(path, "wb") as f:
            f.write(data)
        p = subprocess.run([DUMP, *options, path], capture_output=True, timeout=LIMIT)
        return p.returncode, (p.stdout + p.stderr).decode("utf-8", "replace").replace(d + "/", "")


def archive(members, method=zipfile.ZIP_STORED, root="m/"):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        for name, data in members.items():
            z.writestr(zipfile.ZipInfo(root + name, (1980, 1, 1, 0, 0, 0)), data, method)
    return out.getvalue()


# The few pickle instructions that these tests need.
def glob(module, name): return b"c%s\n%s\n" % (module.encode(), name.encode())
def text(s): return b"X" + struct.pack("<I", len(s.encode())) + s.encode()
def num(n): return b"\x8a\x08" + struct.pack("<q", n)
def tup(*parts): return b"(" + b"".join(parts) + b"t"
def lst(*parts): return b"](" + b"".join(parts) + b"e"
def pickled(body): return b"\x80\x02" + body + b"."
def storage(key, numel, kind="FloatStorage", where="cpu"):
    return tup(text("storage"), glob("torch", kind), text(key), text(where), num(numel)) + b"Q"
def tensor(store, offset, dims, strides, *more):
    return glob("torch._utils", "_rebuild_tensor_v2") + tup(
        store, num(offset), tup(*map(num, dims)), tup(*map(num, strides)), b"\x89",
        glob("collections", "OrderedDict") + b")R", *more) + b"R"


def checkpoint(body, data=None, **options):
    members = {"data.pkl": pickled(body), "version": b"3\n"}
    members.update({"data/" + k: v for k, v in (data or {}).items()})
    return archive(members, **options)


FLOATS = struct.pack("<6f", 1, 2, 3, 4, 5, 6)


class Test(unittest.TestCase):
    def says(self, data, *parts, status=1):
        rc, said = dump(data)
        self.assertEqual(rc, status, said)
        for part in parts:
            self.assertIn(part, said)

    def is_read(self, data, want):
        rc, said = dump(data)
        self.assertEqual((rc, said.strip()), (0, want))


# A module: its class is read from code/, its state from data.pkl.
CODE = """class M(Module):
  __parameters__ = ["w", ]
  __buffers__ = []
  training : bool
  w : Tensor
  l : List[int]
  o : Optional[str]
  def forward(self: __torch__.M, x: Tensor) -> Tensor:
    return torch.add(x, self.w)
"""
SETSTATE = """class M(Module):
  __parameters__ = []
  __buffers__ = []
  n : int
  s : str
  def __getstate__(self: __torch__.M) -> Tuple[int, str]:
    return (self.n, self.s)
  def __setstate__(self: __torch__.M, state: Tuple[int, str]) -> NoneType:
    n, s, = state
    self.n = torch.add(n, 1)
    self.s = torch.add(s, "!")
    return None
"""
ENUM = """class Color(Enum):
  RED = 1
  BLUE = 2
class M(Module):
  __parameters__ = []
  __buffers__ = []
  c : __torch__.Color
"""
W = tensor(storage("0", 6), 0, [2, 3], [3, 1])
INTS = glob("torch.jit._pickle", "build_intlist") + lst(num(1), num(2)) + b"\x85R"
def obj(state, cls="M"): return glob("__torch__", cls) + b")\x81" + state + b"b"
def attrs(**kw): return b"}(" + b"".join(text(k) + v for k, v in kw.items()) + b"u"
def module(body, code=CODE, **members):
    return archive({"data/0": FLOATS, "data.pkl": pickled(body), "code/__torch__.py": code.encode(),
                    "constants.pkl": pickled(b")"), "version": b"3\n", **members})
STATE = dict(training=b"\x89", w=W, l=INTS, o=b"N")


class Modules(Test):
    def says(self, data, *parts, status=1):
        rc, said = dump(data, "--module")
        self.assertEqual(rc, status, said)
        for part in parts:
            self.assertIn(part, said)

    def is_read(self, data, want):
        rc, said = dump(data, "--module")
        self.assertEqual((rc, said.strip()), (0, want))

    def test_module(self):
        self.is_read(module(obj(attrs(**STATE))), "__torch__.M(False, float32[2,3](3,1)+0=1, int[1, 2], None)")
    def test_untyped_list(self):            # version 2 and before
        self.is_read(module(obj(attrs(**{**STATE, "l": lst(num(3))}))), "__torch__.M(False, float32[2,3](3,1)+0=1, int[3], None)")
    def test_setstate(self): self.is_read(module(obj(tup(num(6), text("a"))), SETSTATE), "__torch__.M(7, 'a!')")
    def test_setstate_type(self):
        self.says(module(obj(tup(text("a"), num(6))), SETSTATE), "takes a Tuple[int, str], but the state is a")
    def test_setstate_endless(self):
        code = SETSTATE.replace("    return None", "    while True:\n      pass\n    return None")
        self.says(module(obj(tup(num(6), text("a"))), code), "__setstate__")
    def test_setstate_leaves(self):
        self.says(module(obj(tup(num(6), text("a"))), SETSTATE.replace('    self.s = torch.add(s, "!")\n', "")),
                  "attribute 's' of __torch__.M is declared str, but __setstate__ left it None")
    def test_setstate_reads(self):
        code = SETSTATE.replace("    n, s, = state\n", "    n, s, = state\n    self.s = torch.add(self.s, s)\n")
        self.says(module(obj(tup(num(6), text("a"))), code), "attribute 's' of __torch__.M is read before it is set")
    def test_enum(self): self.is_read(module(obj(attrs(c=glob("__torch__", "Color") + num(2) + b"R")), ENUM), "__torch__.M(BLUE)")
    def test_no_such_member(self):
        self.says(module(obj(attrs(c=glob("__torch__", "Color") + num(3) + b"R")), ENUM), "no member of this value")
    def test_wrong_type(self):
        self.says(module(obj(attrs(**{**STATE, "w": num(1)}))), "m.pt: data.pkl: attribute 'w' of __torch__.M is declared Tensor, "
                  "but is int, at byte ")
        self.says(module(obj(attrs(**{**STATE, "l": lst(text("a"))}))), "attribute 'l' of __torch__.M is declared List[int]")
    def test_missing_attribute(self): self.says(module(obj(attrs(training=b"\x89"))), "an object of __torch__.M lacks attribute 'w'")
    def test_no_class(self): self.says(module(obj(attrs(), "N")), "no class __torch__.N")
    def test_no_state(self):
        self.says(module(obj(attrs(**{**STATE, "o": glob("__torch__", "M") + b")\x81"}))), "used before it has its state")
    def test_no_module(self): self.says(module(num(3)), "m.pt: data.pkl: holds a int instead of a module")
    def test_code(self): self.says(module(obj(attrs()), "class M(Module:\n"), "m.pt:code/__torch__.py:1:", "error: ")
    def test_versions(self):
        self.says(module(num(3), version=b"99\n"), "m.pt: version: ", "version 99, but the maximum supported version for reading is 10")
        self.says(module(num(3), version=b"0\n"), "the minimum supported version for reading is 1")
        self.says(module(num(3), version=b"x"), "m.pt: version: is no version number")
    def test_constants(self): self.says(module(num(3), **{"constants.pkl": pickled(b"]")}), "constants.pkl: holds a ")
    def test_packed(self):
        q = glob("torch._utils", "_rebuild_qtensor") + tup(
            storage("0", 6, "QInt8Storage"), num(0), tup(num(2), num(3)), tup(num(3), num(1)),
            tup(glob("torch", "per_tensor_affine"), b"G" + struct.pack(">d", .5), num(0)), b"\x89",
            glob("collections", "OrderedDict") + b")R") + b"R"
        name = "__torch__.torch.classes.quantized"
        code = CODE.replace("w : Tensor", "w : " + name + ".LinearPackedParamsBase").replace('["w", ]', "[]").replace("self.w", "1")
        packed = glob(name, "LinearPackedParamsBase") + b")\x81" + tup(q, b"N") + b"b"
        self.is_read(module(obj(attrs(**{**STATE, "w": packed})), code, **{"data/0": bytes(6)}),
                     "__torch__.M(False, " + name + ".LinearPackedParamsBase(qint8[2,3](3,1)+0=0 scheme 0 scale 0.5 zero 0, "
                     "None), int[1, 2], None)")
    def test_state_dict(self):
        self.says(checkpoint(attrs(w=W)), "is a checkpoint of torch.save (a state_dict?)")
    def test_eager_module(self):
        self.says(checkpoint(glob("torch.nn.modules.linear", "Linear") + b")\x81}b"), "with a pickled Python module")
    def test_export(self):
        self.says(archive({"archive_format": b"pt2", "archive_version": b"0", "models/model.json": b"{}"}), "models/model.json: lacks 'schema_version'")
    def test_npz(self): self.says(archive({"x.npy": b"", "y.npy": b""}), "is an .npz of arrays")
    def test_other_zip(self): self.says(archive({"a": b""}), "not one of torch.jit.save")
    def test_every_byte(self):
        """Damage of any byte causes at most an error message."""
        good = module(obj(attrs(**STATE)))
        for at in range(7, len(good), max(1, len(good) // 60)):
            rc, said = dump(good[:at] + bytes([good[at] ^ 0xff]) + good[at + 1:], "--module")
            self.assertIn(rc, (0, 1, 7), said)


# Archives of PyTorch 1.0 to 1.2: attributes.pkl holds one value for each attribute of model.json.
TRUE, FALSE = b"\x88", b"\x89"
def byte(n): return b"K" + struct.pack("b", n)         # the byte was signed in these versions
def real(x): return b"G" + struct.pack(">d", x)
def typed(kind, *parts): return glob("torch.jit._pickle", "build_" + kind) + b"(" + lst(*parts) + b"tR"
def table(n): return typed("tensor_from_id").replace(b"](e", byte(n))
def dct(*parts): return b"}(" + b"".join(parts) + b"u"
def legacy(attributes, proto="3", name="M"):
    tensor = {"dims": ["2"], "strides": ["1"], "offset": "0", "dataType": "FLOAT", "data": {"key": "tensors/0"}}
    model = {"protoVersion": proto, "tensors": [tensor], "mainModule": {
        "name": name, "parameters": [], "submodules": [], "torchscriptArena": {"key": "code/M.py"},
        "attributes": [{"name": "a%d" % i, "type": t, "id": str(i)} for i, (t, _) in enumerate(attributes)]}}
    values = b"".join(v for _, v in attributes)
    return archive({"version": b"1\n", "model.json": json.dumps(model), "tensors/0": FLOATS[:8],
                    "code/M.py": b"op_version_set = 1\ndef forward(self,\n    x: Tensor) -> Tensor:\n  return x\n",
                    "attributes.pkl": pickled(b"(" + values + b"t" if proto == "3" else lst(values))})


class Legacy(Test):
    says, is_read = Modules.says, Modules.is_read

    def attribute(self, type, value, want):
        for proto in ("2", "3"):
            self.is_read(legacy([(type, value)], proto), "__torch__.M(%s)" % want)
    def test_bools(self):
        for value in (typed("boollist", TRUE, FALSE), typed("intlist", TRUE, FALSE), typed("boollist", byte(1), byte(0)),
                      lst(TRUE, FALSE), lst(byte(1), byte(0))):
            self.attribute("List[bool]", value, "bool[True, False]")
        self.attribute("bool", byte(1), "True")
    def test_ints(self):
        self.attribute("int", byte(-5), "-5")
        self.attribute("List[int]", typed("intlist", byte(-128), byte(127), b"J\x80\0\0\0", num(-1 << 40)),
                       "int[-128, 127, 128, -1099511627776]")
        self.attribute("List[int]", typed("intlist", TRUE, byte(2)), "int[1, 2]")
        self.attribute("List[int]", glob("__main__", "IntList") + b")\x81" + lst(byte(-3)) + b"b", "int[-3]")
    def test_floats(self):
        self.attribute("List[float]", typed("doublelist", real(.5), byte(-1)), "float[0.5., -1.]")
        self.says(legacy([("List[int]", typed("doublelist", real(.5)))]), "attribute 'a0' is declared List[int]")
    def test_tensors(self):
        self.attribute("List[Tensor]", typed("tensorlist", table(0), table(0)), "Tensor[float32[2](1)+0=1, float32[2](1)+0=1]")
        self.attribute("Tensor", glob("__main__", "TensorID") + b")\x81" + byte(0) + b"b", "float32[2](1)+0=1")
        self.says(legacy([("Tensor", table(-1))]), "there is no tensor -1")
        self.says(legacy([("List[Tensor]", typed("tensorlist", TRUE))]), "attribute 'a0' is declared List[Tensor]")
    def test_empty(self):
        self.attribute("List[bool]", typed("boollist"), "bool[]")
        self.attribute("Dict[str, List[bool]]", b"}", "{}")
    def test_nested(self):
        self.attribute("List[List[bool]]", lst(typed("boollist", TRUE), typed("boollist")), "List[bool][bool[True], bool[]]")
        self.attribute("Dict[str, List[bool]]", dct(text("k"), typed("boollist", FALSE)), "{'k': bool[False]}")
        self.attribute("Dict[int, Dict[str, float]]", dct(byte(-2), dct(text("k"), byte(2))), "{-2: {'k': 2.}}")
        self.attribute("Dict[float, Tensor]", dct(real(.5), table(0)), "{0.5.: float32[2](1)+0=1}")
        self.attribute("Tuple[bool, List[bool], str]", tup(byte(1), typed("boollist", TRUE), text("s")), "(True, bool[True], 's')")
        self.attribute("List[Tuple[int, float]]", lst(tup(TRUE, byte(3))), "Tuple[int, float][(1, 3.)]")
    def test_optional(self):
        self.attribute("Optional[List[bool]]", b"N", "None")
        self.attribute("Optional[List[bool]]", typed("boollist", byte(1)), "bool[True]")
        self.attribute("List[Optional[int]]", lst(byte(-1), b"N"), "Optional[int][-1, None]")
        self.attribute("Dict[str, Optional[float]]", dct(text("k"), b"N", text("l"), byte(1)), "{'k': None, 'l': 1.}")
    def test_packed(self):
        """A module with the name of a C++ class, but without the slots of its objects."""
        name = "torch.classes.quantized.LinearPackedParamsBase"
        self.says(legacy([], name=name), "model.json: has a module with the name of a C++ class: '__torch__.%s'" % name)
    def test_shared(self):
        self.is_read(legacy([("List[bool]", typed("boollist", TRUE) + b"q\x07"), ("List[bool]", b"h\x07")]),
                     "__torch__.M(bool[True], bool[True])")
        self.says(legacy([("List[bool]", typed("boollist", TRUE) + b"q\x07"), ("List[int]", b"h\x07")]), "declared List[int]")


class NotAnArchive(Test):
    def test_empty(self): self.says(b"", "m.pt: is empty")
    def test_text(self): self.says(b"hello, world\n" * 20, "m.pt: is not a TorchScript archive")
    def test_old_checkpoint(self):
        self.says(b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.", "checkpoint of torch.save (before")
    def test_preview(self): self.says(b"PYTORCH1" + bytes(64), "preview release")
    def test_flatbuffer(self): self.says(b"\x1c\0\0\0PTMF" + bytes(64), "mobile flatbuffer")
    def test_safetensors(self): self.says(struct.pack("<Q", 2) + b"{}", "safetensors")
    def test_gguf(self): self.says(b"GGUF" + bytes(64), "GGUF")
    def test_lfs(self): self.says(b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer")
    def test_html(self): self.says(b"<!DOCTYPE html><html></html>", "HTML page")
    def test_pickle(self): self.says(pickled(b"N"), "is a pickle")
    def test_truncated(self):
        whole = checkpoint(b"N", {"0": bytes(500)})
        for n in (4, 30, 100, len(whole) // 2, len(whole) - 30, len(whole) - 1):
            self.says(whole[:n], "truncated or damaged")
    def test_no_folder(self): self.says(archive({"data.pkl": b""}, root=""), "'data.pkl' is not in a folder")
    def test_no_data(self): self.says(archive({"a.npy": b"x"}), "no data.pkl")


class Members(Test):
    def test_flipped_bit(self):
        good = bytearray(checkpoint(tensor(storage("0", 6), 0, [6], [1]), {"0": FLOATS}))
        good[good.index(FLOATS) + 5] ^= 1
        self.says(bytes(good), "m.pt: data/0: is damaged: its CRC-32 is")
    def entry(self, data, at, value, **options):
        """Makes an archive whose directory has another number for data/0, at this byte of the entry and in the next field of 4
        bytes."""
        bad = bytearray(checkpoint(tensor(storage("0", 6), 0, [6], [1]), {"0": data}, **options))
        entry = bad.rindex(b"m/data/0") - 46
        for field, number in zip((at, at + 4), value):
            bad[entry + field:entry + field + 4] = struct.pack("<I", number)
        return bytes(bad)
    def test_outside(self):
        size = len(checkpoint(tensor(storage("0", 6), 0, [6], [1]), {"0": FLOATS}))
        self.says(self.entry(FLOATS, 20, (size - 10, size - 10)), "data/0: is damaged: its bytes lie outside the file")
        self.says(self.entry(FLOATS, 20, (24, 23)), "data/0: is damaged: its bytes lie outside the file")
        self.says(self.entry(FLOATS, 20, (size + 1, size + 1)), "has more bytes than the file")
    def test_claims(self):
        packed = zipfile.ZIP_DEFLATED
        self.says(self.entry(bytes(1000), 20, (11, 1 << 20), method=packed), "claims to inflate from 11 to 1048576 bytes")
    def test_deflated(self):
        self.is_read(checkpoint(tensor(storage("0", 6), 1, [2], [3]), {"0": FLOATS}, method=zipfile.ZIP_DEFLATED),
                     "float32[2](3)+1=2")
    def test_flipped_deflated(self):
        bad = bytearray(checkpoint(lst(*[text("abc%d" % i) for i in range(50)]), method=zipfile.ZIP_DEFLATED))
        bad[80] ^= 0x55
        self.says(bytes(bad), "m.pt: data.pkl: is damaged")
    def test_bzip2(self): self.says(checkpoint(b"N" * 5, method=zipfile.ZIP_BZIP2), "compression method 12", status=7)
    def test_missing(self): self.says(checkpoint(tensor(storage("7", 6), 0, [6], [1])), "m.pt: data/7: is missing")
    def test_claims_too_much(self):
        bad = bytearray(checkpoint(text("a" * 4000), method=zipfile.ZIP_DEFLATED))
        at = bad.index(b"PK\1\2")
        bad[at + 24:at + 28] = struct.pack("<I", 0x7fffffff)
        self.says(bytes(bad), "m.pt: data.pkl: claims to inflate from")
    def test_two_of_a_name(self):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as z:
            z.writestr("m/data.pkl", pickled(b"N"))
            import warnings
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                z.writestr("m/data.pkl", pickled(b"N"))
        self.says(out.getvalue(), "data.pkl: two members have this name")
    def test_big_endian(self):
        data = {"data.pkl": pickled(tensor(storage("0", 6), 0, [2, 3], [3, 1])), "byteorder": b"big",
                "data/0": struct.pack(">6f", 7, 2, 3, 4, 5, 6)}
        self.is_read(archive(data), "float32[2,3](3,1)+0=7")


class Pickles(Test):
    def test_values(self):
        self.is_read(checkpoint(tup(b"N", b"\x88", b"K\x07", b"J\xff\xff\xff\xff", num(-5), text("é"),
                                    b"G" + struct.pack(">d", .5), b"}(" + text("a") + b"K\x01u")),
                     "(None, True, 7, -1, -5, 'é', 0.5., {'a': 1})")
    def test_lists(self): self.is_read(checkpoint(tup(lst(num(1)), lst(text("q")), lst(num(1), text("q")))),
                                       "(int[1], str['q'], Any[1, 'q'])")
    def test_shared(self): self.is_read(checkpoint(b"]q\0(K\x01eh\0\x86"), "(int[1], int[1])")
    def test_system(self):
        self.says(checkpoint(glob("os", "system") + tup(text("true")) + b"R"), "m.pt: data.pkl: the pickle names os.system",
                  "nothing is ever called by name, at byte 2")
    def test_eval(self): self.says(checkpoint(glob("builtins", "eval") + tup(text("1")) + b"R"), "names builtins.eval")
    def test_class(self): self.says(checkpoint(glob("__torch__", "M") + b")\x81}b"), "names __torch__.M")
    def test_global_as_value(self): self.says(checkpoint(glob("torch", "FloatStorage")), "torch.FloatStorage is used as a value")
    def test_ends(self):
        whole = pickled(tup(text("abcdef"), num(1), glob("collections", "OrderedDict") + b")R"))
        for n in range(2, len(whole) - 1):
            self.says(archive({"data.pkl": whole[:n]}), "m.pt: data.pkl: the pickle ", ", at byte ")
    def test_unknown(self): self.says(checkpoint(b"\xff"), "unknown pickle instruction 0xff, at byte 2")
    def test_protocol(self): self.says(archive({"data.pkl": b"\x80\x05N."}), "pickle protocol 5")
    def test_stack(self): self.says(checkpoint(b"R"), "reads a value that is not on its stack")
    def test_mark(self): self.says(checkpoint(b"e"), "lacks a mark")
    def test_below_mark(self): self.says(checkpoint(b"](a"), "reads a value that is not on its stack")
    def test_memo(self): self.says(checkpoint(b"h\x05"), "memo 5 was never filled")
    def test_memo_far(self): self.says(checkpoint(b"Nr\xff\xff\xff\x7f"), "memo index 2147483647 is too large")
    def test_deep(self): self.says(checkpoint(b"]" * 5000 + b"a" * 4999), "nested too deep", status=7)
    def test_deep_tuples(self): self.says(checkpoint(b"N" + b"\x85" * 100000), "nested too deep", status=7)
    def test_deep_by_memo(self):
        body = b"]q\0" + b"".join(b"0]r" + struct.pack("<I", i) + b"j" + struct.pack("<I", i - 1) + b"a" for i in range(1, 3000))
        self.says(checkpoint(body), "nested too deep", status=7)
    def test_cycle(self): self.says(checkpoint(b"]q\0h\0a"), "contains itself")
    def test_tuple_bomb(self):
        self.says(checkpoint(b"]" + b"2\x86" * 60), "unfolds to more values than its length allows")
    def test_changed(self):
        """A value cannot be changed after a function has received it."""
        ints = b"]q\0K\x01a0" + glob("torch.jit._pickle", "build_intlist") + b"h\0\x85R"
        self.is_read(checkpoint(ints + b"h\0\x86"), "(int[1], int[1])")
        self.says(checkpoint(ints + b"h\0K\x02a\x86"), "a list is changed after it was used")
    def test_key(self): self.says(checkpoint(b"}]Ns"), "is no key of a dict")
    def test_odd(self): self.says(checkpoint(b"}(K\x01u"), "a key without a value")
    def test_long(self): self.says(checkpoint(b"\x8a\x09" + bytes(8) + b"\x01"), "does not fit into 64 bits")
    def test_work(self):
        body = text("k" * 100000) + b"q\x000}q\x01" + (b"h\x00Ns") * 20000
        self.says(checkpoint(body), "unfolds to more values than its length allows")
    def test_two_values(self): self.says(checkpoint(b"NN"), "leaves 2 values")


class Tensors(Test):
    def test_view(self):
        self.is_read(checkpoint(tup(tensor(storage("0", 6) + b"q\0", 0, [2, 3], [3, 1]),
                                    tensor(b"h\0", 4, [2], [1])), {"0": FLOATS}),
                     "(float32[2,3](3,1)+0=1, float32[2](1)+4=5)")
    def test_expanded(self): self.is_read(checkpoint(tensor(storage("0", 6), 2, [1 << 40, 2], [0, 1]), {"0": FLOATS}),
                                          "float32[1099511627776,2](0,1)+2=3")
    def test_empty(self): self.is_read(checkpoint(tensor(storage("0", 0), 0, [0, 3], [3, 1])), "float32[0,3](3,1)+0")
    def test_scalar(self): self.is_read(checkpoint(tensor(storage("0", 6), 5, [], []), {"0": FLOATS}), "float32[]()+5=6")
    def test_conj(self):
        bits = b"}(" + text("conj") + b"\x88u"
        self.is_read(checkpoint(tensor(storage("0", 3, "ComplexFloatStorage"), 0, [3], [1], bits), {"0": FLOATS}),
                     "complex64[3](1)+0=1-2j")
    def test_negated(self):
        """Only neg changes the sign of the real part. conj and neg change that of the imaginary part, unless both are set."""
        for conj, neg, number in ((1, 0, "1-2j"), (0, 1, "-1-2j"), (1, 1, "-1+2j")):
            bits = b"}(" + text("conj") + (b"\x88" if conj else b"\x89") + text("neg") + (b"\x88" if neg else b"\x89") + b"u"
            store = storage("0", 3, "ComplexFloatStorage")
            self.is_read(checkpoint(tensor(store, 0, [1], [1], bits), {"0": FLOATS}), "complex64[1](1)+0=" + number)
    def test_channel_scales(self):
        """There must be as many scales as the dim is large, and the dim must exist."""
        def quantized(axis, scales):
            return glob("torch._utils", "_rebuild_qtensor") + tup(
                storage("0", 6, "QInt8Storage"), num(0), tup(*map(num, (1, 1, 2, 3))), tup(*map(num, (6, 6, 3, 1))),
                tup(glob("torch", "per_channel_affine"), tensor(storage("1", 6), 0, [scales], [1]),
                    tensor(storage("1", 6), 0, [scales], [1]), num(axis)), b"\x89", glob("collections", "OrderedDict") + b")R") + b"R"
        for axis, scales in ((4, 6), (-1, 3), (2, 3), (3, 2), (5, 2)):
            self.says(checkpoint(quantized(axis, scales), {"0": bytes(6), "1": FLOATS}), "scales and %d zero points for dimension %d" % (scales, axis))
        self.assertEqual(dump(checkpoint(quantized(3, 3), {"0": bytes(6), "1": FLOATS}))[0], 0)
    def test_short_storage(self):
        self.says(checkpoint(tensor(storage("0", 6), 0, [6], [1]), {"0": FLOATS[:20]}),
                  "data.pkl: data/0 has 20 bytes, but its 6 elements of float32 need 24, at byte ")
    def test_too_large(self):
        self.says(checkpoint(tensor(storage("0", 6), 1, [2, 3], [3, 1]), {"0": FLOATS}),
                  "a tensor of sizes [2, 3], strides [3, 1], offset 1 is larger than its storage of 6 elements")
    def test_huge(self):
        for dims, strides, offset in (([1 << 62] * 2, [1, 1], 0), ([1 << 62], [4], 0), ([2, 2], [1 << 62, 1 << 62], 0),
                                      ([1], [1], (1 << 63) - 1), ([1], [1], -1)):
            self.says(checkpoint(tensor(storage("0", 6), offset, dims, strides), {"0": FLOATS}), "larger than its storage")
    def test_negative(self):
        self.says(checkpoint(tensor(storage("0", 6), 0, [-1], [1]), {"0": FLOATS}), "has sizes [-1]")
        self.says(checkpoint(tensor(storage("0", 6), 5, [2], [-1]), {"0": FLOATS}), "has sizes [2] and strides [-1]")
    def test_numel(self):
        for numel in (-1, 1 << 62, (1 << 63) - 1):
            self.says(checkpoint(tensor(storage("0", numel), 0, [6], [1]), {"0": FLOATS}), "data.pkl: ")
    def test_rank(self):
        self.says(checkpoint(tensor(storage("0", 6), 0, [1] * 65, [1] * 65), {"0": FLOATS}), "65 dimensions")
        self.says(checkpoint(tensor(storage("0", 6), 0, [1, 1], [1]), {"0": FLOATS}), "another number of strides")
        self.says(checkpoint(tensor(storage("0", 6), 0, [1], [1, 1]), {"0": FLOATS}), "another number of strides")
    def test_sparse(self):
        self.says(checkpoint(glob("torch._utils", "_rebuild_sparse_tensor") + b")R"), "Kiln lacks sparse tensors", status=7)
    def test_lacks(self):
        """The message names the tensor by its path, and the dtype as PyTorch names it, also for storages that are newer than
        Kiln."""
        for kind, dtype in (("Float8_e8m0fnu", "float8_e8m0fnu"), ("Bits8", "bits8"), ("QUInt2x4", "quint2x4"), ("Float4_e2m1fn_x2", "float4_e2m1fn_x2")):
            lacking = tensor(storage("0", 6, kind + "Storage"), 0, [6], [1])
            self.says(checkpoint(lacking), "data.pkl: Kiln lacks tensors of the dtype %s, at byte" % dtype, status=7)
            entries = text("block") + b"}(" + text("first") + tensor(storage("0", 6), 0, [6], [1]) + text("scale") + lacking + b"u"
            self.says(checkpoint(b"}(" + text("a") + num(1) + entries + b"u", {"0": FLOATS}),
                      "data.pkl: 'block.scale': Kiln lacks tensors of the dtype %s" % dtype, status=7)
        untyped = tup(text("storage"), glob("torch.storage", "UntypedStorage"), text("0"), text("cpu"), num(6)) + b"Q"
        for dtype in "bits8", "float8_e8m0fnu":
            v3 = glob("torch._utils", "_rebuild_tensor_v3") + tup(untyped, num(0), tup(num(3)), tup(num(1)), b"\x89", b"N", glob("torch", dtype)) + b"R"
            self.says(checkpoint(b"}(" + text("w") + v3 + b"u", {"0": FLOATS}), "'w': Kiln lacks tensors of the dtype " + dtype, status=7)
        self.says(checkpoint(b"}(" + text("w") + storage("0", 6, where="meta") + b"u"), "'w': Kiln lacks tensors without data (device meta)", status=7)
        self.says(checkpoint(glob("torch", "load") + b")R"), "calls torch.load")
    def test_quantized(self):
        q = glob("torch._utils", "_rebuild_qtensor") + tup(
            storage("0", 4, "QInt8Storage"), num(0), tup(num(4)), tup(num(1)),
            tup(glob("torch", "per_tensor_affine"), b"G" + struct.pack(">d", .25), num(3)), b"\x89",
            glob("collections", "OrderedDict") + b")R") + b"R"
        self.is_read(checkpoint(q, {"0": bytes([5, 6, 7, 8])}), "qint8[4](1)+0=5 scheme 0 scale 0.25 zero 3")
    def test_storage_key(self):
        self.says(checkpoint(tensor(storage("../../etc/passwd", 6), 0, [6], [1])), "is missing from the archive")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=0)
