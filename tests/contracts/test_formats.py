"""Every row of FORMATS writes pictures that it then reads."""

import numpy as np
import pytest

from rankfold import InputError
from rankfold.io import FORMATS, open_pictures, write_pictures

# A video is compressed with loss; in grey levels.
LOSS = {"video": 6.0}


@pytest.fixture(params=FORMATS.values(), ids=FORMATS.keys())
def row(request):
    if request.param.name == "zarr":
        pytest.importorskip("zarr")
    return request.param


@pytest.fixture
def source(tmp_path):
    """Five smooth pictures in an array file."""
    y, x = np.mgrid[:32, :48]
    stack = np.stack([100 + 50 * np.sin(x / 9 + k) + 50 * np.cos(y / 7) for k in range(5)])
    np.save(tmp_path / "in.npy", stack.astype(np.uint8))
    return open_pictures(tmp_path / "in.npy")


def test_what_it_writes_it_reads(row, source, tmp_path):
    given = [picture.values for picture in source.pictures()]
    (tmp_path / "out").mkdir()
    written = write_pictures(tmp_path / "out" / "x", source.names, given, source, row.name)
    assert written.exists()
    again = open_pictures(written)
    assert again.format == row.name
    assert len(again) == len(set(again.names)) == 5
    found = [picture.grey.values for picture in again.pictures()]
    assert [values.shape for values in found] == [(32, 48)] * 5
    difference = np.abs(np.stack(found).astype(float) - np.stack(given)).mean()
    assert difference <= LOSS.get(row.name, 0.0)


def test_it_refuses_an_option_that_no_format_has(row, source, tmp_path):
    given = [picture.values for picture in source.pictures()]
    (tmp_path / "out").mkdir()
    written = write_pictures(tmp_path / "out" / "x", source.names, given, source, row.name)
    with pytest.raises((InputError, TypeError)):
        row.open(str(written), colour="blue")
