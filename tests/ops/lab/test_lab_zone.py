"""Zone files: what they may say, and what is refused by name."""

from pathlib import Path

import pytest

from ops.lab.answers import Answer
from ops.lab.errors import ZoneWrong
from ops.lab.zone import in_pools, load


def written(tmp_path: Path, words: str) -> Path:
    path = tmp_path / "zone.toml"
    path.write_text(words)
    return path


def test_default_zone_has_an_about_for_every_host() -> None:
    zone = load()
    assert len(zone.hosts) > 60
    assert all(host.about for host in zone.hosts.values())


def test_default_zone_gives_every_site_an_address_of_its_own_or_a_cname() -> None:
    zone = load()
    listening = [host for host in zone.hosts.values() if host.site and not host.dns.cname]
    assert all(host.listen for host in listening)
    taken = [one for host in listening for one in host.listen]
    assert len(taken) == len(set(taken))
    assert all(in_pools(one, zone.pools) for one in taken)


def test_zone_file_lies_over_the_default_one(tmp_path: Path) -> None:
    zone = load(written(tmp_path, '[hosts."mine.example"]\nsite = "echo"\n'))
    assert zone.hosts["mine.example"].listen
    assert "good.example" in zone.hosts


def test_zone_file_stands_alone_when_it_says_so(tmp_path: Path) -> None:
    zone = load(written(tmp_path, 'alone = true\n[hosts."mine.example"]\nsite = "echo"\n'))
    assert set(zone.hosts) == {"mine.example"}


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ('["93.184.216.34"]', (Answer(addresses=("93.184.216.34",)),)),
        ('{ rcode = "SERVFAIL" }', (Answer(rcode="SERVFAIL"),)),
        ('[["93.184.216.34"], ["10.0.0.1"]]', (Answer(addresses=("93.184.216.34",)), Answer(addresses=("10.0.0.1",)))),
        ("{ delay_ms = 250, ttl = 5 }", (Answer(delay_seconds=0.25, ttl_seconds=5),)),
        ("{ silent = true }", (Answer(rcode="SERVFAIL", silent=True),)),
        ('{ spoil = "cut" }', (Answer(spoil="cut"),)),
    ],
)
def test_dns_answers_are_read_as_written(tmp_path: Path, said: str, read: tuple[Answer, ...]) -> None:
    zone = load(written(tmp_path, f'[hosts."x.example"]\nA = {said}\n'))
    assert zone.hosts["x.example"].dns.a == read


@pytest.mark.parametrize(
    "entry",
    [
        'A = ["300.1.1.1"]',
        'A = "93.184.216.34"',
        'A = { rcode = "NOPE" }',
        'A = { spoil = "well" }',
        "A = { speed = 3 }",
        'certificate = "forged"',
        'ports = { 443 = "gopher" }',
        'site = "no-such-behaviour"',
        "site = ",
    ],
)
def test_zone_is_refused_when_an_entry_makes_no_sense(tmp_path: Path, entry: str) -> None:
    with pytest.raises(ZoneWrong):
        load(written(tmp_path, f'[hosts."x.example"]\n{entry}\n'))
