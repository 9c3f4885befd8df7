"""A series as a distribution."""

import numpy as np

from streamlanes.distributions import distribution


def test_percentiles_are_values_that_occurred():
    found = distribution(np.array([3.0, 1.0, 2.0, 10.0]))
    assert (found["min"], found["p50"], found["p90"], found["max"]) == (1.0, 2.0, 10.0, 10.0)
    hundred = distribution(np.arange(1.0, 101.0))
    assert (hundred["p50"], hundred["p99"], hundred["p999"]) == (50.0, 99.0, 100.0)
