"""Main of the measured process: `python -m streamlanes.cell`, told what to run on standard input.

It imports the standard library and what the cell measures, nothing else, and computes no figures.
One JSON object a line, in turn:

  parent -> spec          cell -> {"word": "ready"}      interpreter, loop, workers up and idle; with facts
  parent -> {"go": true}  cell -> {"word": "drained"}    every job has ended; facts come with it
  parent -> {"exit": true}                               pool workers stay until then

Instead of `ready` or `drained`: {"word": "refused", "reached": k, "reason": text} when the system
gave no more threads or processes, {"word": "failed", "reason": text} for anything else.
"""

import json
import os
import platform
import sys
import traceback
from importlib import import_module
from typing import Any

from streamlanes.backends.base import Backend, Jobs, Options, Refused, settings
from streamlanes.clients.base import Setting
from streamlanes.jobs.base import Job
from streamlanes.mishaps import Mishaps
from streamlanes.pauses import watched
from streamlanes.samples import Table


def load(target: str) -> Any:
    """The attribute that "module:attribute" names."""
    module, attribute = target.split(":")
    return getattr(import_module(module), attribute)


def compose(spec: dict[str, Any], options: Options) -> tuple[Job, Backend]:
    """Put lane's job, client and backend together as the spec names them."""
    schedule = Table.open(spec["schedule"]["path"], spec["schedule"]["columns"])
    samples = Table.open(spec["samples"]["path"], spec["samples"]["columns"])
    addresses = tuple((str(host), int(port)) for host, port in spec["addresses"])
    setting = Setting(
        schedule,
        addresses,
        spec["hold"],
        tls_ca=spec["tls_ca"],
        calls=spec["calls"],
        api=spec["api"],
        tokens_per_chunk=spec["tokens_per_chunk"],
        keep_alive=spec["keep_alive"],
        call=spec["call"],
        mishaps=Mishaps.open(spec["mishaps"]),
    )
    client = load(spec["client"])(setting)
    job: Job = load(spec["job"])(setting, samples, client, **spec["setting"])
    jobs = Jobs(job, (schedule, samples), range(spec["calls"]), job.open, job.close)
    return job, load(spec["backend"])(jobs, options)


_START_UP = frozenset({"sitecustomize", "usercustomize"})
"""Hooks that an interpreter's distributor or owner has it import by itself; no choice of the cell's."""


def facts() -> dict[str, object]:
    """What this interpreter is and what it really used."""
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    ours = {name.partition(".")[0] for name in sys.modules} - set(sys.stdlib_module_names) - _START_UP
    return {
        "implementation": platform.python_implementation(),
        "python": platform.python_version(),
        "gil": gil,
        **settings(),
        "modules": sorted(name for name in ours if not name.startswith("_")),
    }


def versions(libraries: list[str]) -> dict[str, str]:
    """Of these imports, as far as they are loaded."""
    loaded = {name: getattr(sys.modules.get(name), "__version__", None) for name in libraries}
    return {name: str(version) for name, version in loaded.items() if version is not None}


def main() -> None:
    """Run one cell as the parent says."""
    # The channel moves off standard output, so that nothing a library prints can break it.
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def say(word: str, **content: object) -> None:
        channel.write(json.dumps({"word": word, **content}) + "\n")

    spec = json.loads(sys.stdin.readline())
    try:
        options = Options(**spec["options"])
        options.configure()
        job, backend = compose(spec, options)
        job.prepare()
        backend.open()
        options.settle()
        say("ready", facts=facts())  # all there is of a cell that is stopped before it drained
        if not sys.stdin.readline():
            return  # the parent is gone
        with watched() as pauses:
            backend.run()
        found = backend.facts()
        gc_facts = found.pop("gc", pauses.facts())
        libraries = {"libraries": versions(spec["libraries"])} if spec["libraries"] else {}
        say("drained", facts={**facts(), **libraries, **found, **job.facts()}, gc=gc_facts)
        sys.stdin.readline()
        backend.close()
        job.release()
    except Refused as refusal:
        say("refused", reached=refusal.reached, reason=refusal.reason)
    except Exception as error:
        traceback.print_exc()
        say("failed", reason=f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
