"""A worker under chaos: `python -m streamlanes.chaos.worker`, its task a JSON line on standard input.

What it does is its mode, one module each in workers/: it carries work out like any worker and says in
JSON lines what it does. When it has passed the named point often enough it kills or stops itself there:
a real signal at an exact place.
"""

import importlib
import json
import sys
from collections.abc import Callable
from typing import Any

from streamlanes.chaos.saying import Strike, kept, say
from streamlanes.durable.points import watch

MODES = {
    "durable": "streamlanes.chaos.workers.steps:work",
    "approval": "streamlanes.chaos.workers.approval:work",
    "rainbow": "streamlanes.chaos.workers.rainbow:work",
    "replay": "streamlanes.chaos.workers.replay:work",
    "queue": "streamlanes.chaos.workers.queue:work",
    "mailboxes": "streamlanes.chaos.workers.queue:in_memory",
    "list": "streamlanes.chaos.workers.controls:in_a_list",
    "naive": "streamlanes.chaos.workers.controls:naively",
    "asks": "streamlanes.chaos.workers.controls:asking_in_memory",
}
"""Where each mode's work is: a function of the task, imported only when chosen."""

Work = Callable[[dict[str, Any]], None]


def main() -> None:
    """Read the task, do it, say so. The process ends with its parent: nothing answers for it then."""
    task = json.loads(sys.stdin.readline())
    module, _, name = MODES[task["mode"]].partition(":")
    work: Work = getattr(importlib.import_module(module), name)
    strike = task.get("strike")
    watch(Strike(**strike) if strike is not None else kept)
    work(task)
    say("over")


if __name__ == "__main__":
    main()
