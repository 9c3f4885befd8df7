"""A cell of the chaos lane: so many kills at one point, one after the other, and a control beside them."""

from streamlanes.cells import Cell
from streamlanes.chaos import session
from streamlanes.chaos.controls import naive_retry
from streamlanes.chaos.plan import ChaosPlan, How, Scenario, Size, short
from streamlanes.durable.errors import DurableError
from streamlanes.durable.points import Point
from streamlanes.errors import UserError
from streamlanes.hearing import CellEnded
from streamlanes.lanes.chaos import Kills, budget_s, kills_of, point_of, store_of, strike_of
from streamlanes.record import Status, StatusName

HOWS = {"kill": How.KILL, "stop": How.STOP}


def strike(cell: Cell) -> Kills:
    """Carry the cell's kills out. One at a time: on a machine that is busy with others a way back would
    take longer. Raises UserError where PostgreSQL is asked for and none can be had, CellEnded where workers
    did not come to the point so often."""
    try:
        return _struck(cell)
    except DurableError as error:
        raise UserError(str(error)) from None


def _struck(cell: Cell) -> Kills:
    store, point = store_of(cell), Point(point_of(cell))
    plan = ChaosPlan(
        kills_of(cell),
        (store,),
        [(Scenario.STEPS, point)],
        cell.load().seed + cell.repetition,
        hows=(HOWS[strike_of(cell)],),
    )
    with session.opened((store,), at_once=1) as grounds:
        trials = session.carried_out(
            plan, Size(executions=cell.calls), grounds, lambda trial: None, at_once=1, budget_s=budget_s(cell)
        )
        if why := short(trials, plan.wanted):
            raise CellEnded(Status(StatusName.CRASHED, why))
        with grounds.place(store, "control") as at:
            control = naive_retry(at)
    return Kills(tuple(trials), control)
