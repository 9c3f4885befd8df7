"""The documents of this project, as text."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PACKAGE = ROOT / "harness" / "streamlanes"


def text(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def flowing(name: str) -> str:
    """A page with its line breaks as spaces, so that a sentence can be looked for."""
    return " ".join(text(name).split())
