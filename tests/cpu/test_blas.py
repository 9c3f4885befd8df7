"""BLAS is told before numpy is imported, and what was told is read back."""

import subprocess
import sys

from streamlanes.cpu import blas

PROGRAM = """
from streamlanes.cpu import blas
print(blas.told())
blas.one_thread()
import numpy as np
a = np.ones((600, 600), np.float32)
a @ a
import os
print(blas.told(), len(os.listdir("/proc/self/task")))
"""


def test_one_thread_is_told_and_is_all_there_is():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    before, after = done.stdout.splitlines()
    assert before == "None"
    assert after == "1 1"


def test_nothing_is_said_to_have_been_told_once_numpy_is_there():
    assert "numpy" in sys.modules
    blas.one_thread()
    assert blas.told() is None
