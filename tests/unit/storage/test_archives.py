"""Files of arrays that are written row by row."""

import numpy as np
import pytest

from rankfold.storage import write_rows

VALUES = np.random.default_rng(0).random((4, 30, 50))


@pytest.mark.parametrize("dtype", ["f8", "f4", "?", ">u2"])
def test_numpy_reads_what_was_written(tmp_path, dtype):
    values = (9 * VALUES).astype(dtype)
    # Rows that do not lie in one piece.
    rows = np.asfortranarray(values)
    write_rows(tmp_path / "a.npy", values.shape, values.dtype, rows)
    found = np.load(tmp_path / "a.npy", allow_pickle=False)
    assert found.dtype == values.dtype
    np.testing.assert_array_equal(found, values)


def test_no_room_is_taken_that_is_not_there(tmp_path):
    """Through a map, the file has holes at once; on a full disk, to fill one kills the process."""

    def rows():
        yield VALUES[0]
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_rows(tmp_path / "a.npy", VALUES.shape, VALUES.dtype, rows())
    assert (tmp_path / "a.npy").stat().st_size < 2 * VALUES[0].nbytes
