"""Every input that must be refused, and what "auto" becomes."""

import importlib

import numpy as np
import pytest

import rankfold as rf
from rankfold.admm import SCHEDULES
from rankfold.align.given import start_transforms
from rankfold.align.request import route_for
from samples import request_of

PICTURES = np.random.default_rng(0).random((4, 20, 20))


@pytest.mark.parametrize(
    ("images", "options", "message"),
    [
        ([], {}, "no images were given"),
        (PICTURES[:1], {}, "only one image was given"),
        ([PICTURES[0], np.full((20, 20), 3)], {}, "image 1 is constant"),
        ([PICTURES[0], np.full((20, 20), np.nan)], {}, "image 1 is NaN everywhere"),
        (
            PICTURES,
            {"frame": (60, 60)},
            "only 11% of the 60x60 frame lies inside any of the pictures",
        ),
        (
            PICTURES,
            {"init": np.full((4, 3, 3), np.nan)},
            "the start transform of image 0 is not finite",
        ),
        (PICTURES, {"init": np.zeros((4, 3, 3))}, "not invertible"),
        (PICTURES, {"init": np.eye(3)}, r"init has shape \(3, 3\); 4 images need \(4, 3, 3\)"),
        (PICTURES, {"init": "middle"}, "unknown init 'middle'"),
        (PICTURES, {"masks": np.ones((4, 10, 20))}, "the mask of image 0 has shape"),
        (PICTURES, {"method": "rals"}, "unknown method 'rals'; choose one of rpca, rasl, meadmm"),
        (PICTURES, {"family": "rigid"}, "unknown family 'rigid'"),
        (PICTURES, {"gauge": "median"}, "unknown gauge 'median'"),
        (PICTURES, {"gauge": 9}, "gauge=9 is not the index of one of 4 images"),
        (PICTURES, {"channels": "red"}, "unknown channels 'red'; choose one of luminance, joint"),
        (PICTURES, {"dtype": np.int32}, "dtype .*int32.* is not supported"),
        (PICTURES, {"dtype": "foo"}, "dtype 'foo' is not supported"),
        (PICTURES, {"frame": 45}, "frame=45 is not a size"),
        (PICTURES, {"frame": (45,)}, r"frame=\(45,\) is not a size"),
        (PICTURES, {"frame": (45.5, 40)}, "in whole pixels"),
        (PICTURES, {"gauge": None}, "unknown gauge None"),
        (PICTURES, {"gauge": 1.5}, "unknown gauge 1.5"),
        (None, {}, "images is a NoneType; pass a list of arrays"),
        (
            PICTURES,
            {"projector": "isomap"},
            "unknown projector 'isomap'; choose one of regression, average",
        ),
        (PICTURES, {"rank_surrogate": "log"}, "unknown rank_surrogate 'log'"),
        (PICTURES, {"features": "edges"}, "unknown features 'edges'"),
        (PICTURES, {"coarse": "maybe"}, "unknown coarse='maybe'"),
        (PICTURES, {"coarse": [1]}, r"unknown coarse=\[1\]"),
        (
            PICTURES,
            {"start": "far"},
            "unknown start='far'; choose one of auto, given, match, coarse, pyramid",
        ),
        (
            PICTURES,
            {"start": "match", "coarse": True},
            "start='match' and coarse=True are two words for one choice",
        ),
        (PICTURES, {"start": "coarse", "frame_of": 1}, "frame_of=1 has no effect with start='coa"),
        (PICTURES, {"start": "auto", "frame_of": 1}, "frame_of=1 has no effect with start='auto'"),
        (PICTURES, {"coarse": False, "frame_of": 1}, "frame_of=1 has no effect with start='given'"),
        (
            PICTURES,
            {"projector": "regression", "n_neighbors": -1},
            "n_neighbors=-1 must be at least 1",
        ),
        (PICTURES, {"projector": "regression", "n_neighbors": 0}, "n_neighbors=0 must be at least"),
        (PICTURES, {"sparsity_weight": -1.0}, "must be a positive number"),
        (PICTURES, {"n_jobs": 0}, "n_jobs=0 is not a number of threads"),
        (PICTURES, {"max_outer": 0}, "max_outer=0 must be at least 1"),
        (PICTURES, {"outer_tol": np.nan}, "outer_tol=nan"),
        (PICTURES, {"inner_tol": 2.0}, "tol=2.0 must lie between"),
        (
            PICTURES,
            {"schedule": "fast"},
            "unknown schedule 'fast'; choose one of auto, certified, rough, published",
        ),
        (
            PICTURES,
            {"method": "meadmm", "schedule": "certified"},
            "schedule='certified' cannot be used with method 'meadmm' and its manifold constraint",
        ),
        (
            PICTURES,
            {"method": "meadmm", "schedule": "certified"},
            "which is not convex; leave it out, or take rough or published",
        ),
        (
            PICTURES,
            {"rank_surrogate": "reweighted", "schedule": "certified"},
            "and the reweighted surrogate of the rank, which is not convex; leave it out",
        ),
        (
            PICTURES,
            {"schedule": "rough"},
            "schedule='rough' cannot be used with method 'rasl'; leave it out, or take certified",
        ),
        (
            PICTURES,
            {"schedule": "quick"},
            "schedule='quick' is no more: leave it out, because the default is as quick",
        ),
        (
            PICTURES,
            {"schedule": "balanced"},
            "schedule='balanced' is no more: leave it out, and for more digits",
        ),
    ],
)
def test_bad_input_is_refused_with_the_thing_and_the_remedy(images, options, message):
    with pytest.raises(rf.InputError, match=message):
        rf.align(images, **{"method": "rasl", **options})


def test_nothing_is_computed_before_everything_is_checked():
    """A bad option is refused although the pictures, which are checked later, are bad too."""
    with pytest.raises(rf.InputError, match="unknown family 'rigid'"):
        rf.align(None, family="rigid")


class TestAuto:
    def test_a_method_decides_what_it_means(self):
        rasl = request_of(PICTURES, method="rasl")
        assert (rasl.features, rasl.rescue, rasl.route) == (None, False, "given")
        assert rasl.clone is rasl.last_clone is None
        assert rasl.inner.surrogate == "nuclear"
        meadmm = request_of(PICTURES, method="meadmm")
        assert (meadmm.features, meadmm.rescue, meadmm.route) == ("contrast", True, "auto")
        assert meadmm.inner.surrogate == "reweighted"

    def test_the_caller_overrides_it(self):
        chosen = request_of(PICTURES, method="rasl", features="contrast", rescue=True, coarse=True)
        assert (chosen.features, chosen.rescue, chosen.route) == ("contrast", True, "coarse")
        bare = request_of(
            PICTURES,
            method="meadmm",
            features=None,
            rescue=False,
            coarse=False,
            projector=None,
            rank_surrogate="nuclear",
        )
        assert (bare.features, bare.rescue, bare.route) == (None, False, "given")
        assert bare.clone is None

    @pytest.mark.parametrize(
        ("options", "schedule"),
        [
            ({"method": "rasl"}, "certified"),
            ({"method": "rpca"}, "certified"),
            ({"method": "meadmm"}, "rough"),
            ({"method": "rasl", "rank_surrogate": "reweighted"}, "rough"),
            ({"method": "rasl", "projector": "sphere"}, "rough"),
            ({"method": "meadmm", "schedule": "rough"}, "rough"),
            ({"method": "meadmm", "schedule": "published"}, "published"),
            ({"method": "rasl", "schedule": "published"}, "published"),
            ({"method": "rasl", "schedule": "certified"}, "certified"),
        ],
    )
    def test_the_schedule_is_the_best_one_for_the_problem(self, options, schedule):
        assert request_of(PICTURES, **options).schedule is SCHEDULES[schedule]

    @pytest.mark.parametrize(
        ("start", "coarse", "route"),
        [
            ("auto", None, "auto"),
            ("given", None, "given"),
            ("coarse", None, "coarse"),
            ("pyramid", None, "pyramid"),
            (None, True, "coarse"),
            (None, False, "given"),
            (None, "auto", "auto"),
        ],
    )
    def test_the_route_is_the_callers_under_its_new_or_its_earlier_name(self, start, coarse, route):
        for method in rf.METHODS.values():
            assert route_for(method, start, coarse) == route

    def test_where_the_caller_says_nothing_the_route_is_the_methods(self):
        routes = {name: route_for(row, None, None) for name, row in rf.METHODS.items()}
        assert routes == {"rpca": "given", "rasl": "given", "meadmm": "auto"}

    def test_matrices_to_start_from_do_not_switch_routes_off(self):
        given = request_of(PICTURES, init=np.tile(np.eye(3), (4, 1, 1)))
        assert given.route == "auto"

    def test_matching_without_opencv_is_refused_before_pictures_are_looked_at(self, monkeypatch):
        def missing():
            raise rf.InputError("OpenCV is not installed")

        request = importlib.import_module("rankfold.align.request")
        monkeypatch.setattr(request, "load", missing)
        with pytest.raises(rf.InputError, match="OpenCV is not installed"):
            rf.align("no such folder", start="match")

    @pytest.mark.parametrize("method", ["rasl", "meadmm"])
    @pytest.mark.parametrize("start", [None, "match"])
    @pytest.mark.parametrize("frame_of", [2, "image 2"])
    def test_the_picture_whose_view_is_the_frame_asks_for_matching(self, method, start, frame_of):
        pytest.importorskip("cv2")
        request = request_of(PICTURES, method=method, start=start, frame_of=frame_of)
        assert request.route == "match"
        assert request.frame_of == 2
        assert request.options["frame_of"] == "image 2"
        assert request_of(PICTURES).options["frame_of"] is None

    @pytest.mark.parametrize(
        ("frame_of", "message"),
        [
            ("x", "no picture is called 'x'"),
            (4, "there is no picture 4; use a name, or a number from 0 to 3"),
        ],
    )
    def test_a_picture_that_is_not_there_is_refused(self, frame_of, message):
        pytest.importorskip("cv2")
        with pytest.raises(rf.InputError, match=message):
            rf.align(PICTURES, frame_of=frame_of)

    def test_fewer_neighbours_while_aligning_than_at_the_end_unless_the_caller_says(self):
        usual = request_of(PICTURES)
        assert usual.clone.projector.n_neighbors == 7
        assert usual.last_clone.projector.n_neighbors == 12
        chosen = request_of(PICTURES, n_neighbors=3)
        assert chosen.clone.projector.n_neighbors == 3
        assert chosen.last_clone.projector.n_neighbors == 3


def test_the_options_that_were_decided_are_plain_values():
    options = request_of(PICTURES, method="rasl", dtype=np.float32, gauge=2).options
    assert options["schedule"] == "certified"
    assert options["dtype"] == "float32"
    assert options["gauge"] == 2
    assert options["start"] == "given"
    assert request_of(PICTURES).options["start"] == "auto"
    assert all(isinstance(value, str | bool | int | float | None) for value in options.values())
    assert "auto" not in request_of(PICTURES, method="rasl").options.values()


def test_starts_may_be_named_given_or_made_from_points():
    stack = rf.Stack.of(PICTURES)
    frame = rf.Frame(10, 12)
    at_corner = start_transforms("identity", stack, frame, "similarity")
    np.testing.assert_array_equal(at_corner, np.tile(np.eye(3), (4, 1, 1)))
    centred = start_transforms("centred", stack, frame, "similarity")
    np.testing.assert_allclose(centred[0] @ [*frame.centre, 1], [9.5, 9.5, 1])
    # A matrix is only known up to a factor, and its last entry is made one.
    np.testing.assert_array_equal(
        start_transforms(2 * at_corner, stack, frame, "similarity"), at_corner
    )
    canonical = np.array([[2.0, 3.0], [8.0, 3.0]])
    points = rf.Points(canonical, np.stack([canonical + 1] * 4))
    shifted = start_transforms(points, stack, frame, "similarity")
    np.testing.assert_allclose(shifted[0], [[1, 0, 1], [0, 1, 1], [0, 0, 1]], atol=1e-12)


@pytest.mark.parametrize("family", ["affine", "homography"])
def test_points_on_one_line_are_a_start_of_no_picture(family):
    square = np.array([[0.0, 0.0], [9.0, 0.0], [9.0, 9.0], [0.0, 9.0]])
    line = np.array([[0.0, 0.0], [3.0, 3.0], [6.0, 6.0], [9.0, 9.0]])
    points = rf.Points(square, [square, square, line, square])
    with pytest.raises(rf.InputError, match="the start transform of image 2"):
        rf.align(PICTURES, family=family, frame=(10, 10), init=points)


@pytest.mark.parametrize("factor", [1e-6, 1e6, -1.0])
def test_a_start_is_known_up_to_a_factor(factor):
    stack = rf.Stack.of(PICTURES)
    eyes = np.tile(np.eye(3), (4, 1, 1))
    found = start_transforms(factor * eyes, stack, rf.Frame(10, 12), "similarity")
    np.testing.assert_allclose(found, eyes)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.diag([1.0, 1.0, 0.0]), "is not finite or not invertible"),
        (np.diag([1.0, 0.0, 1.0]), "is not finite or not invertible"),
        (np.diag([1e-7, 1e-7, 1.0]), "is not finite or not invertible"),
        (np.diag([1e300, 1e300, 1e-300]), "is not finite or not invertible"),
        # Invertible, but the corner of the picture is at infinity in the frame.
        ([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [1.0, 0.0, 1.0]], "is not finite or not invertible"),
        (np.diag([1e200, 1e200, 1.0]), "leads further than 1e.09 px"),
        ([[1.0, 0.0, 1e10], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], "leads further than 1e.09 px"),
        ([[1e-5, 0.0, 1e5], [0.0, 1e-5, 0.0], [0.0, 0.0, 1.0]], "leads further than 1e.09 px"),
    ],
)
def test_a_start_that_leads_nowhere_is_refused(matrix, message):
    start = np.tile(np.eye(3), (4, 1, 1))
    start[2] = matrix
    with pytest.raises(rf.InputError, match=f"the start transform of image 2 {message}"):
        rf.align(PICTURES, init=start)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "rpca", "rescue": True}, "rescue=True has no effect with method 'rpca'"),
        ({"method": "rpca", "coarse": True}, "start='coarse' has no effect with method 'rpca'"),
        (
            {"method": "rpca", "start": "pyramid"},
            "start='pyramid' has no effect with method 'rpca'",
        ),
        ({"method": "rasl", "n_neighbors": 5}, "n_neighbors=5 has no effect without a projector"),
    ],
)
def test_options_without_effect_are_refused(options, message):
    with pytest.raises(rf.InputError, match=message):
        rf.align(np.random.default_rng(0).random((3, 12, 12)), **options)


def test_a_schedule_without_effect_is_refused_before_pictures_are_looked_at():
    with pytest.raises(rf.InputError, match="schedule='certified' cannot be used"):
        rf.align("no such folder", schedule="certified")


class TestPaths:
    @pytest.fixture
    def folder(self, tmp_path):
        from rankfold.io import write_picture

        rng = np.random.default_rng(0)
        for k in range(3):
            write_picture(tmp_path / f"{k}.png", 255 * rng.random((600, 600)))
        return tmp_path

    @pytest.mark.parametrize(("frame", "factor"), [(None, 3), ((400, 400), 1), ((60, 60), 10)])
    def test_a_path_is_read_as_coarse_as_the_command_would(self, folder, frame, factor):
        from rankfold.io import open_pictures
        from rankfold.runs import choose

        request = request_of(str(folder), frame=frame)
        assert request.stack.reduction == factor
        assert choose(open_pictures(str(folder)), frame).reduction == factor

    def test_transforms_and_masks_are_those_of_the_files(self, folder):
        start = np.tile(np.diag([5.0, 5.0, 1.0]), (3, 1, 1))
        masks = np.ones((3, 600, 600), bool)
        masks[:, :300] = False
        request = request_of(str(folder), frame=(100, 100), init=start, masks=masks)
        assert request.stack.reduction == 5
        assert not request.stack.masks[0][:60].any()
        assert request.stack.masks[0][60:].all()


def test_numbers_of_numpy_can_be_saved(heads, tmp_path):
    result = rf.align(
        heads.images,
        "rasl",
        frame=heads.frame,
        init=heads.start,
        sparsity_weight=np.float32(0.7),
        outer_tol=np.float32(0.5),
        max_inner=np.int64(500),
    )
    result.save(tmp_path / "it")
    assert rf.load(tmp_path / "it").options["max_inner"] == 500


def test_neighbours_of_a_projector_of_ones_own_are_set_there():
    from rankfold.manifold import Regression

    pictures = np.random.default_rng(0).random((3, 12, 12))
    with pytest.raises(rf.InputError, match="set it there"):
        rf.align(pictures, projector=Regression(n_neighbors=2), n_neighbors=3)
    with pytest.raises(rf.InputError, match="Regression is a class"):
        rf.align(pictures, projector=Regression)
