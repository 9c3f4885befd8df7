"""What stands under every chart: the machine, the client, the load of each size, the repetitions. Pure."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from streamlanes.lanes import lane
from streamlanes.record import Record
from streamlanes.series import Point
from streamlanes.words import number, plain, quantity


def machine_line(machine: Mapping[str, Any]) -> str:
    """What it ran on, in one line; what is not known is left out."""
    cpus, memory = machine.get("cpus_usable"), machine.get("memory_bytes")
    parts = [
        _named(machine, "cpu"),
        f"{plain(cpus)} usable CPU{'' if cpus == 1 else 's'}" if isinstance(cpus, (int, float)) else "",
        quantity(memory, "B") if isinstance(memory, (int, float)) else "",
        _named(machine, "system", "kernel"),
        _named(machine, "implementation", "python"),
        f"uvloop {machine['uvloop']}" if machine.get("uvloop") else "",
    ]
    return ", ".join(part for part in parts if part)


def lines(points: Sequence[Point], told: Sequence[tuple[str, str]] = ()) -> list[str]:
    """The caption of a chart made from these points. told: see Chart."""
    if not points:
        return []
    found = [machine_line(points[0].records[0].machine) + _under(points)]
    loads = [
        f"{workload}: {_loads(points, workload)}" for workload in dict.fromkeys(p.workload for p in points)
    ]
    clients = ", ".join(dict.fromkeys(map(_client, points)))
    found.append(f"Client: {clients}. {'. '.join(loads)}. {_repetitions(points)}.")
    found.append(_provider(points[0].records[0].cell.provider))
    found += [_told(points, path, sentence) for path, sentence in told]
    return [line for line in found if line]


def _told(points: Sequence[Point], path: str, sentence: str) -> str:
    """A figure of all that is drawn, in its sentence; nothing where none has it."""
    values = [value for point in points for _, value in point.figures(path)]
    if not values:
        return ""
    low, high = number(min(values)), number(max(values))
    return sentence.format(number(median(values)) + (f" ({low} to {high})" if low != high else ""))


def load(record: Record) -> str:
    """Tokens a call, the total rate and the time compression, as they were set or resolved."""
    tokens, rate, scale = (record.cell.axes.get(axis) for axis in ("tokens", "rate_per_s", "time_scale"))
    parts = [f"{_amount(tokens)} tokens a call"] if tokens is not None else []
    parts += [f"{_amount(rate)} tokens/s in all"] if rate is not None else []
    return ", ".join(parts + ([f"arrivals {_amount(scale)}x real time"] if scale is not None else []))


def _under(points: Sequence[Point]) -> str:
    """The interpreters that cells ran under, where one is not the run's own."""
    machine = points[0].records[0].machine
    records = [record for point in points for record in point.records if record.interpreter]
    ran = sorted({_named(record.interpreter, "implementation", "python") for record in records})
    own = _named(machine, "implementation", "python")
    return f"; cells under {', '.join(ran)}" if ran and ran != [own] else ""


def _provider(table: Mapping[str, Any]) -> str:
    """What the provider did beside its schedule; a run has one such table."""
    parts = [f"{table['tokens_per_chunk']:,} tokens a chunk"] if "tokens_per_chunk" in table else []
    parts += [f"{share * 100:.3g} % {fault}" for fault, share in table.get("faults", {}).items()]
    parts += [f"at most {plain(table['limit_per_s'])} requests/s"] if "limit_per_s" in table else []
    return f"Provider: {', '.join(parts)}." if parts else ""


def _client(point: Point) -> str:
    """The client, with the function where it calls a person's own."""
    cell = point.records[0].cell
    name = point.client if cell.call is None else f"{point.client} {cell.call}"
    return f"{name} over TLS" if cell.axes.get("tls") else name


def _named(machine: Mapping[str, Any], *keys: str) -> str:
    return " ".join(str(machine[key]) for key in keys if machine.get(key))


def counted(point: Point) -> str:
    """What a point's size is a number of."""
    return lane(point.records[0].cell.lane).counted


def _loads(points: Sequence[Point], workload: str) -> str:
    """`500 calls of 10 tokens ...; 2,000 and 10,000 calls of ...`: sizes of the same load together."""
    what_of = counted(points[0])
    groups: dict[str, list[int]] = {}
    for point in points:
        if point.workload == workload:
            sizes = groups.setdefault(load(point.records[0]), [])
            if point.calls not in sizes:
                sizes.append(point.calls)
    parts = []
    for what, sizes in groups.items():
        *most, last = (f"{size:,}" for size in sizes)
        count = f"{', '.join(most)} and {last}" if most else last
        calls = f"{count} {what_of}"
        parts.append(f"{calls}, {what}" if what else calls)
    return "; ".join(parts)


def _repetitions(points: Sequence[Point]) -> str:
    counts = sorted({len(point.records) for point in points})
    if counts == [1]:
        return "One repetition"
    return f"Repetitions: {counts[0]}" + (f" to {counts[-1]}" if len(counts) > 1 else "")


def _amount(value: Any) -> str:
    if isinstance(value, Mapping) and "of" in value:
        return f"{_amount(value.get('median'))} (median of {value['of']}, p99 {_amount(value.get('p99'))})"
    if isinstance(value, Mapping) and "tail" in value:
        return f"{_amount(value.get('median'))} (median, heavy tail of index {_amount(value['tail'])})"
    if isinstance(value, Mapping):
        return f"{_amount(value.get('median'))} (median, sigma {_amount(value.get('sigma'))})"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return plain(round(value) if abs(value) >= 100 else round(value, 2))
    return str(value)
