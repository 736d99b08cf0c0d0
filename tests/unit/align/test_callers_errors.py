"""What a function of the caller raises reaches the caller as it is, and nothing is left behind."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import rankfold as rf
from rankfold.manifold import Projection, Projector
from rankfold.scale import Disk, Serial, Threads, executors

RNG = np.random.default_rng(0)
DATA = RNG.random((8, 60))
# Twelve pictures whose sample of ten is aligned, so that two are placed.
Y, X = np.mgrid[:16, :18]
SMOOTH = np.stack([np.sin((X + 0.1 * k) / 2) + np.cos((Y - 0.1 * k) / 1.5) for k in range(12)])
PICTURES = SMOOTH + 0.05 * RNG.random(SMOOTH.shape)
LIMIT = 60.0  # seconds; only ends the wait for something that never comes
SHORT = {"frame": (10, 12), "max_outer": 2, "max_inner": 20}


class Mine(Exception):
    """An error that only the caller knows."""


class MineToo(rf.InputError):
    """One that looks like one of ours."""


# Errors that somewhere inside are caught for good reasons when they are not the caller's.
ERRORS = [Mine, MineToo, ValueError, TypeError, np.linalg.LinAlgError, OSError, KeyboardInterrupt]


def raising(error):
    """A function of anything that raises one error."""

    def function(*values, **options):
        raise error

    return function


def caught_from(call, *values, **options):
    """What a call raises, with the state of the threads after it."""
    before = {one["filepath"]: one["num_threads"] for one in threadpool_info()}
    threads = set(threading.enumerate())
    with pytest.raises(BaseException) as caught:  # noqa: PT011
        call(*values, **options)
    after = {one["filepath"]: one["num_threads"] for one in threadpool_info()}
    assert {path: after[path] for path in before} == before
    begun = set(threading.enumerate()) - threads
    assert not [one for one in begun if one.name.startswith("rankfold")]
    return caught.value


def assert_unharmed(found, error):
    """The same object, with nothing in front of it."""
    assert found is error
    assert found.__cause__ is None
    assert found.__context__ is None


class Watch:
    """An observer of which one method raises."""

    def __init__(self, method, error):
        setattr(self, method, raising(error))

    def __call__(self, record):
        return False


class Flat(Projector):
    """A projector that raises where its projection is made."""

    def __init__(self, error):
        self.error = error

    def at(self, overview):
        raise self.error


class Uneven(Projector):
    """A projector that raises where it sees pixels, which may be in another thread."""

    def __init__(self, error):
        self.error = error

    def at(self, overview):
        return UnevenProjection(self.error)


class UnevenProjection(Projection):
    def __init__(self, error):
        self.error = error

    def weights(self, total):
        return None

    def embed(self, block, weights, out):
        raise self.error


class Failing:
    """An executor whose calls succeed until one raises."""

    def __init__(self, error, calls):
        self.error = error
        self.left = calls

    def run(self, function, slabs, *shared):
        self.left -= 1
        if self.left < 0:
            raise self.error
        return Serial().run(function, slabs, *shared)


@pytest.mark.parametrize("kind", ERRORS)
class TestDecompose:
    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_an_observer(self, kind, n_jobs):
        error = kind("mine")
        found = caught_from(rf.decompose, DATA, observe=raising(error), n_jobs=n_jobs)
        assert_unharmed(found, error)

    @pytest.mark.parametrize("projector", [raising, Flat, Uneven])
    def test_a_projector(self, kind, projector):
        error = kind("mine")
        found = caught_from(rf.decompose, DATA, "meadmm", projector=projector(error), n_jobs=2)
        assert_unharmed(found, error)

    @pytest.mark.parametrize("calls", [0, 3])
    def test_an_executor(self, kind, calls):
        error = kind("mine")
        found = caught_from(rf.decompose, DATA, executor=Failing(error, calls))
        assert_unharmed(found, error)


@pytest.mark.parametrize("kind", ERRORS)
class TestAlign:
    def test_an_observer_while_a_start_is_looked_for(self, kind):
        """A start that leads nowhere is passed over, but not where the caller says so."""
        error = kind("mine")
        seen = []

        def once(record):
            seen.append(record)
            if len(seen) == 1:
                raise error

        found = caught_from(rf.align, PICTURES, "meadmm", start="auto", observe=once, **SHORT)
        assert_unharmed(found, error)
        assert len(seen) == 1

    def test_an_observer_after_an_outer_iteration(self, kind):
        error = kind("mine")

        def observe(record):
            if isinstance(record, rf.OuterRecord):
                raise error

        assert_unharmed(caught_from(rf.align, PICTURES, "rasl", observe=observe, **SHORT), error)

    @pytest.mark.parametrize("method", ["begin_stage", "begin_placing", "placed"])
    @pytest.mark.filterwarnings("ignore::rankfold.ConvergenceWarning")
    def test_a_method_of_an_observer(self, kind, method):
        error = kind("mine")
        found = caught_from(
            rf.align, PICTURES, "rasl", observe=Watch(method, error), sample=10, **SHORT
        )
        assert_unharmed(found, error)

    @pytest.mark.parametrize("projector", [raising, Flat, Uneven])
    def test_a_projector(self, kind, projector):
        error = kind("mine")
        found = caught_from(
            rf.align, PICTURES, "meadmm", projector=projector(error), frame=(10, 12), max_outer=2
        )
        assert_unharmed(found, error)

    @pytest.mark.parametrize("calls", [0, 20])
    def test_an_executor(self, kind, calls):
        error = kind("mine")
        found = caught_from(rf.align, PICTURES, "rasl", executor=Failing(error, calls), **SHORT)
        assert_unharmed(found, error)


@pytest.mark.parametrize("kind", ERRORS)
def test_an_estimator_passes_them_on(kind):
    error = kind("mine")
    model = rf.MeADMM(projector=raising(error), frame=(10, 12), max_outer=2, n_jobs=2)
    assert_unharmed(caught_from(model.fit, PICTURES), error)
    assert not hasattr(model, "components_")


@pytest.mark.parametrize("kind", [Mine, TypeError])
def test_so_does_an_iterator_of_pictures(kind):
    error = kind("mine")

    def pictures():
        yield PICTURES[0]
        raise error

    assert_unharmed(caught_from(rf.align, pictures(), "rasl"), error)


def test_the_scratch_folder_is_empty_after_them(tmp_path):
    large = RNG.random((20, 10_000))
    sizes = []

    def observe(record):
        sizes.append(record.rank)
        raise Mine

    with Threads(2, Disk(tmp_path)) as threads, pytest.raises(Mine):
        rf.decompose(large, executor=threads, observe=observe)
    assert len(sizes) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore::rankfold.ConvergenceWarning")
def test_a_checkpoint_goes_on_after_them(tmp_path):
    def observe(record):
        if isinstance(record, rf.OuterRecord):
            raise Mine

    folder = tmp_path / "checkpoint"
    with pytest.raises(Mine):
        rf.align(PICTURES, "rasl", checkpoint=folder, observe=observe, **SHORT)
    again = rf.align(PICTURES, "rasl", checkpoint=folder, **SHORT)
    np.testing.assert_array_equal(again.transforms, rf.align(PICTURES, "rasl", **SHORT).transforms)
    assert not folder.exists()


class TestThreads:
    def test_nobody_begins_another_slab_after_an_error(self, monkeypatch):
        given_up = threading.Event()
        monkeypatch.setattr(executors, "threading", SimpleNamespace(Event=lambda: given_up))
        seen = []

        def work(slab):
            seen.append(slab)
            if slab == 0:
                raise Mine
            assert given_up.wait(LIMIT)

        with Threads(2) as executor, pytest.raises(Mine):
            executor.run(work, range(300))
        assert len(seen) <= 2

    @pytest.mark.parametrize("n_jobs", [0, 2.5, "2", None])
    def test_their_number_is_a_whole_one(self, n_jobs):
        with pytest.raises(rf.InputError, match="n_jobs="):
            Threads(n_jobs)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([[1], [1, 2]], "the answer of the projector .* is no array of numbers"),
        (None, r"returned shape \(\); it must return an array like the low-rank rows"),
        (DATA * 1j, "returned type complex128; it must return real numbers"),
        (DATA.astype(object), "returned type object"),
        (DATA.astype(str), "returned type <U"),
        (np.ma.masked_less(DATA, 0.5), "masked values; every one must be finite"),
    ],
)
def test_what_a_projector_answers_gets_a_sentence(answer, message):
    with pytest.raises(rf.InputError, match=message):
        rf.decompose(DATA, "meadmm", projector=lambda _: answer)


@pytest.mark.parametrize("size", [1e8, 1e20, 1e200])
def test_an_answer_that_is_far_from_the_data_is_refused(size):
    """The parts did not add up, or squares left the range with a warning."""
    with pytest.raises(
        rf.InputError, match=r"returned values of more than 1e\+06 times the largest"
    ):
        rf.decompose(DATA, "meadmm", projector=lambda context: context.low_rank + size)


def test_an_answer_that_is_too_large_for_the_precision_is_refused():
    huge = np.full(DATA.shape, 1e300)
    with pytest.raises(rf.InputError, match="returned NaN or infinity"):
        rf.decompose(DATA, "meadmm", projector=lambda _: huge, dtype=np.float32)


@pytest.mark.parametrize(("call", "data"), [(rf.decompose, DATA), (rf.align, PICTURES)])
def test_an_observer_that_answers_with_an_array(call, data):
    """It gave a ValueError of NumPy from inside of the solver."""
    with pytest.raises(rf.InputError, match=r"observe returned array.* neither true nor false"):
        call(data, observe=lambda _: np.ones(3))
