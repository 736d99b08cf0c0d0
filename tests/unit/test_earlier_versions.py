"""Folders that earlier versions wrote can be read: fields that they lack have their default."""

from dataclasses import MISSING, fields
from pathlib import Path

import pytest

import rankfold as rf
from rankfold import runs

DATA = Path(__file__).resolve().parents[1] / "data"
KINDS = {"alignment-0.1": rf.Alignment, "decomposition-0.1": rf.Decomposition}


@pytest.mark.parametrize("name", KINDS)
def test_a_result_is_read(name):
    result = rf.load(DATA / name)
    assert isinstance(result, KINDS[name])
    assert result.version == "0.1.0"
    assert result.rank >= 1
    # Not known, and not called zero.
    assert result.gap is None
    assert "gap" not in result.trace.inner
    assert "optimum" not in repr(result)
    # Nobody looked.
    assert result.occluders == ()


@pytest.mark.parametrize("kind", KINDS.values())
def test_every_field_that_was_added_has_a_default(kind):
    names = [field.name for field in fields(kind)]
    added = fields(kind)[names.index("version") :]
    assert all(
        field.default is not MISSING or field.default_factory is not MISSING for field in added
    )


def test_a_run_folder_is_read():
    run = runs.open_run(DATA / "run-0.1")
    assert isinstance(run.result, rf.Alignment)
    assert run.result.settings == {}
    assert run.result.outcome == "5 of 5 pictures found their place."
    assert run.result.trace.routes == {}
    assert len(run.inputs) == len(run.result.names)
