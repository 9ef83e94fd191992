"""The stores of a stack on a quiet day: private, durable, warm the second time."""

import stat
from pathlib import Path

import psycopg2
import pytest
import redis

from broker.ledger.engine import ledger_engine
from broker.ledger.health import durability
from broker.settings import Settings
from ops.stack import home as homes
from ops.stack import life, sharing, valkey
from ops.stack.faults import HomeUnusable, StackBusy, StartInterrupted
from ops.stack.life import Plan, Stack
from tests.ops.running import Command, of_home


def sql(settings: Settings, statement: str) -> list[tuple[object, ...]]:
    connection = psycopg2.connect(settings.require_database_url())
    try:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(statement)
            return [] if cursor.description is None else cursor.fetchall()
    finally:
        connection.close()


def speak(url: str) -> "redis.Redis":
    return redis.Redis(unix_socket_path=url.removeprefix("redis+socket://"))


def test_every_folder_and_file_of_a_home_is_closed_to_others(stores: Stack) -> None:
    outside = [stores.home.root, *stores.home.root.iterdir()]
    assert [str(path) for path in outside if stat.S_IMODE(path.lstat().st_mode) & 0o077] == []


def test_postgres_keeps_its_commits_and_writes_no_statement_into_its_log(stores: Stack) -> None:
    engine = ledger_engine(stores.settings.require_database_url(), size=1)
    durability(engine)
    engine.dispose()
    with pytest.raises(psycopg2.Error):
        sql(stores.settings, "SELECT canary_statement")
    log = (stores.home.logs / "postgres.log").read_text()
    assert "ready to accept connections" in log
    assert "SELECT canary_statement" not in log


def test_stores_listen_on_no_address(stores: Stack) -> None:
    listening = [
        connection
        for process in of_home(stores.home.root)
        for connection in process.net_connections("inet")
        if connection.status == "LISTEN"
    ]
    assert listening == []


def test_the_broker_persists_and_the_result_store_never_touches_the_disk(stores: Stack) -> None:
    with speak(stores.settings.require_broker_url()) as broker, speak(stores.settings.require_result_url()) as results:
        broker_said = [broker.config_get(name)[name] for name in ("appendonly", "appendfsync", "maxmemory-policy")]
        results_said = [results.config_get(name)[name] for name in ("appendonly", "save", "maxmemory-policy")]
        results.set("page", "canary text")
    assert broker_said == ["yes", "everysec", "noeviction"]
    assert results_said == ["no", "", "volatile-ttl"]
    assert list(stores.home.results.iterdir()) == []


def test_a_consumed_message_leaves_the_brokers_file_when_it_is_compacted(stores: Stack) -> None:
    with speak(stores.settings.require_broker_url()) as broker:
        broker.lpush("fetch", "canary-message")
        broker.rpop("fetch")
    valkey.compact(valkey.broker_socket(stores.home), wait=True)
    files = [path.read_bytes() for path in stores.home.broker.rglob("*") if path.is_file()]
    assert not any(b"canary-message" in content for content in files)


def test_a_second_start_finds_what_the_first_one_kept(settings: Settings) -> None:
    with life.run(Plan(settings=settings)) as stack:
        sql(stack.settings, "CREATE TABLE kept (word text)")
        with speak(stack.settings.require_broker_url()) as broker:
            broker.lpush("fetch", "kept")
    assert of_home(settings.home) == []
    assert not homes.left_state(stack.home)
    with life.run(Plan(settings=settings)) as stack:
        assert sql(stack.settings, "SELECT count(*) FROM kept") == [(0,)]
        with speak(stack.settings.require_broker_url()) as broker:
            assert broker.lrange("fetch", 0, -1) == [b"kept"]


def test_a_home_with_a_path_too_long_for_sockets_works(settings: Settings, home: Path) -> None:
    deep = home / ("d" * 100) / ("e" * 100)
    with life.run(Plan(settings=settings.model_copy(update={"home": deep}))) as stack:
        assert sql(stack.settings, "SELECT 1") == [(1,)]
        assert stack.home.root == deep
        assert stat.S_IMODE(stack.home.sockets.stat().st_mode) == 0o700
    assert not stack.home.sockets.exists()


# sun_path of macOS holds 103 bytes beside its closing zero; `/run/.s.PGSQL.5432` takes 18 of them.
@pytest.mark.parametrize(("length", "inside"), [(84, True), (85, True), (86, False)], ids=["under", "at", "over"])
def test_sockets_lie_in_the_home_when_its_path_leaves_room(length: int, *, inside: bool, home: Path) -> None:
    root = home.parent / ("x" * (length - len(str(home.parent)) - 1))
    assert len(str(root)) == length
    assert (homes.open_home(root).sockets == root / "run") is inside


def test_a_home_with_an_unusual_name_works(settings: Settings, home: Path) -> None:
    unusual = home / "with space, comma, 100%, 'quotes' and ü"
    with life.run(Plan(settings=settings.model_copy(update={"home": unusual}))) as stack:
        assert sql(stack.settings, "SELECT 1") == [(1,)]


def test_a_socket_folder_that_others_may_enter_is_refused(home: Path) -> None:
    (home / "run").mkdir(parents=True)
    (home / "run").chmod(0o755)
    with pytest.raises(HomeUnusable, match="0700"):
        homes.open_home(home)


def test_a_home_that_cannot_be_made_is_told_with_what_to_do(home: Path) -> None:
    home.parent.joinpath("file").write_text("")
    with pytest.raises(HomeUnusable, match="OUTRIDER_HOME"):
        homes.open_home(home.parent / "file" / "home")


def test_a_second_owner_is_told_who_the_first_one_is(owner: Command, settings: Settings) -> None:
    with pytest.raises(StackBusy, match=str(owner.process.pid)), life.run(Plan(settings=settings)):
        pass


def test_a_command_joins_the_stores_that_run(owner: Command, settings: Settings) -> None:
    with sharing.open_stores(settings, say=print) as found:
        assert sql(found, "SELECT 1") == [(1,)]
    assert owner.end() == 0


def test_an_owner_leaves_only_when_its_guests_have_left(owner: Command, settings: Settings) -> None:
    with sharing.open_stores(settings, say=print) as found:
        owner.process.terminate()
        while (state := homes.read_state(settings.home)) is not None and state.phase != "draining":
            pass
        assert sql(found, "SELECT 1") == [(1,)]
    assert owner.process.wait(timeout=20) == 0


def test_external_stores_are_used_as_they_are_each_for_itself(stores: Stack, home: Path) -> None:
    database = stores.settings.require_database_url()
    mixed = Settings(home=home.parent / "other", database_url=database, broker_url=None, result_url=None)
    with life.run(Plan(settings=mixed)) as stack:
        assert stack.settings.database_url == database
        assert sorted(stack.supervisor.children) == ["broker", "results"]
    external = Settings(home=home, database_url=database, broker_url="redis://broker.example/1", result_url=None)
    found = sharing.find(external)
    assert found is not None
    assert found.result_url == "redis://broker.example/1"


def test_a_start_that_is_interrupted_leaves_nothing_running(settings: Settings) -> None:
    with pytest.raises(StartInterrupted), life.run(Plan(settings=settings, asked=lambda: True)):
        pass
    assert of_home(settings.home) == []
    with life.run(Plan(settings=settings)) as stack:
        assert sql(stack.settings, "SELECT 1") == [(1,)]
