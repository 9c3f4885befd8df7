"""The two tables of AgentQueue.

agents.due says when a worker may take the agent: never (NULL) while it is idle and has no mail or is
parked, since its mail came while it has some, and at the lease's end while a worker has it. So one small
index finds who has work, longest waiting first, and an agent without any is not even in it.
"""

AGENT_TABLES = (
    # waiting: mail in its in-queue that no wake-up has taken. wake: number of its last wake-up.
    # token: of the take that it was woken in. fault: why it is parked, '' else. memory: JSON. reply: drawn
    # anew for each answer.
    """CREATE TABLE IF NOT EXISTS agents (
    name TEXT PRIMARY KEY,
    team TEXT NOT NULL,
    admin BIGINT NOT NULL,
    stage TEXT NOT NULL,
    waiting BIGINT NOT NULL,
    wake BIGINT NOT NULL,
    token TEXT NOT NULL,
    due {real},
    fault TEXT NOT NULL,
    memory TEXT NOT NULL,
    reply TEXT NOT NULL
)""",
    "CREATE INDEX IF NOT EXISTS agents_due ON agents (due) WHERE due IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS agents_token ON agents (token)",
    # place: out (in the sender's out-queue), in (in the recipient's in-queue), read (in the batch of
    # its wake-up number `wake`). sent: orders the mail of one sender.
    """CREATE TABLE IF NOT EXISTS mail (
    key TEXT PRIMARY KEY,
    sender TEXT NOT NULL,
    sent BIGINT NOT NULL,
    recipient TEXT NOT NULL,
    family TEXT NOT NULL,
    place TEXT NOT NULL,
    wake BIGINT NOT NULL,
    text TEXT NOT NULL
)""",
    "CREATE INDEX IF NOT EXISTS mail_out ON mail (sender) WHERE place = 'out'",
    "CREATE INDEX IF NOT EXISTS mail_in ON mail (recipient, wake)",
)
