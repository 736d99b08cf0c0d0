"""The table of many runs: what is said, and files that are true at any time."""

import csv
import json
from dataclasses import replace

import pytest

import rankfold as rf
from rankfold.runs import BatchRow, BatchState, ManySummary
from rankfold.runs.many_tables import COLUMNS, replace_text, write_tables


@pytest.fixture
def summary(tmp_path):
    """A batch of each kind."""
    plain = BatchRow("a", "/in/a", tmp_path / "a")
    good = replace(
        plain,
        state=BatchState.DONE,
        pictures=8,
        verdict="good",
        placed=8,
        doubtful=0,
        failed=0,
        rank=2,
        status=rf.Status.CONVERGED,
        seconds=1.5,
        outcome="8 of 8 pictures found their place.",
        strip=(("average", "data:image/webp;base64,AAAA"),),
    )
    lost = replace(good, name="b", verdict="partial", placed=6, failed=2, state=BatchState.KEPT)
    useless = replace(good, name="c", verdict="failed", placed=0, failed=8)
    broken = replace(plain, name='d, "x"', state=BatchState.ERROR, error="no pictures; put some")
    waiting = replace(plain, name="e")
    return ManySummary(tmp_path, (good, lost, useless, broken, waiting), seconds=3.0)


def test_kinds_of_rows(summary):
    good, *_, broken, waiting = summary.rows
    assert [row.has_result for row in summary.rows] == [True, True, True, False, False]
    assert [row.is_useless for row in summary.rows] == [False, False, True, True, False]
    assert [row.is_partly_lost for row in summary.rows] == [False, True, True, False, False]
    assert replace(good, status=rf.Status.NON_FINITE).is_useless
    assert replace(good, verdict="only roughly").is_partly_lost
    assert summary.failures == (broken,)
    assert summary.waiting == (waiting,)


def test_the_sentence_names_what_to_look_at(summary):
    assert summary.sentence == (
        '3 of 5 batches have a result (1 good, 1 partial, 1 failed); with an error: d, "x"; '
        "failed as a whole: c; with pictures that failed: b; not done: e."
    )
    alone = replace(summary, rows=summary.rows[:1])
    assert alone.sentence == "1 of 1 batches have a result (1 good)."


def test_tables_have_a_row_a_batch(summary):
    write_tables(summary)
    value = json.loads((summary.folder / "summary.json").read_text())
    assert value == summary.as_dict()
    assert [row["name"] for row in value["batches"]] == ["a", "b", "c", 'd, "x"', "e"]
    assert "data:" not in json.dumps(value)
    with (summary.folder / "summary.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(COLUMNS)
    assert rows[0]["rank"] == "2"
    assert rows[3]["name"] == 'd, "x"'
    assert rows[3]["error"] == "no pictures; put some"
    assert rows[4]["placed"] == ""


def test_a_report_is_one_that_is_there(summary):
    good, *_, waiting = summary.rows
    assert good.report is None
    good.folder.mkdir()
    (good.folder / "report.html").touch()
    assert good.report == good.folder / "report.html"
    assert waiting.report is None


class TestReplacing:
    def test_the_old_text_stays_if_the_new_one_cannot_be_written(self, tmp_path, monkeypatch):
        place = tmp_path / "a.txt"
        replace_text(place, "old")

        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("pathlib.Path.replace", full)
        with pytest.raises(rf.WriteError, match=r"no space is left to write .*a\.txt"):
            replace_text(place, "new")
        assert place.read_text() == "old"
        assert {path.name for path in tmp_path.iterdir()} == {"a.txt", ".rankfold"}

    def test_a_place_that_cannot_be_written_is_named(self, tmp_path):
        (tmp_path / "none").touch()
        with pytest.raises(rf.WriteError, match="choose a folder that you may write to"):
            replace_text(tmp_path / "none" / "a.txt", "x")

    def test_a_file_of_the_user_stays(self, tmp_path):
        place = tmp_path / "a.txt"
        place.write_text("mine")
        with pytest.raises(rf.InputError, match="was not written by this version of rankfold"):
            replace_text(place, "new")
        assert place.read_text() == "mine"
