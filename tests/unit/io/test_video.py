"""Videos: ranges, damage, odd sizes."""

import struct

import av
import numpy as np
import pytest
from PIL import Image

import rankfold as rf
from rankfold.io import open_pictures, write_pictures
from unit.io.samples import noise, np_file, replace_path, smooth


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

        def __init__(self, name, **options):
            self.real = plain(name, **options)

        def __enter__(self):
            return self

        def __exit__(self, *error):
            self.real.close()

        def __getattr__(self, name):
            return getattr(self.real, name)

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


def test_what_is_transparent_in_a_gif_is_missing(tmp_path):
    """It was white."""
    colours = smooth(3, (20, 24))
    clear = np.zeros((20, 24), bool)
    clear[4:9, 6:15] = True
    layers = [np.dstack([one, np.where(clear, 0, 255).astype(np.uint8)]) for one in colours]
    frames = [Image.fromarray(one) for one in layers]
    # Each takes the place of the one before it.
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:], disposal=2)
    for picture in open_pictures(tmp_path / "a.gif").pictures():
        np.testing.assert_array_equal(picture.mask, ~clear)
    frames = [Image.fromarray(one) for one in colours]
    frames[0].save(tmp_path / "b.gif", save_all=True, append_images=frames[1:])
    assert [one.mask for one in open_pictures(tmp_path / "b.gif").pictures()] == [None] * 3


def test_a_fourth_sample_that_nobody_uses_is_no_transparency(tmp_path):
    """Uncompressed video has one, which is zero."""
    frames = smooth(3, (20, 24))
    with av.open(str(tmp_path / "a.avi"), "w") as container:
        stream = container.add_stream("rawvideo", rate=5)
        stream.width, stream.height, stream.pix_fmt = 24, 20, "bgra"
        for one in frames:
            stored = np.dstack([one[..., ::-1], np.zeros((20, 24), np.uint8)])
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(stored), format="bgra")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    pictures = list(open_pictures(tmp_path / "a.avi").pictures())
    assert [one.mask for one in pictures] == [None] * 3
    np.testing.assert_array_equal([one.values for one in pictures], frames)


class TestOneThatIsReplaced:
    """After it was looked at, it was read as something else."""

    @pytest.fixture
    def video(self, tmp_path):
        """Write a video of so many frames; returns its path."""

        def write(count, shape=(32, 34)):
            frames = smooth(count, shape, 1)
            like = replace_path(open_pictures(np_file(tmp_path, frames)), "x.mp4")
            (tmp_path / "clip.mp4").unlink(missing_ok=True)
            values = frames.astype(float)
            return write_pictures(tmp_path / "clip", like.names, values, like, "video")

        return write

    def test_by_a_shorter_one(self, video):
        source = open_pictures(video(6))
        video(4)
        with pytest.raises(rf.FormatError, match="has fewer frames than when it was opened"):
            list(source.pictures())

    def test_by_one_of_another_size(self, video):
        source = open_pictures(video(4))
        video(4, (40, 36))
        with pytest.raises(rf.FormatError, match="holds another picture than its header says"):
            list(source.pictures())


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
    with pytest.raises(rf.InputError, match="stride=-1"):
        open_pictures(path, stride=-1)
    (tmp_path / "b.mp4").write_text("no video")
    with pytest.raises(rf.FormatError, match=r"b\.mp4 cannot be read as a video"):
        open_pictures(tmp_path / "b.mp4")


@pytest.mark.parametrize("share", [0.5, 0.8])
def test_a_webm_that_is_cut_off_says_how_far_it_is_good(tmp_path, share):
    frames = np.random.default_rng(0).integers(0, 256, (20, 32, 40, 3), np.uint8)
    like = replace_path(open_pictures(np_file(tmp_path, frames)), "x.webm")
    path = write_pictures(tmp_path / "clip", like.names, frames.astype(float), like, "video")
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(
        rf.FormatError, match=r"damaged after frame \d+ .*use frames 0:\d+$"
    ) as said:
        open_pictures(path)
    good = str(said.value).rpartition("use frames ")[2]
    source = open_pictures(path, frames=good)
    assert 0 < len(list(source.pictures())) < 20


@pytest.mark.parametrize("share", [0.3, 0.6, 0.85, 0.99])
@pytest.mark.parametrize("ending", ["avi", "wmv", "gif", "mp4", "mov", "mkv", "webm", "mpg"])
def test_a_video_that_is_cut_off_is_no_shorter_one(tmp_path, ending, share):
    # The same in whatever order the tests run.
    frames = np.random.default_rng(0).integers(0, 256, (60, 32, 40, 3), np.uint8)
    path = tmp_path / f"a.{ending}"
    if ending == "gif":
        pictures = [Image.fromarray(frame) for frame in frames]
        pictures[0].save(path, save_all=True, append_images=pictures[1:])
    else:
        source = replace_path(open_pictures(np_file(tmp_path, frames)), f"in.{ending}")
        write_pictures(tmp_path / "a", source.names, frames, source, "video")
    assert len(open_pictures(path)) == 60
    whole = path.read_bytes()
    # Not between two packets: an MPEG does not say how many of them there are.
    path.write_bytes(whole[: int(share * len(whole)) - 7])
    with pytest.raises(rf.FormatError, match=r"is damaged (after|from)|cannot be read as a video"):
        open_pictures(path)


@pytest.mark.parametrize("ending", ["mp4", "avi", "wmv", "mkv", "webm", "mpg"])
def test_what_cameras_write_behind_a_video_is_no_part_of_it(tmp_path, ending):
    frames = noise((9, 32, 40, 3))
    source = replace_path(open_pictures(np_file(tmp_path, frames)), f"in.{ending}")
    path = write_pictures(tmp_path / "a", source.names, frames, source, "video")
    with path.open("ab") as file:
        file.write(b"\x7fSEFT and something of the maker's own" + bytes(50))
    assert len(open_pictures(path)) == 9


@pytest.mark.parametrize("length", [b"\x01\xff\xff\xff\xff\xff\xff\xff", b"\xff"])
def test_a_stream_that_nobody_knew_the_length_of(tmp_path, length):
    """Matroska as programs write it that cannot go back."""
    source = replace_path(open_pictures(np_file(tmp_path, noise((9, 32, 40, 3)))), "in.mkv")
    path = write_pictures(tmp_path / "a", source.names, noise((9, 32, 40, 3)), source, "video")
    whole = path.read_bytes()
    begin = whole.index(bytes.fromhex("18538067")) + 4
    path.write_bytes(whole[:begin] + length + whole[begin + 8 :])
    assert len(open_pictures(path)) == 9


class TestHeaders:
    """That ask for more than anybody has, in the place where each container has its size."""

    def test_of_a_gif(self, tmp_path):
        path = tmp_path / "a.gif"
        frames = [Image.fromarray(frame) for frame in smooth(channels=1)]
        frames[0].save(path, save_all=True, append_images=frames[1:])
        whole = bytearray(path.read_bytes())
        whole[6:10] = struct.pack("<HH", 65535, 65535)
        path.write_bytes(whole)
        with pytest.raises(rf.FormatError, match="says what cannot be"):
            open_pictures(path)

    @pytest.mark.parametrize(("width", "height"), [(40_000, 40_000), (2**30, 2**30), (0, 0)])
    def test_of_an_avi(self, tmp_path, width, height):
        path = tmp_path / "a.avi"
        # Without a codec, nothing but the container says how large the pictures are.
        with av.open(str(path), "w") as container:
            stream = container.add_stream("rawvideo", rate=10)
            stream.width, stream.height, stream.pix_fmt = 40, 32, "yuv420p"
            for frame in smooth():
                picture = av.VideoFrame.from_ndarray(frame, format="rgb24")
                container.mux(stream.encode(picture.reformat(format="yuv420p")))
            container.mux(stream.encode())
        assert len(open_pictures(path)) == 6
        whole = bytearray(path.read_bytes())
        # The header of a bitmap: its own size in bytes, then width and height.
        place = whole.index(b"strf") + 12
        assert struct.unpack_from("<ii", whole, place) == (40, 32)
        struct.pack_into("<ii", whole, place, width, height)
        path.write_bytes(whole)
        with pytest.raises(rf.FormatError, match=r"a\.avi (says it is|does not say)"):
            open_pictures(path)


class TestWhatFFmpegMayOpen:
    def test_a_container_that_nobody_asked_for(self, tmp_path):
        """FFmpeg looks at what a file holds: here a list of other files."""
        (tmp_path / "a.mp4").write_text("ffconcat version 1.0\nfile /etc/passwd\n")
        with pytest.raises(rf.FormatError, match=r"a\.mp4 cannot be read as a video"):
            open_pictures(tmp_path / "a.mp4")

    @pytest.mark.parametrize("text", ["#EXTM3U\n#EXTINF:1,\nhttp://127.0.0.1:9/a.ts\n"])
    def test_nothing_is_fetched(self, tmp_path, text):
        (tmp_path / "a.mp4").write_text(text)
        with pytest.raises(rf.FormatError, match=r"a\.mp4 cannot be read as a video"):
            open_pictures(tmp_path / "a.mp4")

    def test_a_codec_that_nobody_asked_for(self, tmp_path):
        import av

        with av.open(str(tmp_path / "a.avi"), "w") as container:
            stream = container.add_stream("cinepak", rate=10)
            stream.height = 32
            stream.width = 32
            stream.pix_fmt = "rgb24"
            frame = av.VideoFrame.from_ndarray(smooth(1, (32, 32))[0], format="rgb24")
            for packet in [*stream.encode(frame), *stream.encode()]:
                container.mux(packet)
        with pytest.raises(rf.FormatError, match="has the codec cinepak, which is not among"):
            open_pictures(tmp_path / "a.avi")

    def test_a_name_that_ffmpeg_would_take_for_something_else(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        frames = smooth(4)
        like = replace_path(open_pictures(np_file(tmp_path, frames)), "x.mp4")
        path = write_pictures(tmp_path / "clip", like.names, frames.astype(float), like, "video")
        path.rename("concat:clip.mp4")
        assert len(open_pictures("concat:clip.mp4")) == 4
