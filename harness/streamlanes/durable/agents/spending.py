"""Caps over agents: while one is in the way nobody is woken, and replies say what they cost.

What a reply cost is kept in the ledger of attempts, like an effect's, and counted under the caps, in the
transaction that keeps the reply: once, since it is only ever kept once. What an agent cost whose reply was
refused, or whose worker died, is not known.
"""

from collections.abc import Sequence

from streamlanes.durable.agents.values import Reply, Wake
from streamlanes.durable.caps import OVER
from streamlanes.durable.database import Params

_HELD = f"EXISTS (SELECT 1 FROM caps WHERE scope IN ('', agents.name) AND ({OVER}))"
FREE = f"NOT {_HELD}"
"""A condition that holds for agents that may spend: no cap is reached, of the store or of the agent."""
HELD_BACK = f"SELECT count(*) FROM agents WHERE due IS NOT NULL AND {_HELD}"
"""Agents with something to do that a cap keeps from it."""

# True until the reply is kept, so that these change nothing where they are sent again.
_KEEPS = "name = :name AND token = :token AND due > {now} AND stage = 'processing'{share}"
_LEDGER = f"""INSERT INTO effects (key, thread_id, name, status, answer, epoch)
SELECT :key, name, 'reply', 'done', 'null', wake FROM agents WHERE {_KEEPS} ON CONFLICT DO NOTHING"""
_ATTEMPT = f"""INSERT INTO attempts (key, attempt, status, prompt_tokens, output_tokens, price_usd)
SELECT :key, :attempt, 'done', :prompt_tokens, :output_tokens, :price_usd FROM agents WHERE {_KEEPS}
ON CONFLICT DO NOTHING"""
_SPEND = f"""UPDATE caps SET tokens = tokens + :prompt_tokens + :output_tokens, usd = usd + :price_usd
WHERE scope IN ('', :name) AND EXISTS (SELECT 1 FROM agents WHERE {_KEEPS})"""


def spending(wake: Wake, reply: Reply, attempt: int) -> Sequence[tuple[str, Params]]:
    """What counts a reply's cost: it stands before the statement that keeps the reply. Nothing for one
    that says it cost nothing."""
    if not (reply.prompt_tokens or reply.output_tokens or reply.price_usd):
        return ()
    row = {
        "name": wake.agent,
        "token": wake.lease.token,
        "key": wake.reply_key,
        "attempt": attempt,
        "prompt_tokens": reply.prompt_tokens,
        "output_tokens": reply.output_tokens,
        "price_usd": float(reply.price_usd),
    }
    return tuple((each, row) for each in (_LEDGER, _ATTEMPT, _SPEND))
