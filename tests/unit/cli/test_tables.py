"""Tables of what there is to choose from."""

import json

import pytest

from commands import run, usage_error, work_in
from rankfold.align.routes import ROUTES

TABLES = ["methods", "stages", "starts", "families", "projectors", "formats", "datasets"]


@pytest.mark.parametrize("name", TABLES)
def test_rows_for_people_and_for_programs(name):
    rows = json.loads(run(name, "--json").stdout)
    shown = run(name).stdout
    assert len(rows) >= 3
    assert all(row["name"] in shown and row["summary"] for row in rows)
    assert run(name, "--quiet").stdout == ""


def test_the_starts_are_those_that_can_be_asked_for():
    rows = json.loads(run("starts", "--json").stdout)
    assert {row["name"]: row["summary"] for row in rows} == {
        name: route.sentence for name, route in ROUTES.items()
    }


def test_a_generated_set_is_written(tmp_path, monkeypatch):
    folder = work_in(tmp_path, monkeypatch)
    assert len(list((folder / "views").glob("*.png"))) == 6
    assert "--overwrite" in run("datasets", "textures", "-o", "views", code=1).stderr
    run("datasets", "textures", "-o", "views", "--overwrite", "--images", 3)
    assert len(list((folder / "views").glob("*.png"))) == 3


def test_only_a_generated_set_can_be_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("datasets", "rasl", "-o", "x", code=2)
    assert "-o FOLDER" in usage_error("datasets", "textures")
