"""A profile from its file: a path, or the name of a built-in one. Strict: an unknown key is an error."""

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from streamlanes.errors import UserError, unknown
from streamlanes.profile import CellsTable, KneeTable, Profile, RunTable
from streamlanes.provider.behaviour import Behaviour
from streamlanes.provider.faults import Fault

MAX_BYTES = 1 << 20
_TABLES = {"run": RunTable, "cells": CellsTable, "knee": KneeTable, "provider": Behaviour}


def load(name: str) -> Profile:
    """The profile at a path, or the built-in one of that name. Raises UserError in one line."""
    if "/" in name or name.endswith(".toml"):
        path = Path(name)
        try:
            if not path.is_file():
                path.stat()  # says what is wrong with a path that leads nowhere
                raise UserError(f"profile {path} is no regular file; name one")
            with path.open("rb") as file:
                text = file.read(MAX_BYTES + 1)
            if len(text) > MAX_BYTES:
                raise UserError(f"profile {path} is larger than 1 MiB; it is no profile")
        except OSError as error:
            raise UserError(f"cannot read profile {path}: {error.strerror or error}") from None
        return parse(text, str(path), path.stem)
    known = {each.name.removesuffix(".toml"): each for each in files("streamlanes.profiles").iterdir()}
    known = {each: file for each, file in known.items() if file.name.endswith(".toml")}
    if name not in known:
        raise unknown("profile", name, known)
    return parse(known[name].read_bytes(), name, name)


def parse(text: bytes, source: str, name: str) -> Profile:
    """A profile from its text; `source` names it in errors."""
    try:
        found = msgspec.toml.decode(text.removeprefix(b"\xef\xbb\xbf"), type=Profile)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"profile {source}: {_hint(str(error))}") from None
    except RecursionError:
        raise UserError(f"profile {source}: nested too deeply; a profile has three levels") from None
    if not 0 <= found.run.spares <= 10:
        raise UserError(f"profile {source}: spares is {found.run.spares}; it must be from 0 to 10")
    for repeats in (found.run.repeats, *(table.repeats for table in found.cells)):
        if repeats is not None and not 1 <= repeats <= 1000:
            raise UserError(f"profile {source}: repeats is {repeats}; it must be from 1 to 1000")
    name = found.name or name
    if not re.fullmatch(r"\w[\w.-]{0,63}", name, re.ASCII):
        raise UserError(f"profile {source}: the name {name!r} cannot name a folder; use letters and digits")
    return msgspec.structs.replace(found, name=name)


def _hint(message: str) -> str:
    """msgspec's message, with the nearest key where it names an unknown one."""
    if fault := re.search(r"enum value '([^']*)' .*provider[.]faults", message):
        return str(unknown("fault", fault[1], Fault))
    found = re.search(r"unknown field `(\w+)`(?: - at `([^`]*)`)?", message)
    if not found:
        return message
    where = found[2] or ""
    table: Any = next((table for name, table in _TABLES.items() if f"$.{name}" in where), Profile)
    return str(
        unknown(f"key in {where.removeprefix('$.') or 'the profile'}", found[1], table.__struct_fields__)
    )
