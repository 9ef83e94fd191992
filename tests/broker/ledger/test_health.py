"""Health: a server that may lose acknowledged commits is refused before anything is sent."""

import time

import pytest
from sqlalchemy import create_engine, make_url

from broker.ledger.engine import ledger_engine
from broker.ledger.health import LedgerNotDurable, clock_offset_seconds, durability
from tests.ledger_calls import run_sql, wait_until


@pytest.fixture
def setting(postgres, ledger):
    """Changes a setting of the whole server until the test ends."""
    changed = []

    def change(name, value):
        changed.append(name)
        postgres.execute(f"ALTER SYSTEM SET {name} = {value}")
        _reload(postgres, ledger, name, value)

    yield change
    for name in changed:
        postgres.execute(f"ALTER SYSTEM RESET {name}")
        _reload(postgres, ledger, name, "on")


def _reload(postgres, ledger, name, value):
    postgres.execute("SELECT pg_reload_conf()")
    wait_until(lambda: run_sql(ledger, f"SHOW {name}") == [(value,)])


def test_durability_is_content_when_the_server_is_as_delivered(ledger):
    durability(ledger)


@pytest.mark.parametrize("name", ["fsync", "full_page_writes"])
def test_durability_names_what_to_change_when_the_server_risks_commits(ledger, setting, name):
    setting(name, "off")

    with pytest.raises(LedgerNotDurable, match=f"set {name} = on") as refusal:
        durability(ledger)
    assert refusal.value.facts == {"setting": name}


def test_durability_is_refused_when_a_proxy_hides_our_option_and_the_role_says_off(postgres, scratch_database):
    """Our sessions ask for synchronous commits; a pooler in between may drop that, and the database's default rules."""
    url = scratch_database()
    postgres.execute(f"ALTER DATABASE {make_url(url).database} SET synchronous_commit = off")
    plain = create_engine(make_url(url).set(drivername="postgresql+psycopg2"))

    with pytest.raises(LedgerNotDurable, match="synchronous_commit"):
        durability(plain)
    plain.dispose()


def test_engine_commits_synchronously_when_the_database_says_off(postgres, scratch_database):
    url = scratch_database()
    postgres.execute(f"ALTER DATABASE {make_url(url).database} SET synchronous_commit = off")
    engine = ledger_engine(url, size=1)

    durability(engine)
    assert run_sql(engine, "SHOW synchronous_commit") == [("on",)]
    engine.dispose()


def test_engine_bounds_every_statement_when_it_connects(ledger):
    names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "transaction_isolation")

    assert [run_sql(ledger, f"SHOW {name}")[0][0] for name in names] == ["5s", "2s", "10s", "read committed"]


def test_engine_opens_no_transaction_when_it_reads(ledger):
    with ledger.connect() as connection:
        connection.exec_driver_sql("SELECT 1")
        [(state,)] = run_sql(
            ledger,
            "SELECT state FROM pg_stat_activity WHERE pid = :pid",
            pid=connection.connection.dbapi_connection.info.backend_pid,
        )

    assert state == "idle"


def test_engine_does_not_connect_when_it_is_made():
    engine = ledger_engine("postgresql://nobody@127.0.0.1:1/nothing", size=1)
    assert engine.pool.checkedin() == engine.pool.checkedout() == 0
    engine.dispose()


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg2"])
def test_engine_uses_its_own_driver_when_the_url_names_any(scheme):
    engine = ledger_engine(f"{scheme}://u:p%40@h:5/d", size=1)

    assert engine.url.drivername == "postgresql+psycopg2"
    assert (engine.url.password, engine.url.host, engine.url.port, engine.url.database) == ("p@", "h", 5, "d")
    engine.dispose()


def test_clock_offset_is_within_the_round_trip_when_both_are_one_machine(ledger):
    before = time.monotonic()
    offset = clock_offset_seconds(ledger)

    assert abs(offset) <= time.monotonic() - before
