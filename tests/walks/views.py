"""Everything that people, disks and stores can show of a fleet."""

import base64
import json
import re
import socket
import urllib.request
from pathlib import Path

import psycopg2
from psycopg2 import sql
from redis import Redis

from tests.fleet import Fleet, wait_until


def views(fleet: Fleet) -> dict[str, str]:
    """Everything that people, disks and stores can show, by name."""
    return {
        "logs": fleet.logs() + fleet.log.read_text(),
        "database": database_text(fleet),
        "broker": store_text(fleet.settings.broker_url),
        "results": store_text(fleet.settings.result_url),
        **flower_pages(fleet),
        "metrics": metrics_page(fleet),
        **files(fleet.root / "broker"),
        **files(fleet.root / "results"),
    }


def database_text(fleet: Fleet) -> str:
    connection = psycopg2.connect(fleet.settings.database_url)
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
            found = []
            for (table,) in cursor.fetchall():
                cursor.execute(sql.SQL("SELECT row_to_json(t)::text FROM {} t").format(sql.Identifier(table)))
                found += [row[0] for row in cursor.fetchall()]
            cursor.execute("SELECT query FROM pg_stat_activity")
            return "\n".join(found + [row[0] or "" for row in cursor.fetchall()])
    finally:
        connection.close()


def store_text(url: str) -> str:
    """Every key of a Valkey with its whole value, base64 bodies opened."""
    store = Redis(unix_socket_path=url.removeprefix("redis+socket://"))
    readers = {b"string": store.get, b"list": lambda key: store.lrange(key, 0, -1), b"hash": store.hgetall}
    readers |= {b"set": store.smembers, b"zset": lambda key: store.zrange(key, 0, -1)}
    text = "\n".join(f"{key!r} {readers[store.type(key)](key)!r}" for key in store.keys("*"))
    store.close()
    return text + opened(text)


def opened(text: str) -> str:
    """The base64 of a message body, decoded: Celery writes bodies so."""
    found = []
    for word in re.findall(r"[A-Za-z0-9+/]{40,}={0,2}", text):
        try:
            found.append(base64.b64decode(word + "=" * (-len(word) % 4)).decode(errors="replace"))
        except ValueError:
            continue
    return "\n".join(found)


def flower_page(fleet: Fleet, path: str) -> str:
    """One of Flower's pages, as the person with the password sees it."""
    words = re.search(r"(http://127\S+)\s+user (\S+), password (\S+)", fleet.log.read_text())
    assert words is not None
    url, user, password = words.groups()
    port = int(url.rsplit(":", 1)[1].strip("/"))
    wait_until(lambda: listens(port), seconds=30, what="Flower listens")
    token = base64.b64encode(f"{user}:{password}".encode()).decode()
    request = urllib.request.Request(url + path, headers={"Authorization": f"Basic {token}"})
    with urllib.request.urlopen(request, timeout=10) as reply:
        return reply.read().decode()


def flower_pages(fleet: Fleet) -> dict[str, str]:
    """Flower's pages and API."""
    tasks = flower_page(fleet, "api/tasks?limit=1000")
    paths = ["", "tasks", "workers", "broker", "api/workers?refresh=1"]
    paths += [f"task/{task}" for task in list(json.loads(tasks))[:50]]
    pages = {f"flower {path}": flower_page(fleet, path) for path in paths}
    return pages | {"flower api/tasks": tasks}


def metrics_page(fleet: Fleet) -> str:
    """What Prometheus is told."""

    def read() -> str:
        try:
            with urllib.request.urlopen(str(fleet.state.metrics_url), timeout=20) as reply:
                return reply.read().decode()
        except OSError:
            return ""

    return wait_until(read, seconds=30, what="the metrics are served")


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def files(folder: Path) -> dict[str, str]:
    found = {}
    for path in folder.rglob("*"):
        if path.is_file():
            text = path.read_text(errors="replace")
            found[f"file {path.name}"] = text + opened(text)
    return found


def seen_by_flower(fleet: Fleet, task_id: str) -> bool:
    return task_id in flower_pages(fleet)["flower api/tasks"]
