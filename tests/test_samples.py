"""The shared tables: written in one process, read in another."""

import os
import pickle
import subprocess
import sys

import pytest

from streamlanes.samples import Table, call_columns, provider_columns, schedule_columns


def test_what_one_mapping_writes_the_other_reads():
    one = Table.create("test", (("a", 3), ("b", 2)))
    other = Table.open(one.path, one.columns)
    other["b"][1] = -(1 << 62)
    one["a"][2] = 7
    assert list(one["b"]) == [0, -(1 << 62)]
    assert list(other["a"]) == [0, 0, 7]
    other.close()
    one.close()


def test_another_process_opens_it_by_path():
    table = Table.create("test", (("a", 1),))
    program = (
        "import sys; from streamlanes.samples import Table; Table.open(sys.argv[1], [('a', 1)])['a'][0] = 42"
    )
    subprocess.run([sys.executable, "-c", program, table.path], check=True)
    assert table["a"][0] == 42
    table.close()


def test_a_pickled_table_opens_the_same_memory():
    table = Table.create("test", (("a", 1),))
    again = pickle.loads(pickle.dumps(table))
    again["a"][0] = 5
    assert table["a"][0] == 5
    again.close()
    table.close()


def test_a_row_beyond_the_column_is_an_error():
    table = Table.create("test", (("a", 2), ("b", 2)))
    with pytest.raises(IndexError):
        table["a"][2] = 1
    table.close()


def test_closing_gives_the_descriptor_back():
    before = len(os.listdir("/proc/self/fd"))
    Table.create("test", (("a", 2),)).close()
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("columns", [schedule_columns, call_columns, provider_columns])
def test_columns_have_a_row_for_each_call_or_token(columns):
    assert {rows for _, rows in columns(3, 11)} <= {3, 4, 8, 11}
