"""Every tuned number has a unit and a reason, can be changed, and is stored with a result."""

import json
from dataclasses import fields

import numpy as np
import pytest

import rankfold as rf
from rankfold.align.settings import AlignSettings
from rankfold.tuned import setting_rows

ROWS = list(setting_rows(AlignSettings()))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.group}.{row.name}")
def test_every_number_has_a_unit_and_a_sentence(row):
    assert row.unit
    assert len(row.why.split()) >= 3
    assert row.why[0].isupper()
    assert row.why.endswith(".")
    assert isinstance(row.value, int | float | tuple)


def test_the_rows_are_all_fields_of_all_groups():
    counted = sum(len(fields(getattr(AlignSettings(), f.name))) for f in fields(AlignSettings))
    assert len(ROWS) == counted
    for part in fields(AlignSettings):
        assert type(getattr(AlignSettings(), part.name)).__doc__


def test_values_are_plain_and_by_group():
    values = AlignSettings().values()
    assert values["features"]["surround"] == 1.7
    assert json.loads(json.dumps(values))["coarse"]["blurs"] == [4.0, 2.0]


class TestChanged:
    def test_a_change_is_a_copy(self):
        old = AlignSettings()
        new = old.changed({"features.surround": 2.5, "rescue.rounds": 1, "features.smooth": 0.5})
        assert (new.features.surround, new.features.smooth, new.rescue.rounds) == (2.5, 0.5, 1)
        assert old == AlignSettings()
        assert old.changed({}) == old

    @pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.group}.{row.name}")
    def test_every_number_can_be_set_to_what_it_is(self, row):
        settings = AlignSettings().changed({f"{row.group}.{row.name}": row.value})
        assert settings == AlignSettings()
        again = next(
            r for r in setting_rows(settings) if (r.group, r.name) == (row.group, row.name)
        )
        assert type(again.value) is type(row.value)

    def test_numbers_come_in_the_type_of_the_old_ones(self):
        new = AlignSettings().changed(
            {"features.max_outer": 7.0, "coarse.blurs": [3, 1], "steps.trust": 2}
        )
        assert (new.features.max_outer, type(new.features.max_outer)) == (7, int)
        assert new.coarse.blurs == (3.0, 1.0)
        assert type(new.steps.trust) is float

    @pytest.mark.parametrize(
        "name", ["surround", "features.surround.x", "features", "nope.tol", ""]
    )
    def test_an_unknown_name_is_refused(self, name):
        with pytest.raises(rf.InputError, match=r"unknown setting .* `rankfold settings` lists"):
            AlignSettings().changed({name: 1.0})

    @pytest.mark.parametrize(
        ("name", "value", "message"),
        [
            ("features.surround", "wide", "features.surround must be a number, not 'wide'"),
            ("features.surround", None, "must be a number, not None"),
            ("features.max_outer", [3], "must be a number"),
            ("coarse.blurs", 3.0, "coarse.blurs must be numbers, not 3.0"),
            ("coarse.blurs", ["a"], "must be numbers"),
        ],
    )
    def test_a_value_of_another_type_is_refused(self, name, value, message):
        with pytest.raises(rf.InputError, match=message):
            AlignSettings().changed({name: value})

    def test_a_count_is_a_whole_number(self):
        with pytest.raises(rf.InputError, match=r"features\.max_outer must be a whole number"):
            AlignSettings().changed({"features.max_outer": 2.5})

    def test_halvings_may_be_switched_off(self):
        off = AlignSettings().changed({"steps.halvings": None})
        assert off.steps.halvings is None
        assert off.changed({"steps.halvings": 3}) == AlignSettings()


class TestInAnAlignment:
    def test_they_change_a_result_and_the_defaults_do_not(self, heads, aligned):
        options = {"method": "rasl", "frame": heads.frame, "init": heads.start}
        same = rf.align(heads.images, **options, settings=AlignSettings())
        short = AlignSettings().changed({"steps.trust": 0.1})
        other = rf.align(heads.images, **options, settings=short)
        np.testing.assert_array_equal(same.transforms, aligned.transforms)
        assert np.abs(other.transforms - aligned.transforms).max() > 1e-3
        assert other.trace.outer["displacement"].max() < 0.25

    def test_what_was_used_is_stored_and_comes_back(self, heads, tmp_path):
        changed = AlignSettings().changed({"steps.trust": 1.5, "coarse.blurs": (5.0, 3.0)})
        result = rf.align(
            heads.images,
            method="rasl",
            frame=heads.frame,
            init=heads.start,
            outer_tol=0.5,
            settings=changed,
        )
        result.save(tmp_path / "run")
        stored = json.loads((tmp_path / "run" / "result.json").read_text())
        assert stored["version"] == rf.__version__
        assert stored["settings"]["steps"]["trust"] == 1.5
        assert stored["options"]["schedule"] == "certified"
        assert stored["options"]["outer_tol"] == 0.5
        loaded = rf.load(tmp_path / "run")
        assert loaded.version == rf.__version__
        assert loaded.options == result.options
        assert loaded.settings == result.settings
        assert loaded.settings["coarse"]["blurs"] == [5.0, 3.0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pixels.nuclear_outer", 0),
        ("features.max_outer", 0),
        ("basis.pictures_a_dimension", 0),
        ("features.smooth", float("nan")),
        ("features.surround", 0),
        ("manifold.ridge", 0),
        ("rescue.rounds", -1),
        ("start.min_cover", 2),
        ("steps.halvings", -1),
        ("steps.halvings", 10**6),
        ("features.smooth", float("inf")),
        ("rescue.rounds", 1e300),
        ("features.smooth", 1e6),
        ("verdicts.null_shifts", 10**5),
    ],
)
def test_numbers_that_cannot_work_are_refused(name, value):
    with pytest.raises(rf.InputError, match=f"the setting {name.split('.')[1]}=.* must be"):
        rf.AlignSettings().changed({name: value})
