"""An error or a kill at every single call of the system while a run is replaced."""

import shutil
from dataclasses import replace

import pytest

from campaign.faults import ALLOWED, Run, count_of
from campaign.folders import garden
from faulty import Faults, in_child, names_in
from rankfold import runs
from rankfold.status import Trace


class Small(Run):
    """``align --overwrite --no-pictures``, of a run that has pictures.

    The new one has no trace: each of its many columns would be written like any other array.
    """

    pictures = False

    def __init__(self, place, planted):
        super().__init__(place, planted)
        self.new = replace(self.new, trace=Trace())


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder whose run is replaced again and again."""
    return tmp_path_factory.mktemp("faults")


def replaced(one, faults):
    """Replace the run while something goes wrong; how it ended."""
    try:
        with faults:
            one.go()
    except ALLOWED:
        return "refused"
    return "fine"


@pytest.mark.parametrize("exchange", [True, False], ids=["exchange", "two renames"])
@pytest.mark.parametrize("way", ["error", "interrupt", "kill", "power"])
def test_the_old_or_the_new_one_is_there_whatever_fails(place, exchange, way):
    """One interruption at the wrong moment used to lose both."""
    planted = str(place / "garden-of-folders")
    calls = count_of(Small, str(place), exchange)
    assert calls > 80
    folder = place / f"{way}-{exchange}"
    folder.mkdir()
    one = Small(folder, garden(planted))
    one.plant()
    found = []
    for at in range(1, calls + 1):
        faults = Faults(folder, at, way, number=at, exchange=exchange)
        if way in ("kill", "power"):
            assert in_child(lambda faults=faults: replaced(one, faults)) is None
        else:
            replaced(one, faults)
        found.append(one.state())
        runs.clean(folder)
        assert names_in(folder) == {"run"}, f"after call {at}"
        assert one.state() == found[-1]
        if found[-1] == "new":
            shutil.rmtree(one.run)
            one.plant()
    # The one takes the place of the other at one moment, and it stays so.
    assert "old" in found
    assert found[-1] == "new"
    if way == "kill":
        assert found == sorted(found, reverse=True)
