"""Jobs of cells under test, made in the measured process itself."""

from typing import Any

from streamlanes.jobs import post
from streamlanes.jobs.cpu import CpuJob


def impatient(*args: Any, **asked: Any) -> CpuJob:
    """The job of the CPU lane, with half a second for a document of its sample."""
    post.SAMPLE_LIMIT_S = 0.5
    return CpuJob(*args, **asked)
