"""The clients' side of TLS: trust in the provider's certificate and in nothing else."""

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
    """

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._tls = client_context(setting.tls_ca)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled without its context, which a worker of another start method makes anew."""
        return type(self), (self._setting,)
