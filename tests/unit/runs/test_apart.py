"""What is written never takes the place of what it is made from, by whatever name it is called."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import tifffile

import rankfold as rf
from commands import QUICK, finished_run, run
from rankfold.io import open_pictures, write_picture
from rankfold.runs.apart import check_apart


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return finished_run(tmp_path_factory.mktemp("apart"))


@pytest.fixture
def place(finished, tmp_path, monkeypatch):
    """A working folder with pictures in ``views`` and a run of them in ``run``."""
    shutil.copytree(finished, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def tree(place):
    return {path: path.read_bytes() for path in Path(place).rglob("*") if path.is_file()}


REFUSED = [
    ["apply", "run", "views", "-o", "run"],
    ["restore", "run", "views", "-o", "run"],
    ["mask", "run", "views", "-o", "run"],
    ["restore", "run", "views", "--masks", "run/error", "-o", "run"],
    ["apply", "run", "views", "-o", "views"],
    ["align", "run/aligned", "-o", "run"],
    ["align", "r*n/aligned/*.png", "-o", "run"],
    ["align", "links", "-o", "run"],
    ["align", "views", "-o", "other-name-of-run/../views"],
    ["decompose", "run/aligned", "-o", "run"],
    ["plate", "run", "views", "-o", "views/000.png"],
    ["plate", "run", "stack.tif", "-o", "stack.tif"],
    ["plate", "run", "stack.tif", "-o", "plate.png", "--confidence", "stack.tif"],
    ["plate", "run", "views", "-o", "other-name-of-run/aligned/a.png"],
    ["report", "run", "-o", "views/000.png"],
    ["report", "run", "--sheet", "views/001.png"],
]


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_it_is_refused_and_nothing_changes(place, words):
    """Each of these replaced the run, the masks or the pictures, with exit code 0."""
    Path("links").mkdir()
    for file in Path("run/aligned").iterdir():
        (Path("links") / file.name).symlink_to(file.resolve())
    Path("other-name-of-run").symlink_to("run")
    shutil.copy(next(Path("run/aligned").iterdir()), "run/aligned/a.png")
    # The picture becomes one that rankfold wrote.
    mark = Path("run/.rankfold")
    mark.write_text(mark.read_text().replace('"aligned/', '"aligned/a.png",\n  "aligned/', 1))
    frames = np.random.default_rng(0).integers(0, 256, (8, 40, 40), np.uint8)
    tifffile.imwrite("stack.tif", frames, photometric="minisblack")
    before = tree(place)
    extra = QUICK if words[0] == "align" else []
    said = run(*words, *extra, "--overwrite", code=1).stderr
    assert "choose another" in said
    assert tree(place) == before


@pytest.mark.parametrize("target", ["loop", "loop/run"])
def test_a_link_that_leads_to_itself_gets_a_sentence(place, target):
    Path("loop").symlink_to("loop")
    said = run("align", "views", "-o", target, *QUICK, code=1).stderr
    assert said.splitlines()[-1].startswith("Error: loop")
    assert "defect" not in said


def test_beside_and_below_is_fine(tmp_path, monkeypatch):
    (tmp_path / "views").mkdir()
    for k in range(3):
        write_picture(tmp_path / "views" / f"{k}.png", np.random.default_rng(k).random((8, 8)))
    source = open_pictures(tmp_path / "views")
    check_apart(tmp_path / "run", source, tmp_path / "other", None)
    check_apart(tmp_path / "views" / "run", source)
    with pytest.raises(rf.InputError, match="from which it would be made"):
        check_apart(tmp_path, source)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(rf.InputError, match="from which it would be made"):
        check_apart("views/../views/0.png", source)
