"""Files opened with FFmpeg: nothing but files, and only containers and codecs that are named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rankfold.errors import FormatError
from rankfold.io.budgets import MAX_PIXELS, check_picture

# FFmpeg has hundreds of demuxers and decoders, many of them for the games of the nineties and few
# of them looked after. These are the ones that people have, and that many programs rely on.
CONTAINERS = ("mov", "matroska", "avi", "mpeg", "mpegvideo", "mpegts", "asf", "gif")
PICTURES = ("png_pipe", "ppm_pipe")
CODECS = frozenset(
    {
        "av1",
        "dnxhd",
        "dvvideo",
        "ffv1",
        "gif",
        "h263",
        "h264",
        "hevc",
        "huffyuv",
        "libdav1d",
        "libvpx",
        "libvpx-vp9",
        "mjpeg",
        "mpeg1video",
        "mpeg2video",
        "mpeg4",
        "mpegvideo",
        "msmpeg4",
        "msmpeg4v1",
        "msmpeg4v2",
        "msmpeg4v3",
        "png",
        "ppm",
        "prores",
        "rawvideo",
        "theora",
        "utvideo",
        "vc1",
        "vp8",
        "vp9",
        "wmv1",
        "wmv2",
        "wmv3",
    }
)


@contextmanager
def opened(
    path: str | Path, formats: Iterable[str] = CONTAINERS, values: int = 3, itemsize: int = 1
) -> Iterator[Any]:
    """Open the first picture track of a file.

    Parameters
    ----------
    path : str or Path
    formats : strings
        FFmpeg's names of the containers that may be opened.
    values, itemsize : int
        What a pixel will be decoded to.

    Yields
    ------
    av.container.InputContainer
        Its first video track can be decoded.
    """
    import av

    options = {"protocol_whitelist": "file", "format_whitelist": ",".join(formats)}
    # The prefix keeps FFmpeg from taking a name like "concat:a.mp4" for something else.
    with av.open(f"file:{path}", container_options=options) as container:
        if not container.streams.video:
            raise FormatError(f"{path} has no video track; give a file with pictures")
        codec: Any = container.streams.video[0].codec_context
        if codec is None or codec.name not in CODECS:
            name = "that is not known" if codec is None else codec.name
            raise FormatError(
                f"{path} has the codec {name}, which is not among those that are read "
                f"({', '.join(sorted(CODECS))}); convert it to mp4"
            )
        if not codec.height or not codec.width:
            # FFmpeg forgets a size that it takes for impossible.
            raise FormatError(
                f"{path} does not say how large its pictures are, or says what cannot be; "
                "convert it to mp4"
            )
        check_picture(path, codec.height, codec.width, values, itemsize)
        # A picture in the stream may be larger than the header said.
        codec.options = {"max_pixels": str(MAX_PIXELS)}
        yield container
