"""The admin server as its own process on loopback, over the test session's PostgreSQL; and a real browser."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
from playwright.sync_api import Browser, Page, Playwright, sync_playwright
from sqlalchemy import Engine

from broker.ledger.tokens import Wanted, create_token
from ops.stack import ports
from schemas.grants import FLEET, MANAGE, PERMISSIONS, RUNS
from tests.ops.running import HOUSE, environment, wait_until

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
# Nothing that it does of itself may leave this machine.
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NO_NAMES = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"


class Admin:
    """A client of the running server. `token` is sent as the bearer's; None sends none."""

    def __init__(self, port: int, session: requests.Session) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._session = session

    def ask(self, method: str, path: str, token: str | None = None, **more: Any) -> requests.Response:
        headers = more.pop("headers", {}) | ({"Authorization": f"Bearer {token}"} if token else {})
        return self._session.request(
            method, f"{self.url}{path}", headers=headers, timeout=30, allow_redirects=False, **more
        )

    def api(self, method: str, path: str, token: str | None = None, **more: Any) -> requests.Response:
        return self.ask(method, f"/api/admin/projects/{path}", token, **more)


@contextmanager
def serving(migrated_url: str, home: Path, **more: str) -> Iterator[int]:
    """The port of a server that runs during the block. `more` is its environment's."""
    port = ports._any_free()
    told = environment(home) | {
        "OUTRIDER_DATABASE_URL": migrated_url,
        "OUTRIDER_BROKER_URL": "redis://127.0.0.1:1/0",
        "OUTRIDER_ADMIN_PORT": str(port),
    }
    with (home / "admin.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "ops.admin"], cwd=HOUSE, env=told | more, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        wait_until(lambda: not ports.is_free(port) or process.poll() is not None, "the admin server listens")
        assert process.poll() is None, (home / "admin.log").read_text()
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


@pytest.fixture(scope="session")
def admin_port(migrated_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of one server for all tests of the session."""
    with serving(migrated_url, tmp_path_factory.mktemp("admin")) as port:
        yield port


@pytest.fixture
def admin(admin_port: int, ledger: Engine) -> Iterator[Admin]:
    """The server over an empty ledger."""
    with requests.Session() as session:
        yield Admin(admin_port, session)


@pytest.fixture
def make_token(ledger: Engine) -> Callable[..., str]:
    """Makes tokens: all permissions everywhere, unless told otherwise."""

    def make(*permissions: str, project: str | None = None, seconds: float = 600.0, name: str = "alice") -> str:
        wanted = Wanted(name=name, permissions=permissions or PERMISSIONS, project=project, seconds=seconds)
        return create_token(ledger, wanted, actor="tests")[1]

    return make


@pytest.fixture
def manager(make_token: Callable[..., str]) -> str:
    return make_token(MANAGE, FLEET)


@pytest.fixture
def orchestrator(make_token: Callable[..., str]) -> str:
    return make_token(RUNS, name="flow")


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """Debian's Chromium. Where there is none its tests are skipped by name.

    In CI that is a failure, unless `make browser` has tried and written down why it could not be had.
    """
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        missing = HOUSE / ".venv" / "browser-missing"
        reason = f"no Chromium: {missing.read_text().strip() if missing.exists() else 'make browser installs it'}"
        if os.environ.get("CI") and not missing.exists():
            pytest.fail(reason)
        pytest.skip(reason)
    with playwright.chromium.launch(executable_path=program, args=[*QUIET, NO_NAMES]) as running:
        yield running


@pytest.fixture(params=[True, False], ids=["with-javascript", "without-javascript"])
def visitor(browser: Browser, admin: Admin, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page of a new browser profile, with JavaScript and without."""
    with browser.new_context(base_url=admin.url, java_script_enabled=request.param) as context:
        yield context.new_page()


@pytest.fixture
def reader(browser: Browser, admin: Admin) -> Iterator[Page]:
    """A page without JavaScript, the stricter of both."""
    with browser.new_context(base_url=admin.url, java_script_enabled=False) as context:
        yield context.new_page()


def log_in(page: Page, token: str) -> None:
    """Log in as a person does."""
    page.goto("/")
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()
