"""Frames of a video, decoded in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from rankfold.errors import FormatError, InputError
from rankfold.io.source import Array, Picture, Source, as_type, reading, refuse_options

ENDINGS = (".mp4", ".avi", ".mov", ".mkv", ".webm", ".m4v", ".mpg", ".mpeg", ".wmv", ".gif")
CODECS = {
    ".webm": "libvpx-vp9",
    ".avi": "mpeg4",
    ".mpg": "mpeg2video",
    ".mpeg": "mpeg2video",
    ".wmv": "wmv2",
}


def open_video(path: str, frames: str | None = None, stride: int = 1, **options: object) -> Source:
    """Frames of a video: ``frames`` as "100:300" (the last excluded), every ``stride``-th of them."""
    refuse_options("a video", options)
    first, last = _range(frames)
    if stride < 1:
        raise InputError(f"--stride {stride} must be at least 1")
    rate, grey, total = _look(path, last)
    chosen = range(first, min(total, last), stride)
    if not chosen:
        raise InputError(
            f"--frames {frames} selects nothing of {path}, which has {total} frames (0 to {total - 1})"
        )

    def decode() -> Iterator[Picture | FormatError]:
        import av

        with av.open(path) as container:
            for frame in islice(container.decode(video=0), first, chosen[-1] + 1, stride):
                yield Picture(frame.to_ndarray(format="gray" if grey else "rgb24"))

    first_frame = next(decode())
    assert isinstance(first_frame, Picture)
    shape = first_frame.values.shape
    names = tuple(f"{Path(path).stem}-{k:05d}" for k in chosen)
    return Source(
        path,
        "video",
        names,
        (shape,) * len(names),
        (np.dtype(np.uint8),) * len(names),
        decode,
        rate=rate / stride,
    )


def _look(path: str, last: int) -> tuple[float, bool, int]:
    """Frames a second, whether it is grey, and how many frames there are up to ``last``, by count: headers lie.

    Every frame up to ``last`` is decoded once, so a damaged one is found here, before anything is computed.
    """
    import av

    with (
        reading(path, "read as a video", "convert it to mp4 and try again"),
        av.open(path) as container,
    ):
        if not container.streams.video:
            raise FormatError(f"{path} has no video track; give a file with pictures")
        stream = container.streams.video[0]
        rate = float(stream.average_rate or 25)
        grey = str(stream.codec_context.pix_fmt or "").startswith("gray")
        count = 0
        try:
            for _ in islice(container.decode(video=0), min(last, 2**40)):
                count += 1
        except av.FFmpegError as error:
            raise FormatError(
                f"{path} is damaged after frame {count - 1} ({error}); use --frames 0:{count}"
            ) from error
        return rate, grey, count


def _range(text: str | None) -> tuple[int, int]:
    """100:300 -> (100, 300); either end may be left out."""
    if text is None:
        return 0, 2**62
    try:
        first, _, last = text.partition(":")
        span = int(first or 0), int(last or 2**62)
    except ValueError as error:
        raise InputError(f"--frames {text} is not a range; write it as 100:300") from error
    if not 0 <= span[0] < span[1]:
        raise InputError(f"--frames {text} is not a range; the first must be below the last")
    return span


def write_video(
    path: Path, names: tuple[str, ...], pictures: Iterable[Array], like: Source
) -> Path:
    """The frames in the container they came in."""
    import av

    ending = Path(like.path).suffix.lower()
    ending = ending if ending in ENDINGS and ending != ".gif" else ".mp4"
    path = path.with_name(path.name + ending)
    rate = Fraction(like.rate or 25).limit_denominator(1001)
    with av.open(str(path), "w") as container:
        stream: Any = None
        for _, values in zip(names, pictures, strict=True):
            frame = _eight_bits(values, like.dtype)
            if stream is None:
                stream = container.add_stream(CODECS.get(ending, "libx264"), rate=rate)
                stream.height, stream.width = frame.shape[:2]
                stream.pix_fmt = "yuv420p"
                stream.bit_rate = max(
                    2_000_000, int(12 * frame.shape[0] * frame.shape[1] * float(rate))
                )
            for packet in stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    return path


def _eight_bits(values: Array, dtype: Any) -> Array:
    """(h, w, 3) bytes with an even height and width, which the codecs insist on."""
    kind = np.dtype(dtype)
    top = float(np.iinfo(kind).max) if np.issubdtype(kind, np.integer) else 1.0
    picture = as_type(values * (255 / top), np.uint8)
    picture = (
        picture[..., :3]
        if picture.ndim == 3 and picture.shape[2] >= 3
        else np.dstack([np.atleast_3d(picture)[..., :1]] * 3)
    )
    return np.pad(
        picture, ((0, picture.shape[0] % 2), (0, picture.shape[1] % 2), (0, 0)), mode="edge"
    )
