"""The ceiling's loop: what it says, not how fast it is."""

import json
import subprocess
import sys


def test_one_look_says_both_rates():
    command = [sys.executable, "-m", "streamlanes.cpu.ceiling", "2", "0.02"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    assert set(said) == {"alone_per_s", "together_per_s"}
    assert all(each > 0 for each in said.values())
