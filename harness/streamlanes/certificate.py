"""The certificate of a run: made at its start, trusted by its own calls and by nothing else.

It is made anew each time, so that no key lies in the package, none expires in a checkout, and nobody is
tempted to switch verification off.
"""

import datetime
import ipaddress
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography import x509

NAMES = ("127.0.0.1", "::1", "localhost")
LIFE = datetime.timedelta(days=30)
"""No run lasts longer; it begins a day early, for clocks that were just set."""


@dataclass(frozen=True)
class Certificate:
    """Paths of two PEM files: what callers trust, and the key, which only the provider reads."""

    trusted: str
    key: str


def make(folder: str | Path, names: Iterable[str] = NAMES) -> Certificate:
    """A new self-signed certificate for these addresses and host names, in a folder that exists."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    key = ec.generate_private_key(ec.SECP256R1())  # what public servers use most; signing is cheap
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "streamlanes simulated provider")])
    now = datetime.datetime.now(datetime.UTC)
    alternatives = [_general_name(name) for name in dict.fromkeys(names)]
    made = (
        x509.CertificateBuilder()
        .subject_name(who)
        .issuer_name(who)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + LIFE)
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    trusted, secret = Path(folder) / "certificate.pem", Path(folder) / "key.pem"
    trusted.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with open(os.open(secret, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(text)
    return Certificate(str(trusted), str(secret))


def _general_name(name: str) -> "x509.GeneralName":
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
