"""The catalogue: the folder is the list, and a sixth tool is two new files (X17)."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from broker.ledger import health
from schemas import errors
from schemas.profiles import PROFILES
from schemas.tools import catalogue, tool_names

HOME = Path(__file__).resolve().parents[2]

CONTRACT = '''
"""web_probe: a sixth tool, to show what one costs."""
from pydantic import BaseModel, ConfigDict
from schemas.profiles import WEB_FETCH
from schemas.tool import Tool

class Args(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    url: str

class Result(BaseModel):
    status: int

TOOL = Tool(name="web_probe", queue="fetch", profile=WEB_FETCH, args=Args, result=Result, description="Probe a page.")
'''

HANDLER = '''
"""web_probe: its handler."""
from schemas.destination import Destination
from schemas.tools.web_probe import TOOL, Result
from workers.shift import handles

@handles(TOOL, prepare=lambda args, limits: Destination.parse(args.url))
def web_probe(args, place, bench):
    return Result(status=bench.ride(place).status)
'''

LOOK = """
from broker.app import app
app.loader.import_default_modules()
assert "web_probe" in app.tasks, sorted(app.tasks)
assert app.amqp.router.route({}, "web_probe")["queue"].name == "fetch"
print("served")
"""


def test_a_sixth_tool_is_two_new_files_when_nothing_else_is_edited(tmp_path: Path) -> None:
    """X17: contract and handler alone make it listed, routed and served."""
    for floor in ("schemas", "broker", "workers"):
        shutil.copytree(HOME / floor, tmp_path / floor, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "schemas/tools/web_probe.py").write_text(CONTRACT)
    (tmp_path / "workers/tools/web_probe.py").write_text(HANDLER)
    environment = os.environ | {
        "PYTHONPATH": str(tmp_path),
        "OUTRIDER_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
        "OUTRIDER_BROKER_URL": "redis://127.0.0.1:1/0",
    }
    found = subprocess.run([sys.executable, "-c", LOOK], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert found.stdout.strip() == "served", found.stderr


def test_every_contract_has_its_handler_and_every_handler_its_contract() -> None:
    handlers = {path.stem for path in (HOME / "workers/tools").glob("*.py")} - {"__init__"}
    assert handlers == set(tool_names())


def test_a_tool_carries_the_name_of_its_file_and_of_its_profile() -> None:
    for name, tool in catalogue().items():
        assert tool.name == name
        assert tool.profile in PROFILES


def test_a_truth_session_has_four_capabilities_and_no_others() -> None:
    """M1, M2: the names are the documents', and nothing of them is kept under a caller's own word."""
    sessions = {name: tool for name, tool in catalogue().items() if tool.audience == "truth_session"}
    parts = ("fetch", "job_get", "job_submit", "search")
    assert list(sessions) == [f"cowork_truth_analysis_{part}" for part in parts]
    assert {tool.kept_by for tool in sessions.values()} == {"run", "nobody"}
    assert all(
        "context" not in tool.args.model_fields and "url" not in tool.args.model_fields for tool in sessions.values()
    )


def test_error_codes_are_the_contract_s_when_listed() -> None:
    """DESIGN section 6: codes are stable. A leaf without a code of its own would answer `internal` by accident."""
    pending, codes = [errors.OutriderError], {}
    while pending:
        kind = pending.pop()
        pending.extend(kind.__subclasses__())
        if not kind.__subclasses__():
            codes[kind.__name__] = kind.code
    assert issubclass(health.LedgerNotDurable, errors.Broken)  # the one leaf that lives beside what it speaks of
    ours = {name for name, code in codes.items() if code == "internal"}
    assert ours == {"Internal", "LedgerNotDurable", "LedgerUnavailable", "StackUnavailable"}
    assert all(code == code.lower() and " " not in code for code in codes.values())
