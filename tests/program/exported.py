"""Writes archives of torch.export (.pt2) by hand: programs as lists of nodes."""
import io, json, struct, zipfile

DTYPES = {"uint8": 1, "int8": 2, "int32": 4, "int64": 5, "float16": 6, "float32": 7, "float64": 8, "bool": 12, "bfloat16": 13, "float8_e8m0fnu": 33}


def T(name): return {"as_tensor": {"name": name}}
def TS(*names): return {"as_tensors": [{"name": n} for n in names]}
def I(n): return {"as_int": n}
def IS(*n): return {"as_ints": list(n)}
def F(x): return {"as_float": x}
def S(name): return {"as_sym_int": {"as_name": name}}
def B(name): return {"as_sym_bool": {"as_name": name}}
def TEXT(s): return {"as_string": s}
def FLAG(b): return {"as_bool": b}
def KIND(n): return {"as_scalar_type": DTYPES[n]}
def G(g, name="g"): return {"as_graph": {"name": name, "graph": g}}
NONE = {"as_none": True}


def node(target, args, outs, trace=None):
    """A node. args: a dict by name, or a list of arguments without names. outs: Arguments, or names of tensors."""
    named = args.items() if isinstance(args, dict) else [("", a) for a in args]
    meta = {"stack_trace": trace} if trace else {}
    return {"target": target if "." in target and target.split(".")[0] in ("torch", "_operator", "math") else "torch.ops." + target,
            "inputs": [{"name": n, "arg": a, "kind": 1} for n, a in named],
            "outputs": [o if isinstance(o, dict) else T(o) for o in outs], "metadata": meta}


def graph(inputs, nodes, outputs, single=False):
    return {"inputs": [i if isinstance(i, dict) else T(i) for i in inputs], "nodes": nodes,
            "outputs": [o if isinstance(o, dict) else T(o) for o in outputs], "tensor_values": {}, "sym_int_values": {},
            "is_single_tensor_return": single}


def size(s):
    return {"as_int": s} if isinstance(s, int) else {"as_expr": {"expr_str": s, "hint": None}}


def meta(sizes, dtype="float32", offset=0, strides=None):
    step, whole = 1, []
    for s in reversed(sizes):
        whole.insert(0, step)
        step *= s if isinstance(s, int) else 1
    return {"dtype": DTYPES[dtype], "sizes": [size(s) for s in sizes], "requires_grad": False, "device": {"type": "cpu", "index": None},
            "strides": [{"as_int": s} for s in strides or whole], "storage_offset": {"as_int": offset}, "layout": 7}


# Structures of arguments: a tuple, list or dict of them, or LEAF. Also classes that a library registered, with the names of their
# fields (dataclasses) or without.
LEAF = ...
class Named(dict): pass
class Fields(dict): pass
class Plain(tuple): pass
def spec(t):
    if t is LEAF: return {"type": None, "context": None, "children_spec": []}
    if isinstance(t, Plain): return {"type": "library.Pair", "context": '"some text"', "children_spec": [spec(v) for v in t]}
    if isinstance(t, Named): return {**spec(dict(t)), "type": "library.modeling.Output"}
    if isinstance(t, Fields): return {**spec(dict(t)), "type": "library.Data", "context": json.dumps([list(t), ["absent"]])}
    if isinstance(t, dict):
        return {"type": "builtins.dict", "context": json.dumps(list(t)), "children_spec": [spec(v) for v in t.values()]}
    return {"type": "builtins." + type(t).__name__, "context": "null", "children_spec": [spec(v) for v in t]}


class Program:
    """A program from tensors x, y ... to the last values of its nodes. A test changes the members as it wants."""
    def __init__(self, inputs, nodes, outputs, sizes=None, args=None, kwargs=None, out=None, names=None):
        users = [i if isinstance(i, dict) else T(i) for i in inputs]
        self.graph = graph(users, nodes, outputs)
        for name, s in (sizes or {}).items(): self.graph["tensor_values"][name] = meta(s)
        self.inputs = [{"constant_input": {"name": "c", "value": i}} if not isinstance(i.get("as_tensor", i.get("as_sym_int")), dict)
                       else {"user_input": {"arg": i}} for i in users]
        self.outputs = [{"user_output": {"arg": o}} for o in self.graph["outputs"]]
        self.args = tuple(LEAF for _ in users) if args is None else args
        self.kwargs = kwargs or {}
        self.out = out if out is not None else LEAF if len(outputs) == 1 else tuple(LEAF for _ in outputs)
        self.names = names or [next(iter(i.values())).get("name", "k") if isinstance(i, dict) and "as_tensor" in i
                               else i["as_sym_int"]["as_name"] if "as_sym_int" in i else "c%d" % n for n, i in enumerate(users)]
        self.ranges, self.guards, self.version = {}, [], {"major": 8, "minor": 20}
        self.weights, self.constants, self.files = {}, {}, {}

    def state(self, kind, name, sizes, values, dtype="float32", file=None, persistent=True, **where):
        """Adds a parameter, buffer or tensor_constant as the next input. values: bytes, or numbers of the dtype."""
        code = {"float32": "f", "int64": "q", "int8": "b", "float64": "d"}.get(dtype, "B")
        data = values if isinstance(values, bytes) else struct.pack("<%d%s" % (len(values), code), *values)
        constant = kind == "tensor_constant" or not persistent
        table = self.constants if constant else self.weights
        file = file or ("tensor_%d" if constant else "weight_%d") % len(table)
        table[name] = {"path_name": file, "is_param": kind == "parameter", "use_pickle": False, "tensor_meta": {**meta(sizes, dtype, **where), "requires_grad": kind == "parameter"}}
        self.files["data/%s/%s" % ("constants" if constant else "weights", file)] = data
        lifted = "p_" + name.replace(".", "_")
        entry = {"arg": {"name": lifted}, kind + "_name": name}
        if kind == "buffer": entry["persistent"] = persistent
        n = sum(next(iter(i)) in ("parameter", "buffer", "tensor_constant") for i in self.inputs)
        self.graph["inputs"].insert(n, T(lifted))
        self.inputs.insert(n, {kind: entry})
        return lifted

    def json(self):
        call = {"inputs": [], "outputs": [], "in_spec": json.dumps([1, spec((self.args, self.kwargs))]),
                "out_spec": json.dumps([1, spec(self.out)]), "forward_arg_names": self.names}
        return {"graph_module": {"graph": self.graph, "signature": {"input_specs": self.inputs, "output_specs": self.outputs},
                                 "module_call_graph": [{"fqn": "", "signature": call}], "metadata": {}},
                "opset_version": {"aten": 10}, "range_constraints": self.ranges, "schema_version": self.version,
                "verifiers": ["TRAINING"], "torch_version": "2.15.0", "guards_code": self.guards}

    def members(self, name="model", samples=b"PK"):
        return {"archive_format": "pt2", "archive_version": "0", "byteorder": "little", ".data/version": "6\n",
                f"models/{name}.json": json.dumps(self.json()),
                f"data/weights/{name}_weights_config.json": json.dumps({"config": self.weights}),
                f"data/constants/{name}_constants_config.json": json.dumps({"config": self.constants}),
                f"data/sample_inputs/{name}.pt": samples, **self.files}


def archive(members, root="model/"):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, data in members.items():
            z.writestr(zipfile.ZipInfo(root + name, (1980, 1, 1, 0, 0, 0)), data)
    return out.getvalue()
