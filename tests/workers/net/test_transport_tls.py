"""TLS in an exchange: nothing is sent without a certificate that is valid for the name (M129)."""

import ssl
import warnings
from datetime import UTC, datetime, timedelta

import pytest
import trustme

from schemas.errors import Internal, TlsError
from tests.faults.servers import answer, origin, page
from tests.workers.net.transporting import exchange
from workers.net.trace import Trace
from workers.net.transport import Transport

DAY = timedelta(days=1)
NOW = datetime.now(UTC)

CERTIFICATES = {
    "expired": ({"not_before": NOW - 2 * DAY, "not_after": NOW - DAY}, "expired"),
    "not_yet_valid": ({"not_before": NOW + DAY, "not_after": NOW + 2 * DAY}, "not_yet_valid"),
    "unknown_authority": ({"by": trustme.CA()}, "unknown_authority"),
}


@pytest.mark.parametrize(("made", "reason"), CERTIFICATES.values(), ids=CERTIFICATES)
def test_exchange_refuses_when_the_certificate_is_not_valid(transport, tls, made, reason):
    trace = Trace()
    with origin(answer(page()), tls=tls("a.test", **made)) as server:
        with pytest.raises(TlsError) as seen:
            exchange(transport, f"https://a.test:{server.port}/", trace=trace)
        assert server.requests == []
    assert seen.value.facts == {"host": "a.test", "reason": reason}
    assert (trace.sent, trace.status) == ("not_sent", None)


@pytest.mark.parametrize(
    ("host", "names"),
    [("a.test", ["b.test"]), ("a.test", ["*.a.test"]), ("a.b.test", ["*.test"]), ("127.0.0.1", ["localhost"])],
)
def test_exchange_refuses_when_the_certificate_is_for_another_name(transport, tls, host, names):
    with origin(answer(page()), tls=tls(*names)) as server:
        with pytest.raises(TlsError) as seen:
            exchange(transport, f"https://{host}:{server.port}/")
        assert (server.requests, seen.value.facts["reason"]) == ([], "wrong_name")


@pytest.mark.parametrize(("host", "name"), [("a.test", "a.test"), ("w.test.test", "*.test.test"), ("127.0.0.1",) * 2])
def test_exchange_passes_when_the_certificate_is_for_the_name(transport, tls, host, name):
    with origin(answer(page()), tls=tls(name)) as server:
        assert exchange(transport, f"https://{host}:{server.port}/").status == 200


def test_exchange_refuses_when_the_certificate_is_signed_by_itself(transport, tmp_path):
    alone = trustme.CA()
    alone.cert_pem.write_to_path(str(tmp_path / "cert.pem"))
    alone.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    with origin(answer(page()), tls=context) as server, pytest.raises(TlsError):
        exchange(transport, f"https://a.test:{server.port}/")


def test_exchange_names_the_host_to_the_server_when_it_greets(transport, tls):
    names = []
    context = tls("a.test")
    context.sni_callback = lambda _socket, name, _context: names.append(name)
    with origin(answer(page()), tls=context) as server:
        exchange(transport, f"https://a.test.:{server.port}/")
        assert f"Host: a.test.:{server.port}".encode() in server.requests[0]
    assert names == ["a.test"]


def test_exchange_refuses_when_the_server_speaks_old_tls_alone(transport, tls):
    context = tls("a.test")
    with warnings.catch_warnings(action="ignore"):  # that it is old is the point
        context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    with origin(answer(page()), tls=context) as server, pytest.raises(TlsError):
        exchange(transport, f"https://a.test:{server.port}/")


def test_exchange_refuses_when_the_server_speaks_no_tls(transport):
    with origin(answer(page()), reads=False) as server, pytest.raises(TlsError):
        exchange(transport, f"https://a.test:{server.port}/")


def test_exchange_resumes_no_session_when_it_meets_a_server_again(transport, tls):
    context = tls("a.test")
    with origin(lambda sock: sock.sendall(page(str(sock.session_reused).encode())), tls=context) as server:
        for _ in range(3):
            assert exchange(transport, f"https://a.test:{server.port}/").body == b"False"


def test_transport_is_not_made_when_the_ca_file_is_missing(tmp_path):
    with pytest.raises(Internal) as seen:
        Transport(ca_file=tmp_path / "none.pem")
    assert "none.pem" in str(seen.value.facts["ca_file"])


def test_exchange_fails_as_our_fault_when_the_ca_file_is_unreadable(tmp_path, tls):
    (tmp_path / "ca.pem").write_text("no certificate\n")
    broken = Transport(ca_file=tmp_path / "ca.pem")
    with origin(answer(page()), tls=tls("a.test")) as server, pytest.raises(Internal):
        exchange(broken, f"https://a.test:{server.port}/")
    broken.close()


def test_transport_trusts_its_own_file_alone_when_two_share_a_process(transport, tls):
    usual = Transport()
    with origin(answer(page()), tls=tls("a.test")) as server:
        exchange(transport, f"https://a.test:{server.port}/")
        with pytest.raises(TlsError):
            exchange(usual, f"https://a.test:{server.port}/")
    usual.close()
