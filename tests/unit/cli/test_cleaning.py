"""rankfold clean: what it says and removes."""

import json
from pathlib import Path

import pytest

from commands import run
from rankfold.storage import DRAFT


@pytest.fixture
def draft(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    draft = Path(f".run-abcdefgh{DRAFT}")
    draft.mkdir()
    (draft / "arrays.npz").write_bytes(bytes(2000))
    return draft


@pytest.mark.parametrize("place", [[], ["."], ["run"]])
def test_says_what_it_removes(draft, place):
    outcome = run("clean", *place)
    assert outcome.stdout.splitlines() == [
        f"removed: {draft} (a draft, 2,000 bytes)",
        "2,000 bytes in all",
    ]
    assert not draft.exists()
    assert run("clean", *place).stdout == f"nothing is left over in {(place or ['.'])[0]}\n"


def test_a_plan_only_says_it(draft):
    assert run("clean", "--plan").stdout.startswith(f"would be removed: {draft}")
    assert draft.exists()


def test_programs_get_json(draft):
    value = json.loads(run("clean", "run", "--json").stdout)
    assert value == {
        "cleaned": [
            {
                "path": str(draft),
                "kind": "draft",
                "run": "run",
                "bytes": 2000,
                "put_back": False,
            }
        ],
        "bytes": 2000,
        "plan": False,
    }
