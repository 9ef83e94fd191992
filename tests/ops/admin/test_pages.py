"""The pages, as a person uses them: in a real browser, with JavaScript and without."""

import re
from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from broker.ledger.operations import admit, settle
from broker.ledger.projects import Project, read_project, save_project
from broker.ledger.runs import announce_retry
from broker.ledger.tokens import list_tokens, revoke_token
from schemas.grants import FLEET, MANAGE, RUNS
from tests.ledger_calls import ending, failed, pass_lease, request
from tests.ops.admin.conftest import Admin, log_in

SETTINGS = "/admin/projects/X/web-search"
DISCLOSURES = (
    "Queries go to the search provider, by default DuckDuckGo",
    "Fetched URLs and the workers\u2019 outbound IP address are visible to the sites",
    "model tokens for queries, results and page text stay billable",
    "Checks for credentials cannot recognise every secret phrase, token or signed path",
)


@pytest.fixture
def busy(ledger) -> str:
    """A project X in which something of every kind has happened."""
    save_project(ledger, Project(id="X", enabled=True, fetch_enabled=True, agents=("designer",)), actor="cli:ann")
    who = {"project": "X", "agent": "designer", "run": "run-1"}
    hops = [{"sent": "sent", "wire_bytes": 1234, "origin": "https://never.example", "url_sha256": "0" * 64}]
    settle(ledger, admit(ledger, request(**who, step="gather")), ending(hops=hops))
    settle(ledger, admit(ledger, request(**who, step="read")), failed("http_error"))
    admit(ledger, request(**who, step="write"))
    pass_lease(ledger, admit(ledger, request(**who, step="lost")))
    announce_retry(ledger, "X", "run-1", actor="token:t:flow")
    return "X"


def test_person_enables_search_for_designer_from_nothing(visitor: Page, manager: str, ledger) -> None:
    """M131, M162: a token, the pages, and nothing else; what was saved is what holds."""
    log_in(visitor, manager)
    visitor.get_by_role("navigation", name="Main").get_by_role("link", name="Projects").click()
    visitor.get_by_label("Project id").fill("X")
    visitor.get_by_role("button", name="Open").click()
    visitor.get_by_role("link", name="Web search & fetch").click()
    breadcrumb = visitor.get_by_role("navigation", name="Breadcrumb")
    expect(breadcrumb).to_have_text(re.compile(r"Administration\s*Projects\s*X\s*Web search & fetch"))
    expect(visitor.get_by_label("Enable outbound search")).not_to_be_checked()
    expect(visitor.get_by_label("Allow agents to read public web pages")).not_to_be_checked()
    expect(visitor.get_by_label("Permitted agents")).to_have_value("designer")
    for words in DISCLOSURES:
        expect(visitor.get_by_role("region", name="What to know before you save")).to_contain_text(words)
    assert read_project(ledger, "X").generation == 0
    visitor.get_by_label("Enable outbound search").check()
    visitor.get_by_role("button", name="Save", exact=True).click()
    expect(visitor.get_by_role("status")).to_contain_text("New grants apply when an agent next executes")
    saved = read_project(ledger, "X")
    assert (saved.enabled, saved.fetch_enabled, saved.agents, saved.generation) == (True, False, ("designer",), 1)
    expect(visitor.get_by_role("row", name="designer").first).to_contain_text("web_search")
    expect(visitor.get_by_role("table", name="Who changed what")).to_contain_text(":alice")


def test_keyboard_alone_saves_the_settings(visitor: Page, manager: str, ledger) -> None:
    """Every control is reached by Tab, in the order of the page, and its focus is seen."""
    log_in(visitor, manager)
    visitor.goto(SETTINGS)
    visitor.keyboard.press("Tab")
    expect(visitor.get_by_role("link", name="Skip to the content")).to_be_focused()
    visitor.keyboard.press("Enter")
    press_until(visitor, "Enable outbound search", visitor.get_by_label("Enable outbound search"))
    visitor.keyboard.press("Space")
    for label in ("Allow agents to read public web pages", "Permitted agents"):
        visitor.keyboard.press("Tab")
        expect(visitor.get_by_label(label)).to_be_focused()
    visitor.keyboard.press("Tab")
    expect(visitor.get_by_role("button", name="Save", exact=True)).to_be_focused()
    visitor.keyboard.press("Enter")
    expect(visitor.get_by_role("status")).to_be_visible()
    assert read_project(ledger, "X").enabled


def press_until(page: Page, what: str, control) -> None:
    for _ in range(20):
        page.keyboard.press("Tab")
        if control.evaluate("one => one === document.activeElement"):
            return
    pytest.fail(f"Tab does not reach {what}")


def test_wrong_agent_is_told_beside_its_field_and_in_a_summary(visitor: Page, manager: str, ledger) -> None:
    log_in(visitor, manager)
    visitor.goto(SETTINGS)
    visitor.get_by_label("Permitted agents").fill("designer\nno!agent <script>")
    visitor.get_by_role("button", name="Save", exact=True).click()
    expect(visitor).to_have_title(re.compile("^Error: "))
    visitor.get_by_role("alert").get_by_role("link", name="no!agent").click()
    field = visitor.get_by_label("Permitted agents")
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_accessible_description(re.compile("no!agent.* is no agent"))
    expect(field).to_have_value("designer\nno!agent <script>")
    assert read_project(ledger, "X").generation == 0


def test_settings_saved_by_another_meanwhile_are_not_overwritten(visitor: Page, manager: str, ledger) -> None:
    log_in(visitor, manager)
    visitor.goto(SETTINGS)
    other = save_project(ledger, Project(id="X", enabled=True, agents=("planner",)), actor="cli:bob")
    visitor.get_by_label("Allow agents to read public web pages").check()
    visitor.get_by_role("button", name="Save", exact=True).click()
    expect(visitor.get_by_role("alert")).to_contain_text("Somebody saved these settings since you opened the page")
    expect(visitor.get_by_label("Permitted agents")).to_have_value("planner")
    assert read_project(ledger, "X") == other


def test_page_shows_budgets_leases_operations_and_the_audit_trail(reader: Page, manager: str, busy: str) -> None:
    """Outcome, code, times, bytes, sent or not; never a query, a URL or page text."""
    log_in(reader, manager)
    reader.goto(f"/admin/projects/{busy}/web-search")
    expect(reader.get_by_role("table", name="Reservations made")).to_contain_text("run-1")
    expect(reader.get_by_role("row", name="whole run fetch").get_by_role("cell").nth(2)).to_have_text("4")
    expect(reader.get_by_role("table", name="Calls that a worker is carrying out")).to_contain_text("stale")
    ended = reader.get_by_role("table", name="Operations that ended last")
    expect(ended.get_by_role("row").nth(1)).to_contain_text("http_error")
    expect(ended.get_by_role("row").nth(2)).to_contain_text(re.compile("completed.*sent.*1.2 kB", re.DOTALL))
    expect(reader.get_by_role("table", name="Who changed what")).to_contain_text("cli:ann")
    assert "never.example" not in reader.content()
    reader.get_by_role("link", name="run-1").first.click()
    expect(reader.get_by_role("table", name="Calls and reservations")).to_contain_text("designer")
    for step in ("gather", "read", "write", "lost"):
        expect(reader.get_by_role("row", name=step)).to_contain_text("runs again")
    expect(reader.get_by_role("region", name="Run log")).to_contain_text("token:t:flow")


def test_agent_s_own_tool_list_is_saved(reader: Page, manager: str, busy: str, ledger) -> None:
    """M136: an empty list, and neither tool."""
    log_in(reader, manager)
    reader.goto(f"/admin/projects/{busy}/web-search")
    reader.get_by_label("Tool list of designer").select_option("empty: neither tool")
    reader.get_by_role("button", name="Save the tool list of designer").click()
    expect(reader.get_by_role("table", name="Tools that an agent is given")).to_contain_text("neither tool")
    assert read_project(ledger, busy).generation == 2


def test_operations_page_tells_of_a_fleet_that_is_away(reader: Page, manager: str, busy: str) -> None:
    """The broker of these tests is not there: the page says so, and shows what the ledger knows."""
    log_in(reader, manager)
    reader.get_by_role("navigation", name="Main").get_by_role("link", name="Operations").click()
    expect(reader.get_by_role("alert")).to_contain_text("broker")
    expect(reader.get_by_role("table", name="Calls that a worker is carrying out")).to_contain_text(busy)
    expect(reader.get_by_text("Flower is not run by this stack")).to_be_visible()


@pytest.mark.parametrize(
    ("permission", "project", "opened"),
    [
        pytest.param(RUNS, None, set(), id="an-orchestrator-s"),
        pytest.param(MANAGE, "other", {"/admin/projects"}, id="another-project-s"),
        pytest.param(MANAGE, "X", {"/admin/projects", SETTINGS, "/admin/projects/X"}, id="the-project-s"),
        pytest.param(FLEET, None, {"/admin/fleet"}, id="the-fleet-s"),
        # What the fleet does names every project: it is not for a token of one.
        pytest.param(FLEET, "other", set(), id="the-fleet-s-for-one-project"),
    ],
)
def test_pages_open_to_their_permission_alone(
    reader: Page, make_token: Callable[..., str], permission: str, project: str | None, opened: set[str]
) -> None:
    """M133: for another project's token a project is as closed as for another permission's."""
    log_in(reader, make_token(permission, project=project))
    for path in ("/admin/projects", "/admin/fleet", SETTINGS, "/admin/projects/X"):
        answer = reader.goto(path)
        assert answer is not None
        assert answer.status == (200 if path in opened else 403), path
    assert reader.get_by_role("link", name="Operations").count() == int("/admin/fleet" in opened)


def test_visit_ends_with_its_token_and_with_logging_out(reader: Page, make_token: Callable[..., str], ledger) -> None:
    log_in(reader, make_token(MANAGE))
    cookie = reader.context.cookies()
    reader.get_by_role("button", name="Log out").click()
    reader.context.add_cookies(cookie)
    reader.goto(SETTINGS)
    expect(reader).to_have_url(re.compile("/admin/login$"))
    log_in(reader, make_token(MANAGE, name="bob"))
    reader.goto(SETTINGS)
    revoke_token(ledger, list_tokens(ledger)[1].id, actor="tests")
    reader.reload()
    expect(reader).to_have_url(re.compile("/admin/login$"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_have_no_known_barrier(browser: Browser, admin: Admin, manager: str, busy: str, scheme: str) -> None:
    """axe-core finds nothing on any page, in both colour schemes; and at the width of a phone nothing sticks out."""
    paths = ("/admin/", "/admin/projects", "/admin/projects?id=!", f"/admin/projects/{busy}", SETTINGS)
    paths += (f"{SETTINGS}?saved=1", f"/admin/projects/{busy}/runs/run-1", "/admin/fleet", "/admin/nowhere")
    with browser.new_context(base_url=admin.url, color_scheme=scheme) as context:
        page = context.new_page()
        page.goto("/admin/login")
        found = [clean(page, "/admin/login")]
        log_in(page, manager)
        page.set_viewport_size({"width": 390, "height": 900})
        for path in paths:
            page.goto(path)
            found.append(clean(page, path))
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
    assert found == [[]] * len(found)


def clean(page: Page, path: str) -> list[str]:
    """What axe-core finds on the page."""
    return [f"{path}: {one['id']} {one['nodes'][0]['html'][:120]}" for one in Axe().run(page).response["violations"]]
