"""Hops of receipts: whole URLs stand only where text is kept."""

from schemas.receipt import Hop, hop_fields

HOP = Hop(
    number=1, method="GET", origin="https://a.example", url_sha256="0" * 64, started_at="t", url="https://a.example/b?c"
)


def test_hop_tells_its_url_only_when_asked() -> None:
    """M154: a web tool's receipt holds no path and no query string."""
    assert "https://a.example/b?c" not in hop_fields(HOP).values()
    assert hop_fields(HOP, with_url=True)["url"] == "https://a.example/b?c"
