"""Several processes, each running an in-process backend over its share of the calls."""

import multiprocessing
from collections.abc import Callable
from importlib import import_module
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from streamlanes.backends.base import Backend, Jobs, Options, Refused, settings
from streamlanes.pauses import merged, watched

Report = tuple[str, object]
"""("ready" | "drained", facts) or ("refused", (reached, reason)) or ("failed", text)."""


def _worker(target: str, jobs: Jobs, options: Options, pipe: Connection) -> None:
    """A worker's life: come up, wait for the word, run, stay until told to go (its clocks are read)."""
    module, attribute = target.split(":")
    make: Callable[[Jobs, Options], Backend] = getattr(import_module(module), attribute)
    backend = None
    try:
        options.configure()
        jobs.touch()
        backend = make(jobs, options)
        backend.open()
        options.settle()
        pipe.send(("ready", {}))
        pipe.recv()
        with watched() as pauses:
            backend.run()
        pipe.send(("drained", {**backend.facts(), **settings(), "gc": pauses.facts()}))
    except Refused as refusal:
        pipe.send(("refused", (refusal.reached, refusal.reason)))
    except Exception as error:
        pipe.send(("failed", f"{type(error).__name__}: {error}"))
    try:
        pipe.recv()
    except EOFError:
        return
    if backend is not None:
        backend.close()


class Processes:
    """`workers` processes; calls go to them in turn."""

    def __init__(self, jobs: Jobs, options: Options, target: str) -> None:
        self._target = target
        self._jobs = jobs
        self._options = options
        self._context = multiprocessing.get_context(options.start_method)
        self._pipes: list[Connection] = []
        self._workers: list[BaseProcess] = []
        self._facts: dict[str, object] = {}

    def open(self) -> None:
        """Start the workers and wait until each is up."""
        for which in range(self._options.workers):
            ours, theirs = self._context.Pipe()
            share = self._jobs.share(which, self._options.workers)
            worker = self._context.Process(  # type: ignore[attr-defined]  # typeshed: on the subclasses only
                target=_worker, args=(self._target, share, self._options, theirs), daemon=True
            )
            try:
                worker.start()
            except OSError as error:
                raise Refused(0, str(error)) from None
            theirs.close()  # now, or no end of file would tell that this worker died
            self._pipes.append(ours)
            self._workers.append(worker)
        self._gather("ready")

    def run(self) -> None:
        """Let the workers run and wait for all of them."""
        for pipe in self._pipes:
            try:
                pipe.send("go")
            except OSError:
                raise RuntimeError("a worker process died") from None
        self._facts = self._gather("drained")

    def _gather(self, expected: str) -> dict[str, object]:
        facts: dict[str, object] = {}
        refused: list[tuple[int, str]] = []
        reached = 0
        for pipe in self._pipes:
            try:
                word, content = pipe.recv()
            except EOFError:
                raise RuntimeError("a worker process died") from None
            if word == "refused":
                refused.append(content)
                reached += content[0]
            elif word == expected:
                facts = {**content, "gc": merged(facts.get("gc"), content.get("gc"))}
            else:
                raise RuntimeError(f"a worker process failed: {content}")
        if refused:
            raise Refused(reached, refused[0][1])
        return facts

    def facts(self) -> dict[str, object]:
        """A worker's facts and settings, the worker count, the start method."""
        return {
            **self._facts,
            "workers": len(self._workers),
            "start_method": self._context.get_start_method(),
        }

    def close(self) -> None:
        """Let the workers go."""
        for pipe in self._pipes:
            try:
                pipe.send("exit")
            except OSError:
                continue  # that worker is gone already
        for worker in self._workers:
            worker.join(timeout=5)


def asyncio_loops(jobs: Jobs, options: Options) -> Processes:
    """An asyncio loop in each process."""
    return Processes(jobs, options, "streamlanes.backends.aio:asyncio_loop")


def uvloop_loops(jobs: Jobs, options: Options) -> Processes:
    """A uvloop loop in each process."""
    return Processes(jobs, options, "streamlanes.backends.aio:uvloop_loop")


def threads_per_call(jobs: Jobs, options: Options) -> Processes:
    """A thread per call in each process."""
    return Processes(jobs, options, "streamlanes.backends.threads:per_call")
