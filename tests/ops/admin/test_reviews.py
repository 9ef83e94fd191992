"""The review desk's pages, in a real browser: hostile text stays text, and a person decides with what they see."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from broker.ledger.truth_reviews import decide, read_decisions, read_review
from schemas.grants import MANAGE, REVIEW
from schemas.truth_review import Decision, verdict_of
from tests.ledger_calls import run_sql
from tests.ops.admin.conftest import Admin, log_in
from tests.ops.admin.test_pages import clean, press_until
from tests.review_runs import QUOTE, SECOND, TEXT, URL, Completed, completed
from tests.truth_runs import tamper


@pytest.fixture
def reviewer(make_token) -> str:
    return make_token(REVIEW, MANAGE)


@pytest.fixture
def done(ledger) -> Completed:
    return completed(ledger)


def decided(ledger, done: Completed, number: int = 0) -> Decision | None:
    return read_decisions(ledger, done.run.id).get(done.candidates[number])


def texts_of(page: Page) -> tuple[str, str]:
    """What stands in the source's box, and what of it is marked; hidden characters as they are written out."""
    box = page.get_by_role("group", name="Source 1")
    marks = box.locator("mark")
    return box.text_content() or "", "".join(marks.nth(number).text_content() or "" for number in range(marks.count()))


def test_person_selects_one_exact_passage_and_nothing_else_is_promoted(
    visitor: Page, reviewer: str, done: Completed, ledger
) -> None:
    """M65, M80: from the list to the decision; what was not selected, and the other candidates, stay quarantined."""
    log_in(visitor, reviewer)
    visitor.get_by_role("navigation", name="Main").get_by_role("link", name="Reviews").click()
    expect(visitor.get_by_role("row", name="Moon <i>")).to_contain_text("3 open")
    visitor.get_by_role("link", name="Moon <i>").click()
    coverage = visitor.get_by_role("table", name="How far each source was gone through")
    expect(coverage.get_by_role("row", name="web")).to_contain_text("partial")
    expect(coverage).to_contain_text("Queries: 2 of 3, completed 1. Fetches: 1 of 5, completed 1.")
    receipts = visitor.get_by_role("table", name="The run's receipts")
    expect(receipts.get_by_role("row").nth(2)).to_contain_text("source_blocked")
    visitor.get_by_role("link", name="The moon is made of basalt.").click()
    expect(visitor.get_by_role("region", name="Where the passage says so").locator("mark")).to_have_text(
        "The moon is made of basalt."
    )
    for box in visitor.get_by_role("checkbox").all():
        expect(box).not_to_be_checked()
    for choice in visitor.get_by_role("radio").all():
        expect(choice).not_to_be_checked()
    assert visitor.get_by_role("checkbox").count() == 3  # what contradicts and what cites the passage has no box
    visitor.get_by_label("Save as proposed").check()
    visitor.get_by_label("Quote 2, partially_supports").check()
    visitor.get_by_role("button", name="Record the decision").click()
    expect(visitor.get_by_role("status")).to_contain_text(re.compile(r"saved as proposed by\s+token:tk-\w+:alice"))
    expect(visitor.get_by_role("status").locator("q")).to_have_text([SECOND])
    assert visitor.get_by_role("button", name="Record the decision").count() == 0
    kept = decided(ledger, done)
    assert kept is not None
    assert [one.evidence for one in kept.verdict.attachments] == [1]
    assert run_sql(ledger, "SELECT count(*) FROM truth_decisions")[0][0] == 1
    visitor.get_by_role("link", name=done.run.id).click()
    expect(visitor.get_by_text("open", exact=True)).to_have_count(2)


def test_hostile_text_is_shown_as_text_with_its_quotes_marked(visitor: Page, reviewer: str, done: Completed) -> None:
    """M76: no markup of a page is markup here; what hides or turns words is written out; quotes may overlap."""
    dialogs: list[str] = []
    visitor.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    log_in(visitor, reviewer)
    visitor.goto(done.page())
    shown, marked = texts_of(visitor)
    written_out = {"\u202e": "U+202E", "\u202c": "U+202C", "\x1b": "U+001B", "\u200b": "U+200B"}
    expected = TEXT.translate(str.maketrans(written_out))
    for number in (1, 2, 3):
        shown = shown.replace(f"Quote {number} begins: ", "")
    assert shown == expected
    start, end = TEXT.index(QUOTE), TEXT.index(SECOND) + len(SECOND)
    assert marked == (TEXT[start:end] + "never found").translate(str.maketrans(written_out))
    assert visitor.locator("main script, main img, main h1 h1, main iframe").count() == 0
    expect(visitor).to_have_title(re.compile(r"^Candidate \w{12} \u2013 Outrider$"))
    visitor.goto(f"/admin/projects/{done.place}")
    expect(visitor.get_by_text('Basalt, <img src=x onerror="alert(1)">.')).to_be_visible()
    assert dialogs == []


def test_source_is_a_plain_link_shown_in_full(reader: Page, reviewer: str, done: Completed) -> None:
    """The link tells its site nothing of us, and leads to where it says."""
    log_in(reader, reviewer)
    reader.goto(done.page())
    link = reader.get_by_role("link", name=URL)
    expect(link).to_have_text(URL)
    expect(link).to_have_attribute("href", URL)
    expect(link).to_have_attribute("rel", "noreferrer noopener nofollow")
    reader.get_by_role("link", name="Quote 2 in its text").click()
    assert reader.url.endswith("#quote-2")


def test_keyboard_alone_dismisses_a_candidate(visitor: Page, reviewer: str, done: Completed, ledger) -> None:
    log_in(visitor, reviewer)
    visitor.goto(done.page(2))
    press_until(visitor, "the decisions", visitor.get_by_label("Save as proposed"))
    for _ in range(2):
        visitor.keyboard.press("ArrowDown")
    expect(visitor.get_by_label("Dismiss")).to_be_checked()
    press_until(visitor, "the button", visitor.get_by_role("button", name="Record the decision"))
    visitor.keyboard.press("Enter")
    expect(visitor.get_by_role("status")).to_contain_text("dismissed")
    kept = decided(ledger, done, 2)
    assert kept is not None
    assert (kept.verdict.decision, kept.verdict.attachments) == ("dismiss", ())


@pytest.mark.parametrize(
    ("choice", "claim", "attach", "words"),
    [
        pytest.param(None, None, False, "Choose one of the three decisions", id="none"),
        pytest.param("Connect to an existing claim", None, False, "choose one of the claims", id="no-claim"),
        pytest.param("Save as proposed", "c1", False, "with another decision, choose none", id="claim-of-no-use"),
        pytest.param("Dismiss", None, True, "What is dismissed keeps no evidence", id="dismissed-with-evidence"),
    ],
)
def test_decision_that_cannot_be_given_is_told_beside_the_form(  # noqa: PLR0917 - rows and fixtures
    visitor: Page, reviewer: str, done: Completed, ledger, choice, claim, attach, words
) -> None:
    """What was typed stays typed; nothing is recorded."""
    log_in(visitor, reviewer)
    visitor.goto(done.page())
    if choice:
        visitor.get_by_label(choice, exact=True).check()
    if claim:
        visitor.get_by_label("Existing claim", exact=True).select_option(claim)
    visitor.get_by_label("Quote 1, supports").set_checked(attach)
    visitor.get_by_role("button", name="Record the decision").click()
    expect(visitor).to_have_title(re.compile("^Error: "))
    expect(visitor.get_by_role("alert")).to_contain_text(words)
    if choice:
        expect(visitor.get_by_label(choice, exact=True)).to_be_checked()
    expect(visitor.get_by_label("Quote 1, supports")).to_be_checked(checked=attach)
    assert decided(ledger, done) is None


def test_candidate_is_connected_to_a_claim(reader: Page, reviewer: str, done: Completed, ledger) -> None:
    log_in(reader, reviewer)
    reader.goto(done.page(1))
    expect(reader.get_by_text("Said to meet claim (overlaps)")).to_be_visible()
    reader.get_by_label("Connect to an existing claim").check()
    reader.get_by_label("Existing claim", exact=True).select_option("c1")
    reader.get_by_role("button", name="Record the decision").click()
    expect(reader.get_by_role("status")).to_contain_text("connected")
    kept = decided(ledger, done, 1)
    assert kept is not None
    assert kept.verdict.claim_id == "c1"
    reader.goto("/admin/projects/X/web-search")
    expect(reader.get_by_role("table", name="Who changed what")).to_contain_text("decided a candidate")


def test_every_kind_of_selected_passage_is_shown_afterwards(reader: Page, reviewer: str, done: Completed) -> None:
    """M75: a fetched quote with its source, a recorded span with its name."""
    log_in(reader, reviewer)
    reader.goto(done.page())
    reader.get_by_label("Save as proposed").check()
    for box in reader.get_by_role("checkbox").all():
        box.check()
    reader.get_by_role("button", name="Record the decision").click()
    told = reader.get_by_role("status")
    expect(told.get_by_role("listitem")).to_have_count(3)
    expect(told.get_by_role("link", name=URL)).to_have_count(2)
    expect(told.get_by_role("listitem").nth(2)).to_contain_text("recorded as span s1")


def test_decision_of_another_person_meanwhile_holds(reader: Page, reviewer: str, done: Completed, ledger) -> None:
    log_in(reader, reviewer)
    reader.goto(done.page())
    reader.get_by_label("Dismiss").check()
    review = read_review(ledger, "X", done.run.id)
    assert review is not None
    theirs = verdict_of(review, review.candidates[0], "save_as_proposed", None, [0])
    decide(ledger, review, theirs, actor="token:tk-1:bob")
    reader.get_by_role("button", name="Record the decision").click()
    expect(reader.get_by_role("alert")).to_contain_text("Somebody decided this candidate meanwhile")
    expect(reader.get_by_role("status")).to_contain_text("token:tk-1:bob")
    kept = decided(ledger, done)
    assert kept is not None
    assert kept.verdict == theirs


def test_altered_run_is_told_and_not_shown(reader: Page, reviewer: str, done: Completed, ledger) -> None:
    """M76: no quote of a text that is not the one of its receipt comes before a person's eyes."""
    log_in(reader, reviewer)
    tamper(ledger, "UPDATE receipts SET body = replace(body, 'billion', 'million')")
    for path in (f"/admin/projects/{done.place}", done.page()):
        answer = reader.goto(path)
        assert answer is not None
        assert answer.status == 409
        expect(reader.get_by_role("main")).to_contain_text("not what was recorded")
        assert "illion" not in reader.content()


def test_form_of_another_place_or_visit_is_refused(admin: Admin, reviewer: str, done: Completed, ledger) -> None:
    """A proof is bound to its candidate: what was given out for one decides no other."""
    door = admin.ask("GET", "/admin/login")
    csrf = re.findall(r'name="csrf" value="(\w+)"', door.text)[0]
    admin.ask("POST", "/admin/login", data={"csrf": csrf, "token": reviewer})
    own = re.findall(r'name="csrf" value="(\w+)"', admin.ask("GET", done.page()).text)[-1]
    form = {"output": done.output_sha256, "decision": "dismiss"}
    for proof in (own, "0" * 64):
        assert admin.ask("POST", done.page(1), data={**form, "csrf": proof}).status_code == 403
    assert admin.ask("POST", done.page(1), data=form).status_code == 422
    foreign = {"Sec-Fetch-Site": "cross-site"}
    assert admin.ask("POST", done.page(), data={**form, "csrf": own}, headers=foreign).status_code == 403
    assert read_decisions(ledger, done.run.id) == {}
    assert admin.ask("POST", done.page(), data={**form, "csrf": own}).status_code == 303


@pytest.mark.parametrize(
    ("permission", "project", "opened"), [(REVIEW, None, True), (REVIEW, "Y", False), (MANAGE, None, False)]
)
def test_desk_s_pages_open_to_reviewers_of_the_project_alone(
    reader: Page, make_token, done: Completed, permission: str, project: str | None, *, opened: bool
) -> None:
    log_in(reader, make_token(permission, project=project))
    for path in (f"/admin/projects/{done.place}", done.page()):
        answer = reader.goto(path)
        assert answer is not None
        assert answer.status == (200 if opened else 403), path
    answer = reader.goto("/admin/reviews")
    assert answer is not None
    assert answer.status == (200 if permission == REVIEW else 403)
    assert (done.run.id in reader.content()) is opened


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_desk_s_pages_have_no_known_barrier(
    browser: Browser, admin: Admin, reviewer: str, done: Completed, ledger, scheme: str
) -> None:
    """axe-core finds nothing, in both colour schemes; and at the width of a phone nothing sticks out."""
    review = read_review(ledger, "X", done.run.id)
    assert review is not None
    decide(ledger, review, verdict_of(review, review.candidates[1], "dismiss", None, []), actor="token:tk-1:bob")
    paths = ("/admin/", "/admin/reviews", f"/admin/projects/{done.place}", done.page(), done.page(1))
    with browser.new_context(base_url=admin.url, color_scheme=scheme) as context:
        page = context.new_page()
        log_in(page, reviewer)
        page.set_viewport_size({"width": 390, "height": 900})
        found = []
        for path in paths:
            page.goto(path)
            found.append(clean(page, path))
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
    assert found == [[]] * len(paths)
