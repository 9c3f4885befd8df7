"""People's own kernel: any function of a module, one text in, one vector out."""

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from streamlanes.cpu.base import KernelError, Vector


class Own:
    """`module:function`; the module is looked for in the current folder too, after everything else."""

    varies = False

    def __init__(self, target: str) -> None:
        self._target = target
        self._function = _found(target)

    def __call__(self, text: str) -> Vector:
        """Whatever the function returns, or raises."""
        return self._function(text)

    def __reduce__(self) -> tuple[object, ...]:
        return (Own, (self._target,))


def _found(target: str) -> Callable[[str], Vector]:
    module, _, name = target.partition(":")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.append(here)
    try:
        found: Any = import_module(module)
    except Exception as error:  # whatever a module does while it is imported
        raise KernelError(f"kernel {target} does not import: {type(error).__name__}: {error}") from None
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise KernelError(f"kernel {target}: {module} has no function {name!r}")
    function: Callable[[str], Vector] = found
    return function
