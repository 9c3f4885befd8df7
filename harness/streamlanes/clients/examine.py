"""What a person's function is: `python -m streamlanes.clients.examine module:function`.

The parent imports nobody's code. It starts this under the cell's interpreter and reads one line of JSON:
{"form": ..., "source": ...} of a function that can be called, or {"problem": ...}.
"""

import difflib
import functools
import hashlib
import inspect
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from streamlanes.clients.own import find


def examined(target: str) -> dict[str, str]:
    """form: see below. source: a digest of the module's file. Whatever a module does while it is imported
    is a problem and no exception, short of ending the process."""
    try:
        function = find(target)
    except AttributeError as error:
        return {"problem": _no_such_name(target, error)}
    except (Exception, SystemExit) as error:
        return {"problem": f"{type(error).__name__}: {error}"}
    if not callable(function):
        return {"problem": f"it is {type(function).__name__} and cannot be called"}
    try:
        signature = inspect.signature(function)
    except ValueError:  # some that are built in do not tell
        signature = inspect.Signature([_any("base_url"), _any("prompt")])
    try:
        signature.bind("base URL", "prompt")
    except TypeError:
        return {"problem": f"it takes {signature}; it must take a base URL and a prompt"}
    return {"form": form(function), "source": _source(target)}


def form(function: Callable[..., Any]) -> str:
    """What kind of function it is: "async generator", "async function", "generator" or "function".

    A decorator's wrapper counts as what it wraps, a partial as its function, an object as its call.
    """
    inner: Any = inspect.unwrap(function)
    while isinstance(inner, functools.partial):
        inner = inspect.unwrap(inner.func)
    if not inspect.isroutine(inner) and not inspect.isclass(inner):
        inner = inner.__call__
    if inspect.isasyncgenfunction(inner):
        return "async generator"
    if inspect.iscoroutinefunction(inner):
        return "async function"
    return "generator" if inspect.isgeneratorfunction(inner) else "function"


def _any(name: str) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY)


def _no_such_name(target: str, error: AttributeError) -> str:
    """The nearest name that the module has; or what it stumbled over itself."""
    name, module = target.partition(":")[2], sys.modules.get(target.partition(":")[0])
    if module is None or error.obj is not module or error.name != name:
        return f"AttributeError: {error}"
    near = difflib.get_close_matches(name, [each for each in vars(module) if not each.startswith("_")], n=1)
    return f"its module has no {name!r}" + (f"; did you mean {near[0]!r}?" if near else "")


def _source(target: str) -> str:
    """A digest of the file of the function's module; empty where there is none to read."""
    file = getattr(sys.modules.get(target.partition(":")[0]), "__file__", None)
    if file is None or not os.path.isfile(file):
        return ""
    with open(file, "rb") as text:
        return hashlib.sha256(text.read()).hexdigest()[:16]


def main() -> None:
    """Answer for the function on the command line; what its module prints goes to standard error."""
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    answer.write(json.dumps(examined(sys.argv[1])) + "\n")
    answer.flush()
    os._exit(0)  # threads that the module started do not keep this process


if __name__ == "__main__":
    main()
