"""requests: one session that all threads share, or one a call."""

import contextlib
from collections.abc import Iterator
from http.client import BadStatusLine, IncompleteRead, RemoteDisconnected
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import InvalidChunkLength, MaxRetryError, ProtocolError, ReadTimeoutError

from streamlanes.clients.base import HEADERS, Into, Setting, now_ns, refused
from streamlanes.clients.sending import CALL, sending
from streamlanes.samples import Outcome


class _Sending(HTTPConnection):
    """Tells when a request has its connection. The library has no hook for it; the classes of its
    connections are its way of changing them."""

    def endheaders(self, *args: Any, **kwargs: Any) -> None:
        """Connect, if this is a new connection, then send the head."""
        if self.sock is None:
            self.connect()
        sending(CALL.get())
        super().endheaders(*args, **kwargs)


class _SendingTls(_Sending, HTTPSConnection):
    """The same over TLS."""


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Sending


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _SendingTls


class _Adapter(HTTPAdapter):
    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}


class Requests:
    """A session that keeps as many connections as there are calls; one a call where none is to be kept,
    as `requests.post` makes one.

    defaults: a session that keeps 10 connections, as the library would. It opens others beside them and
    throws those away: a pool that is too small slows it and caps nothing.
    """

    def __init__(self, setting: Setting, *, defaults: bool = False) -> None:
        self._setting = setting
        self._defaults = defaults
        self._shared: requests.Session | None = None

    async def open(self) -> None:
        """Make the session."""
        if self._defaults or self._setting.keep_alive is not False:
            self._shared = self._session()

    async def stream(self, into: Into) -> None:
        """One call of the session."""
        CALL.set(into)
        url = self._setting.origin(into.call) + into.path
        try:
            with (
                self._used() as session,
                session.post(url, data=into.request, headers=HEADERS, stream=True) as response,
            ):
                if response.status_code >= 300:
                    into.end(refused(response.status_code), now_ns())
                    return
                for chunk in response.iter_content(None):
                    into.feed(chunk, now_ns())
                into.closed(now_ns())
        except requests.RequestException as error:
            _ended(error, into)

    async def close(self) -> None:
        """Close the session and its connections."""
        if self._shared is not None:
            self._shared.close()

    @contextlib.contextmanager
    def _used(self) -> Iterator[requests.Session]:
        """The session of all calls, or one for this call."""
        if self._shared is not None:
            yield self._shared
            return
        with self._session() as session:
            yield session

    def _session(self) -> requests.Session:
        setting = self._setting
        session = requests.Session()
        session.trust_env = False
        session.verify = setting.tls_ca or True
        sizes: dict[str, Any] = {}
        if not self._defaults:
            sizes = {"pool_connections": len(setting.addresses), "pool_maxsize": setting.calls}
        session.mount("http://", _Adapter(**sizes))
        session.mount("https://", _Adapter(**sizes))
        return session


def _ended(error: requests.RequestException, into: Into) -> None:
    """End the call as the error says. What happened is within: an error of urllib3, and in that one of the
    standard library."""
    now = now_ns()
    inner = error.args[0] if error.args else None
    if isinstance(error, requests.Timeout) or isinstance(inner, ReadTimeoutError):
        into.end(Outcome.CLIENT_TIMEOUT, now)
    elif isinstance(inner, MaxRetryError):  # there are no retries: it never came to a connection
        into.end(Outcome.CONNECT_ERROR, now)
    elif isinstance(inner, ProtocolError):
        _broken(inner, into)
    else:
        into.end(Outcome.PROTOCOL_ERROR, now)


def _broken(error: ProtocolError, into: Into) -> None:
    now = now_ns()
    cause = error.args[1] if len(error.args) > 1 else None
    if cause is None or isinstance(cause, RemoteDisconnected):
        into.closed(now)  # the connection ended between two chunks, or before the answer
    elif isinstance(cause, (InvalidChunkLength, BadStatusLine)):
        into.end(Outcome.PROTOCOL_ERROR, now)
    elif isinstance(cause, IncompleteRead):
        into.closed(now)
    elif isinstance(cause, OSError):
        into.closed(now, reset=True)
    else:
        into.end(Outcome.PROTOCOL_ERROR, now)


def open_client(setting: Setting) -> Requests:
    """With a pool of the cell's size."""
    return Requests(setting)


def open_defaults(setting: Setting) -> Requests:
    """With the library's defaults: 10 connections are kept."""
    return Requests(setting, defaults=True)
