"""Caps on tokens and money: a switch that stops spending, and stays off when everything restarts.

What was spent stands beside the cap, and both in the store. An attempt of an effect begins only while
its execution and the store as a whole are below their caps; one that would be over stops its
execution (`capped`), which nobody claims until the cap is raised or lifted. An attempt that is under
way when a cap is reached still ends, so up to one attempt for each execution that runs is spent beyond.

Counted is what attempts say they cost: an effect under Guard.NATURAL has no attempts and is neither
counted nor stopped. What an attempt cost that failed without saying, or whose worker died, nobody knows:
no figure is made up for it, and a cap says how many of those there are beside what it counted.
"""

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from streamlanes.durable.database import Database, Row, Write
from streamlanes.durable.errors import CapReached, DurableError
from streamlanes.durable.fence import FENCE, fenced
from streamlanes.durable.values import MOST, Lease

STORE = ""
"""The scope that is the whole store."""

_OVER = "tokens >= most_tokens OR usd >= most_usd"
BELOW = f"NOT EXISTS (SELECT 1 FROM caps WHERE scope IN ('', :thread_id) AND ({_OVER}))"
"""A condition that holds while neither the execution nor the store is at its cap."""
_COLUMNS = "scope, most_tokens, most_usd, tokens, usd"
_READ = f"""SELECT {_COLUMNS}, (SELECT count(*) FROM attempts a JOIN effects f ON f.key = a.key
    WHERE a.prompt_tokens IS NULL AND (caps.scope = '' OR f.thread_id = caps.scope)) FROM caps"""
REACHED = f"{_READ} WHERE scope IN ('', :thread_id) AND ({_OVER}) ORDER BY scope"
"""The caps that are in an execution's way."""
SPEND = f"""UPDATE caps SET tokens = tokens + coalesce(:prompt_tokens, 0) + coalesce(:output_tokens, 0),
    usd = usd + coalesce(:price_usd, 0)
WHERE scope IN ('', :thread_id)
AND EXISTS (SELECT 1 FROM attempts WHERE key = :key AND attempt = :attempt AND prompt_tokens IS NULL)
AND {FENCE}"""
"""Counts an attempt once, when it says what it cost: it stands before the statement that keeps that."""

_SET = f"""INSERT INTO caps ({_COLUMNS})
SELECT CAST(:scope AS TEXT), CAST(:tokens AS BIGINT), CAST(:usd AS {{real}}),
    coalesce(sum(a.prompt_tokens + a.output_tokens), 0), coalesce(sum(a.price_usd), 0)
FROM attempts a JOIN effects f ON f.key = a.key
WHERE CAST(:scope AS TEXT) = '' OR f.thread_id = CAST(:scope AS TEXT)
ON CONFLICT (scope) DO UPDATE SET most_tokens = excluded.most_tokens, most_usd = excluded.most_usd"""
_LIFT = "DELETE FROM caps WHERE scope = :scope"
_REOPEN = f"""UPDATE executions SET status = 'open', expires = 0 WHERE status = 'capped' AND NOT EXISTS (
    SELECT 1 FROM caps WHERE scope IN ('', executions.thread_id) AND ({_OVER}))"""
_STOP = """UPDATE executions SET status = 'capped', token = '', expires = 0
WHERE thread_id = :thread_id AND token = :token AND expires > {now}"""
_ALL = f"{_READ} ORDER BY scope"


@dataclass(frozen=True, slots=True)
class Cap:
    """A cap and what was spent under it. scope: a thread_id, or STORE. None is no cap.

    unknown: attempts of which nobody knows what they cost, now or ever; what they spent stands in no figure.
    """

    scope: str
    most_tokens: int | None
    most_usd: float | None
    tokens: int
    usd: float
    unknown: int = 0

    @property
    def reached(self) -> bool:
        """Whether nothing more may be spent."""
        over = self.most_tokens is not None and self.tokens >= self.most_tokens
        return over or (self.most_usd is not None and self.usd >= self.most_usd)


class Caps:
    """The caps of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def set(self, scope: str, tokens: int | None, usd: float | None) -> "Future[int]":
        """Cap an execution or the store, in place of the cap it had; what was spent before counts.

        0 stops it at once. Answered with how many executions go on that a cap had stopped.
        """
        if tokens is None and usd is None:
            raise DurableError(None, "a cap without a figure is none", "give tokens or dollars, or lift it")
        if not 0 <= (tokens or 0) <= MOST or not 0.0 <= (usd or 0.0) < float("inf"):
            what = f"no cap can be {tokens} tokens, {usd} USD"
            raise DurableError(None, what, f"give 0 or more, tokens up to {MOST:,}")
        row = {"scope": scope, "tokens": tokens, "usd": usd}
        return self._database.submit(Write(None, ((_SET, row), (_REOPEN, {})), lambda done: done[1].changed))

    def lift(self, scope: str) -> "Future[int]":
        """Have no cap there. Answered with how many executions go on."""
        lift = (_LIFT, {"scope": scope})
        return self._database.submit(Write(None, (lift, (_REOPEN, {})), lambda done: done[1].changed))

    def stop(self, lease: Lease) -> "Future[None]":
        """Stop an execution that is at a cap; its lease is gone then. Fails with LeaseLost."""
        return self._database.submit(fenced(lease, _STOP, {}))

    def all(self) -> Sequence[Cap]:
        """Every cap, the store's first."""
        return [Cap(*row) for row in self._database.read(_ALL, {})]


def reached(lease: Lease, row: Row) -> CapReached:
    """The error of an attempt that would be over a cap."""
    cap = Cap(*row)
    whose = "the store" if cap.scope == STORE else "it"
    beside = f" (attempts of unknown cost: {cap.unknown:,})" if cap.unknown else ""
    what = f"{whose} spent {cap.tokens:,} tokens and {cap.usd:.2f} USD{beside}, its cap is {most(cap)}"
    return CapReached(lease.thread_id, what, "raise it with `streamlanes durable cap` to go on")


def most(cap: Cap) -> str:
    """A cap in words."""
    parts = [
        f"{cap.most_tokens:,} tokens" if cap.most_tokens is not None else "",
        f"{cap.most_usd:.2f} USD" if cap.most_usd is not None else "",
    ]
    return " and ".join(part for part in parts if part)
