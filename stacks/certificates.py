"""Certificates for the servers of one trial, by an authority that is made for it and ends with it."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

# The longest trial lasts a day and two hours; clocks may be set meanwhile.
_BEFORE, _AFTER = timedelta(days=1), timedelta(days=7)
_NOTHING = dict.fromkeys(
    ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
     "key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
    False,
)  # fmt: skip


class Authority:
    """An authority; its own key stays in this object.  certificate: as PEM."""

    def __init__(self) -> None:
        self._name = _called("authority of an Airwire trial")
        self._key = ec.generate_private_key(ec.SECP256R1())
        made = (
            _certificate(self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(x509.KeyUsage(**_NOTHING | {"key_cert_sign": True, "crl_sign": True}), critical=True)
        )
        self.certificate = self._signed(made).public_bytes(Encoding.PEM).decode()

    def issue(self, address: str, folder: Path) -> None:
        """Make a server's key and certificate, for this address or name, as files of mode 0600 in a new folder.

        `server.pem` is the certificate, `server.key` the key; `server.p12` has both (PKCS #12), for the password in
        `password`.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        trusted = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        made = (
            _certificate(_called(address), key.public_key())
            .add_extension(x509.SubjectAlternativeName([_alternative(address)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.KeyUsage(**_NOTHING | {"digital_signature": True}), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(trusted), critical=False)
        )
        certificate, password = self._signed(made), secrets.token_hex(16).encode()
        encrypted = BestAvailableEncryption(password)
        folder.mkdir(mode=0o700)
        for name, content in {
            "server.pem": certificate.public_bytes(Encoding.PEM),
            "server.key": key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
            "server.p12": pkcs12.serialize_key_and_certificates(b"server", key, certificate, None, encrypted),
            "password": password,
        }.items():
            path = folder / name
            path.touch(mode=0o600, exist_ok=False)
            path.write_bytes(content)

    def _signed(self, made: x509.CertificateBuilder) -> x509.Certificate:
        return made.issuer_name(self._name).sign(self._key, SHA256())


def _certificate(subject: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BEFORE)
        .not_valid_after(now + _AFTER)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _called(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _alternative(address: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(address))
    except ValueError:
        return x509.DNSName(address)
