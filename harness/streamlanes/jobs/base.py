"""What a lane's job is, beside its coroutine."""


class Job:
    """Done N times: `await job(call)`, for each index once. What it needs beside the backend is up and
    idle after `open`; `facts` says what was really used."""

    async def __call__(self, call: int) -> None:
        """Do job number `call` to its end."""
        raise NotImplementedError

    def open(self) -> None:
        """Have everything ready; part of the start-up."""

    def facts(self) -> dict[str, object]:
        """For the record, once all jobs have ended."""
        return {}

    def close(self) -> None:
        """Leave no thread or process behind."""
