"""A small process that starts cells and providers and outlives nobody.

`python -m streamlanes.launcher FD ROOT`: the socket to the parent, and the folder the children import
this package from, which is removed at the end.

It is small so that forking it is cheap and leaves no large memory behind in its children. Each child
has a process group of its own. When the socket to the parent closes, for whatever reason (a kill -9
of the parent leaves every pool worker alive otherwise), it kills the groups and ends.

One JSON object a line on the socket:
  parent -> {"do": "spawn", "argv": [...], "cpus": [...] | null} with three descriptors (stdin, stdout,
            stderr)        launcher -> {"pid": n} or {"error": text}
  parent -> {"do": "kill", "pid": n}
  launcher -> {"exited": n, "code": c}   c as in subprocess: below 0 for a signal; its group is dead too
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys

MAX_MESSAGE_BYTES = 1 << 20


class Launcher:
    """The children and the socket."""

    def __init__(self, parent: socket.socket) -> None:
        self._parent = parent
        self._children: dict[int, subprocess.Popen[bytes]] = {}
        self._text = b""

    def serve(self) -> None:
        """Work until the parent is gone, then leave no group behind."""
        wakeup, fired = os.pipe()
        os.set_blocking(fired, False)
        signal.set_wakeup_fd(fired)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self._parent.shutdown(socket.SHUT_RDWR))
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            while True:
                ready, _, _ = select.select([self._parent.fileno(), wakeup], [], [])
                if wakeup in ready:
                    os.read(wakeup, 4096)
                    self._reap()
                if self._parent.fileno() in ready and not self._listen():
                    return
        except ConnectionError:
            return
        finally:
            for pid in list(self._children):
                self._kill(pid)
            for child in self._children.values():
                child.wait()

    def _listen(self) -> bool:
        data, fds, _, _ = socket.recv_fds(self._parent, MAX_MESSAGE_BYTES, 3)
        if not data:
            return False
        self._text += data
        while b"\n" in self._text:
            line, self._text = self._text.split(b"\n", 1)
            message = json.loads(line)
            if message["do"] == "kill":
                self._kill(message["pid"])
            else:
                self._say(self._spawn(message["argv"], message["cpus"], fds))
                fds = []
        return True

    def _spawn(self, argv: list[str], cpus: list[int] | None, fds: list[int]) -> dict[str, object]:
        before = os.sched_getaffinity(0) if cpus else None
        try:
            if cpus:
                os.sched_setaffinity(0, cpus)  # inherited; cheaper and safer than code between fork and exec
            child = subprocess.Popen(argv, stdin=fds[0], stdout=fds[1], stderr=fds[2], process_group=0)
        except OSError as error:
            return {"error": str(error)}
        finally:
            if before:
                os.sched_setaffinity(0, before)
            for fd in fds:
                os.close(fd)
        self._children[child.pid] = child
        return {"pid": child.pid}

    def _kill(self, pid: int) -> None:
        if pid in self._children:
            try:
                os.killpg(pid, signal.SIGKILL)
            except ProcessLookupError:
                return  # not even a zombie is left of the group

    def _reap(self) -> None:
        for pid in list(self._children):
            # Looked at without being taken: as long as the zombie stands, its group's number cannot
            # be given to anyone else, so what is left of the group can be killed safely.
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                self._kill(pid)
                code = self._children.pop(pid).wait()
                self._say({"exited": pid, "code": code})

    def _say(self, message: dict[str, object]) -> None:
        self._parent.sendall(json.dumps(message).encode() + b"\n")


def main() -> None:
    """Serve the parent on the inherited socket, then remove the folder: a link and the run's certificate."""
    fd, root = sys.argv[1:]
    try:
        Launcher(socket.socket(fileno=int(fd))).serve()
    finally:
        for name in os.listdir(root):
            os.unlink(os.path.join(root, name))
        os.rmdir(root)


if __name__ == "__main__":
    main()
