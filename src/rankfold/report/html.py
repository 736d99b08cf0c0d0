"""What pages of HTML share: the template, the look, and pictures as text inside the page."""

from __future__ import annotations

import base64
import io
from importlib import resources
from typing import Any

import numpy as np

from rankfold.neutral import plain
from rankfold.report.pictures import Bytes

# Quality and effort of the compressor (WebP).
QUALITY = 86
EFFORT = 4


def template(name: str) -> Any:
    """A page without its content; raises an ImportError without jinja2."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    return environment.from_string(_file(name))


def _shown(value: Any) -> Any:
    """What a page shows of a value: of text from outside, nothing that a browser would obey."""
    # What is marked as markup is our own, and of a class of its own.
    return plain(value, keep="\n") if type(value) is str else value


def look() -> str:
    """Colours and type that all pages have in common, as CSS."""
    return _file("look.css")


def _file(name: str) -> str:
    """The text of a file of this room."""
    return resources.files("rankfold.report").joinpath(name).read_text("utf-8")


def fitted(picture: Bytes, side: int, grow: bool = False) -> Bytes:
    """A picture (h, w, 3) at most ``side`` px long; ``grow`` repeats the pixels of small ones."""
    from PIL import Image

    h, w = picture.shape[:2]
    factor = side / max(h, w)
    if factor < 1:
        # Pillow says width first.
        size = (max(round(w * factor), 1), max(round(h * factor), 1))
        filter_ = Image.Resampling.BOX if factor < 0.5 else Image.Resampling.BILINEAR
        return np.asarray(Image.fromarray(picture).resize(size, filter_))
    whole = int(factor)
    if grow and whole > 1:
        return np.asarray(picture.repeat(whole, axis=0).repeat(whole, axis=1))
    return picture


def as_uri(picture: Bytes) -> str:
    """A picture (h, w, 3) as a data URI."""
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(picture).save(out, "WEBP", quality=QUALITY, method=EFFORT)
    return "data:image/webp;base64," + base64.b64encode(out.getvalue()).decode()
