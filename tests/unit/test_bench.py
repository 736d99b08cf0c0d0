"""The bench: declared, run in processes of its own, judged by what is declared. No times are asserted."""

import json
import re
import shutil
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import rankfold as rf
from oracles import published_rasl
from rankfold.cli import app
from rankfold.experiments import bench
from rankfold.experiments.bench import alignment, worker
from rankfold.experiments.bench.alignment import TOOLBOX
from rankfold.experiments.bench.declared import declared
from rankfold.experiments.bench.growth import exponent
from rankfold.experiments.bench.inputs import cut_with_margin, generated, heads
from rankfold.experiments.bench.page import page
from rankfold.experiments.bench.process import Outcome, installed, run_worker
from rankfold.experiments.bench.profiling import Clocks
from rankfold.experiments.bench.robust_pca import objective
from rankfold.experiments.bench.rounds import merged, ratio
from rankfold.experiments.bench.setting import Setting
from rankfold.experiments.bench.toolbox import OURS, Toolbox
from rankfold.experiments.bench.verdicts import verdicts
from rankfold.stack import Frame

FAKE = """
import sys
import numpy as np
name, source, target, repeats = sys.argv[1:]
with np.load(source, allow_pickle=False) as file:
    given = {key: file[key] for key in file.files}
if name == "broken":
    raise ValueError("no such luck")
np.savez(target, seconds=[0.25] * int(repeats), memory=12.5, sparse=2 * given["matrix"])
"""


def run(*words, code=0):
    outcome = CliRunner().invoke(app, ["bench", *(str(word) for word in words)])
    assert outcome.exit_code == code, (outcome.output, outcome.exception)
    return outcome


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    """The whole command, small and without data."""
    out = tmp_path_factory.mktemp("bench")
    shown = run("--quick", "-o", out, "--docs", out / "docs").stdout
    return out, shown


class TestCommand:
    def test_every_case_is_in_the_json_and_on_the_page(self, trial):
        out, shown = trial
        records = json.loads((out / "bench.json").read_text(encoding="utf-8"))
        assert list(records) == list(bench.CASES)
        assert all(
            record["rows"] and record["machine"]["cores"] and record["when"]
            for record in records.values()
        )
        text = (out / "docs" / "performance.md").read_text(encoding="utf-8")
        assert text == (out / "performance.md").read_text(encoding="utf-8")
        assert "says nothing about speed" in text
        for title in (
            "## Bars",
            "## Robust PCA",
            "## RASL",
            "## Growth",
            "## Start",
            "## Measured on",
        ):
            assert f"\n{title}\n" in text
        for target in re.findall(r"\]\((.+?)\)", text):
            assert (out / "docs" / target).stat().st_size > 1000
        assert all(title in shown for title in ("Robust PCA", "RASL", "Growth", "Start", "Bars"))

    def test_shares_of_the_profile_add_up(self, trial):
        rows = json.loads((trial[0] / "bench.json").read_text(encoding="utf-8"))["profile"]["rows"]
        for row in rows:
            assert sum(row["shares"].values()) == pytest.approx(1)
            assert min(row["shares"].values()) > 0

    def test_a_case_is_replaced_and_the_others_are_kept(self, trial):
        out, _ = trial
        before = json.loads((out / "bench.json").read_text(encoding="utf-8"))
        records = json.loads(run("profile", "--quick", "--json", "-o", out).stdout)
        assert records.keys() == before.keys()
        assert records["start"] == before["start"]
        assert records["profile"]["rows"] != before["profile"]["rows"]

    def test_what_is_wrong_is_said(self, trial, tmp_path, monkeypatch):
        monkeypatch.delenv("RANKFOLD_DATA", raising=False)
        assert "choose from rpca, rasl, iteration" in run("rpac", "-o", tmp_path, code=1).output
        said = run("rasl", "-o", tmp_path, code=1).output
        assert "--data" in said
        assert "RANKFOLD_DATA" in said
        assert "not a folder" in run("--data", tmp_path / "no", "-o", tmp_path, code=1).output
        assert "--quick" in run("start", "-o", trial[0], code=1).output
        empty = run(
            "rpca", "--data", tmp_path, "-o", tmp_path / "out", "--repeats", 1, code=1
        ).output
        assert "demo.avi is missing" in " ".join(empty.split())
        assert list(tmp_path.iterdir()) == []
        python = tmp_path / "python"
        assert (
            "--peers"
            in run("rpca", "--data", tmp_path, "-o", tmp_path, "--peers", python, code=1).output
        )

    def test_the_functions_of_the_profile_are_there(self):
        for path in declared()["profile"]["parts"]:
            room, _, name = path.rpartition(".")
            assert callable(getattr(import_module(room), name)), path


class TestProcess:
    X = np.arange(6.0).reshape(2, 3)

    def test_a_worker_gets_arrays_and_gives_figures(self, tmp_path):
        script = tmp_path / "fake.py"
        script.write_text(FAKE, encoding="utf-8")
        outcome = run_worker("any", {"matrix": self.X}, {"tol": 1}, threads=1, script=script)
        assert outcome.figures == {
            "state": "measured",
            "seconds": [0.25] * 3,
            "median": 0.25,
            "memory": 12.5,
        }
        np.testing.assert_array_equal(outcome.found["sparse"], 2 * self.X)

    def test_one_that_fails_is_a_row_and_not_an_error(self, tmp_path):
        script = tmp_path / "fake.py"
        script.write_text(FAKE, encoding="utf-8")
        outcome = run_worker("broken", {"matrix": self.X}, {}, threads=1, script=script)
        assert outcome.state == "failed: ValueError: no such luck"
        assert outcome.figures["median"] is None

    def test_the_worker_itself(self, tmp_path, monkeypatch):
        monkeypatch.setitem(
            worker.CALLS,
            "twice",
            lambda given, options: lambda: {"sparse": options["k"] * given["x"]},
        )
        source, target = tmp_path / "input.npz", tmp_path / "output.npz"
        np.savez(source, options=np.array(json.dumps({"k": 2, "budget": 60})), x=self.X)
        worker.main("twice", str(source), str(target), "4")
        with np.load(target, allow_pickle=False) as file:
            assert file["seconds"].shape == (4,)
            assert file["memory"] > 10
            np.testing.assert_array_equal(file["sparse"], 2 * self.X)

    def test_long_runs_are_timed_once(self):
        seconds, found = worker.measure(lambda: {"answer": 42}, repeats=5, budget=0.0)
        assert len(seconds) == 1
        assert found == {"answer": 42}

    def test_short_runs_fill_a_spell_but_not_for_ever(self):
        def rest(seconds):
            return lambda: time.sleep(seconds) or {}

        assert len(worker.measure(rest(0.001), repeats=2, spell=0.1)[0]) > 2
        assert len(worker.measure(rest(0.01), repeats=2, spell=0.01)[0]) == 2
        assert len(worker.measure(dict, repeats=2, spell=9.0)[0]) == 2 * worker.MOST

    def test_a_run_that_was_disturbed_is_done_again(self, monkeypatch):
        pulses = iter(
            [1.0, 1.0, 9.0, 1.0, 1.0]
        )  # before and after: the first run only warms up, the second is disturbed
        monkeypatch.setattr(worker, "pulse", lambda: next(pulses))
        runs = []
        seconds, _ = worker.measure(lambda: {"run": runs.append(0)}, repeats=1, calm=1.0)
        assert (len(runs), len(seconds)) == (3, 1)

    def test_of_disturbed_runs_the_shortest_is_taken(self, monkeypatch):
        monkeypatch.setattr(worker, "pulse", lambda: 9.0)
        monkeypatch.setattr(worker, "PATIENCE", 0.0)
        seconds, _ = worker.measure(dict, repeats=5, calm=1.0)
        assert len(seconds) == 1

    def test_packages_that_are_not_there_are_left_out(self):
        assert installed(sys.executable, ["numpy", "no_such_package"]) == {"numpy": np.__version__}


OCTAVE = """#!{python}
import sys
from pathlib import Path
words = sys.argv[-1]
if "version" in words:
    print("9.2.0")
    print("OpenBLAS (config: OpenBLAS 0.3.21 NO_LAPACKE Zen)")
    sys.exit()
assert words == "pkg load image; go", words
script = Path("go.m").read_text(encoding="latin-1")
assert "raslpara.DISPLAY = 0 ;" in script and "rasl_plot" not in script, script
for name in ("fliptform.m", "imtransform.m", "tools/pos.m", "data/Al_Gore/01.bmp"):
    assert Path(name).is_file(), name
assert Path("results").is_dir() and not Path("tools/vec.m").exists()
if "sleep" in script:
    import time
    time.sleep(9)
if "break" in script:
    print("error: out of luck", file=sys.stderr)
    sys.exit(1)
print(" current objective function: 17.5")
print(" current objective function: 16.1517")
print("timeConsumed = 35.93")
print("number of outer loop: 6")
"""


class TestToolbox:
    @pytest.fixture
    def folders(self, tmp_path, monkeypatch):
        """A toolbox, pictures, and a program that looks at what it is given and says what the toolbox would."""
        program, toolbox, data = tmp_path / "octave", tmp_path / "toolbox", tmp_path / "data"
        program.write_text(OCTAVE.format(python=sys.executable), encoding="utf-8")
        program.chmod(0o755)
        monkeypatch.setattr("shutil.which", lambda _: str(program))
        monkeypatch.setattr(worker, "PATIENCE", 0.0)
        (toolbox / "tools").mkdir(parents=True)
        (toolbox / "go.m").write_text(
            "name = 'Al_Gore' ;\nraslpara.DISPLAY = 1 ; % Gr\xf6\xdfe\nrasl_plot(d)\n",
            encoding="latin-1",
        )
        for name in ("vec.m", "pos.m"):
            (toolbox / "tools" / name).touch()
        (data / "rasl" / "Al_Gore").mkdir(parents=True)
        (data / "rasl" / "Al_Gore" / "01.bmp").touch()
        return toolbox, data

    def measured(self, toolbox, data, name="Al_Gore"):
        setting = Setting(data, 2, quick=False, octave_rasl=toolbox)
        run = [
            task
            for label, task in alignment.tasks(setting)
            if label == f"round 2: {name}, {TOOLBOX}"
        ]
        return run[0]()[0]

    def test_its_own_script_clock_and_objective(self, folders):
        before = {path: path.read_bytes() for path in folders[0].rglob("*.m")}
        row = self.measured(*folders)
        assert (row["state"], row["median"], row["outer"], row["objective"]) == (
            "measured",
            35.93,
            6,
            16.1517,
        )
        assert row["version"] == "9.2.0 with OpenBLAS 0.3.21"
        assert {
            path: path.read_bytes() for path in folders[0].rglob("*") if path.is_file()
        } == before

    def test_rounds_are_put_together_and_paired(self, folders):
        rows = [{**self.measured(*folders), "median": seconds} for seconds in (30.0, 40.0)]
        (row,) = merged(rows)
        assert (row["median"], row["memory"]) == (35.0, None)
        assert ratio(row, {"seconds": [1.0, 2.0], "median": 1.5}) == 25.0
        ours = rasl("rankfold quick", 2.0, 16.0, ours=True)
        records = {"rasl": {"rows": [ours, row], "quick": False, "repeats": 2, **WHEN}}
        assert (
            judged(f"Al_Gore, one thread: x faster than {TOOLBOX}", rasl=[ours, row]).verdict
            == "missed"
        )
        assert "its own clock" in page(records)
        assert "not from this run" not in page(records)
        assert f"{TOOLBOX} 9.2.0 with OpenBLAS 0.3.21" in page(records).rpartition("Measured on")[2]

    def test_one_that_ends_elsewhere_does_not_count(self, folders, monkeypatch):
        gore = next(one for one in declared()["rasl"]["sets"] if one["name"] == "Al_Gore")
        monkeypatch.setitem(gore, "toolbox_end", 16)
        row = self.measured(*folders)
        assert row["state"] == "ended at 16.1517, not at 16 as elsewhere"
        assert row["median"] is None

    def test_what_goes_wrong_is_said(self, folders, monkeypatch):
        toolbox, data = folders
        (data / "rasl" / "Digits_3").mkdir()
        assert self.measured(toolbox, data, "Digits_3")["state"] == "no script names Digits_3"
        with (toolbox / "go.m").open("a") as script:
            script.write("% break")
        assert self.measured(toolbox, data)["state"] == "failed: error: out of luck"
        monkeypatch.setitem(declared(), "timeout", 1.0)
        with (toolbox / "go.m").open("a") as script:
            script.write(" sleep")
        assert self.measured(toolbox, data)["state"] == "given up after 1 s"
        monkeypatch.setattr("shutil.which", lambda _: None)
        with pytest.raises(rf.InputError, match="no octave on the PATH"):
            self.measured(toolbox, data)

    @pytest.mark.parametrize(
        "second", [Outcome("measured", (4.0,)), Outcome("given up after 240 s")]
    )
    def test_of_disturbed_runs_the_shortest_is_taken(self, folders, monkeypatch, second):
        monkeypatch.setattr(worker, "pulse", lambda: 9.0)
        runs = iter([Outcome("measured", (5.0,)), second])
        monkeypatch.setattr("rankfold.experiments.bench.toolbox._once", lambda *_: next(runs))
        outcome = Toolbox.at(folders[0]).run(folders[1] / "rasl" / "Al_Gore", calm=1.0)
        assert outcome.seconds == min((5.0,), second.seconds or (5.0,))
        assert next(runs, None) is None


@pytest.mark.skipif(
    shutil.which("octave-cli") is None, reason="needs octave-cli and its image package"
)
def test_what_octave_is_given_samples_as_the_published_code(tmp_path):
    """Bicubic convolution, zero outside, with the grid partly beyond every edge."""
    rng = np.random.default_rng(0)
    picture = rng.random((9, 7))
    transform = np.array([[1.1, -0.4, -0.6], [0.3, 0.9, -2.2], [0, 0, 1]])
    y, x = np.mgrid[1:12, 1:11]
    points = (transform @ np.stack([x.ravel(), y.ravel(), np.ones(x.size)]))[:2].T - 1
    np.savetxt(tmp_path / "picture.txt", picture)
    np.savetxt(tmp_path / "transform.txt", transform)
    words = """pkg load image; T = fliptform(maketform('projective', load('transform.txt')'));
    I = imtransform(load('picture.txt'), T, 'bicubic', 'XData', [1 10], 'YData', [1 11], 'Size', [11 10]);
    dlmwrite('warped.txt', I, 'precision', '%.17g', 'delimiter', ' ')"""
    for shim in OURS.iterdir():
        shutil.copy(str(shim), tmp_path)
    subprocess.run(
        ["octave-cli", "--no-init-file", "--eval", words],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    expected = published_rasl.keys([picture], points)[0]
    assert (expected == 0).sum() > 10
    np.testing.assert_allclose(np.loadtxt(tmp_path / "warped.txt").ravel(), expected, atol=1e-12)


def rpca(name, seconds, objective, ours=False):
    row = {
        "matrix": "video",
        "shape": [51, 2304],
        "implementation": name,
        "ours": ours,
        "threads": 1,
    }
    return {**row, "state": "measured", "median": seconds, "memory": 100.0, "objective": objective}


def rasl(name, seconds, objective=None, state="measured", ours=False):
    row = {
        "set": "Al_Gore",
        "implementation": name,
        "ours": ours,
        "threads": 1,
        "state": state,
        "median": seconds,
    }
    return row if objective is None else {**row, "objective": objective}


def judged(part, **rows):
    records = {case: {"rows": some} for case, some in rows.items()}
    return next(v for v in verdicts(records) if part in v.what)


class TestVerdicts:
    def test_reached_and_missed(self):
        fast = [rpca("rankfold quick", 0.1, 10.0, ours=True), rpca("pyrpca", 0.6, 10.0)]
        assert judged("video, one", rpca=fast).verdict == "reached"
        assert judged("video, one", rpca=fast).measured.startswith("6.0 (pyrpca")
        slow = [rpca("rankfold quick", 0.2, 10.0, ours=True), rpca("pyrpca", 0.6, 10.0)]
        assert judged("video, one", rpca=slow).verdict == "missed"
        assert judged("faces, one", rpca=slow).verdict == "not measured"

    def test_a_peer_with_a_worse_objective_does_not_count(self):
        rows = [
            rpca("rankfold quick", 0.1, 10.0, ours=True),
            rpca("hasty", 0.01, 10.01),
            rpca("pyrpca", 0.6, 10.0005),
        ]
        assert judged("video, one", rpca=rows).measured.startswith("6.0 (pyrpca")
        assert judged("video, one", rpca=rows[:2]).verdict == "not measured"
        assert "| no: gap |" in page({"rpca": {"rows": rows, "quick": False, "repeats": 1, **WHEN}})

    def test_ours_with_a_worse_objective_does_not_count_either(self):
        rows = [rpca("rankfold quick", 0.01, 10.01, ours=True), rpca("pyrpca", 0.6, 10.0)]
        assert judged("video, one", rpca=rows).verdict == "missed"
        rows.append(rpca("rankfold balanced", 0.3, 10.0, ours=True))
        assert judged("video, one", rpca=rows).measured.startswith("2.0 ")

    def test_an_alignment_that_ends_worse_does_not_count(self):
        before = next(
            one["before"] for one in declared()["rasl"]["sets"] if one["name"] == "Al_Gore"
        )
        peer = rasl("rasl (PyPI)", 10.0, 3.0)
        good = [rasl("rankfold quick", 1.0, before, ours=True), peer]
        assert judged("Al_Gore, one thread: x faster than rasl", rasl=good).verdict == "reached"
        bad = [rasl("rankfold quick", 1.0, before + 0.1, ours=True), peer]
        assert judged("Al_Gore, one thread: x faster than rasl", rasl=bad).verdict == "missed"

    def test_a_stated_time_is_called_so(self):
        rows = [rasl("rankfold quick", 2.0, 16.0, ours=True), rasl(TOOLBOX, 36.9, state="stated")]
        what = f"Al_Gore, one thread: x faster than {TOOLBOX}"
        assert judged(what, rasl=rows).verdict == "not measured"
        verdict = judged(
            what, rasl=[*rows, rasl("rasl (PyPI)", 46.0)]
        )  # half as fast as where it was stated
        assert verdict.verdict == "reached, by stated times"
        assert verdict.measured.startswith("36.9 (stated 1.60 x")
        assert "not measured in this run" in verdict.measured
        assert (
            judged(what, rasl=[*rows, rasl("rasl (PyPI)", 20.0)]).verdict
            == "missed, by stated times"
        )
        peer = judged(
            "Al_Gore, one thread: x faster than rasl",
            rasl=[*rows, rasl("rasl (PyPI)", None, state="not installed")],
        )
        assert (peer.measured, peer.verdict) == ("not installed", "not measured")

    def test_growth_and_threads(self):
        linear = [
            {"axis": "pixels", "pixels": m, "images": 9, "seconds": m * 1e-6}
            for m in (100, 1000, 10000)
        ]
        assert exponent(linear, "pixels") == pytest.approx(1)
        assert judged("growth", growth=linear).verdict == "reached"
        square = [{**row, "seconds": row["seconds"] ** 2} for row in linear]
        assert judged("growth", growth=square).verdict == "missed"
        floor = {"kind": "floor", "matrix": "large", "shape": [2, 3], "floor": 1.0, "ratio": 1.5}
        rows = [
            {**floor, "threads": k, "ours": 3.0 / k, "rounds": [3.0, 9.0, 3.0 * k]} for k in (1, 2)
        ]
        assert judged("all threads over one", iteration=rows).verdict == "missed"
        assert judged("all threads over one", iteration=rows[:1]).verdict == "not measured"

    def test_an_import_too_many(self):
        rows = [{"kind": "import", "median": 0.2, "imported": ["scipy"]}]
        assert judged("import rankfold without", start=rows).verdict == "missed"
        assert judged("import rankfold, s", start=rows).verdict == "reached"


WHEN = {
    "when": "2026-01-01T00:00+00:00",
    "machine": {"processor": "a", "cores": 2, "python": "3", "numpy": "2", "blas": "b"},
}


class TestRounds:
    def test_ratios_are_taken_within_a_round(self):
        rows = [rpca(name, seconds, 1.0) for seconds in (1.0, 9.0, 2.0) for name in ("a", "b")]
        for row in rows:
            row["median"] *= 2 if row["implementation"] == "b" else 1
        one, other = merged(rows)
        assert (one["median"], one["seconds"]) == (2.0, [1.0, 9.0, 2.0])
        assert ratio(other, one) == 2
        assert ratio(other, {"median": 4.0}) == 1
        late = [
            {**row, "median": row["median"] * (10 if k == 3 else 1)} for k, row in enumerate(rows)
        ]
        assert ratio(*reversed(merged(late))) == 2  # busy in one round of three

    def test_sizes_are_put_together_and_failures_stay(self):
        sizes = [
            {"axis": "pixels", "images": 2, "pixels": m, "state": "measured", "seconds": s}
            for m, s in SIZES
        ]
        assert [row["seconds"] for row in merged(sizes)] == [2.0, 5.0]
        bad = {**rpca("a", None, 1.0), "state": "failed"}
        assert merged([rpca("a", 1.0, 1.0), bad])[0]["state"] == "failed"


SIZES = [(100, 1.0), (200, 5.0), (100, 3.0), (200, 5.0)]


class TestParts:
    def test_the_objective_is_that_of_a_feasible_point(self):
        X = np.diag([3.0, 2.0])
        assert objective(X, np.zeros((2, 2)), 0.5) == pytest.approx(5)
        assert objective(X, X, 0.5) == pytest.approx(2.5)

    def test_own_time_leaves_out_that_of_others(self, monkeypatch):
        now = iter([0.0, 1.0, 4.0, 6.0])  # outer begins, inner begins, inner ends, outer ends
        monkeypatch.setattr("time.perf_counter", lambda: next(now))
        clock = Clocks()
        inner = clock.around(lambda: None, "inner")
        clock.around(inner, "outer")()
        assert clock.seconds == {"inner": 3.0, "outer": 3.0}

    def test_generated_matrices_are_low_rank_and_errors(self):
        clean, hit = (generated(20, 3000, rank=3, corrupted=share) for share in (0.0, 0.1))
        assert np.linalg.matrix_rank(clean) == 3
        assert np.linalg.matrix_rank(hit) == 20
        np.testing.assert_array_equal(hit, generated(20, 3000, rank=3, corrupted=0.1))

    def test_pictures_cut_with_a_margin_hold_the_frame_inset(self):
        batch = heads(3)
        frame = Frame(*batch["frame"])
        wide = cut_with_margin(batch["images"], batch["start"], frame, 4)
        plain = cut_with_margin(batch["images"], batch["start"], frame, 0)
        assert wide[0].shape == (frame.height + 8, frame.width + 8)
        inset = np.stack(wide)[:, 4:-4, 4:-4]
        ratio = np.max(inset)
        np.testing.assert_allclose(inset / ratio, np.stack(plain), atol=1e-12)

    def test_all_threads_are_measured_beside_one(self):
        threads = Setting(Path(), 1, quick=False).threads
        assert threads[0] == 1
        assert Setting(None, 1, quick=True).threads == [1]
