"""Small folders that stand for the root of a file system."""

from pathlib import Path


def write_tree(root: Path, files: dict[str, str]) -> Path:
    """Writes each file below `root`, with the folders it needs, and gives `root` back."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root
