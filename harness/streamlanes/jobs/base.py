"""What a lane's job is, beside its coroutine."""


class Job:
    """Done N times: `await job(call)`, for each index once.

    Two pairs stand around that. `prepare` and `release` are once a cell, in its main process, around the
    backend: what the job needs beside it, such as workers. `open` and `close` are the backend's to run,
    once in each process that runs jobs and in its event loop if it has one: what the calls there share,
    such as a pool of connections. `facts` says what was really used.
    """

    def prepare(self) -> None:
        """Have everything up and idle; part of the start-up."""

    async def open(self) -> None:
        """Before the first call of this process."""

    async def __call__(self, call: int) -> None:
        """Do job number `call` to its end."""
        raise NotImplementedError

    async def close(self) -> None:
        """After the last call of this process."""

    def facts(self) -> dict[str, object]:
        """For the record, once all jobs have ended."""
        return {}

    def release(self) -> None:
        """Leave no thread or process behind."""
