"""The life of a run folder: made, killed, resumed, replaced, damaged, cleaned, in any order.

Beside the folder there is a model of it: which result must load, and which files are the user's.
"""

import json
import shutil
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import rankfold as rf
from campaign.damage import damaged
from campaign.faults import remembered
from campaign.folders import QUICK, THESIS, garden, same
from faulty import Faults, in_child
from rankfold import runs
from rankfold.report import page, write_report

# Calls of the system that a run makes, about; a kill may come later than that, which is never.
CALLS = 260

# The two results that take turns, by the folders of the garden.
RESULTS = ("align", "report")


class Life(RuleBasedStateMachine):
    """A run folder, and what must be in it."""

    # Where the good folders of all lives are; set before the first one.
    planted = None

    def __init__(self):
        super().__init__()
        self.place = Path(tempfile.mkdtemp(dir=self.planted.place))
        self.run = self.place / "run"
        # The result that must load; None where there is no folder.
        self.there = None
        # Whether something of the folder is damaged, so that it must be refused.
        self.is_damaged = False
        self.thesis = {self.place / "thesis.txt"}
        (self.place / "thesis.txt").write_bytes(THESIS)

    def teardown(self):
        shutil.rmtree(self.place)

    def write(self, name, overwrite, pictures):
        """Make the run folder; what is computed was computed before."""
        output = runs.Output(pictures, report=write_report, overwrite=overwrite)
        with pytest.MonkeyPatch.context() as patched:
            result = self.planted.originals[name]
            patched.setattr("rankfold.runs.jobs.align", remembered(result))
            patched.setattr(page, "report_data", lambda _: None)
            patched.setattr(page, "render", lambda _: "<!doctype html></html>")
            source = self.planted.source
            runs.run_align(self.run, source, self.planted.choice, output=output, **QUICK)

    @property
    def may_be_written(self):
        """Whether nothing of the user's is in the way."""
        return not any(self.run in path.parents for path in self.thesis)

    @rule(name=st.sampled_from(RESULTS), overwrite=st.booleans(), pictures=st.booleans())
    def align(self, name, overwrite, pictures):
        """A run replaces the folder only if that was asked for, and nothing else is in it."""
        if self.run.exists() and not (overwrite and self.may_be_written):
            with pytest.raises(rf.InputError, match="run"):
                self.write(name, overwrite, pictures)
            return
        with Faults(self.place):
            self.write(name, overwrite, pictures)
        self.there = name
        self.is_damaged = False

    @precondition(lambda self: self.may_be_written)
    @rule(
        name=st.sampled_from(RESULTS),
        at=st.integers(1, CALLS),
        way=st.sampled_from(["kill", "power"]),
        exchange=st.booleans(),
    )
    def align_and_be_killed(self, name, at, way, exchange):
        """Before the swap the old one is there, and after it the new one."""

        def work():
            with Faults(self.place, at, way, exchange=exchange):
                self.write(name, overwrite=True, pictures=True)

        ended = in_child(work)
        if ended is not None or self.shows(name):
            self.there = name
            self.is_damaged = False

    @rule(at=st.integers(1, 340), way=st.sampled_from(["kill", "power"]), exchange=st.booleans())
    def compute_be_killed_and_resume(self, at, way, exchange):
        """Another run, really computed: the same command goes on, to the same bits."""
        run = self.place / "second"
        output = runs.Output(pictures=False, overwrite=True)

        def work():
            with Faults(self.place, at, way, exchange=exchange):
                self.planted.align(run, output)

        in_child(work)
        with Faults(self.place):
            self.planted.align(run, output, resume=runs.can_go_on(run))
        assert same(rf.load(run), self.planted.originals["unfinished"])
        assert not runs.unfinished(run).exists()
        runs.clean(run)
        shutil.rmtree(run)

    def shows(self, name):
        """Whether a result is there, complete."""
        try:
            return same(rf.load(self.run), self.planted.originals[name])
        except rf.FormatError:
            return False

    @rule(exchange=st.booleans())
    def start_the_next(self, exchange):
        """The next start goes on from whatever a kill has left."""
        if self.may_be_written:
            with Faults(self.place, exchange=exchange):
                self.write("align", overwrite=True, pictures=False)
            self.there = "align"
            self.is_damaged = False
            assert {path.name for path in self.place.iterdir()} - self.left() == {
                "run",
                *(path.name for path in self.thesis if path.parent == self.place),
            } | self.others()

    def left(self):
        """What is known as left behind."""
        known = [*runs.leftovers(self.run), *runs.leftovers(self.place)]
        return {one.path.name for one in known}

    def others(self):
        """Files that other rules have made."""
        known = ("run.json", "run.html")
        return {name for name in known if (self.place / name).exists()}

    @rule(at=st.integers(0, 12), way=st.sampled_from(["kill", "error", "power"]))
    def export(self, at, way):
        """The file is the old one or the new one, and the run is what it was."""
        target = self.place / "run.json"
        before = target.read_bytes() if target.exists() else None
        if self.there is None or self.is_damaged:
            with pytest.raises(rf.FormatError, match="run"):
                runs.load_alignment(self.run)
            return
        result = runs.load_alignment(self.run)

        def work():
            try:
                with Faults(self.place, at, way):
                    result.export_transforms(target, overwrite=True)
            except OSError:
                return "failed"
            return "done"

        ended = in_child(work)
        if target.exists() and target.read_bytes() != before:
            rows = json.loads(target.read_text())["transforms"]
            assert [row["name"] for row in rows] == list(result.names)
        assert ended != "done" or target.exists()

    @rule(at=st.integers(0, 16), way=st.sampled_from(["kill", "error", "power"]))
    def report(self, at, way):
        """The report of the run is replaced, and the next one can replace it."""
        if self.there is None or self.is_damaged:
            return

        def work():
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(page, "report_data", lambda _: None)
                patched.setattr(page, "render", lambda _: "<!doctype html></html>")
                try:
                    with Faults(self.place, at, way):
                        write_report(self.run)
                except OSError:
                    return "failed"
            return "done"

        in_child(work)
        assert in_child(work) is not None or at > 0
        if (self.run / "report.html").exists():
            assert (self.run / "report.html").read_text().endswith("</html>")

    @precondition(lambda self: self.there is not None)
    @rule(seed=st.integers(0, 2**20), name=st.sampled_from(["result.json", "arrays.npz"]))
    def damage(self, seed, name):
        """A damaged result is refused."""
        path = self.run / name
        before = path.read_bytes()
        after = damaged(np.random.default_rng(seed), before)
        if path.suffix == ".json":
            # White space may change, and nothing else.
            after = after if _differs(before, after) else b""
        path.write_bytes(after)
        self.is_damaged = self.is_damaged or after != before

    @rule(inside=st.booleans())
    def put_a_file_of_the_users(self, inside):
        """What is the user's stays, wherever it is."""
        folder = self.run if inside and self.run.is_dir() else self.place
        path = folder / f"thesis-{len(self.thesis)}.txt"
        path.write_bytes(THESIS)
        self.thesis.add(path)

    @rule()
    def take_it_away(self):
        """The user tidies up."""
        for path in [path for path in self.thesis if self.run in path.parents]:
            path.unlink()
            self.thesis.remove(path)

    @rule(inside=st.booleans())
    def clean(self, inside):
        """Nothing is left of what was killed, and nothing else goes."""
        runs.clean(self.place)
        runs.clean(self.run)
        assert self.left() == set()
        known = {path.name for path in self.thesis if path.parent == self.place} | self.others()
        there = {path.name for path in self.place.iterdir()}
        assert there == known | ({"run"} if self.there else set())

    @invariant()
    def the_result_is_the_one_that_must_be_there(self):
        """Whole, the same to the last bit; or none, or refused."""
        if self.there is None or self.is_damaged:
            with pytest.raises(rf.FormatError, match="run"):
                rf.load(self.run)
        else:
            assert same(rf.load(self.run), self.planted.originals[self.there])

    @invariant()
    def nothing_of_the_users_is_lost(self):
        for path in self.thesis:
            assert path.read_bytes() == THESIS


def _differs(before, after):
    """Whether facts say something else than before, or nothing."""
    try:
        return json.loads(before) != json.loads(after)
    except ValueError:
        return True


def test_the_life_of_a_run_folder(tmp_path_factory):
    """Nothing is lost or altered, whatever happens to it."""
    Life.planted = garden(str(tmp_path_factory.mktemp("life") / "garden-of-folders"))
    quietly = settings(max_examples=25, stateful_step_count=15)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rf.ConvergenceWarning)
        run_state_machine_as_test(Life, settings=quietly)
