"""Ways to carry many executions on, in miniature: what agent back-ends are built like.

Each module holds what `durable.architecture.Architecture` asks for, and is imported only when its name
in `durable.architectures` is chosen. They stand on `durable` and on nothing of the harness.

  replaying  a replay engine: each step an activity in an event log
  claims     a queue that is a table, and a de-duplicating consumer's end of it
  queue      consumers that claim from it, and a state store
  actors     AgentQueue: an execution is two agents that write to each other
  rows       one row an execution, changed where its version is the one that was read
  app, web   ... behind a FastAPI app on uvicorn, with LISTEN and NOTIFY: FastAPI, Postgres, nothing else
"""
