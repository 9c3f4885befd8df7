"""What is killed, a scenario a module: the parent's side. The worker's side is in workers/."""

import importlib
from collections.abc import Sequence

from streamlanes.chaos.plan import Scenario
from streamlanes.chaos.scenarios.base import Played
from streamlanes.durable.points import Point

SCENARIOS = {
    Scenario.STEPS: "streamlanes.chaos.scenarios.steps:STEPS",
    Scenario.APPROVAL: "streamlanes.chaos.scenarios.approval:APPROVAL",
    Scenario.RAINBOW: "streamlanes.chaos.scenarios.rainbow:RAINBOW",
    Scenario.REPLAY: "streamlanes.chaos.scenarios.replay:REPLAY",
    Scenario.QUEUE: "streamlanes.chaos.scenarios.queue:QUEUE",
}
"""Where each scenario is, imported only when chosen."""


def played(scenario: Scenario) -> Played:
    """A scenario's own part."""
    module, _, name = SCENARIOS[scenario].partition(":")
    found: Played = getattr(importlib.import_module(module), name)
    return found


def places(scenarios: Sequence[Scenario]) -> list[tuple[Scenario, Point]]:
    """All that can be struck in these scenarios."""
    return [(scenario, point) for scenario in scenarios for point in played(scenario).points]
