"""The commands of docs/formats.md on real pictures, each back into its own kind of file."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import tifffile
from typer.testing import CliRunner

import rankfold as rf
from rankfold.cli import app
from rankfold.datasets import cells
from rankfold.io import open_pictures
from real_data import DATA

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = re.findall(
    r"^\$ (rankfold .* data/.*)$",
    (ROOT / "docs" / "formats.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)

# Portraits in which the head turns and the face moves: they lie about where the others do.
ROUGH = ("data/lfw/Laura_Bush",)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c.split("data/")[1].split()[0])
def test_real_pictures_come_back_as_what_they_were(command, tmp_path, monkeypatch):
    words = shlex.split(command)[1:]
    given = DATA / words[1].removeprefix("data/")
    if not given.exists():
        pytest.skip(f"needs {given}; set RANKFOLD_DATA to the folder of the real data")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").symlink_to(DATA)
    outcome = CliRunner().invoke(app, [*words, "--json"])
    rough = words[1] in ROUGH
    assert outcome.exit_code == (3 if rough else 0), outcome.output
    value = json.loads(outcome.stdout)
    video = given.suffix == ".avi"
    source = open_pictures(given, stride=4 if video else 1)
    assert value["images"] == len(source)
    back = open_pictures(f"{value['run']}/low_rank.avi" if video else f"{value['run']}/low_rank")
    assert (back.format, len(back), back.dtype, back.channels) == (
        source.format,
        len(source),
        source.dtype,
        source.channels,
    )
    if not video:
        assert back.names == source.names
        assert (value["verdict"] == "only roughly") == rough
        assert rough or value["failed"] == []
    assert (Path(value["run"]) / "report.html").stat().st_size > 100_000


def test_there_are_four_of_them():
    assert len(COMMANDS) == 4


@pytest.mark.parametrize("kind", ["tif", "zarr"])
def test_a_sixteen_bit_stack_comes_back_registered_with_its_bits(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    field = cells(10, frame=(50, 60), seed=3)
    frames = np.stack([(40_000 * picture).astype(np.uint16) for picture in field.images])
    if kind == "tif":
        tifffile.imwrite("field.tif", frames, photometric="minisblack", metadata={"axes": "TYX"})
    else:
        pytest.importorskip("zarr").create_array("field.zarr", data=frames)
    words = [
        "align",
        f"field.{kind}",
        "-t",
        "translation",
        "--frame",
        "50x60",
        "-o",
        "run",
        "--no-report",
    ]
    outcome = CliRunner().invoke(app, words)
    assert outcome.exit_code == 0, outcome.output
    back = open_pictures(f"run/aligned.{kind}")
    assert (back.dtype, len(back), back.shapes[0]) == (np.uint16, 10, (50, 60))
    result = rf.load("run")
    assert rf.metrics.alignment_error(result.transforms, field.truth, field.points).mean < 0.2
    stored = np.stack([p.values for p in back.pictures()])
    np.testing.assert_allclose(stored, np.clip(np.rint(result.aligned), 0, 65535), atol=0.5)
