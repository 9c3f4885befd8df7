"""The provider's page has every fault, setting, bound and path of the code."""

import re

import msgspec
import pytest

from doc_pages import flowing, text
from streamlanes.profile_files import parse
from streamlanes.provider import connection, deadlines, embeddings, routes, tls
from streamlanes.provider.behaviour import Behaviour, problem
from streamlanes.provider.faults import Fault
from streamlanes.samples import Outcome


@pytest.mark.parametrize("fault", Fault)
def test_every_fault_is_in_the_providers_page(fault: Fault):
    (row,) = [line for line in text("provider.md").splitlines() if line.startswith(f"| `{fault}` |")]
    ends = row.rstrip("| ").rpartition("|")[2]
    assert any(f"`{how.name.lower()}`" in ends for how in Outcome)


def test_the_providers_page_shows_every_setting_with_its_default():
    (example,) = re.findall(r"```toml\n(.*?)```", text("provider.md"), re.DOTALL)
    shown = parse(example.encode(), "provider.md", "example").provider
    named = set(re.findall(r"^(\w+) = ", example.partition("[provider.faults]")[0], re.MULTILINE))
    assert named | {"faults"} == set(Behaviour.__struct_fields__)
    assert msgspec.structs.replace(shown, at=None, limit_per_s=None, faults={}) == Behaviour()
    assert problem(shown) is None


@pytest.mark.parametrize(
    "sentence",
    [
        f"A head is {connection.MAX_HEAD_BYTES >> 10} KiB at most",
        f"a body {connection.MAX_BODY_BYTES >> 20} MiB",
        f"must be there {deadlines.REQUEST_S:g} s after",
        f"a TLS handshake after {tls.HANDSHAKE_S:g} s",
        f"more than {connection.MAX_UNREAD_BYTES >> 20} MiB of answers unread",
        f"have {embeddings.MOST_NUMBERS:,} numbers at most",
        f"{embeddings.DIMENSIONS} dimensions unless",
    ],
)
def test_the_providers_page_says_the_bounds_of_the_code(sentence: str):
    assert sentence in flowing("provider.md")


def test_the_providers_page_lists_every_path():
    for method, path in routes.ROUTES:
        assert f"`{method.decode()} {path.decode()}`" in text("provider.md")
