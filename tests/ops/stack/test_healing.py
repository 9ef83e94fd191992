"""Stores after a bad day: killed owners, torn files, pid files that lie."""

import os
import signal
from pathlib import Path

import pytest

from broker.settings import Settings
from ops.stack import home as homes
from ops.stack import life, postgres, valkey
from ops.stack.faults import StackError
from ops.stack.life import Plan, Stack
from tests.ops.running import Command, as_nobody, command, of_home, wait_until
from tests.ops.stack.test_stores import speak, sql

pytestmark = pytest.mark.fault


def test_nothing_outlives_a_killed_owner_and_the_next_start_finds_everything(
    owner: Command, settings: Settings
) -> None:
    found = life.resolve(settings, homes.open_home(settings.home))
    sql(found, "CREATE TABLE kept (word text)")
    owner.end(signal.SIGKILL)
    wait_until(lambda: of_home(settings.home) == [], "the kernel told the stores that their owner is gone")
    with life.run(Plan(settings=settings)) as stack:
        assert sql(stack.settings, "SELECT count(*) FROM kept") == [(0,)]


def test_a_start_right_after_a_kill_ends_what_is_still_there(owner: Command, settings: Settings) -> None:
    servers = of_home(settings.home)
    assert servers
    for server in servers:
        server.suspend()  # the death signal stays pending: they are as good as hung
    owner.end(signal.SIGKILL)
    for server in servers:
        server.resume()
    with life.run(Plan(settings=settings)) as stack:
        assert sql(stack.settings, "SELECT 1") == [(1,)]


def test_a_pid_file_that_names_another_program_does_not_stop_postgres(settings: Settings) -> None:
    with life.run(Plan(settings=settings)) as stack:
        lines = (stack.home.postgres / "postmaster.pid").read_text().splitlines()
    lines[0] = str(os.getpid())
    (stack.home.postgres / "postmaster.pid").write_text("\n".join(lines) + "\n")
    (stack.home.sockets / ".s.PGSQL.5432.lock").write_text("\n".join(lines) + "\n")
    _mark_as_left(stack)
    with life.run(Plan(settings=settings)) as stack:
        assert sql(stack.settings, "SELECT 1") == [(1,)]


@pytest.mark.parametrize("content", ["", "1"], ids=["empty", "pid_one"])
def test_a_torn_pid_file_does_not_stop_postgres(content: str, settings: Settings) -> None:
    with life.run(Plan(settings=settings)) as stack:
        pass
    (stack.home.postgres / "postmaster.pid").write_text(content)
    with life.run(Plan(settings=settings)) as stack:
        assert sql(stack.settings, "SELECT 1") == [(1,)]


def test_a_half_written_data_folder_is_set_aside_and_made_anew(settings: Settings) -> None:
    place = homes.open_home(settings.home)
    place.postgres.mkdir()
    (place.postgres / "PG_VERSION").write_text("18\n")
    (place.root / "postgres.making-0123").mkdir()
    with life.run(Plan(settings=settings)) as stack:
        assert sql(stack.settings, "SELECT 1") == [(1,)]
    assert [path.name.split("-")[0] for path in place.root.glob("postgres.*")] == ["postgres.incomplete"]


def test_a_complete_data_folder_is_never_made_anew(settings: Settings) -> None:
    with life.run(Plan(settings=settings)) as stack:
        made = (stack.home.postgres / "PG_VERSION").stat().st_ino
    assert postgres.prepare(stack.home) is False
    assert (stack.home.postgres / "PG_VERSION").stat().st_ino == made
    (stack.home.postgres / "PG_VERSION").write_text("17\n")
    with pytest.raises(StackError, match="PostgreSQL 17"):
        postgres.prepare(stack.home)


def test_a_torn_tail_of_the_brokers_file_costs_only_the_tail(settings: Settings) -> None:
    with life.run(Plan(settings=settings)) as stack, speak(stack.settings.require_broker_url()) as broker:
        broker.config_set("appendfsync", "always")
        place = stack.home
        # Written after the last compaction: the stop compacts, so the torn file is made from a copy of the live one.
        broker.lpush("fetch", "first")
        broker.lpush("fetch", "second")
        live = {path.name: path.read_bytes() for path in (place.broker / "appendonlydir").iterdir()}
    _replace_file(place.broker, live, cut_bytes=3)
    with life.run(Plan(settings=settings)) as stack, speak(stack.settings.require_broker_url()) as broker:
        assert broker.lrange("fetch", 0, -1) == [b"first"]


def test_a_brokers_file_broken_in_its_middle_is_set_aside(settings: Settings) -> None:
    said: list[str] = []
    with life.run(Plan(settings=settings)) as stack, speak(stack.settings.require_broker_url()) as broker:
        for number in range(100):
            broker.lpush("fetch", f"message-{number}")
        live = {path.name: path.read_bytes() for path in (stack.home.broker / "appendonlydir").iterdir()}
        place = stack.home
    broken = {name: _broken(content) if name.endswith(".incr.aof") else content for name, content in live.items()}
    _replace_file(place.broker, broken, cut_bytes=0)
    with life.run(Plan(settings=settings, say=said.append)) as stack:
        assert valkey.answers(valkey.broker_socket(stack.home))
    assert any("unreadable" in line for line in said)
    assert len(list(place.broker.glob("unreadable-*"))) == 1
    with life.run(Plan(settings=settings)):
        assert list(place.broker.glob("unreadable-*")) == []


@pytest.mark.parametrize("name", ["postgres", "broker", "results"])
def test_a_store_that_dies_is_started_again(name: str, settings: Settings) -> None:
    said: list[str] = []
    with life.run(Plan(settings=settings, say=said.append)) as stack:
        died = stack.supervisor.children[name]
        os.kill(died.pid, signal.SIGKILL)
        wait_until(lambda: stack.supervisor.children[name].pid != died.pid, "a new process")
        wait_until(died.part.is_ready, "it answers")
    assert any(line.startswith(f"{name} ended with status -9") for line in said)


def test_an_ordinary_user_runs_the_stores(home: Path) -> None:
    """X18: no root, no Docker, no service installed."""
    prefix = as_nobody()
    if prefix is None:
        pytest.skip("no ordinary user can reach this interpreter, and no mount namespace is to be had")
    home.parent.chmod(0o777)  # the user makes the home there
    with command("ops.stack", home=home, prefix=prefix) as running:
        running.wait_for("OUTRIDER_RESULT_URL")
        owners = {path.stat().st_uid for path in (home, home / "postgres", home / "broker")}
        assert running.end() == 0
    assert len(owners) == 1
    assert owners != {0}


def _mark_as_left(stack: Stack) -> None:
    (stack.home.root / "state.json").write_text("{}")


def _broken(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + b"\x00garbage\x00" + content[middle:]


def _replace_file(folder: Path, files: dict[str, bytes], *, cut_bytes: int) -> None:
    """Put a broker's file back as it was, its last bytes cut off."""
    directory = folder / "appendonlydir"
    for path in directory.iterdir():
        path.unlink()
    for name, content in files.items():
        end = len(content) - cut_bytes if name.endswith(".incr.aof") else len(content)
        (directory / name).write_bytes(content[:end])
