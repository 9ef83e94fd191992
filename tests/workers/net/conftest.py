import ssl
from pathlib import Path

import pytest
import trustme

from workers.net.transport import Transport


@pytest.fixture(scope="session")
def authority():
    return trustme.CA()


@pytest.fixture(scope="session")
def ca_file(authority, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("ca") / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return path


@pytest.fixture(scope="session")
def tls(authority):
    """A server's TLS, for these names, by the trusted authority unless told otherwise."""

    def context(*names: str, by: trustme.CA | None = None, **made) -> ssl.SSLContext:
        found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        (by or authority).issue_cert(*names, **made).configure_cert(found)
        return found

    return context


@pytest.fixture(scope="module")
def transport(ca_file):
    made = Transport(ca_file=ca_file)
    yield made
    made.close()
