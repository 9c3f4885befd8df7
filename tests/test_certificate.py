"""The run's certificate: verified by name as any other, and its key for nobody else."""

import os
import socket
import ssl
import stat
import threading
from pathlib import Path

import pytest

from streamlanes import certificate
from streamlanes.provider.tls import server_context


def shaken_hands(made: certificate.Certificate, trusted: str, name: str) -> str | None:
    """The protocol that a caller and a server agree on, over a pair of sockets; raises what the caller
    raises."""
    ours, theirs = socket.socketpair()

    def serve() -> None:
        try:
            with server_context(made.trusted, made.key).wrap_socket(theirs, server_side=True) as server:
                server.recv(1)
        except OSError:
            theirs.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        caller = ssl.create_default_context(cafile=trusted)
        caller.set_alpn_protocols(["h2", "http/1.1"])
        with caller.wrap_socket(ours, server_hostname=name) as client:
            return client.selected_alpn_protocol()
    finally:
        ours.close()
        thread.join(30)


@pytest.mark.parametrize("name", certificate.NAMES)
def test_it_is_good_for_every_name_of_this_machine(tmp_path: Path, name: str):
    made = certificate.make(tmp_path)
    assert shaken_hands(made, made.trusted, name) == "http/1.1"


def test_it_is_good_for_no_other_name(tmp_path: Path):
    made = certificate.make(tmp_path, ["127.0.0.1", "models.test"])
    assert shaken_hands(made, made.trusted, "models.test") == "http/1.1"
    with pytest.raises(ssl.SSLCertVerificationError):
        shaken_hands(made, made.trusted, "localhost")


def test_another_run_does_not_trust_it(tmp_path: Path):
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    one, two = (certificate.make(folder) for folder in folders)
    with pytest.raises(ssl.SSLCertVerificationError):
        shaken_hands(one, two.trusted, "localhost")


def test_the_key_is_for_its_owner_alone(tmp_path: Path):
    made = certificate.make(tmp_path)
    assert stat.S_IMODE(os.stat(made.key).st_mode) == 0o600
    assert b"PRIVATE" not in Path(made.trusted).read_bytes()
