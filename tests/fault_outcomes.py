"""How a call ends that meets a fault of the provider, whatever the client."""

from streamlanes.provider.faults import Fault
from streamlanes.samples import Outcome

OUTCOMES = {
    Fault.STATUS_429: Outcome.STATUS_4XX,
    Fault.STATUS_429_RETRY_AFTER: Outcome.STATUS_4XX,
    Fault.STATUS_500: Outcome.STATUS_5XX,
    Fault.STATUS_503: Outcome.STATUS_5XX,
    Fault.STATUS_529: Outcome.STATUS_5XX,
    Fault.ERROR: Outcome.PROVIDER_ERROR,
    Fault.CUT_INSIDE: Outcome.TRUNCATED,
    Fault.CUT_BETWEEN: Outcome.TRUNCATED,
    Fault.RESET: Outcome.RESET,
}
"""Those that are not named are right answers."""
