"""Modules that a person might have written, importable for the length of a test."""

import importlib
import sys
from pathlib import Path

import pytest

NAME = "somebody"


def write(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch, name: str = NAME) -> None:
    """A module in `folder`, which becomes the current directory; it is imported anew."""
    (folder / f"{name}.py").write_text(text)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    importlib.invalidate_caches()
