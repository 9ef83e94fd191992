"""The embedded stack's key of sealed requests: made once, ours alone, and handed to children like the URLs."""

from base64 import b64decode, b64encode
from pathlib import Path

import pytest
from pydantic import SecretStr

from broker.settings import Settings
from ops.stack import home as homes
from ops.stack import life, sharing
from ops.stack.faults import HomeUnusable
from ops.stack.home import State

GIVEN = SecretStr(b64encode(b"g" * 32).decode())


def state() -> State:
    return State(pid=1, born=0.0, phase="ready", database_url="d", broker_url="b", result_url="r")


def test_key_is_made_once_and_ours_alone(tmp_path: Path) -> None:
    home = homes.open_home(tmp_path / "home")
    assert homes.seal_key(home.root) is None

    key = homes.make_seal_key(home)

    assert len(b64decode(key, validate=True)) == 32
    assert homes.make_seal_key(home) == homes.seal_key(home.root) == key
    assert (home.root / "seal.key").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in home.root.iterdir() if "seal" in path.name] == ["seal.key"]


def test_key_is_made_whole_when_an_earlier_making_was_cut_short(tmp_path: Path) -> None:
    home = homes.open_home(tmp_path / "home")
    (home.root / "seal.key.new").write_text("half")

    assert len(b64decode(homes.make_seal_key(home), validate=True)) == 32


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660], ids=oct)
def test_key_is_not_used_when_others_can_read_it(tmp_path: Path, mode: int) -> None:
    home = homes.open_home(tmp_path / "home")
    homes.make_seal_key(home)
    (home.root / "seal.key").chmod(mode)

    with pytest.raises(HomeUnusable, match="0600"):
        homes.seal_key(home.root)


def test_children_and_clients_get_the_home_s_key(tmp_path: Path) -> None:
    home = homes.open_home(tmp_path / "home")
    owner = life.resolve(Settings(home=home.root), home)
    client = sharing.joined(Settings(home=home.root), state())

    assert life.environment(owner)["OUTRIDER_SEAL_KEY"] == homes.seal_key(home.root)
    assert client.seal_keys() == owner.seal_keys() != ()


def test_given_key_goes_before_the_home_s(tmp_path: Path) -> None:
    home = homes.open_home(tmp_path / "home")
    settings = Settings(home=home.root, seal_key=GIVEN)

    assert life.resolve(settings, home).seal_keys() == sharing.joined(settings, state()).seal_keys() == (b"g" * 32,)
    assert homes.seal_key(home.root) is None
