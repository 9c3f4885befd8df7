"""The provider's side of TLS: its context. The loop's own TLS does the rest."""

import ssl

HANDSHAKE_S = 60.0
"""How long a caller may take over its handshake; with ten thousand of them on one CPU it takes long."""
SHUTDOWN_S = 10.0
"""How long the provider waits for the other half of a closing handshake."""


def server_context(certificate: str, key: str, *, http2: bool = False) -> ssl.SSLContext:
    """The library's defaults (TLS 1.2 and 1.3), with this certificate. Paths of two PEM files.

    http2: whether it agrees to that. Else it says that it speaks HTTP/1.1 and nothing newer, so that a
    client that offers both falls back.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.set_alpn_protocols(["h2", "http/1.1"] if http2 else ["http/1.1"])
    return context
