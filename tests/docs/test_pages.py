"""Pages show the examples that are tested, name what is there and lead somewhere; decisions are whole."""

import re
from pathlib import Path

import pytest

from doc_pages import DOCS, PACKAGE, ROOT, text

PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
DECISIONS = sorted((DOCS / "decisions").glob("*.md"))


@pytest.mark.parametrize("page", ["README.md", "docs/README.template.md", "docs/your-own-call.md"])
def test_the_ten_lines_of_a_page_are_the_ones_that_are_tested(page: str):
    code = (DOCS / "examples" / "own_call.py").read_text(encoding="utf-8")
    assert f"```python\n{code}```" in (ROOT / page).read_text(encoding="utf-8")
    assert len([line for line in code.splitlines() if line.strip()]) == 10


def test_the_agents_step_is_the_one_that_is_tested():
    (step,) = re.findall(r"```python\n(async def step.*?)```", text("your-own-call.md"), re.DOTALL)
    assert step in (DOCS / "examples" / "own_agent.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.name)
def test_a_decision_has_its_four_parts(path: Path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith(f"# {int(path.name[:4])}. ")
    heads = [line.removeprefix("## ") for line in lines if line.startswith("## ")]
    assert heads == ["Context", "Decision", "Consequences", "What would change it"]


def test_decisions_are_numbered_without_a_gap():
    assert [int(path.name[:4]) for path in DECISIONS] == list(range(1, len(DECISIONS) + 1))


def places(page: str) -> list[str]:
    """What stands in backticks and looks like a file, a folder or a constant of the code."""
    words = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", page, flags=re.DOTALL))
    return [
        word for word in words if re.fullmatch(r"[\w/.-]+\.(py|toml|md)|[\w/.-]+/|_?[A-Z][A-Z_]{3,}", word)
    ]


SOURCE = "\n".join(
    path.read_text(encoding="utf-8") for path in [*PACKAGE.rglob("*.py"), *ROOT.glob("tests/**/*.py")]
)


@pytest.mark.parametrize("place", sorted(set(places(text("extending.md")))))
def test_every_place_that_extending_names_is_there(place: str):
    if re.fullmatch(r"_?[A-Z_]+", place):
        assert re.search(rf"\b{place}\b", SOURCE), place
    else:
        assert any((root / place).exists() for root in (ROOT, PACKAGE, DOCS)), place


def anchors(page: str) -> set[str]:
    """The anchors of a page's headings, as they are made from them: lower case, words joined."""
    heads = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", page, flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str):
    here = DOCS / page
    for target in re.findall(r"\]\(([^)\s]+)\)", text(page)):
        if "{" in target or re.match(r"\w+:", target):
            continue  # filled in when the page is made, or not ours
        file, _, anchor = target.partition("#")
        base = ROOT if page == "README.template.md" else here.parent
        to = (base / file) if file else here
        assert to.exists(), f"{page}: {target}"
        if anchor:
            assert anchor in anchors(to.read_text(encoding="utf-8")), f"{page}: {target}"
