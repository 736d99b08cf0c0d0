"""The run folder: what is written can be read, and need not be."""

import json
import os
import tomllib

import numpy as np
import pytest
import tomli_w

import rankfold as rf
from rankfold import runs
from rankfold.report import write_report
from sealing import reseal, sha256


@pytest.fixture
def stack(heads, aligned):
    return rf.Stack.of(heads.images, names=aligned.names)


def test_the_run_in_memory_is_the_one_on_disk(aligned, stack, tmp_path):
    config = {"command": "x", "seconds": 1.5, "nothing": None, "frame": (45, 42)}
    filled = runs.fill(tmp_path, aligned, stack, None, config, {"eyes": 0.25})
    opened = runs.open_run(tmp_path)
    assert filled.config == opened.config
    assert filled.metrics == opened.metrics == {"eyes": 0.25}
    assert filled.names == opened.names == list(aligned.names)
    assert len(filled.inputs) == len(opened.inputs)
    for ours, theirs in zip(filled.inputs, opened.inputs, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_the_report_of_both_is_the_same(aligned, stack, tmp_path):
    filled = runs.fill(tmp_path, aligned, stack, None, {"title": "heads"})
    from_memory = write_report(filled, tmp_path / "a.html").read_bytes()
    assert write_report(tmp_path, tmp_path / "b.html").read_bytes() == from_memory


def test_the_config_has_what_toml_knows(aligned, stack, tmp_path):
    given = {"none": None, "path": tmp_path, "size": (3, 4), "input": {"note": "mine"}}
    runs.fill(tmp_path, aligned, stack, None, given)
    config = tomllib.loads((tmp_path / "config.toml").read_text())
    assert config["size"] == [3, 4]
    assert config["path"] == str(tmp_path)
    assert "none" not in config
    assert config["input"]["note"] == "mine"
    assert config["input"]["reduction"] == 1


def test_a_result_that_is_no_run_says_so(tmp_path):
    rf.decompose(np.random.default_rng(0).random((6, 20))).save(tmp_path / "r")
    with pytest.raises(rf.FormatError, match="not a whole run"):
        runs.open_run(tmp_path / "r")


def test_only_an_alignment_has_transforms(aligned, tmp_path):
    aligned.save(tmp_path / "a")
    np.testing.assert_array_equal(
        runs.load_alignment(tmp_path / "a").transforms, aligned.transforms
    )
    rf.decompose(np.random.default_rng(0).random((6, 20))).save(tmp_path / "d")
    with pytest.raises(rf.InputError, match="is a decomposition, not an alignment"):
        runs.load_alignment(tmp_path / "d")


def test_the_package_names_what_it_offers():
    assert all(hasattr(runs, name) for name in runs.__all__)
    assert runs.__all__ == sorted(runs.__all__)


class TestForged:
    """What lies beside a result and has the right checksum may still be of the wrong kind."""

    @pytest.fixture
    def run(self, aligned, stack, tmp_path):
        runs.fill(tmp_path, aligned, stack, None, {"seconds": 1.5}, {"eyes": 0.25})
        return tmp_path

    def sealed(self, run):
        """Give everything the checksum of what it is now."""
        names = ("config.toml", "trace.jsonl", "inputs.npz", "metrics.json")
        contents = {name: sha256((run / name).read_bytes()).digest() for name in names}
        reseal(run, beside={name: sha256(one).hexdigest() for name, one in contents.items()})

    @pytest.mark.parametrize(
        ("name", "value", "complaint"),
        [
            ("seconds", [1], "seconds is not of the right type"),
            ("input", "x", "input is not of the right type"),
            ("options", 3, "options is not of the right type"),
        ],
    )
    def test_the_config(self, run, name, value, complaint):
        config = tomllib.loads((run / "config.toml").read_text())
        (run / "config.toml").write_text(tomli_w.dumps({**config, name: value}))
        self.sealed(run)
        with pytest.raises(rf.FormatError, match=complaint):
            runs.open_run(run)

    @pytest.mark.parametrize("names", ["abcdefgh", [1, 2, 3, 4, 5, 6, 7, 8], ["a"]])
    def test_the_names_of_the_pictures(self, run, names):
        (run / "config.toml").write_text(tomli_w.dumps({"input": {"names": names}}))
        self.sealed(run)
        with pytest.raises(rf.FormatError, match=r"names is not of|does not name 8 pictures"):
            runs.open_run(run)

    @pytest.mark.parametrize(
        ("copies", "complaint"),
        [
            ({"000000": np.zeros((4, 5))}, "something in it that is no picture"),
            ({"000000": np.zeros(3, np.uint8)}, "something in it that is no picture"),
            ({"x": np.zeros((4, 5), np.uint8)}, "invalid literal for int"),
            ({"99": np.zeros((4, 5), np.uint8)}, "pictures that are not in the result"),
            (
                {"0": np.zeros((4, 5), np.uint8), "1": np.zeros((4, 5, 3), np.uint8)},
                "grey pictures and some in colour",
            ),
        ],
    )
    def test_the_small_copies(self, run, copies, complaint):
        np.savez(run / "inputs.npz", **copies)
        self.sealed(run)
        with pytest.raises(rf.FormatError, match=complaint):
            runs.open_run(run)

    def test_the_metrics(self, run):
        (run / "metrics.json").write_text(json.dumps([1, 2]))
        self.sealed(run)
        with pytest.raises(rf.FormatError, match=r"metrics\.json is not of the right type"):
            runs.open_run(run)

    def test_a_pipe(self, run):
        (run / "inputs.npz").unlink()
        os.mkfifo(run / "inputs.npz")
        with pytest.raises(rf.FormatError, match="damaged or incomplete"):
            runs.open_run(run)
