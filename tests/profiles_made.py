"""A small profile, as text and as what it means."""

from streamlanes.profile import Profile
from streamlanes.profile_files import parse

SMALL = b"""
[run]
seed = 3
[[cells]]
backends = ["asyncio", "thread-pool"]
client = "timer"
workload = "lesson"
calls = [10, 20]
sweep = { width = [2, 4] }
"""


def small() -> Profile:
    return parse(SMALL, "small.toml", "small")
