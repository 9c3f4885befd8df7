"""The parent's side of the launcher: spawn a child, talk to it in lines, learn how it ended."""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import IO, Any

from streamlanes.errors import UserError

PACKAGE = __name__.partition(".")[0]
LAST_WORDS_BYTES = 4096
_CHANGES_WHAT_IS_MEASURED = (
    "LD_PRELOAD",
    "PYTHONASYNCIODEBUG",
    "PYTHONINSPECT",
    "PYTHONOPTIMIZE",
    "PYTHONPERFSUPPORT",
    "PYTHON_CPU_COUNT",
    "PYTHONDEVMODE",
    "PYTHONMALLOC",
    "PYTHONTRACEMALLOC",
    "PYTHONPROFILEIMPORTTIME",
    "PYTHONWARNINGS",
    "MALLOC_",
    "GLIBC_TUNABLES",
)


class Gone(Exception):
    """The child ended or closed its end before it answered; the text says how."""


class Child:
    """A process in a group of its own, with a line of JSON at a time in each direction."""

    def __init__(self, launcher: "Launcher", argv: Sequence[str], cpus: Sequence[int] | None) -> None:
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the child
        self._text = b""
        self._launcher = launcher
        try:
            self.pid = launcher.spawn(argv, cpus, (theirs_in, theirs_out, self._errors.fileno()))
        except BaseException:
            self._close()
            raise
        finally:
            os.close(theirs_in)
            os.close(theirs_out)

    def say(self, message: object) -> None:
        """Send one line. A child that is gone shows at the next `hear`."""
        data = json.dumps(message).encode() + b"\n"
        with contextlib.suppress(BrokenPipeError):
            while data:
                data = data[os.write(self._to, data) :]

    def hear(self, timeout_s: float) -> dict[str, Any] | None:
        """The next line; None when none came in time. Raises Gone at the end of the child's words."""
        until = time.monotonic() + timeout_s
        while b"\n" not in self._text:
            ready, _, _ = select.select([self._from], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                return None
            data = os.read(self._from, 1 << 16)
            if not data:
                raise Gone(self.ending())
            self._text += data
        line, self._text = self._text.split(b"\n", 1)
        try:
            message: dict[str, Any] = json.loads(line)
        except ValueError:
            raise Gone(f"the process said what it should not: {line[:80]!r}") from None
        return message

    def ended(self, within_s: float = 0.0) -> bool:
        """Whether the process is over, now or within that time."""
        return self._launcher.wait(self.pid, within_s) is not None

    def halt(self) -> None:
        """Kill the whole group now, and wait for it."""
        self._launcher.kill(self.pid)
        self._launcher.wait(self.pid, 10.0)

    def ending(self) -> str:
        """One line on how the child ended: signal or exit code, and its last line on standard error."""
        code = self._launcher.wait(self.pid, 5.0)
        if code is None:
            how = "closed its channel"
        elif code < 0:
            name = signal.Signals(-code).name
            how = f"was killed by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")
        else:
            how = f"exited with {code}"
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - LAST_WORDS_BYTES))
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return f"the process {how}" + (f": {lines[-1].strip()[:200]}" if lines else "")

    def end(self, grace_s: float = 0.0) -> None:
        """Close the child's input, give it grace_s to go by itself, then kill its whole group."""
        if self._to >= 0:
            os.close(self._to)
            self._to = -1
        if not grace_s or self._launcher.wait(self.pid, grace_s) is None:
            self.halt()
        self._close()

    def _close(self) -> None:
        for fd in (self._to, self._from):
            if fd >= 0:
                os.close(fd)
        self._to = self._from = -1
        self._errors.close()


class Launcher:
    """The small process that forks for this one; see streamlanes.launcher.

    folder: a private one, removed with all files in it when the launcher ends, whatever ended this process.
    """

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        self.folder = root = tempfile.mkdtemp(prefix=f"{PACKAGE}-")
        os.symlink(os.path.dirname(os.path.abspath(__file__)), os.path.join(root, PACKAGE))
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "streamlanes.launcher", str(theirs.fileno()), root],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # a Ctrl-C is this process' to handle
                env=environment(root),
            )
        self.pid = self._process.pid
        self._text = b""
        self._exits: dict[int, int] = {}

    def spawn(self, argv: Sequence[str], cpus: Sequence[int] | None, fds: Sequence[int]) -> int:
        """Start a program on the three standard descriptors; returns its pid, which is its group's too.

        Raises UserError when the system will not start it.
        """
        message = json.dumps({"do": "spawn", "argv": list(argv), "cpus": list(cpus) if cpus else None})
        try:
            socket.send_fds(self._socket, [message.encode() + b"\n"], list(fds))
            while True:
                answer = self._next(None)
                assert answer is not None
                if "pid" in answer:
                    pid = int(answer["pid"])
                    self._exits.pop(pid, None)  # of an earlier child: numbers come round
                    return pid
                if "error" in answer:
                    raise UserError(f"{argv[0]} does not start: {answer['error']}")
        except ConnectionError:
            raise UserError(
                "the launcher process is gone; what was measured is kept, start the same command again", 4
            ) from None

    def kill(self, pid: int) -> None:
        """Kill the child's whole group, at once."""
        try:
            self._socket.sendall(json.dumps({"do": "kill", "pid": pid}).encode() + b"\n")
        except OSError:  # no launcher: do its work
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)

    def wait(self, pid: int, timeout_s: float) -> int | None:
        """The child's exit code, below 0 for a signal; None while it lives after timeout_s."""
        until = time.monotonic() + timeout_s
        with contextlib.suppress(ConnectionError):
            while pid not in self._exits:
                if self._next(max(0.0, until - time.monotonic())) is None:
                    return None
        return self._exits.get(pid)

    def _next(self, timeout_s: float | None) -> dict[str, Any] | None:
        """The next message; exits are noted as they pass. None when none came in time."""
        while b"\n" not in self._text:
            ready, _, _ = select.select([self._socket], [], [], timeout_s)
            if not ready:
                return None
            data = self._socket.recv(1 << 16)
            if not data:
                raise ConnectionError("the launcher is gone")
            self._text += data
        line, self._text = self._text.split(b"\n", 1)
        message: dict[str, Any] = json.loads(line)
        if "exited" in message:
            self._exits[message["exited"]] = message["code"]
        return message

    def close(self) -> None:
        """Let the launcher kill whatever still runs, and wait for it to be gone."""
        self._socket.close()
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def environment(root: str) -> dict[str, str]:
    """The environment of every child: this one's, with what lies in `root` importable and without what
    would change the measured interpreter unseen (debug modes, allocators).

    root: a folder with this very package and nothing else to import. The folder it is installed in would
    bring all its neighbours, built for this interpreter, before those of another one under test.
    """
    path = os.environ.get("PYTHONPATH")
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(_CHANGES_WHAT_IS_MEASURED)
    }
    return {**kept, "PYTHONPATH": root + (os.pathsep + path if path else "")}
