"""Pictures of a video, decoded in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.errors import FormatError, InputError
from rankfold.io.source import Array, Picture, Source, as_type, reading, refuse_options, unit_of

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

# Pictures a second, where a file does not say.
USUAL_RATE = 25
# Bits that a written video spends: so many a pixel, but never less than so many a second.
BITS_A_PIXEL = 12
LEAST_BITS_A_SECOND = 2_000_000

# Stand for "to the end"; itertools.islice takes no more than NO_LIMIT on every platform.
NO_END = 2**62
NO_LIMIT = 2**40


def open_video(path: str, frames: str | None = None, stride: int = 1, **options: object) -> Source:
    """Open a video: ``frames`` as in "100:300" (the last excluded), every ``stride``-th of them."""
    refuse_options("a video", options)
    first, last = _range(frames)
    if stride < 1:
        raise InputError(f"stride {stride} must be at least 1")
    rate, is_grey, total = _look(path, last)
    chosen = range(first, min(total, last), stride)
    if not chosen:
        raise InputError(
            f"frames {frames} selects nothing of {path}, "
            f"which has {total} frames (0 to {total - 1})"
        )
    pixels = "gray" if is_grey else "rgb24"

    def choose(indices: Sequence[int]) -> Iterator[Picture | FormatError]:
        import av

        # A frame builds on those before it, so all up to the last are decoded.
        wanted = {chosen[k] for k in indices}
        with av.open(path) as container:
            for k, frame in enumerate(islice(container.decode(video=0), max(wanted) + 1)):
                if k in wanted:
                    yield Picture(frame.to_ndarray(format=pixels))

    # One picture is decoded for its shape.
    first_picture = next(choose([0]))
    assert isinstance(first_picture, Picture)
    count = len(chosen)
    return Source(
        path=path,
        format="video",
        names=tuple(f"{Path(path).stem}-{k:05d}" for k in chosen),
        shapes=(first_picture.values.shape,) * count,
        dtypes=(np.dtype(np.uint8),) * count,
        iterate=lambda: choose(range(count)),
        rate=rate / stride,
        choose=choose,
    )


def _look(path: str, last: int) -> tuple[float, bool, int]:
    """Return the pictures a second, whether they are grey, and how many there are up to ``last``.

    They are counted by decoding them once, because headers are often wrong. So a damaged
    picture is found here, before anything is computed.
    """
    import av

    with (
        reading(path, "read as a video", "convert it to mp4 and try again"),
        av.open(path) as container,
    ):
        if not container.streams.video:
            raise FormatError(f"{path} has no video track; give a file with pictures")
        stream = container.streams.video[0]
        rate = float(stream.average_rate or USUAL_RATE)
        is_grey = str(stream.codec_context.pix_fmt or "").startswith("gray")
        count = 0
        try:
            for _ in islice(container.decode(video=0), min(last, NO_LIMIT)):
                count += 1
        except av.FFmpegError as error:
            raise FormatError(
                f"{path} is damaged after frame {count - 1} ({error}); use frames 0:{count}"
            ) from error
        return rate, is_grey, count


def _range(text: str | None) -> tuple[int, int]:
    """Read "100:300" as (100, 300); either end may be left out."""
    if text is None:
        return 0, NO_END
    start, _, end = text.partition(":")
    try:
        first = int(start or 0)
        last = int(end or NO_END)
    except ValueError as error:
        raise InputError(f"frames {text} is not a range; write it as 100:300") from error
    # Also refuses a negative number, which int() takes.
    if not 0 <= first < last:
        raise InputError(f"frames {text} is not a range; the first must be below the last")
    return first, last


def write_video(
    path: Path, names: tuple[str, ...], pictures: Iterable[Array], like: Source
) -> Path:
    """Write pictures (h, w[, c]) to a container like the one they came in."""
    import av

    ending = Path(like.path).suffix.lower()
    # Many colours do not fit into a GIF, so it comes back as mp4.
    if ending not in ENDINGS or ending == ".gif":
        ending = ".mp4"
    path = path.with_name(path.name + ending)
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
