"""Streamlanes measures how to run thousands of streaming LLM calls in Python."""

__version__ = "0.1.0"
