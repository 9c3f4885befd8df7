"""The clients' side of TLS: trust in the provider's certificate and in nothing else."""

import socket
from typing import TYPE_CHECKING

from streamlanes.clients.base import Setting

if TYPE_CHECKING:
    from ssl import SSLContext


def client_context(tls_ca: str | None) -> "SSLContext | None":
    """The library's default context, which verifies names too; None without TLS.

    tls_ca: path of the certificate. The import stands here, since a cell of plain HTTP under threads must
    not carry the library in its memory.
    """
    if tls_ca is None:
        return None
    import ssl

    return ssl.create_default_context(cafile=tls_ca)


class Connecting:
    """A client that opens its connections itself, plain or over TLS by its setting.

    The context is made once per process: one for each call would parse the certificate each time.
    broken: what is raised when a connection breaks. A blocking read over TLS tells a reset as an end without
    TLS's own closing word, so that counts as one.
    """

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._tls = client_context(setting.tls_ca)
        self._broken: tuple[type[OSError], ...] = (ConnectionError,)
        if self._tls is not None:
            import ssl

            self._broken = (ConnectionError, ssl.SSLEOFError)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled without its context, which a worker of another start method makes anew."""
        return type(self), (self._setting,)

    def _wrapped(self, connection: socket.socket, host: str) -> socket.socket:
        """A blocking connection as it is, or behind its TLS handshake. Raises OSError, and closes it then."""
        if self._tls is None:
            return connection
        return self._tls.wrap_socket(connection, server_hostname=host, suppress_ragged_eofs=False)
