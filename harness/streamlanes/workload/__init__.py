"""When calls start and tokens are due: pure, seeded, the same everywhere for the same seed."""

from streamlanes.workload.building import build
from streamlanes.workload.draws import Dist, HeavyTailed
from streamlanes.workload.named import AXES, WORKLOADS, resolve
from streamlanes.workload.pools import admitted, predicted_wall_s
from streamlanes.workload.schedule import MAX_TOKENS, Ns, Schedule, peak_in_flight
from streamlanes.workload.shape import TOGETHER, Arrival, Phase, Workload

__all__ = [
    "AXES",
    "MAX_TOKENS",
    "TOGETHER",
    "WORKLOADS",
    "Arrival",
    "Dist",
    "HeavyTailed",
    "Ns",
    "Phase",
    "Schedule",
    "Workload",
    "admitted",
    "build",
    "peak_in_flight",
    "predicted_wall_s",
    "resolve",
]
