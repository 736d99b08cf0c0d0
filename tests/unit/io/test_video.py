"""Videos: ranges, damage, odd sizes."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.io import open_pictures, write_pictures
from unit.io.samples import np_file, replace_path, smooth


@pytest.mark.parametrize("ending", [".mp4", ".avi", ".webm"])
def test_frames_range_stride_and_back(tmp_path, ending):
    frames = smooth(8)
    (tmp_path / "in").mkdir()
    given = open_pictures(np_file(tmp_path, frames))
    like = replace_path(given, f"x{ending}")
    path = write_pictures(tmp_path / "clip", given.names, frames.astype(float), like, "video")
    assert path.suffix == ending
    source = open_pictures(path)
    assert len(source) == 8
    back = np.stack([p.values for p in source.pictures()]).astype(int)
    assert np.abs(back - frames).mean() < 4
    some = open_pictures(path, frames="2:7", stride=2)
    assert [name[-1] for name in some.names] == ["2", "4", "6"]
    np.testing.assert_array_equal(np.stack([p.values for p in some.pictures()]), back[2:7:2])


def test_a_video_that_breaks_off_says_how_far_it_is_good(tmp_path, monkeypatch):
    import av

    frames = smooth(8)
    like = replace_path(open_pictures(np_file(tmp_path, frames)), "x.mp4")
    path = write_pictures(tmp_path / "clip", like.names, frames.astype(float), like, "video")

    class Broken:
        """A container whose decoder trips over the sixth frame."""

        def __init__(self, name):
            self.real = plain(name)

        def __enter__(self):
            return self

        def __exit__(self, *error):
            self.real.close()

        @property
        def streams(self):
            return self.real.streams

        def decode(self, video):
            for k, frame in enumerate(self.real.decode(video=video)):
                if k == 5:
                    raise av.InvalidDataError(1, "bad bytes")
                yield frame

    plain = av.open
    monkeypatch.setattr(av, "open", Broken)
    with pytest.raises(rf.FormatError, match=r"damaged after frame 4 .*use frames 0:5"):
        open_pictures(path)
    assert len(list(open_pictures(path, frames="0:5").pictures())) == 5


def test_odd_sizes_and_grey_get_through(tmp_path):
    frames = smooth(4, (31, 33), 1)
    like = replace_path(open_pictures(np_file(tmp_path, frames)), "x.mp4")
    path = write_pictures(tmp_path / "clip", like.names, frames.astype(float), like, "video")
    assert open_pictures(path).shapes[0] == (32, 34, 3)


def test_bad_ranges_and_files(tmp_path):
    like = replace_path(open_pictures(np_file(tmp_path, smooth(4))), "x.mp4")
    path = write_pictures(tmp_path / "clip", like.names, smooth(4).astype(float), like, "video")
    for frames, words in (
        ("9:12", "selects nothing.*4 frames"),
        ("a", "not a range"),
        ("3:1", "not a range"),
    ):
        with pytest.raises(rf.InputError, match=words):
            open_pictures(path, frames=frames)
    with pytest.raises(rf.InputError, match="stride -1"):
        open_pictures(path, stride=-1)
    (tmp_path / "b.mp4").write_text("no video")
    with pytest.raises(rf.FormatError, match=r"b\.mp4 cannot be read as a video"):
        open_pictures(tmp_path / "b.mp4")
