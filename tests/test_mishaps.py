"""What went wrong, in words: from any process, whole lines, and few kinds."""

import json
import os
import pickle
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from streamlanes.mishaps import MAX_KINDS, MAX_TEXT, OTHERS, Mishap, Mishaps, counted, one_line


def test_errors_are_counted_by_class_with_the_first_message():
    made = Mishaps.create()
    again = Mishaps.open(made.path)
    again.error(ValueError("first"))
    again.error(ValueError("second"))
    made.error(json.JSONDecodeError("bad", "x", 0))
    assert made.read() == {
        "ValueError": Mishap(2, "first"),
        "json.decoder.JSONDecodeError": Mishap(1, "bad: line 1 column 1 (char 0)"),
    }
    again.close()
    made.close()


def test_a_line_stays_a_line_whatever_the_message():
    made = Mishaps.create()
    again = pickle.loads(pickle.dumps(made))
    again.error(RuntimeError("two\nlines " + "x" * 1000))
    again.error(RuntimeError())
    ((kind, found),) = made.read().items()
    assert (kind, found.count) == ("RuntimeError", 2)
    assert found.message.startswith("two lines x")
    assert len(found.message) == MAX_TEXT
    again.close()
    made.close()


@given(st.text())
def test_any_text_is_one_line_that_can_be_written(text: str):
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert len(line) <= MAX_TEXT
    line.encode()
    assert one_line(line) == line


def test_a_name_that_is_no_unicode_does_no_harm():
    made = Mishaps.create()
    made.error(FileNotFoundError("no \udcff file\x1b[31m"))
    assert made.read() == {"FileNotFoundError": Mishap(1, "no ? file?[31m")}
    made.close()


NOTES = """
import sys
from streamlanes.mishaps import Mishaps
mishaps = Mishaps.open(sys.argv[1])
for _ in range(50):
    mishaps.note("Kind", "x" * 100)
"""


def test_processes_do_not_mix_their_lines():
    made = Mishaps.create()
    writers = [subprocess.Popen([sys.executable, "-c", NOTES, made.path]) for _ in range(2)]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert made.read() == {"Kind": Mishap(100, "x" * 100)}
    made.close()


def test_a_file_that_is_gone_costs_the_note_alone():
    made = Mishaps.create()
    again = Mishaps.open(made.path)
    os.close(again._fd)
    again.note("Kind", "nobody reads it")
    assert made.read() == {}
    made.close()


@given(st.lists(st.sampled_from("abcdefghijkl")))
def test_no_more_than_a_few_kinds_are_told_and_none_is_lost(kinds: list[str]):
    found = counted([json.dumps([kind, "why"]).encode() for kind in kinds])
    assert sum(each.count for each in found.values()) == len(kinds)
    assert len(found) <= MAX_KINDS + 1
    assert (OTHERS in found) == (len(set(kinds)) > MAX_KINDS)


def test_a_cut_line_is_none():
    assert counted([b'["a", "x"]', b'["a", "']) == {"a": Mishap(1, "x")}
