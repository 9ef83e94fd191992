"""Projects: settings, generations and the audit trail (M131, M139, M141)."""

from dataclasses import replace

from broker.ledger.audit import read_audit
from broker.ledger.projects import Project, ensure_local_project, read_project, save_project
from tests.broker.ledger.test_races import crowd


def test_project_is_switched_off_with_designer_preselected_when_it_was_never_saved(ledger):
    """M131, M132."""
    assert read_project(ledger, "new") == Project(
        id="new", enabled=False, fetch_enabled=False, agents=("designer",), generation=0, updated_at=None
    )


def test_project_reads_back_as_saved_when_it_was_saved(ledger):
    saved = save_project(ledger, Project(id="p", enabled=True, agents=("b", "a", "b")), actor="ann")

    assert read_project(ledger, "p") == saved
    assert (saved.enabled, saved.fetch_enabled, saved.agents, saved.generation) == (True, False, ("b", "a"), 1)
    assert saved.updated_at is not None


def test_project_is_one_generation_on_when_it_is_saved_unchanged(ledger):
    """M139: any save."""
    first = save_project(ledger, Project(id="p"), actor="ann")
    second = save_project(ledger, first, actor="ann")

    assert (first.generation, second.generation) == (1, 2)


def test_project_counts_every_save_when_many_save_at_once(ledger, ledger_url):
    with crowd(ledger_url, 8) as run:
        saved = run(lambda engine, _: save_project(engine, Project(id="p"), actor="ann"), range(8))

    assert sorted(project.generation for project in saved) == list(range(1, 9))
    assert [entry.facts["generation"] for entry in read_audit(ledger, "p")] == list(range(8, 0, -1))


def test_audit_tells_who_changed_what_when_a_project_is_saved(ledger):
    """M141: settings before and after, and nothing of any query."""
    first = save_project(ledger, Project(id="p"), actor="ann")
    second = save_project(ledger, replace(first, enabled=True, agents=()), actor="bob")
    save_project(ledger, Project(id="q"), actor="eve")

    newest, oldest = read_audit(ledger, "p")

    assert (newest.actor, newest.action, newest.at) == ("bob", "project.web-search.save", second.updated_at)
    assert newest.facts == {
        "generation": 2,
        "enabled": True,
        "enabled_before": False,
        "fetch_enabled": False,
        "fetch_enabled_before": False,
        "agents": [],
        "agents_before": ["designer"],
    }
    assert (oldest.actor, oldest.facts["enabled_before"]) == ("ann", None)


def test_audit_gives_the_newest_alone_when_a_limit_is_set(ledger):
    for _ in range(3):
        save_project(ledger, Project(id="p"), actor="ann")

    assert [entry.facts["generation"] for entry in read_audit(ledger, "p", limit=2)] == [3, 2]


def test_local_project_is_open_for_the_command_line_when_it_is_made(ledger):
    local = ensure_local_project(ledger)

    assert (local.id, local.enabled, local.fetch_enabled, local.agents) == ("local", True, True, ("cli",))


def test_local_project_is_left_alone_when_somebody_saved_it(ledger):
    closed = save_project(ledger, Project(id="local"), actor="ann")

    assert ensure_local_project(ledger) == closed
