"""The parallel ceiling: how much more a pure loop gets done on all these CPUs than on one.

`python -m streamlanes.cpu.ceiling PROCESSES [SECONDS]` prints one JSON object. Two CPUs need not be
twice one: they may be two threads of one core, clock down together, or be shared with others. What a
pool of workers brings is held against this and not against the number of CPUs.
"""

import json
import multiprocessing
import sys
import time

SECONDS = 0.2
"""Of each of the two looks."""
_LEAD_S = 0.02
_CHUNK = 2_000


def spin(start_at: float, seconds: float) -> float:
    """Rounds a second of a loop that touches no memory to speak of, from start_at on."""
    while time.monotonic() < start_at:
        pass
    done = 0
    value = 1
    until = start_at + seconds
    while (now := time.monotonic()) < until:
        for _ in range(_CHUNK):
            value = value * 1_103_515_245 + 12_345 & 0x7FFFFFFF
        done += _CHUNK
    return done / (now - start_at)


def measure(processes: int, seconds: float) -> dict[str, float]:
    """Rounds a second of one process, and of all together."""
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        (alone,) = pool.starmap(spin, [(time.monotonic() + _LEAD_S, seconds)])
        together = pool.starmap(spin, [(time.monotonic() + _LEAD_S, seconds)] * processes, chunksize=1)
    return {"alone_per_s": alone, "together_per_s": sum(together)}


def main() -> None:
    """Measure as the command line says."""
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else SECONDS
    print(json.dumps(measure(int(sys.argv[1]), seconds)), flush=True)


if __name__ == "__main__":
    main()
