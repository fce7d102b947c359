"""Runs kiln bench and kiln check, and returns their JSON."""
import json
import os
import tempfile
from typing import Any, Dict, List, Optional

from . import errors, model as models, program


def _archive(model, example_inputs, dynamic, folder, options):
    """Returns the words for a command's MODEL and -i. Removes trace from the options."""
    path, signature, calls, _ = models.source_of(model, models.examples_of(example_inputs), dynamic, folder,
                                                 options.pop("trace", False))
    if calls and not signature:
        names = models.method_names(options.get("method"))
        signature = models.signatures_of(path, names, options)[names[0]]
    inputs, _ = models.inputs_of(folder, signature, calls)
    return [path, *(w for i in inputs for w in ("-i", i))]


def bench(model: Any, example_inputs: Any = None, *, dynamic: Any = False, cc: Optional[str] = None,
          no_grad: bool = True, **options: Any) -> Dict[str, Any]:
    """Returns the JSON of `kiln bench`: median_ms, min_ms, kernels (an entry for each launch), machine ...

    model, example_inputs, dynamic, trace: as in compile(). model may also be the path of a program that Kiln made.
    options: those of `kiln bench`, such as threads=2, against=PROGRAM. Raises the same errors as compile()."""
    options = dict(options, no_grad=no_grad, cc=program.compiler(cc))
    with tempfile.TemporaryDirectory(prefix="kiln-") as folder:
        words = _archive(model, example_inputs, dynamic, folder, options)
        return json.loads(program.run("bench", *words, "--json", "-", *program.words_of(options))[0])


def check(model: Any, example_inputs: Any = None, program_path: Optional[str] = None, *, dynamic: Any = False,
          cc: Optional[str] = None, no_grad: bool = True, **options: Any) -> List[Dict[str, Any]]:
    """Returns the JSON of `kiln check`. For each input it has {"input", "answer": "same", "ill-conditioned" or
    "differs", "why"}.

    Compares a program with the interpreter of the model as it was read. program_path: the program; if it is None, one
    is made with the options of `kiln build`. model, example_inputs, dynamic, trace: as in compile(). Without examples,
    a .pt2 uses its own. Raises the same errors as compile(). A difference is no error: see "answer"."""
    both = "method", "seed", "eval", "timeout", "op", "op_schema", "op_body"
    shared = program.words_of(dict({k: options[k] for k in both if k in options}, no_grad=no_grad))
    options = dict(options, no_grad=no_grad, cc=program.compiler(cc))
    with tempfile.TemporaryDirectory(prefix="kiln-") as folder:
        words = _archive(model, example_inputs, dynamic, folder, options)
        if not program_path:
            program_path = os.path.join(folder, "program")
            program.run("build", *words, "-o", program_path, *program.words_of(options))
        out, status = program.run("check", words[0], program_path, *words[1:], "--json", *shared, passed=(0, 4))
        found = json.loads(out)
        if status == 4 and all(one.get("answer") == "same" for one in found):
            raise errors.InternalError("kiln check found a difference and did not say which")
        return found
