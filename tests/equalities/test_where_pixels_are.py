"""The bits do not depend on where the pixels are: in memory, on disk, or on other machines."""

import os
import signal
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest

import rankfold as rf
from rankfold.admm import bands, layout
from rankfold.datasets import low_rank_plus_sparse, rendered_heads, write_batch
from rankfold.scale import Dask, Disk, Serial, Threads, stores

# Evaluated by a worker: how many states it holds.
held_by_worker = partial(eval, "len(__import__('rankfold.scale.cluster').scale.cluster._STATES)")

# Few steps are enough here.
pytestmark = pytest.mark.filterwarnings("ignore:align. stopped at the iteration limit")

ALIGNED = ("transforms", "aligned", "low_rank", "sparse", "lost", "confirmed")


@pytest.fixture(autouse=True)
def small_slabs(monkeypatch):
    """Several slabs also of small problems, all of them in files where there are any."""
    monkeypatch.setattr(layout, "WHOLE_VALUES", 2**14)
    monkeypatch.setattr(layout, "SLAB_VALUES", 2**13)
    monkeypatch.setattr(stores, "WORTH_A_FILE", 1)


@pytest.fixture(scope="module")
def heads():
    return rendered_heads(n=12, occluded=0.3, seed=1)


@pytest.fixture(scope="module")
def scene():
    """A scene with missing values, a little larger than one slab."""
    rng = np.random.default_rng(0)
    data = low_rank_plus_sparse(20, 40 * 50, rank=3, corrupted=0.05, seed=2).data
    data[rng.random(data.shape) < 0.01] = np.nan
    return data.reshape(20, 40, 50)


def aligned(heads, method, executor=None):
    options = {"frame": heads.frame, "init": heads.start, "start": "given", "max_outer": 4}
    return rf.align(heads.images, method=method, executor=executor, **options)


def assert_same(one, two, names):
    for name in names:
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)
    for column, values in one.trace.inner.items():
        np.testing.assert_array_equal(values, two.trace.inner[column], err_msg=column)


def on_disk(threads, folder):
    """An executor that keeps large arrays in a folder, to be used in a ``with`` block."""
    if threads == 1:
        return nullcontext(Serial(Disk(folder)))
    return Threads(threads, Disk(folder))


class TestOnDisk:
    @pytest.mark.parametrize("threads", [1, 2, 3])
    @pytest.mark.parametrize("method", ["rasl", "meadmm"])
    def test_alignments_are_the_same(self, heads, method, threads, tmp_path):
        with on_disk(threads, tmp_path) as executor:
            stored = aligned(heads, method, executor)
        assert_same(aligned(heads, method), stored, ALIGNED)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("threads", [1, 3])
    @pytest.mark.parametrize("method", ["rpca", "meadmm"])
    def test_so_are_decompositions(self, scene, method, threads, tmp_path):
        plain = rf.decompose(scene, method=method)
        with on_disk(threads, tmp_path) as executor:
            stored = rf.decompose(scene, method=method, executor=executor)
        assert_same(plain, stored, ["low_rank", "sparse"])

    def test_pictures_in_front_of_which_something_is_shared(self, tmp_path):
        worn = rendered_heads(n=40, worn={"glasses": 0.25}, seed=3)
        fixed = rf.align(worn.images, method="rpca", frame=worn.frame, init=worn.truth)
        plain = rf.decompose(fixed.aligned)
        stored = rf.decompose(fixed.aligned, executor=Serial(Disk(tmp_path)))
        assert plain.occluders
        assert_same(plain, stored, ["low_rank", "sparse"])


# Three workers have what the others have: a first, a last, and one between two neighbours.
FEW = [pytest.param(count, marks=pytest.mark.slow) for count in (1, 2)]


@pytest.fixture(scope="module", params=[*FEW, 3])
def cluster(request):
    with Dask(workers=request.param) as executor:
        # What the fixture above does here, every worker does in its own process.
        yield executor


class TestOnWorkers:
    @pytest.mark.parametrize("method", ["rasl", "meadmm"])
    def test_alignments_are_the_same(self, heads, method, cluster):
        assert_same(aligned(heads, method), aligned(heads, method, cluster), ALIGNED)

    @pytest.mark.parametrize("method", ["rpca", "meadmm"])
    def test_so_are_decompositions(self, scene, method, cluster):
        plain = rf.decompose(scene, method=method)
        spread = rf.decompose(scene, method=method, executor=cluster)
        assert_same(plain, spread, ["low_rank", "sparse"])

    def test_a_projector_that_wants_whole_rows_gets_them(self, scene, cluster):
        def means(context):
            return np.repeat(context.low_rank.mean(0, keepdims=True), len(context.low_rank), 0)

        plain = rf.decompose(scene, method="meadmm", projector=means)
        spread = rf.decompose(scene, method="meadmm", projector=means, executor=cluster)
        assert_same(plain, spread, ["low_rank", "sparse"])


def test_a_worker_that_is_killed_costs_time_and_no_bit(scene):
    plain = rf.decompose(scene)
    with Dask(workers=2) as cluster:
        victim = min(cluster.client.run(os.getpid).values())
        seen = []

        def kill(record):
            seen.append(record.iteration)
            if len(seen) == 5:
                os.kill(victim, signal.SIGKILL)

        survived = rf.decompose(scene, executor=cluster, observe=kill)
    assert_same(plain, survived, ["low_rank", "sparse"])
    # It began anew.
    assert seen.count(0) == 2


def test_an_observer_that_raises_leaves_no_pixels_with_the_workers(scene, cluster):
    class Enough(Exception):
        pass

    def stop(record):
        raise Enough

    with pytest.raises(Enough):
        rf.decompose(scene, executor=cluster, observe=stop)
    assert set(cluster.client.run(held_by_worker).values()) == {0}


class TestFromFiles:
    """Workers read the pictures themselves, and are sent no pixels."""

    @pytest.fixture
    def folder(self, heads, tmp_path):
        write_batch(heads, tmp_path / "heads")
        return tmp_path / "heads"

    @pytest.fixture
    def sent(self, monkeypatch):
        """The names of arrays that are sent to workers."""
        names = []
        load = bands.Bands.load

        def noted(self, name, array):
            names.append(name)
            load(self, name, array)

        monkeypatch.setattr(bands.Bands, "load", noted)
        return names

    @pytest.mark.parametrize("method", ["rpca", "meadmm"])
    def test_decompositions(self, folder, sent, method, cluster):
        plain = rf.decompose(folder, method=method)
        spread = rf.decompose(folder, method=method, executor=cluster)
        assert_same(plain, spread, ["low_rank", "sparse"])
        assert sent == []

    def test_the_decomposition_of_an_alignment(self, folder, sent, cluster):
        plain = rf.align(folder, method="rpca")
        spread = rf.align(folder, method="rpca", executor=cluster)
        assert_same(plain, spread, ALIGNED)
        assert sent == []
