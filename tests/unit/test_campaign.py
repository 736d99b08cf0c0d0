"""A small part of the campaign of tests/campaign, whose whole is ``make campaign``."""

import pytest

from campaign.crew import run_crew
from campaign.kinds import TABLE

# Seconds after which an attempt hangs: more than in the campaign, as other tests run beside it.
LIMIT = 120


def kinds_of(module):
    return [kind for kind, row in TABLE.items() if row.module == module]


@pytest.mark.parametrize("module", sorted({row.module for row in TABLE.values()}))
def test_no_attempt_ends_badly(module, tmp_path):
    jobs = [(kind, 0, TABLE[kind].least) for kind in kinds_of(module)]
    outcomes = list(run_crew(jobs, tmp_path, 1, LIMIT))
    assert len(outcomes) == sum(count for _, _, count in jobs)
    bad = [f"{one.kind}, seed {one.seed}: {one.about}" for one in outcomes if one.end == "bad"]
    assert not bad, "\n\n".join(bad)


class TestTheCrewItself:
    """That attempts can end badly at all, and are counted then."""

    @pytest.fixture
    def crew(self, tmp_path):
        """Makes attempts with a habit; half a gigabyte is too much for them."""
        return lambda kind, count, limit=LIMIT: list(
            run_crew([(kind, 0, count)], tmp_path, 1, limit, 2**29, tmp_path / "kept")
        )

    @pytest.mark.parametrize(
        ("habit", "about"),
        [
            ("raises", "a mistake"),
            ("crashes", "ended with code"),
            ("hangs", "took more than"),
            ("prints a traceback", "it printed"),
            ("floods", "it printed"),
            ("leaves a file open", "it left open"),
            ("takes memory", "GiB of memory"),
        ],
    )
    def test_a_bad_habit_is_seen(self, crew, habit, about):
        limit = 2 if habit == "hangs" else LIMIT
        outcomes = crew(f"habit: {habit}", 2, limit)
        assert [one.end for one in outcomes] == ["bad", "bad"]
        assert about in outcomes[0].about

    def test_a_good_one_too(self, crew):
        outcomes = crew("habit: good", 3)
        assert [(one.end, one.seed) for one in outcomes] == [("fine", 0), ("fine", 1), ("fine", 2)]
