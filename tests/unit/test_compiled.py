"""Where machine code is kept, and what happens where it cannot be."""

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import rankfold as rf
from rankfold import compiled as room
from rankfold.compiled import FOLDER, CacheWarning, compiled, folder_of

SENTENCE = "what is compiled cannot be kept"

# Two kernels that a process compiles, or finds; prints the sum and how many it had to compile.
KERNELS = """
from rankfold.compiled import compiled

@compiled()
def add(one, other):
    return one + other

@compiled()
def twice(one):
    return 2 * one

print(add(1, 2) + twice(3))
print(sum(sum(kernel.stats.cache_misses.values()) for kernel in (add, twice)))
"""
# Before them: as where everything is read-only and there is no home.
NO_FOLDER = "from numba.core.caching import CacheImpl; CacheImpl._locator_classes = []\n"
# Before them: as on a disk that is full.
FULL = """
import errno
from numba.core.caching import IndexDataCacheFile

def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")

IndexDataCacheFile._save_index = full
"""


@pytest.fixture
def run_kernels(tmp_path):
    """Run the kernels in a process; (their sum, how many were compiled, what was said)."""

    def run(before="", folder=tmp_path / "cache", code=KERNELS):
        program = tmp_path / "kernels.py"
        # A kernel is kept by the place of its file and its content; for older numbas, by its time.
        if not program.exists() or program.read_text() != code:
            program.write_text(code)
        start = f"{before}\nimport sys\nsys.path.insert(0, {str(tmp_path)!r})\nimport kernels"
        done = subprocess.run(
            [sys.executable, "-c", start],
            env={**os.environ, FOLDER: str(folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        total, compiled_now = done.stdout.split()
        return int(total), int(compiled_now), done.stderr

    return run


def kept(folder: Path, kind: str) -> list[Path]:
    """The files of numba in a folder."""
    return sorted(folder.rglob(f"*.{kind}"))


def test_it_is_kept_for_the_next_process(run_kernels):
    assert run_kernels() == (9, 2, "")
    assert run_kernels() == (9, 0, "")


@pytest.mark.parametrize("before", [NO_FOLDER, FULL])
def test_without_a_folder_it_runs_all_the_same_and_says_so_once(run_kernels, before):
    total, compiled_now, said = run_kernels(before)
    assert (total, compiled_now) == (9, 2)
    assert said.count(SENTENCE) == 1
    assert f"set {FOLDER} to a folder that can be written" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
@pytest.mark.parametrize("contents", [(b"", b"\x80\x05"), (b"nonsense", b"half")])
def test_what_is_damaged_is_compiled_again_and_replaced(run_kernels, tmp_path, kind, contents):
    """Each of the two kernels in another way."""
    run_kernels()
    for path, content in zip(kept(tmp_path / "cache", kind), contents, strict=True):
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2] if content == b"half" else content)
    assert run_kernels() == (9, 2, "")
    assert run_kernels() == (9, 0, "")


def test_what_was_made_for_other_arguments_is_not_used(run_kernels, tmp_path):
    """As two processes leave it that save at the same time."""
    code = KERNELS.replace("twice(3))", "twice(3) + int(twice(0.5)))")
    assert run_kernels(code=code) == (10, 3, "")
    one, other = [path for path in kept(tmp_path / "cache", "nbc") if "twice" in path.name]
    shutil.copy(one, other)
    # What was kept of this kernel is forgotten, so that the next process compiles the other kind.
    assert [run_kernels(code=code)[0] for _ in range(2)] == [10, 10]
    assert run_kernels(code=code) == (10, 0, "")


def test_what_is_damaged_and_cannot_be_replaced_is_no_error(run_kernels, tmp_path):
    run_kernels()
    for path in kept(tmp_path / "cache", "nbi"):
        path.write_bytes(b"")
    total, compiled_now, said = run_kernels(FULL)
    assert (total, compiled_now) == (9, 2)
    assert said.count(SENTENCE) == 1


def test_a_folder_that_is_a_file_leaves_the_others(run_kernels, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    assert run_kernels(folder=file / "cache") == (9, 2, "")


def test_without_compiling_there_is_nothing_to_keep(run_kernels):
    plain = KERNELS.replace("print(sum(", "0 and print(sum(") + "\nprint(0)"
    before = "import os; os.environ['NUMBA_DISABLE_JIT'] = '1'"
    assert run_kernels(before, code=plain) == (9, 0, "")


class TestHere:
    def test_a_kernel_knows_its_folder(self):
        from rankfold.align.kernels import tile_peaks

        assert folder_of(tile_peaks).is_dir()
        assert folder_of(len) is None

    def test_without_a_folder_there_is_none(self, monkeypatch):
        monkeypatch.setattr(room, "_said", [])

        def lost(_):
            raise RuntimeError("cannot cache function 'add': no locator available")

        monkeypatch.setattr(room, "_Kept", lost)

        @compiled()
        def add(one, other):
            return one + other

        assert folder_of(add) is None
        with pytest.warns(CacheWarning, match=SENTENCE):
            assert add(1, 2) == 3
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert add(1.0, 2.0) == 3.0

    def test_every_kernel_uses_it(self):
        source = Path(room.__file__).parent
        others = [path for path in source.rglob("*.py") if path != Path(room.__file__)]
        assert not [path.name for path in others if "njit" in path.read_text(encoding="utf-8")]


def test_a_read_only_install_without_a_home_runs(tmp_path):
    """It ended with ``cannot cache function``."""
    site = tmp_path / "site"
    package = Path(room.__file__).parent
    shutil.copytree(package, site / "rankfold", ignore=shutil.ignore_patterns("__pycache__"))
    # Not even root can make a folder where a file is.
    for place, _, _ in list(os.walk(site / "rankfold")):
        Path(place, "__pycache__").touch()
    (tmp_path / "home").touch()
    pictures = np.random.default_rng(0).random((5, 12, 16))
    np.save(tmp_path / "stack.npy", pictures)
    nowhere = {FOLDER: "", "HOME": str(tmp_path / "home"), "PYTHONPATH": str(site)}
    words = ["decompose", "stack.npy", "-o", "run", "--no-report", "--no-pictures"]
    done = subprocess.run(
        [sys.executable, "-m", "rankfold", *words],
        cwd=tmp_path,
        env={**os.environ, **nowhere, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(SENTENCE) == 1
    assert "Traceback" not in done.stderr
    assert rf.load(tmp_path / "run").low_rank.shape == pictures.shape
