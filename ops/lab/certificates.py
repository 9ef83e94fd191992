"""Certificates of the private internet: one test authority, honest leaves, and the four kinds of wrong ones."""

import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from functools import cache

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

# The name of the certificate shown to a client that names no host.
NAMELESS = "lab.example"


class Authority:
    """The lab's certificate authority, and a TLS server context for any host, made when first asked for."""

    def __init__(self, bare: tuple[str, ...] = ()) -> None:
        """`bare` are addresses that clients call by number, without SNI: the canaries."""
        self._bare = bare
        self._ours = trustme.CA(organization_name="Outrider private internet")
        self._foreign = trustme.CA(organization_name="Nobody you trust")
        self.context = cache(self._context)

    def pem(self) -> bytes:
        """The root certificate clients are to trust."""
        return bytes(self._ours.cert_pem.bytes())

    def _context(self, host: str, kind: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["http/1.1"])
        context.num_tickets = 0
        if kind == "self_signed":
            _load(context, _self_signed(host))
        else:
            self._leaf(host, kind).configure_cert(context)
        return context

    def _leaf(self, host: str, kind: str) -> trustme.LeafCert:
        if kind == "unknown_ca":
            return self._foreign.issue_cert(host)
        if kind == "wrong_name":
            return self._ours.issue_cert("somebody-else.example")
        if kind == "expired":
            yesterday = datetime.now(UTC) - timedelta(days=1)
            return self._ours.issue_cert(host, not_before=yesterday - timedelta(days=90), not_after=yesterday)
        return self._ours.issue_cert(host, *(self._bare if host == NAMELESS else ()))


def _self_signed(host: str) -> bytes:
    """A key and a certificate for `host` that vouches for itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    today = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    plain = (pem, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())
    return key.private_bytes(*plain) + certificate.public_bytes(pem)


def _load(context: ssl.SSLContext, pem: bytes) -> None:
    """The ssl module reads keys from files alone."""
    with tempfile.NamedTemporaryFile(suffix=".pem") as file:
        file.write(pem)
        file.flush()
        context.load_cert_chain(file.name)
