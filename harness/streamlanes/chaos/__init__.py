"""Kills at named points, for executions and for the runner.

plan       what is killed and where, what is counted, the verdict: pure
scenarios  what the killed workers do, a module each: what is laid, what is counted, its controls
worker     the process that strikes itself; workers/ is what it does, saying how it speaks
place      where a trial happens; trial: one kill, and what was left
controls   ways of working that must be found out; session: all of it
cells      the same for `streamlanes run`
"""
