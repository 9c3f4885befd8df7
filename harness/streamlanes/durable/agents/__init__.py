"""Agents that write to each other: an in-queue and an out-queue each, in one database (after MegaAgent).

An agent is a few columns of a row while it has nothing to read: no thread, task, connection or timer.

  values   what is passed around: mail, wake-ups, replies
  rules    who may write to whom, in two layers; what a reply must be. Pure
  tables   the two tables
  spending caps: who may be woken, and what replies cost
  queue    AgentQueue: Idle, Processing, Response, each change one transaction
  work     the loop that wakes agents, in an event loop
  talk     a task that any number of agents carries out with a known number of messages
"""
