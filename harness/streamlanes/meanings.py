"""What the words of a record mean, for docs/record.md. A test holds every table to the code's own list."""

from streamlanes import flags
from streamlanes.record import FlagName, Quality, StatusName
from streamlanes.samples import Outcome


def percent(share: float) -> str:
    """A share of 1 as the docs write it: `90 %`."""
    return f"{share * 100:g} %"


GROUPS = {
    "schema": "name and version of this format",
    "cell": "what was measured",
    "machine": "what it ran on; no host, user or path is named",
    "status": "how the cell ended: `name`, `reason` (one line, null for `ok`), `reached`",
    "flags": "doubts about the cell, each with `name` and `evidence`",
    "interpreter": "what the measured process reported of itself",
    "time": "wall, overrun and CPU",
    "latency": "distributions of lateness and its parts, in milliseconds",
    "memory": "the memory pass",
    "counts": "calls, tokens, threads, open files",
    "work": "the same figures for every lane: units done, rate, CPU per unit",
    "gc": "the garbage collector",
    "provider": "what the provider said of itself; empty where there is none or it did not answer",
    "errors": "what jobs raised in the cell, by class: `count` and the `message` of the first; the first few "
    "classes, then `others`. `EventLoopBlocked` is seen and not raised: a person's function stopped its loop",
    "cpu": "of the CPU lane: speed-up, ceiling, transfer",
    "mixed": "of the mixed lane: lateness beside the work",
    "durable": "of the durable lane: acknowledgements, syncs, bytes, and what was lost",
    "chaos": "of the chaos lane: what kills lost or did twice, and how long the way back took",
    "missing": "path to reason, for every figure that is null",
    "quality": "path to quality, for every figure that was not simply measured",
}

CELL = {
    "id": "the cell's identity within a run: the same text for the same cell, made of all that was set",
    "lane": "the family of measurements",
    "backend": "the concurrency model under test",
    "client": "how a job waits for tokens",
    "call": "the function that client `call` calls, `module:function`; null for other clients",
    "workload": "the shape of the load",
    "calls": "calls asked for",
    "repetition": "from 1; repetition r of all cells is a block",
    "axes": "what can be set of a cell, with the values that ran",
    "asked": "those axes that the profile or the command line had set, as they were set",
    "provider": "what the profile's `[provider]` table set: faults by their shares, tokens in a chunk; empty "
    "for a provider that does as it should",
    "knee_bound_ms": "of a step of a knee search, the bound in ms that its stream lateness p99 was held to; "
    "null for every other cell. A step overloads on purpose: no table, ratio or gate rule takes it",
}

STATUSES = {
    StatusName.OK: "every admitted call ended before the budget did, whatever each call's outcome",
    StatusName.UNSUPPORTED: "a limit of this machine, foreseen or met; no figures. `reached` is set where "
    "the system refused a thread or process: how many were up, and so how far the cell came",
    StatusName.OVER_BUDGET: "stopped at its budget, or a pool that was given only the waves that fit it; "
    "wall, overrun and efficiency are null, the wall is projected",
    StatusName.CRASHED: "the measured process died, raised, or was not ready in time; no figures",
    StatusName.SKIPPED: "nothing was tried; no figures",
}

FLAGS = {
    FlagName.FAILED_CALLS: "at least one call ended, and not ok; the evidence counts them by outcome. The "
    "whole-cell figures (wall, overrun, efficiency) are then null",
    FlagName.CLIENT_LIMITED: f"a process of the cell used more than {percent(flags.CLIENT_SHARE)} of one "
    "core in the plateau; of several the busiest counts",
    FlagName.PROVIDER_LIMITED: f"`latency.provider_ms.p99` is above {flags.PROVIDER_P99_MS:g} ms and above "
    f"{percent(flags.PROVIDER_OF_LATENESS)} of `latency.lateness_ms.p99`; or the provider used more than "
    f"{percent(flags.PROVIDER_CPU_SHARE)} of its CPUs in the plateau (of one CPU where it shares them with "
    "the cell)",
    FlagName.CAPPED: "a limit nobody asked for: every admitted call ended, the peak in flight stayed below "
    f"the target, and it was held for {percent(flags.FLAT_SHARE)} of the time or longer, from the first "
    "request to the last end. Not of calls shorter than "
    f"{flags.GRAINS} grains of the timers that pace them",
    FlagName.BOUNDED: "the pool's width is below the calls that would be in flight without it; a note, "
    "not a doubt",
    FlagName.NOISY_HOST: f"CPU of other programs plus steal is above {percent(flags.FOREIGN_SHARE)} of all "
    "CPU time, or the calibration loop before and after the pass differs by more than "
    f"{percent(flags.SPIN_DRIFT)}",
    FlagName.ACCEPT_LIMITED: "the host counted connections that met a full accept queue; all processes of "
    "the host are in this count",
    FlagName.CPU_THROTTLED: "a CPU quota stopped the control group at least once",
    FlagName.BELOW_TIMER_GRAIN: "the median time between a call's tokens that are due apart is below the "
    "grain of the timers that pace them (1 ms; 0.05 ms for the blocking form of `timer`); or, without a "
    f"provider, `latency.client_ms.p99` is below {flags.GRAINS} grains, and so nothing but rounding",
    FlagName.BUFFERED_PATH: f"more than {percent(flags.BUFFERED_SHARE)} of the tokens that were sent "
    f"{flags.APART_MS:g} ms or more after the one before were received with it (within "
    f"{percent(flags.TOGETHER_SHARE)} of that time), while the cell went on reading others, its busiest "
    f"process used no more than {percent(flags.READER_SHARE)} of a core, and nothing held it up "
    "(`noisy-host`, `cpu-throttled`)",
}

QUALITIES = {
    Quality.MEASURED: "read or counted; the rule, and not listed in a record",
    Quality.SAMPLED: "from readings taken now and then",
    Quality.DERIVED: "reckoned from other figures",
    Quality.UPPER_BOUND: "the true figure is no higher",
    Quality.HOST_WIDE: "what the whole host gained in that time, by whatever program",
}

OUTCOMES = {
    Outcome.OK: "the stream said that it was over (a finish reason, `[DONE]`, `message_stop`); the only "
    "outcome that enters latency figures",
    Outcome.TRUNCATED: "the stream ended without saying so; an event that was cut off is no token",
    Outcome.RESET: "the connection was reset before the stream said that it was over; for blocking clients "
    "over TLS: it ended without TLS's own closing word, which is all that they are told of a reset",
    Outcome.CONNECT_ERROR: "no connection",
    Outcome.PROVIDER_ERROR: "the stream brought an error object and ended",
    Outcome.PROTOCOL_ERROR: "bytes that are no HTTP/1.1, or no event of the dialect; an event above 1 MiB",
    Outcome.JOB_ERROR: "the job raised, or its client returned without an end",
    Outcome.STATUS_4XX: "the answer had a status from 400 to 499",
    Outcome.STATUS_5XX: "the answer had a status of 500 or more",
    Outcome.CLIENT_TIMEOUT: "a time limit of the client",
    Outcome.CLIENT_POOL_TIMEOUT: "no connection came free in the client's own pool",
    Outcome.CANCELLED: "the job was cancelled or torn down",
    Outcome.UNFINISHED: "it began, and the cell was over before it ended",
}

AXES = {
    "seed": ("", "of the workload; the same seed gives the same calls everywhere"),
    "arrival": (
        "",
        "how calls arrive: `ramp` (evenly), `burst` (all at once), `poisson`; of one workload each: `chat`, "
        "`code`, `peak`, `trace`",
    ),
    "ramp_s": ("s", "from the first to the last arrival; 0 for a burst"),
    "ttft_ms": ("ms", "from a call's start to its first token, before its phase is added"),
    "gap_ms": ("ms", "between a call's tokens; also the span of the phase"),
    "gaps": (
        "",
        "the recording that the gaps between tokens were taken from: its file's name and a digest of its "
        "content; null for gaps of a distribution",
    ),
    "tokens": ("", "tokens per call"),
    "rate_per_s": (
        "tokens/s",
        "the rate of all calls together while all stream; where calls come and go, all tokens over the time "
        "in which calls arrive",
    ),
    "time_scale": (
        "",
        "how many times faster than in reality calls arrive; their own times are not scaled. Null for a "
        "workload without a reality",
    ),
    "trace": ("", "the trace that was replayed: its file's name and a digest of its content"),
    "width": ("calls", "the bound of a pool: `thread-pool`, `process-pool`, `asyncio+to_thread`"),
    "workers": (
        "processes",
        "processes that share the calls: `processes+...`; of an offload its threads or processes",
    ),
    "start_method": ("", "how worker processes start: `fork`, `forkserver`, `spawn`"),
    "stack_kib": ("KiB", "stack of a thread"),
    "switch_ms": ("ms", "the interpreter's switch interval"),
    "gc": ("", "`default`, or `freeze`: collect and freeze before the first call"),
    "api": (
        "",
        "the dialect that a call speaks: `openai` (chat completions), `anthropic` (messages); null without a "
        "provider",
    ),
    "python": (
        "",
        "the interpreter the cell ran under, by its version; of another implementation than CPython by its "
        "name. It is set by path or command, and `cell.asked` holds its name, never its path",
    ),
    "kernel": ("", "the CPU work: a kernel by name, or a function of your own, `module:function`"),
    "offload": (
        "",
        "where it runs: `inline` (where its call runs), `threads`, `processes`, `interpreters` (from Python "
        "3.14 on)",
    ),
    "batch": ("documents", "handed over together; chosen by the cell where it is not set"),
    "load": ("cores", "what the post-processing of all calls takes, as they end; follows from `work_ms`"),
    "work_ms": ("ms", "what the post-processing of one call takes; follows from `load`"),
    "store": (
        "",
        "where steps are kept, by what an answer promises: `none`, `sqlite-normal` (a loss of power can take "
        "acknowledged steps back), `sqlite-full`, `postgres`",
    ),
    "group_commit": ("", "whether requests that wait share a commit; else each has its own"),
    "sync_ms": (
        "ms",
        "added to each sync of the store: slept by SQLite's VFS, by PostgreSQL before each flush of its log",
    ),
    "architecture": ("", "how executions are carried on; `checkpoints` is `run_with_checkpoint`"),
    "steps": ("", "super-steps of an execution; null where the time alone ends it"),
    "run_s": (
        "s",
        "after which every execution ends with the step it is in; null where its steps alone end it",
    ),
    "state_bytes": ("B", "of a step's state, as JSON"),
    "retry": (
        "",
        "what a step does about a call that was refused with 429: `none` (its execution fails), `at-once`, "
        "`backoff` (it waits first, twice as long each time, drawn anew); null for bare steps",
    ),
    "point": ("", "where a worker is struck, see [durable.md](durable.md)"),
    "strike": ("", "`kill` (SIGKILL), or `stop` (SIGSTOP past its lease, then SIGCONT)"),
    "kills": ("", "trials of the cell in which the worker was struck"),
    "tls": ("", "whether calls go over TLS; the client verifies a certificate that was made for this run"),
    "keep_alive": (
        "",
        "whether a client keeps a connection for a later call, as far as its library can. By themselves "
        "libraries keep it, `streams` and `floor` never; null for a client without connections",
    ),
}

PROVIDER = {
    "processes": ("", "provider processes"),
    "cpus": ("", "CPUs they had; 1 where they share the cell's"),
    "requests": ("", "requests for an answer of the model seen"),
    "connections": ("", "connections that the calls came over: fewer than those where they were kept"),
    "peak_in_flight": ("", "most streams at once, the processes' peaks added up"),
    "abandoned": ("", "streams whose caller left before their end"),
    "unmarked": ("", "requests whose prompt named no call; they leave no times"),
    "faults": ("", "answers with each fault of the `[provider]` table; empty without"),
    "lateness_ms": ("ms", "sent minus due of every token: `p50`, `p99`, `max`, `count`"),
    "late_accepts": ("", "connections that waited more than 50 ms to be accepted"),
}

INTERPRETER = {
    "implementation": "CPython as a rule",
    "python": "its version",
    "gil": "whether the GIL is on",
    "switch_ms": "switch interval, ms",
    "stack_kib": "stack of a thread, KiB; null where the system sets no limit",
    "modules": "packages loaded beside the standard library",
    "libraries": "versions of the client's library and of what it stands on; absent for one that is none",
    "loop": "class of the event loop; absent without one",
    "loop_version": "of the library that brings the loop, as the cell imported it; absent for asyncio's own",
    "width": "width of the pool; absent without one",
    "workers": "worker processes; absent without them",
    "start_method": "how worker processes started; absent without them",
    "kernel": "the CPU work; this and what follows is of the lanes that have some",
    "offload": "where it ran",
    "offload_workers": "threads, processes or interpreters it ran in; absent inline",
    "offload_start_ms": "until all of them were up",
    "document_us": "a document of mean size by one worker alone, us",
    "transfer_us": "a document's way there and its vector's back, us",
    "documents_per_call": "how often a call's text went through the kernel",
    "batch": "documents handed over together",
    "blas_threads": "threads that BLAS was told to use before numpy was imported; null if it was not told",
    "worker_deaths": "worker processes that died; absent without them",
    "faults": "by call, why its document failed; the first 20",
    "durability": "what an answer of the store promises; this and what follows is of the durable lane",
    "architecture": "how executions were carried on",
    "sqlite": "version of SQLite; absent without it",
    "server_version": "of PostgreSQL; absent without it, and so are the three settings that follow",
    "fsync": "whether the server syncs at all: `off` promises nothing",
    "synchronous_commit": "whether an answer waits for the sync",
    "wal_sync_method": "how the server syncs its log",
    "fsync_us": "a sync in the store's folder before and after the run, medians, us; absent where the server "
    "is somebody's own",
    "useful_bytes": "of a step's state, as JSON",
    "syncs": "of the store while executions ran; null where they cannot be counted",
    "written_bytes": "in that time",
    "stored_bytes": "what the store takes at the end",
    "commits": "transactions, those of opening among them",
    "requests": "in those",
    "largest": "requests in one",
    "locked": "times that another process had the file",
    "retried": "transactions begun again after a lost connection",
    "waiting_ns": "waiting for a connection, ns",
    "calls_made": "by steps, refused ones included; absent for bare steps",
    "redelivered": "jobs that came again (architecture `queue`)",
    "dropped": "steps that were done by another delivery of their job before (architecture `queue`)",
    "wakes": "wake-ups of agents (architecture `actors`)",
    "wakes_lost": "those that went to another worker (architecture `actors`)",
    "replies_refused": "that must not be dispatched (architecture `actors`)",
    "parked": "agents that wait for a person (architecture `actors`)",
    "conflicts": "changes of a row that came second (architecture `rows`)",
}

MACHINE = {
    "cpu": "name of the CPU",
    "cpus_usable": "CPUs this process may run on",
    "cpus_online": "CPUs of the machine",
    "memory_bytes": "memory of the machine",
    "kernel": "its release",
    "system": "operating system",
    "architecture": "instruction set",
    "python": "version of the parent's interpreter",
    "implementation": "of the parent's interpreter",
    "free_threaded": "whether it was built without the GIL",
    "clock_source": "the kernel's clock",
    "softirq_apart": "whether soft interrupts are missing in process clocks; the foreign share allows for it",
    "somaxconn": "longest accept queue",
    "allocator": "variables of the environment that change how memory is allocated; absent where none is set",
    "cgroup_cpus": "CPUs' worth of a quota",
    "cgroup_memory_bytes": "memory limit of the control group",
    "cgroup_pids": "limit of processes and threads of the control group",
    "virtualised": "whether a hypervisor shows",
    "uvloop": "version",
    "httptools": "version",
    "numpy": "version",
}
