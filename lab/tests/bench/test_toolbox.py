"""The published toolbox under Octave: a copy is run as it is, and only read."""

import shutil
import subprocess
import sys

import numpy as np
import pytest

import rankfold as rf
from bench_rows import WHEN, judged, rasl
from oracles import published_rasl
from rankfold_lab.bench import alignment, worker
from rankfold_lab.bench.alignment import TOOLBOX
from rankfold_lab.bench.declared import declared
from rankfold_lab.bench.page import page
from rankfold_lab.bench.process import Outcome
from rankfold_lab.bench.rounds import merged, ratio
from rankfold_lab.bench.setting import Setting
from rankfold_lab.bench.toolbox import OURS, Toolbox

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
    import signal
    signal.pause()
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
        """A toolbox, pictures, and a program that says what the toolbox would."""
        program = tmp_path / "octave"
        toolbox = tmp_path / "toolbox"
        data = tmp_path / "data"
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
        ours = rasl("rankfold", 2.0, 16.0, ours=True)
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
        monkeypatch.setattr("rankfold_lab.bench.toolbox._once", lambda *_: next(runs))
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
    I = imtransform(load('picture.txt'), T, 'bicubic',
        'XData', [1 10], 'YData', [1 11], 'Size', [11 10]);
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
