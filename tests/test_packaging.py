"""What ships, and what the lock promises: hashes, no addresses, everything the project asks for."""

import fnmatch
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import streamlanes

ROOT = Path(__file__).parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
CORE = [Requirement(line) for line in PROJECT["project"]["dependencies"]]
DEV = [Requirement(line) for line in PROJECT["dependency-groups"]["dev"]]

# Joined here, so that this file does not hold what it looks for.
REGISTRY_HOSTS = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("python" + "hosted", "org"),
        ("registry", "npm" + "js"),
        ("deb", "debian"),
        ("archive", "ubuntu"),
    )
]


def locked_blocks() -> list[str]:
    """The lock's requirements, each with its continuation lines."""
    return [block for block in LOCK.replace("\\\n", " ").splitlines() if block.strip()]


def locked() -> dict[str, Requirement]:
    """Canonical name -> the locked requirement, hashes removed."""
    found = [Requirement(block.split("--hash", 1)[0].strip()) for block in locked_blocks()]
    return {canonicalize_name(requirement.name): requirement for requirement in found}


def pin(requirement: Requirement) -> str:
    """The one version a locked requirement allows."""
    (specifier,) = requirement.specifier
    assert specifier.operator == "==", f"{requirement} is not pinned"
    return specifier.version


def tracked_files() -> list[Path]:
    """Every file git tracks or would track; skips where there is no repository."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git repository")
    names = sorted({name for name in listed.decode().split("\0") if name})
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def test_every_locked_requirement_is_pinned_and_hashed() -> None:
    blocks = locked_blocks()
    assert len(blocks) > len(CORE) + len(DEV)
    for block in blocks:
        head, *hashes = block.split("--hash=")
        assert pin(Requirement(head.strip()))
        assert hashes, f"{head} has no hash"
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", entry.strip()) for entry in hashes), head


def test_each_package_has_one_version_for_every_interpreter() -> None:
    assert len(locked()) == len(locked_blocks())
    by_version = [
        {
            name
            for name, requirement in locked().items()
            if requirement.marker is None
            or requirement.marker.evaluate({"python_version": short, "python_full_version": f"{short}.0"})
        }
        for short in ("3.11", "3.12", "3.13")
    ]
    assert by_version[0] == by_version[1] == by_version[2]


@pytest.mark.parametrize(
    "address", ["://", "--index-url", "--extra-index-url", "--find-links", "file:", " @ "]
)
def test_the_lock_holds_no_address(address: str) -> None:
    assert address not in LOCK


@pytest.mark.parametrize("requirement", CORE + DEV, ids=lambda requirement: requirement.name)
def test_the_lock_holds_what_the_project_asks_for(requirement: Requirement) -> None:
    found = locked()[canonicalize_name(requirement.name)]
    assert requirement.specifier.contains(pin(found))
    assert str(found.marker or "").replace('"', "'") == str(requirement.marker or "").replace('"', "'")


def test_the_lock_can_build_the_project_without_isolation() -> None:
    for line in PROJECT["build-system"]["requires"]:
        requirement = Requirement(line)
        assert requirement.specifier.contains(pin(locked()[canonicalize_name(requirement.name)]))


def test_no_file_names_a_registry_host() -> None:
    hosts = [host.encode() for host in REGISTRY_HOSTS]
    found = [
        str(path.relative_to(ROOT))
        for path in tracked_files()
        if any(host in path.read_bytes().lower() for host in hosts)
    ]
    assert found == []


def test_every_data_file_of_the_package_is_declared() -> None:
    (source_root,) = PROJECT["tool"]["setuptools"]["packages"]["find"]["where"]
    package = ROOT / source_root / "streamlanes"
    patterns: list[str] = PROJECT["tool"]["setuptools"]["package-data"]["streamlanes"]
    data = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*")
        if path.is_file() and path.suffix not in {".py", ".pyc"}
    ]
    assert "py.typed" in data
    assert [name for name in data if not any(fnmatch.fnmatch(name, pattern) for pattern in patterns)] == []


def test_every_folder_with_code_is_a_package() -> None:
    """A folder without `__init__.py` would be missing from the wheel."""
    package = ROOT / "harness" / "streamlanes"
    folders = {path.parent for path in package.rglob("*.py")}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_the_package_says_the_version_it_is_shipped_as() -> None:
    assert PROJECT["project"]["version"] == streamlanes.__version__
