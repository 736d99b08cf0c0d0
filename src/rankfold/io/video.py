"""Pictures of a video, decoded in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import FormatError
from rankfold.io.budgets import MAX_PICTURES, check_count, check_density, check_total
from rankfold.io.containers import is_cut_off
from rankfold.io.ffmpeg import opened
from rankfold.io.file_names import unused
from rankfold.io.guard import reading
from rankfold.io.ranges import chosen_of, range_of
from rankfold.io.source import Array, Picture, Source, as_type, refuse_options, unit_of

ENDINGS = (".mp4", ".avi", ".mov", ".mkv", ".webm", ".m4v", ".mpg", ".mpeg", ".wmv", ".gif")

# The encoder for each container; all others get H.264.
CODECS = {
    ".webm": "libvpx-vp9",
    ".avi": "mpeg4",
    ".mpg": "mpeg2video",
    ".mpeg": "mpeg2video",
    ".wmv": "wmv2",
}
OTHER_CODEC = "libx264"

REMEDY = "convert it to mp4 and try again"

# Pictures a second, where a file does not say.
USUAL_RATE = 25
# Bits that a written video spends: so many a pixel, but never less than so many a second.
BITS_A_PIXEL = 12
LEAST_BITS_A_SECOND = 2_000_000

# A video is cut off where both this share of its length and so many pictures are missing: sound
# may last a little longer.
MISSING_SHARE = 0.1
MISSING = 3
# What a GIF ends with, behind the last block; some programs fill the file up with zeros behind it.
GIF_TRAILER = b"\0;"
# Unit: bytes.
END = 4096
# In which FFmpeg counts the length of a file.
MICROSECONDS = 1_000_000


def open_video(path: str, frames: str | None = None, stride: int = 1, **options: object) -> Source:
    """Open a video: ``frames`` as in "100:300" (the last excluded), every ``stride``-th of them."""
    refuse_options("a video", options)
    _, last = range_of(frames)
    look = _look(path, min(last, MAX_PICTURES + 1))
    chosen = chosen_of(path, look.count, frames, stride)
    shape = look.size if look.is_grey else (*look.size, 3)

    def choose(indices: Sequence[int]) -> Iterator[Picture | FormatError]:
        # A frame builds on those before it, so all up to the last are decoded.
        wanted = {chosen[k] for k in indices}
        with reading(path, "read as a video", REMEDY), opened(path) as container:
            for k, frame in enumerate(islice(container.decode(video=0), max(wanted) + 1)):
                if k in wanted:
                    wanted.discard(k)
                    yield _picture(frame, look).as_said(path, shape, np.dtype(np.uint8))
            if wanted:
                raise FormatError(f"{path} has fewer frames than when it was opened; open it again")

    count = len(chosen)
    return Source(
        path=path,
        format="video",
        names=tuple(f"{Path(path).stem}-{k:05d}" for k in chosen),
        shapes=(shape,) * count,
        dtypes=(np.dtype(np.uint8),) * count,
        iterate=lambda: choose(range(count)),
        rate=look.rate / stride,
        choose=choose,
    )


@dataclass(frozen=True)
class _Look:
    """What decoding a video once has shown.

    Attributes
    ----------
    size : (height, width)
    is_grey : bool
    has_alpha : bool
    rate : float
        Pictures a second.
    count : int
        How many there are, up to the last that was asked for.
    """

    size: tuple[int, int]
    is_grey: bool
    has_alpha: bool
    rate: float
    count: int


def _picture(frame: Any, look: _Look) -> Picture:
    """Turn a frame into grey or RGB, and a mask where it is transparent."""
    if look.is_grey:
        return Picture(frame.to_ndarray(format="gray"))
    if not look.has_alpha:
        return Picture(frame.to_ndarray(format="rgb24"))
    return Picture.with_alpha(frame.to_ndarray(format="rgba"))


def _shows_anything(frame: Any) -> bool:
    """Whether a frame has transparency, and anything in it is not transparent.

    Some codecs have a fourth sample that nobody uses and that is zero everywhere.
    """
    if not any(one.is_alpha for one in frame.format.components):
        return False
    return bool(frame.to_ndarray(format="rgba")[..., 3].any())


def _look(path: str, last: int) -> _Look:
    """Decode a video once, up to picture ``last``.

    Headers are often wrong about the number of pictures. And a damaged one is found here, before
    anything is computed.
    """
    import av

    with reading(path, "read as a video", REMEDY), opened(path) as container:
        stream = container.streams.video[0]
        size_of_file = Path(path).stat().st_size
        is_grey = str(stream.codec_context.pix_fmt or "").startswith("gray")
        size: tuple[int, int] | None = None
        has_alpha = False
        count = 0
        end: float | None = None
        try:
            for frame in islice(container.decode(video=0), last):
                size = size or (frame.height, frame.width)
                has_alpha = has_alpha or _shows_anything(frame)
                pixels = frame.height * frame.width
                check_density(path, size_of_file, pixels)
                check_total(path, size_of_file, pixels * (count + 1))
                if (frame.height, frame.width) != size:
                    raise FormatError(
                        f"frame {count} of {path} has another size than those before it; use "
                        f"frames 0:{count}"
                    )
                count += 1
                end = frame.time
        except av.FFmpegError as error:
            raise _damaged(path, count, str(error)) from error
        if size is None:
            raise FormatError(f"{path} has no picture that can be decoded; {REMEDY}")
        check_count(path, count)
        rate = float(stream.average_rate or USUAL_RATE)
        # What was not decoded to its end cannot be compared with what the container says.
        missing = _missing(path, container, count, end, rate) if count < last else ""
        if missing:
            raise _damaged(path, count, missing)
        return _Look(size, is_grey, has_alpha, rate, count)


def _missing(path: str, container: Any, count: int, end: float | None, rate: float) -> str:
    """What lacks of a video that was decoded to its end, if its container knows; else nothing."""
    stream = container.streams.video[0]
    said = _length(container, stream)
    if end is not None and said - end > max(MISSING_SHARE * said, MISSING / rate):
        return f"it ends at {end:.2f} s of {said:.2f} s"
    # Zero where it does not say.
    if stream.frames - count > max(MISSING_SHARE * stream.frames, MISSING):
        return f"it has {count} of {stream.frames} frames"
    kind = container.format.name
    if is_cut_off(path, kind):
        return "the file is shorter than its container says"
    if kind == "asf" and container.duration is None:
        return "the index at its end is missing"
    if kind == "gif" and not _end_of(path).rstrip(b"\0").endswith(GIF_TRAILER):
        return "its end is missing"
    return ""


def _end_of(path: str) -> bytes:
    """The last bytes of a file."""
    with Path(path).open("rb") as file:
        file.seek(-min(Path(path).stat().st_size, END), 2)
        return file.read()


def _length(container: Any, stream: Any) -> float:
    """How many seconds the header says that the pictures last; 0 where it does not say."""
    if stream.duration is not None and stream.time_base is not None:
        return float((stream.duration + (stream.start_time or 0)) * stream.time_base)
    return float(container.duration or 0) / MICROSECONDS


def _damaged(path: str, count: int, why: str) -> FormatError:
    """Say how far a video is good."""
    if not count:
        return FormatError(f"{path} is damaged from its first frame on ({why}); {REMEDY}")
    return FormatError(f"{path} is damaged after frame {count - 1} ({why}); use frames 0:{count}")


def write_video(
    path: Path, names: tuple[str, ...], pictures: Iterable[Array], like: Source
) -> Path:
    """Write pictures (h, w[, c]) to a container like the one they came in."""
    import av

    ending = Path(like.path).suffix.lower()
    # Many colours do not fit into a GIF, so it comes back as mp4.
    if ending not in ENDINGS or ending == ".gif":
        ending = ".mp4"
    path = unused(path.with_name(path.name + ending))
    # Containers store the rate as a fraction; 1001 allows for 30000/1001.
    rate = Fraction(like.rate or USUAL_RATE).limit_denominator(1001)
    with av.open(str(path), "w") as container:
        stream: Any = None
        for _, values in zip(names, pictures, strict=True):
            frame = _eight_bits(values, like.dtype)
            # The size of the stream is that of the first picture.
            if stream is None:
                codec = CODECS.get(ending, OTHER_CODEC)
                stream = container.add_stream(codec, rate=rate)
                _set_up(stream, frame, rate)
            for packet in stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")):
                container.mux(packet)
        # Without a frame, the encoder gives out what it still holds back.
        for packet in stream.encode():
            container.mux(packet)
    return path


def _set_up(stream: Any, frame: Array, rate: Fraction) -> None:
    """Set size and quality of a stream for frames like this (h, w, 3)."""
    height, width = frame.shape[:2]
    stream.height = height
    stream.width = width
    stream.pix_fmt = "yuv420p"
    bits_a_second = int(BITS_A_PIXEL * height * width * float(rate))
    stream.bit_rate = max(LEAST_BITS_A_SECOND, bits_a_second)


def _eight_bits(values: Array, dtype: npt.DTypeLike) -> Array:
    """Turn (h, w[, c]) in units of ``dtype`` into uint8 (h, w, 3) with even height and width."""
    picture = as_type(values * (255 / unit_of(dtype)), np.uint8)
    if picture.ndim == 3 and picture.shape[2] >= 3:
        colours = picture[..., :3]
    else:
        # Grey and two channels are shown as the grey of the first.
        grey = np.atleast_3d(picture)[..., :1]
        colours = np.dstack([grey] * 3)
    # The codecs insist on even sides.
    height, width = colours.shape[:2]
    return np.pad(colours, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
