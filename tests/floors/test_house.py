"""The walls of the house: what ruff, mypy and the import contracts cannot say."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).resolve().parents[2]
FLOORS = ("schemas", "broker", "workers", "ops")
MODULES = sorted(path for floor in FLOORS for path in (HOME / floor).rglob("*.py"))
NAMELESS = {"utils", "helpers", "common", "base", "manager", "service", "data"}


def _functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(path.read_text())
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def test_tests_hold_no_package_that_could_shadow_the_product() -> None:
    """A tests/schemas/__init__.py would make `import schemas` give the test package."""
    assert list((HOME / "tests").rglob("__init__.py")) == []


def test_ops_is_ours_and_not_a_package_of_the_same_name() -> None:
    import ops

    assert Path(ops.__file__).is_relative_to(HOME)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(HOME)))
def test_a_module_stays_within_its_walls(path: Path) -> None:
    """300 lines a module, 40 a function, and a name that says what it is."""
    assert path.read_text().count("\n") <= 300
    assert [f"{node.name}:{node.lineno}" for node in _functions(path) if node.end_lineno - node.lineno >= 40] == []
    assert path.stem not in NAMELESS


@pytest.mark.parametrize(
    "path", sorted((HOME / "tests").rglob("*.py")), ids=lambda path: str(path.relative_to(HOME / "tests"))
)
def test_a_test_file_stays_within_its_wall(path: Path) -> None:
    assert path.read_text().count("\n") <= 400


def test_only_the_settings_read_the_environment() -> None:
    """Law of DESIGN section 1. ops may hand a child process its environment, the product's floors may not look."""
    readers = {
        str(path.relative_to(HOME))
        for path in MODULES
        if path.relative_to(HOME).parts[0] != "ops"
        and any(word in path.read_text() for word in ("os.environ", "os.getenv", "getenv("))
    }
    assert readers <= {"broker/settings.py"}


def test_import_contracts_hold() -> None:
    """Arrows go down only; pycurl, dnspython and SQL each have one speaker."""
    found = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"], cwd=HOME, capture_output=True, text=True
    )
    assert found.returncode == 0, found.stdout


def test_locks_carry_hashes_and_no_addresses() -> None:
    for lock in (HOME / "ops" / "locks").glob("*.txt"):
        text = lock.read_text()
        assert "--hash=sha256:" in text
        assert "://" not in text
