"""From stamps and readings to figures: pure. Where a figure cannot be had, a reason stands in its place."""

from functools import cached_property

import numpy as np
import numpy.typing as npt

from streamlanes.distributions import Floats, distribution
from streamlanes.facts import Facts, Missing
from streamlanes.readings import Window
from streamlanes.samples import Outcome
from streamlanes.workload import Ns, peak_in_flight

Bools = npt.NDArray[np.bool_]

MIN_PLATEAU_S = 1.0
UNTRACED = Missing(
    "no call's tokens are those of the last request with its mark, which has the provider's times"
)
NO_PLATEAU = Missing("no plateau: fewer than 1 s from the last first token to the first end")


class Calls:
    """The calls of a timed pass, with what follows from their stamps. Times in ms are signed and
    never clamped; only calls that ended ok enter them."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.timed = facts.timed
        self.schedule = facts.timed.schedule
        self.stamps = facts.timed.calls
        self._distributions: dict[str, dict[str, float | Missing]] = {}

    def distribution(self, name: str) -> dict[str, float | Missing]:
        """The members of one of the series below, sorted once."""
        if name not in self._distributions:
            none = "no call that ended ok came to it" if self.ok.any() else "no call that ended ok"
            self._distributions[name] = distribution(getattr(self, name), none)
        return self._distributions[name]

    @cached_property
    def ok(self) -> Bools:
        """Which calls ended ok."""
        ok: Bools = self.stamps.outcome == Outcome.OK
        return ok

    @cached_property
    def traced(self) -> Bools | Missing:
        """Which ok calls can be held against the provider's times, which are those of the last request with
        a call's mark: it saw one, and sent each token before it was received. Only people's own code asks
        otherwise: without the mark, or once more after the request whose tokens it gave. Of other clients
        none is left out: there it would be a fault to be seen."""
        if self.timed.provider is None or not self.facts.own_code or not self.ok.any():
            return self.ok
        received, sent = self.stamps.received, self.timed.provider.sent
        strange = (received > 0) & ((sent == 0) | (received < sent))
        of_call = np.logical_or.reduceat(strange, self.schedule.first[:-1])
        traced: Bools = self.ok & (self.timed.provider.seen > 0) & ~of_call
        return traced if traced.any() else UNTRACED

    @cached_property
    def counts(self) -> Ns:
        """Tokens that each call is scheduled to have."""
        return np.diff(self.schedule.first)

    @cached_property
    def start_ns(self) -> Ns:
        """Intended starts on the clock."""
        return self.schedule.start_ns + self.timed.origin_ns

    @cached_property
    def model_start_ns(self) -> Ns:
        """When the model saw each call: the provider's stamp, or what `timer` counted from."""
        if self.timed.provider is not None:
            return self.timed.provider.seen
        return self.stamps.sent

    @cached_property
    def token_call(self) -> Ns:
        """The call of each token row."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    @cached_property
    def counted(self) -> Bools:
        """Token rows that enter latency figures: received, of a call that ended ok."""
        return self.ok[self.token_call] & (self.stamps.received > 0)

    @cached_property
    def traced_tokens(self) -> Bools | Missing:
        """The counted token rows of traced calls."""
        traced = self.traced
        return traced if isinstance(traced, Missing) else self.counted & traced[self.token_call]

    def due_ns(self, base_ns: Ns) -> Ns:
        """When each token is due: a base per call + the token's offset."""
        due: Ns = base_ns[self.token_call] + self.schedule.offset_ns
        return due

    @cached_property
    def lateness_ms(self) -> Floats:
        """Received minus due on the absolute schedule."""
        return (self.stamps.received - self.due_ns(self.start_ns))[self.counted] / 1e6

    @cached_property
    def stream_ms(self) -> Floats | Missing:
        """Lateness without the call's start lag, over the plateau's tokens; over all without one."""
        rows = self.traced_tokens
        if isinstance(rows, Missing):
            return rows
        due = self.due_ns(self.model_start_ns)[rows]
        late: Floats = (self.stamps.received[rows] - due) / 1e6
        window = self.plateau
        if isinstance(window, Missing):
            return late
        return late[(due >= window.first.at_ns) & (due <= window.last.at_ns)]

    @cached_property
    def client_ms(self) -> Floats | Missing:
        """The client's part of lateness: received minus sent; for `timer` received minus due."""
        rows = self.traced_tokens
        if isinstance(rows, Missing):
            return rows
        provider = self.timed.provider
        sent = self.due_ns(self.model_start_ns) if provider is None else provider.sent
        return (self.stamps.received - sent)[rows] / 1e6

    @cached_property
    def provider_ms(self) -> Floats | Missing:
        """The provider's part of lateness: sent minus (when it saw the request + offset)."""
        rows = self.traced_tokens
        if self.timed.provider is None:
            return Missing("this client has no provider")
        if isinstance(rows, Missing):
            return rows
        return (self.timed.provider.sent - self.due_ns(self.timed.provider.seen))[rows] / 1e6

    @cached_property
    def start_lag_ms(self) -> Floats | Missing:
        """When the model saw the call minus its intended start: what rides on every token."""
        traced = self.traced
        if isinstance(traced, Missing):
            return traced
        return (self.model_start_ns - self.start_ns)[traced] / 1e6

    @cached_property
    def queue_ms(self) -> Floats:
        """The start lag's local part: the call's first line minus its intended start."""
        return (self.stamps.begin - self.start_ns)[self.ok] / 1e6

    @cached_property
    def connect_ms(self) -> Floats | Missing:
        """From the call's first line to its connection."""
        told = self._connected
        if isinstance(told, Missing):
            return told
        return (self.stamps.connected - self.stamps.begin)[told] / 1e6

    @cached_property
    def accept_ms(self) -> Floats | Missing:
        """From the connection to the request seen by the provider: its accept queue and reading."""
        told = self._connected
        if isinstance(told, Missing):
            return told
        return (self.model_start_ns - self.stamps.connected)[told] / 1e6

    @cached_property
    def _connected(self) -> Bools | Missing:
        """Which ok calls have a client that said when it was connected; a library may not tell, nor a
        connection that was there already."""
        if self.timed.provider is None:
            return Missing("this client has no connection")
        if not self.stamps.connected.any():
            return Missing("this client does not say when it is connected")
        return self.ok & (self.stamps.connected > 0)

    @cached_property
    def first_token_ns(self) -> Ns:
        """When each call's first token was received, 0 where it was not."""
        return self.stamps.received[self.schedule.first[:-1]]

    def since_start_ms(self, at_ns: Ns) -> Floats:
        """A stamp of each ok call that came to it, minus the call's intended start."""
        return (at_ns - self.start_ns)[self.ok & (at_ns > 0)] / 1e6

    @cached_property
    def first_event_ms(self) -> Floats:
        """First event of any kind, one without a token too, minus intended start."""
        return self.since_start_ms(self.stamps.first_event)

    @cached_property
    def ttft_ms(self) -> Floats:
        """First token received, text or reasoning, minus intended start."""
        return self.since_start_ms(self.first_token_ns)

    @cached_property
    def first_visible_ms(self) -> Floats:
        """First token of text received minus intended start."""
        return self.since_start_ms(self.stamps.first_visible)

    @cached_property
    def e2e_ms(self) -> Floats:
        """The call's end minus its intended start."""
        return (self.stamps.end - self.start_ns)[self.ok] / 1e6

    @cached_property
    def inter_chunk_ms(self) -> Floats:
        """Between a call's consecutive chunks, as received: their first tokens, where they bring several."""
        within = np.arange(self.schedule.tokens) - self.schedule.first[self.token_call]
        head = np.flatnonzero(within % self.facts.tokens_per_chunk == 0)
        counted, call = self.counted[head], self.token_call[head]
        both = counted[1:] & counted[:-1] & (call[1:] == call[:-1])
        gaps: Floats = np.diff(self.stamps.received[head])[both] / 1e6
        return gaps

    @cached_property
    def plateau(self) -> Window | Missing:
        """From the last first token to the first end, shrunk to the outside readings within.

        Calls that failed take no part in it; a call without an end means that the cell was stopped,
        and then nothing is known of a plateau.
        """
        if (self.stamps.end == 0).any():
            return Missing("no plateau: some calls had not ended when the cell was over")
        if not self.ok.any():
            return Missing("no plateau: no call ended ok")
        if self.schedule.median_gap_ms is None:
            return Missing("no plateau: no call has tokens that are due apart")
        first, ended = self.first_token_ns[self.ok], self.stamps.end[self.ok]
        inside = [r for r in self.timed.readings if first.max() <= r.at_ns <= ended.min()]
        if len(inside) < 2 or inside[-1].at_ns - inside[0].at_ns < MIN_PLATEAU_S * 1e9:
            return NO_PLATEAU
        return Window(inside[0], inside[-1])

    @cached_property
    def whole(self) -> Window | Missing:
        """From ready to drained."""
        if len(self.timed.readings) < 2:
            return Missing("the cell ended before its CPU clock could be read twice")
        return Window(self.timed.readings[0], self.timed.readings[-1])

    def received_within(self, window: Window) -> int:
        """Tokens received in a window."""
        at = self.stamps.received
        return int(((at > window.first.at_ns) & (at <= window.last.at_ns)).sum())

    @cached_property
    def tokens(self) -> int:
        """Tokens received by all calls, whatever their end."""
        ended = self.stamps.outcome > 0
        stamped = np.add.reduceat(self.stamps.received > 0, self.schedule.first[:-1])
        return int(np.where(ended, self.stamps.count, stamped).sum())

    @cached_property
    def sent_ns(self) -> Ns:
        """When each call's request was sent, 0 where it was not: as its client stamped it. People's own code
        does not tell; there it counts when the provider saw the last request with the call's mark."""
        if not self.facts.own_code or self.timed.provider is None:
            return self.stamps.sent
        seen, end = self.timed.provider.seen, self.stamps.end
        return np.where((end == 0) | (seen <= end), seen, 0)

    @cached_property
    def peak_in_flight(self) -> int:
        """From request sent to the end; a call without an end is in flight until the pass was over."""
        sent = self.sent_ns > 0
        end = np.where(self.stamps.end > 0, self.stamps.end, self.timed.over_ns)
        return peak_in_flight(self.sent_ns[sent], end[sent])

    @cached_property
    def mean_in_flight(self) -> float | Missing:
        """Calls in flight, averaged over the time from the first intended start to the last end: each
        from request sent to its end, or until the pass was over."""
        sent = self.sent_ns > 0
        if not sent.any():
            return Missing("no request was sent")
        end = np.where(self.stamps.end > 0, self.stamps.end, self.timed.over_ns)[sent]
        span_ns = end.max() - self.start_ns.min()
        return float((end - self.sent_ns[sent]).sum() / span_ns)

    def share_of_wall_at(self, level: int) -> float:
        """The share of the time from first request to last end in which `level` calls were in flight."""
        times, steps = self._in_flight_steps
        if len(times) < 2:
            return 0.0
        spans = np.diff(times)
        return float(spans[np.cumsum(steps)[:-1] == level].sum() / max(1, spans.sum()))

    def rises_to(self, level: int) -> int:
        """How often a request brought the calls in flight up to `level`."""
        _, steps = self._in_flight_steps
        return int(((np.cumsum(steps) == level) & (steps > 0)).sum())

    @cached_property
    def _in_flight_steps(self) -> tuple[Ns, Ns]:
        """When a request was sent (+1) or a call ended (-1), in order."""
        sent = self.sent_ns > 0
        end = np.where(self.stamps.end > 0, self.stamps.end, self.timed.over_ns)[sent]
        times = np.concatenate((self.sent_ns[sent], end))
        order = np.argsort(times, kind="stable")
        steps = np.concatenate((np.ones(len(end), np.int64), -np.ones(len(end), np.int64)))
        return times[order], steps[order]
