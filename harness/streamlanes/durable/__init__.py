"""Executions that survive their workers: checkpoints, leases, effects, on SQLite and PostgreSQL.

Small and real patterns, under test here like a backend or a client: the package knows nothing of the
harness around it and needs the standard library only, and psycopg where PostgreSQL is chosen.

  errors, values   what can go wrong, and what is passed around
  database         requests, and what a database must do with them; writer: the group commit
  sqlite, postgres the two databases
  checkpoints      the CheckpointStore; leases, effects, outbox: what else an execution keeps
  running          run_with_checkpoint: claim, replay, step, checkpoint
  events, history  a workflow's log, and the log held against code
  activities       @activity, now(), random(), uuid(); sessions: one worker along one log
  replay           run_or_replay: a workflow along its log, and on from its end; logfile: logs as files
  tracing, spans   what workers did and when; telemetry, audit: shown, and looked through
  people           requests to a person, and decisions; caps: what may be spent
  versions         several runtime versions at once, each execution on its own
  receiver         the other end of an effect, with a ledger of its own
"""
