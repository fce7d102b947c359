"""Converts structured values to leaves and back, and makes the keys of leaves.

Arguments and results of a compiled model are leaves by key: x, state.0, d.key; out, out.1.name (codegen/cli/README.md).
The structure follows from the declared types of an archive, which `kiln info` prints in Python's form, or from the
structure that PyTorch's pytree finds in a module's arguments and results."""
import dataclasses
import types

from . import arrays, errors

NUMBERS = {"int": int, "float": float, "bool": bool, "complex": complex}


# ---- types, as text


class Type:
    """name[of, ...]: Tensor, List[int], Dict[str, Tensor] ..."""

    def __init__(self, name, of=()):
        self.name, self.of = name, of

    def __repr__(self):
        return self.name + ("[%s]" % ", ".join(map(repr, self.of)) if self.of else "")


def parse(text):
    """Parses the text of a type."""
    found, rest = _parse(text.strip())
    return found if not rest else Type(text)


def _parse(text):
    end = min([i for i in (text.find(ch) for ch in "[],") if i >= 0] or [len(text)])
    name, rest, of = text[:end].strip(), text[end:], []
    if rest.startswith("["):
        rest = "," + rest[1:]
        while rest.startswith(","):
            one, rest = _parse(rest[1:])
            if one.name and one.name != "()":         # Tuple[()] has no parts
                of.append(one)
        rest = rest[1:].lstrip()
    return Type(name, tuple(of)), rest.lstrip()


# ---- values to leaves


def _is_number(value):
    return type(value) in (bool, int, float, complex)


def identical(a, b):
    """Whether two constants are the same to a model. 1 and True differ, and so do 0.0 and -0.0. NaN is the same as
    NaN."""
    return type(a) is type(b) and (repr(a) == repr(b) if isinstance(a, (float, complex)) else a == b)


def flatten(key, value, declared, leaves):
    """Appends (key, array or number or text) for each leaf of a value. None has no leaf. declared: a Type, or None."""
    name = declared.name if declared else ""
    if name == "Optional" and value is not None:
        flatten(key, value, declared.of[0], leaves)
    elif value is None:
        return
    elif isinstance(value, str) or arrays.kind_of(value):
        leaves.append((key, value))
    elif _is_number(value):
        leaves.append((key, NUMBERS[name](value) if name in ("float", "complex") and not isinstance(value, complex)
                       else value))
    elif isinstance(value, (list, tuple)):
        _flatten_list(key, value, declared, leaves)
    else:
        entries = _entries(key, value)
        if declared and declared.name == "Dict" and any(one is None for _, one in entries):
            raise errors.BadArgument("argument '%s': a dict that holds None cannot be passed, since None has no key" % key)
        for part, one in entries:
            flatten("%s.%s" % (key, part), one, declared.of[1] if name == "Dict" else None, leaves)
        if not entries:
            leaves.append((key, arrays.NUMPY.empty()))


def _flatten_list(key, value, declared, leaves):
    of = declared.of if declared else ()
    if not value:
        leaves.append((key, arrays.NUMPY.empty()))
    elif declared and declared.name == "List" and value[-1] is None:
        raise errors.BadArgument("argument '%s': a list that ends with None cannot be passed, since None has no key" % key)
    elif declared and declared.name == "List" and of[0].name in NUMBERS and all(map(_is_number, value)):
        leaves.append((key, arrays.NUMPY.numbers(value, NUMBERS[of[0].name])))
    else:
        for i, one in enumerate(value):
            each = of[0] if declared and declared.name == "List" else of[i] if i < len(of) else None
            flatten("%s.%d" % (key, i), one, each, leaves)


def _entries(key, value):
    if hasattr(value, "items"):
        return [(str(k), v) for k, v in value.items()]
    if dataclasses.is_dataclass(value) or isinstance(value, types.SimpleNamespace):
        return list(vars(value).items())
    raise errors.BadArgument("argument '%s' is a %s: a tensor, number, text, list, tuple or dict is wanted"
                             % (key, type(value).__name__))


# ---- leaves to values


def _below(key, results):
    """Returns the parts of `key.` in the keys of results, in their order: {part: rest of the key}."""
    found = {}
    for name in results:
        if name.startswith(key + "."):
            found.setdefault(name[len(key) + 1:].partition(".")[0])
    return list(found)


def _number(value, kind):
    return kind(value.item()) if value.ndim == 0 else [kind(v) for v in value.tolist()]


def build(key, declared, results):
    """Returns the value of the declared type at a key of results, {key: array or text or None}."""
    name, of = declared.name, declared.of
    if key in results and results[key] is None:
        return None
    if name == "Optional":
        return build(key, of[0], results)
    if name in NUMBERS:
        return _number(results[key], NUMBERS[name])
    if name == "List":
        return _build_list(key, of[0], results)
    if name == "Tuple":
        return tuple(build("%s.%d" % (key, i), t, results) for i, t in enumerate(of))
    if name == "Dict":
        return _build_dict(key, of, results)
    if name == "NoneType" or (key in results and name != "Union"):
        return results.get(key)
    return _guess(key, declared, results)


def _build_list(key, of, results):
    if of.name in NUMBERS:
        return _number(results[key], NUMBERS[of.name])
    if key in results:                                 # an array without elements stands for an empty list
        return []
    return [build("%s.%d" % (key, i), of, results) for i in range(len(_below(key, results)))]


def _build_dict(key, of, results):
    made = {}
    if key in results:
        return made
    value = of[1].of[0] if of[1].name == "Optional" else of[1]
    plain = value.name in NUMBERS or value.name in ("Tensor", "str")     # its keys may contain dots
    for name in [n[len(key) + 1:] for n in results if n.startswith(key + ".")] if plain else _below(key, results):
        k = {"True": True, "False": False}[name] if of[0].name == "bool" else NUMBERS.get(of[0].name, str)(name)
        made[k] = build("%s.%s" % (key, name), of[1], results)
    return made


def _guess(key, declared, results):
    """Builds a value whose type does not determine its structure: a class or a Union."""
    if key in results:
        value = results[key]
        of = [t.name for t in declared.of]
        numbers = [n for n in of if n in NUMBERS]
        if numbers and "Tensor" not in of and not isinstance(value, str) and value.ndim == 0:
            return value.item()
        return value
    parts = _below(key, results)
    if not parts:
        return None
    of = Type("Any")
    made = {part: build("%s.%s" % (key, part), of, results) for part in parts}
    if all(part.isdigit() for part in parts):
        return tuple(made.values())
    return made if declared.name == "Union" else types.SimpleNamespace(**made)


class Signature:
    """A method's signature from its declared types. parameters: [(name, Type, has a default)]. result: a Type."""

    tensors = None                                     # build() gets results by their keys

    def __init__(self, method):
        self.parameters = [(a["name"], parse(a["type"]), "default" in a) for a in method["arguments"]]
        self.result = parse(method["result"]) if "result" in method else Type("NoneType")
        # written: keys of arguments that the method writes to, as far as known
        self.name, self.written = method["name"], ()

    def flatten(self, args, kwargs):
        """Returns the leaves of a call's arguments: [(key, array or number or text)]."""
        if len(args) > len(self.parameters):
            raise errors.BadArgument("%s takes %d arguments, and %d were given" % (
                self.name, len(self.parameters), len(args)))
        values = {name: value for (name, _, _), value in zip(self.parameters, args)}
        for name, value in kwargs.items():
            if name in values or all(name != p[0] for p in self.parameters):
                raise errors.BadArgument("%s: argument '%s' %s; the arguments are %s" % (
                    self.name, name, "was given twice" if name in values else "is not known", self.spelled()))
            values[name] = value
        leaves = []
        for name, declared, has_default in self.parameters:
            if name in values:
                flatten(name, values[name], declared, leaves)
            elif not has_default:
                raise errors.BadArgument("%s: argument '%s' is missing; the arguments are %s" % (
                    self.name, name, self.spelled()))
        return leaves

    def spelled(self):
        return ", ".join("%s: %r" % (name, declared) for name, declared, _ in self.parameters) or "none"

    def build(self, results):
        """Builds the method's result from leaves by key."""
        return build("out", self.result, results)
