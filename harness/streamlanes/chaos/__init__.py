"""Kills at named points, for executions and for the runner.

plan      what is killed and where, what is counted, the verdict: pure
worker    the process that strikes itself; trial: one kill, and what was left
controls  ways of working that must be found out; session: all of it
cells     the same for `streamlanes run`
"""
