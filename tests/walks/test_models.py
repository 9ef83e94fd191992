"""The model worker: a scripted model over real HTTP works on runs through the gateway, under its ceiling (M31, X11)."""

from collections.abc import Iterator
from threading import Event
from typing import Any

import pytest

from ops.lab.control import LabControl
from tests.fleet import Fleet, running_fleet, wait_until
from tests.model_server import KEY, Model, Say, results, serving_model, used
from tests.stores import rows
from tests.truth_calls import PASSAGE, Worker, call, code_of, find, output, prepared, value_of
from tests.truth_runs import age

JOB, SEARCH, FETCH, SUBMIT = (f"cowork_truth_analysis_{name}" for name in ("job_get", "search", "fetch", "job_submit"))
CEILING = 2_000_000_000
FILE = """
[truth]
route = "main"

[routes.main]
kind = "{kind}"
base_url = "{url}"
model = "scripted"
key_env = "TEST_MODEL_KEY"
{prices}
max_output_tokens = 4096
"""
PRICES = "input_usd_per_million = 2.5\noutput_usd_per_million = 10\n"
SHORT = {"input_tokens": 50, "output_tokens": 5}
DEAR = "input_usd_per_million = 20.0\noutput_usd_per_million = 100.0\n"


class Deployment:
    """A fleet whose models file the tests may write."""

    def __init__(self, fleet: Fleet, model: Model, file: Any) -> None:
        self.fleet, self.model, self.file = fleet, model, file

    def prices(self, prices: str, kind: str = "openai-compatible") -> None:
        """The route's prices, and its kind, from now on."""
        self.file.write_text(FILE.format(url=self.model.url, prices=prices, kind=kind))

    def ended(self, worker: Worker) -> dict[str, Any]:
        """The run's status once it has ended and its spending is closed."""
        over = "SELECT 1 FROM model_sessions WHERE run = %s AND ended_at IS NOT NULL"
        wait_until(lambda: rows(self.fleet, over, worker.run), seconds=120, what="the session ends")
        return wait_until(lambda: _ended(worker.status()), seconds=20, what="the run ends")

    def spent(self, worker: Worker) -> tuple[int, int, int]:
        """How many requests were reserved, how many settled, and what they count, which the session knows."""
        counted = "SELECT count(*), count(settled_at), coalesce(sum(coalesce(settled_nanousd, reserved_nanousd)), 0)"
        found = rows(self.fleet, f"{counted} FROM model_requests WHERE run = %s", worker.run)[0]
        known = rows(self.fleet, "SELECT committed_nanousd FROM model_sessions WHERE run = %s", worker.run)
        assert known == [(found[2],)]
        assert found[2] <= CEILING
        return int(found[0]), int(found[1]), int(found[2])


def _ended(status: dict[str, Any]) -> dict[str, Any] | None:
    return status if status["ended_at"] else None


@pytest.fixture(scope="module")
def deployment(whole_lab: LabControl, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A fleet with a model of its own."""
    assert whole_lab.folder.is_dir()
    root = tmp_path_factory.mktemp("models")
    file = root / "models.toml"
    with serving_model() as model, pytest.MonkeyPatch.context() as environment:
        file.touch()
        environment.setenv("OUTRIDER_MODELS_FILE", str(file))
        environment.setenv("TEST_MODEL_KEY", KEY)
        with running_fleet(root / "fleet") as fleet:
            yield Deployment(fleet, model, file)


@pytest.fixture
def place(deployment: Deployment) -> Deployment:
    """The deployment with its usual prices."""
    deployment.prices(PRICES)
    return deployment


def researcher(worker: Worker) -> Any:
    """A model that does the whole job, one tool after the other."""

    def answer(asked: dict[str, Any]) -> Say:
        done = results(asked)
        steps = [
            lambda: (JOB, {}),
            lambda: (SEARCH, {"query": "moon basalt"}),
            lambda: (FETCH, {"hit_id": done[1]["hits"][0]["hit_id"]}),
            lambda: (SUBMIT, {"output": output()}),
        ]
        name, arguments = steps[len(done)]()
        return Say(calls=((name, {"run_id": worker.run, **arguments}),))

    return answer


def test_model_works_on_a_whole_run_through_the_gateway(place: Deployment, lab: LabControl) -> None:
    """M31, X11: context, search, fetch and submission; each request reserved, then settled by what it used."""
    find(lab, "https://good.example/")
    worker = prepared(place.fleet)
    place.model.plays(researcher(worker))
    launch(worker)
    status = place.ended(worker)
    assert (status["state"], status["code"]) == ("completed", None)
    assert lab.hits("good.example") == {"good.example/": 1}
    assert place.spent(worker) == (4, 4, 4 * (1_000 * 2_500 + 100 * 10_000))
    offered = {tool["function"]["name"] for asked in place.model.asked for tool in asked["tools"]}
    assert offered == {JOB, SEARCH, FETCH, SUBMIT}  # and nothing else (M2)
    assert place.model.keys == {KEY}
    tokens = rows(place.fleet, "SELECT count(*), count(revoked_at) FROM tokens WHERE run = %s", worker.run)
    assert tokens == [(1, 1)]


def test_route_to_anthropic_is_bounded_and_settled_alike(place: Deployment) -> None:
    """X11: the other kind of provider tells tokens of its cache apart; they are counted as input."""
    place.prices(PRICES, kind="anthropic")
    worker = prepared(place.fleet)
    place.model.plays(lambda _asked: Say(words="I am done.", usage={"cache_read_input_tokens": 7, **SHORT}))
    launch(worker)
    assert place.ended(worker)["code"] == "worker_exited_before_submission"
    assert place.spent(worker) == (1, 1, (50 + 7) * 2_500 + 5 * 10_000)
    assert [tool["name"] for tool in place.model.asked[0]["tools"]] == [FETCH, JOB, SUBMIT, SEARCH]
    assert (place.model.asked[0]["max_tokens"], place.model.keys) == (4_096, {KEY})


def launch(worker: Worker) -> dict[str, Any]:
    """Launch the run, as its orchestrator does."""
    context = worker.fleet.context(project=worker.project)
    return call(worker.fleet, "truth_launch", {"run_id": worker.run}, context)


def loops(worker: Worker, **more: Any) -> Any:
    """A model that asks for its context for ever."""
    return lambda _asked: Say(calls=((JOB, {"run_id": worker.run}),), **more)


def test_ceiling_stops_a_model_that_loops_and_tells_no_usage(place: Deployment) -> None:
    """X11: what is not reported counts as the worst case, and the request that does not fit is never sent."""
    place.prices(DEAR)
    worker = prepared(place.fleet)
    place.model.plays(loops(worker, usage=None))
    launch(worker)
    status = place.ended(worker)
    assert (status["state"], status["code"]) == ("failed", "cost_ceiling_reached")
    reserved, settled, cost = place.spent(worker)
    assert (len(place.model.asked), settled) == (reserved, 0)
    assert reserved >= 2
    assert cost > CEILING // 2


def test_ceiling_stops_a_model_that_loops_for_ever(place: Deployment) -> None:
    """X11: settled by what was used, a loop goes on for longer and ends under the ceiling."""
    place.prices(DEAR)
    worker = prepared(place.fleet)
    place.model.plays(loops(worker, usage=used(5_000, 2_000)))
    launch(worker)
    assert place.ended(worker)["code"] == "cost_ceiling_reached"
    reserved, settled, cost = place.spent(worker)
    assert reserved == settled == len(place.model.asked)
    assert cost == settled * (5_000 * 20_000 + 2_000 * 100_000)


def test_huge_usage_counts_as_the_worst_case_and_ends_the_run(place: Deployment) -> None:
    """M31, X11: a provider that used more than its request allows has no cost control."""
    worker = prepared(place.fleet)
    place.model.plays(loops(worker, usage=used(10**9, 10**9)))
    launch(worker)
    status = place.ended(worker)
    assert (status["state"], status["code"]) == ("failed", "cost_control_unavailable")
    reserved = rows(place.fleet, "SELECT reserved_nanousd FROM model_requests WHERE run = %s", worker.run)
    assert place.spent(worker) == (1, 1, reserved[0][0])
    assert len(place.model.asked) == 1


@pytest.mark.parametrize(
    "said",
    [
        Say(words="I am done, believe me."),
        Say(status=500),
        Say(calls=(("web_fetch", {"url": "https://canary.example/"}), ("run_shell", {"command": "id"}))),
    ],
    ids=["leaves", "breaks", "forbidden"],
)
def test_model_that_submits_nothing_ends_its_run(place: Deployment, lab: LabControl, said: Say) -> None:
    """M2, X11: nothing of a forbidden tool is carried out; a broken provider is asked once and counts in full."""
    worker = prepared(place.fleet)
    place.model.plays(lambda _asked: said)
    launch(worker)
    status = place.ended(worker)
    assert (status["state"], status["code"]) == ("failed", "worker_exited_before_submission")
    reserved, settled, _cost = place.spent(worker)
    assert reserved == len(place.model.asked)
    assert settled == (0 if said.status == 500 else reserved)
    assert said.status != 500 or reserved == 1
    assert lab.queries() == []
    assert rows(place.fleet, "SELECT count(*) FROM operations WHERE project = %s", worker.project) == [(0,)]


def test_deadline_ends_a_model_that_does_not_answer(place: Deployment) -> None:
    """M12: the thirty minutes are the run's, whoever works on it."""
    worker = prepared(place.fleet)
    over = Event()
    place.model.plays(lambda _asked: Say(wait=over))
    age(place.fleet.ledger, worker.run, 1_792)
    launch(worker)
    status = place.ended(worker)
    over.set()
    assert (status["state"], status["code"]) == ("failed", "execution_deadline_exceeded")
    assert place.spent(worker)[:2] == (1, 0)


def test_route_without_a_price_is_refused(place: Deployment) -> None:
    """M31: fails closed at the launch; nothing is asked, and nothing reserved."""
    place.prices("input_usd_per_million = 2.5")
    worker = prepared(place.fleet)
    place.model.plays(researcher(worker))
    refused = launch(worker)
    assert (refused["outcome"], code_of(refused)) == ("refused", "cost_control_unavailable")
    assert refused["error"]["facts"]["field"] == "routes.main.output_usd_per_million"
    status = worker.status()
    assert (status["state"], status["code"]) == ("unavailable", "cost_control_unavailable")
    assert place.model.asked == []
    assert rows(place.fleet, "SELECT count(*) FROM model_sessions WHERE run = %s", worker.run) == [(0,)]


def test_launch_tells_the_two_controls_apart_and_hands_a_run_over_once(place: Deployment, lab: LabControl) -> None:
    """M30, M68: and a launch that is repeated spends nothing twice."""
    find(lab, "https://good.example/")
    worker = prepared(place.fleet)
    place.model.plays(researcher(worker))
    told = value_of(launch(worker))["disclosure"]
    assert "hard ceiling of $2.00" in told["model"]
    assert "no enforced monetary ceiling" in told["web"]
    launch(worker)
    assert place.ended(worker)["state"] == "completed"
    assert place.spent(worker)[0] == len(place.model.asked) == 4


def test_killed_model_worker_ends_its_run_and_spends_no_more(place: Deployment) -> None:
    """X11: the lease of its session runs out; what it had reserved stays counted, and nobody asks again."""
    worker = prepared(place.fleet)
    over = Event()
    place.model.plays(lambda _asked: Say(wait=over))
    launch(worker)
    wait_until(lambda: place.model.asked, seconds=60, what="the model is asked")
    place.fleet.processes("worker", "models")[0].kill()
    status = place.ended(worker)
    over.set()
    assert (status["state"], status["code"]) == ("failed", "worker_exited_before_submission")
    assert place.spent(worker)[:2] == (1, 0)
    assert len(place.model.asked) == 1


def test_nothing_of_prompts_passages_pages_or_keys_is_logged(place: Deployment) -> None:
    """After all that was done before: whole runs, broken providers, killed workers."""
    logs = place.fleet.logs()
    assert "analysis_ended" in logs
    for word in (PASSAGE, "basalt", KEY, "believe me", "fell over", "analyse one passage"):
        assert word not in logs
