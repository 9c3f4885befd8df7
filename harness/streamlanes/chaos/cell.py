"""A cell of the chaos lane: so many kills at one point, one after the other, and a control beside them."""

import contextlib
import random
import tempfile
from pathlib import Path

from streamlanes.cells import Cell
from streamlanes.chaos.controls import naive_retry
from streamlanes.chaos.plan import HITS, MOST_HITS, How, Kill, Size, Trial
from streamlanes.chaos.session import POSTGRES, Grounds
from streamlanes.chaos.trial import run_trial
from streamlanes.durable.points import Point
from streamlanes.lanes.chaos import Kills, kills_of, point_of, store_of, strike_of
from streamlanes.local_postgres import postgres

HOWS = {"kill": How.KILL, "stop": How.STOP}


def strike(cell: Cell) -> Kills:
    """Carry the cell's kills out. One at a time: on a machine that is busy with others a way back would
    take longer. Raises UserError where PostgreSQL is asked for and none can be had."""
    store = store_of(cell)
    trials: list[Trial] = []
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="streamlanes-chaos-")))
        server = stack.enter_context(postgres()) if store == POSTGRES else None
        grounds = Grounds(folder, server, at_once=1)
        stack.callback(grounds.close)
        while (kill := next_kill(cell, trials)) is not None:
            with grounds.place(store, f"k{kill.number}") as at:
                trials.append(run_trial(kill, Size(executions=cell.calls), at))
        with grounds.place(store, "control") as at:
            control = naive_retry(at)
    return Kills(tuple(trials), control)


def next_kill(cell: Cell, trials: list[Trial]) -> Kill | None:
    """The kill after these: the same one at another passage, until enough workers were struck. Pure."""
    if sum(trial.struck for trial in trials) >= kills_of(cell):
        return None
    number, point = len(trials), Point(point_of(cell))
    draw = random.Random(f"{cell.load().seed} {cell.repetition} {number}")
    hit = draw.randint(1, MOST_HITS.get(point, HITS))
    return Kill(number, point, HOWS[strike_of(cell)], hit, store_of(cell))
