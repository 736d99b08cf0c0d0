"""Workers: each in a process of its own, timed while the machine is calm."""

import json
import sys
from types import SimpleNamespace

import numpy as np

from rankfold_lab.bench import worker
from rankfold_lab.bench.process import installed, run_worker

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

    def test_short_runs_fill_a_spell_but_not_for_ever(self, monkeypatch):
        # A clock of its own: how long a real pause takes depends on how busy the machine is.
        clock = SimpleNamespace(now=0.0)
        monkeypatch.setattr(worker, "time", SimpleNamespace(perf_counter=lambda: clock.now))

        def rest(seconds):
            def run():
                clock.now += seconds
                return {}

            return run

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
