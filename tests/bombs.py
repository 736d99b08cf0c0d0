"""Small files that say they are large, or go on for ever: written byte by byte."""

import struct
import zipfile
import zlib

import numpy as np


def png(path, width, height, data=b"", bits=8, kind=0, before=()):
    """A PNG with any header and any pixels."""
    head = struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, 0)
    chunks = [(b"IHDR", head), *before, (b"IDAT", data), (b"IEND", b"")]
    written = b"\x89PNG\r\n\x1a\n"
    for name, body in chunks:
        written += struct.pack(">I", len(body)) + name + body
        written += struct.pack(">I", zlib.crc32(name + body))
    path.write_bytes(written)
    return path


def tiff(path, pages, following=None):
    """A classic TIFF: each page a dict of tags {number: (type, count, value)}.

    ``following`` says for each page where the next one is, if not behind it; 0 ends the chain.
    """
    written = b"II*\0" + struct.pack("<I", 8)
    for k, tags in enumerate(pages):
        written += struct.pack("<H", len(tags))
        for number, (kind, count, value) in sorted(tags.items()):
            written += struct.pack("<HHII", number, kind, count, value)
        behind = len(written) + 4 if k < len(pages) - 1 else 0
        written += struct.pack("<I", behind if following is None else following[k])
    path.write_bytes(written)
    return path


def page(width, height, **others):
    """The tags of a grey page of eight bits."""
    tags = {
        256: (4, 1, width),
        257: (4, 1, height),
        258: (3, 1, 8),
        259: (3, 1, 1),
        262: (3, 1, 1),
        273: (4, 1, 8),
        277: (3, 1, 1),
        278: (4, 1, height),
        279: (4, 1, 1),
    }
    return {**tags, **{int(number.removeprefix("t")): tag for number, tag in others.items()}}


def npy_header(shape, descr="|u1", fortran=False):
    """What stands before the values of an array."""
    text = repr({"descr": descr, "fortran_order": fortran, "shape": shape})
    text = text.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def npz(path, members):
    """An archive of members with any bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in members.items():
            archive.writestr(name, body)
    return path


def npz_of_zeros(path, size):
    """An archive of ``size`` zeros, which is a thousand times smaller."""
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("a.npy", "w", force_zip64=True) as file,
    ):
        file.write(npy_header((size // 2**20, 1024, 1024)))
        for _ in range(size // 2**20):
            file.write(np.zeros(2**20, np.uint8).data)
    return path
