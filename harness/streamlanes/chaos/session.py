"""A plan of kills carried out, some trials at a time, each with a store of its own."""

import contextlib
import math
import queue
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from streamlanes.chaos.place import Place, place
from streamlanes.chaos.plan import POSTGRES, SQLITE, ChaosPlan, Control, Kill, Scenario, Size, Trial, Verdict
from streamlanes.chaos.scenarios import places, played
from streamlanes.chaos.scenarios.steps import with_checkpoints
from streamlanes.chaos.trial import run_trial
from streamlanes.children import Launcher
from streamlanes.local_postgres import Local, postgres

AT_ONCE = 4
"""Trials at a time: mostly they wait for leases to lapse."""


class Grounds:
    """Where trials take place: a folder for files of SQLite, a server where one is asked for."""

    def __init__(self, folder: Path, server: Local | None, at_once: int) -> None:
        self._folder = folder
        self._server = server
        self._launchers = [Launcher() for _ in range(at_once)]
        self._free: queue.SimpleQueue[Launcher] = queue.SimpleQueue()
        for each in self._launchers:
            self._free.put(each)

    @contextlib.contextmanager
    def place(self, store: str, name: str) -> Iterator[Place]:
        """A fresh store and a fresh receiver; both are gone at the end of the block."""
        launcher = self._free.get()
        try:
            if store == SQLITE:
                path = self._folder / f"{name}.db"
                with place(store, str(path), "", launcher) as at:
                    yield at
                for file in self._folder.glob(f"{name}.db*"):
                    file.unlink()
            else:
                assert self._server is not None
                schema = f"chaos_{name}"
                with place(store, self._server.dsn, schema, launcher) as at:
                    yield at
                self._server.drop(schema)
        finally:
            self._free.put(launcher)

    def close(self) -> None:
        """Leave no process behind."""
        for each in self._launchers:
            each.close()


def run(
    kills: int,
    stores: Sequence[str],
    scenarios: Sequence[Scenario],
    seed: int,
    size: Size,
    tell: Callable[[Trial], None],
    at_once: int = AT_ONCE,
) -> Verdict:
    """Kill so many times on each store, over all scenarios, then try their controls. tell: called for
    each trial.

    Raises UserError where PostgreSQL is asked for and none can be had.
    """
    with opened(stores, at_once) as grounds:
        plan = ChaosPlan(kills, stores, places(scenarios), seed)
        trials = carried_out(plan, size, grounds, tell, at_once)
        controls: list[Control] = []
        for number, store in enumerate(stores):
            with grounds.place(store, f"controls_{store}") as at:
                if number == 0:
                    controls += [one for each in scenarios for one in played(each).controls(at)]
                if Scenario.STEPS in scenarios:
                    controls.append(with_checkpoints(at))
    return Verdict(trials, controls, plan.wanted)


@contextlib.contextmanager
def opened(stores: Sequence[str], at_once: int) -> Iterator[Grounds]:
    """Grounds with what these stores need, gone at the end of the block."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="streamlanes-chaos-")))
        server = stack.enter_context(postgres()) if POSTGRES in stores else None
        grounds = Grounds(folder, server, at_once)
        stack.callback(grounds.close)
        yield grounds


def carried_out(  # each is a choice of its own
    plan: ChaosPlan,
    size: Size,
    grounds: Grounds,
    tell: Callable[[Trial], None],
    at_once: int,
    budget_s: float = math.inf,
) -> list[Trial]:
    """All trials of a plan. Those under way are taken to strike; the plan is asked again when one did not.
    None is begun after budget_s.
    """
    until = time.monotonic() + budget_s
    done: list[Trial] = []
    going: set[Future[Trial]] = set()
    begun = 0

    def carry_out(kill: Kill) -> Trial:
        with grounds.place(kill.store, f"k{kill.number}") as at:
            return run_trial(kill, size, at)

    with ThreadPoolExecutor(at_once) as pool:
        try:
            while True:
                struck = sum(trial.struck for trial in done)
                kill = plan.after(begun, struck + len(going))
                if kill is not None and len(going) < at_once and time.monotonic() < until:
                    going.add(pool.submit(carry_out, kill))
                    begun += 1
                    continue
                if not going:
                    return done
                over, going = wait(going, return_when=FIRST_COMPLETED)
                for each in over:
                    done.append(each.result())
                    tell(done[-1])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            grounds.close()  # ends the workers, and with them the trials
            raise
