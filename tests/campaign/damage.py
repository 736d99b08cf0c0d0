"""Ways to damage bytes, each by a seed: what disks, cables, programs and attackers do to files."""

import numpy as np

# Numbers at the edges of what headers can hold.
EDGES = (0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
# Unit: bytes. Headers are damaged more often than what follows them.
HEADER = 600


def damaged(rng, whole, others=()):
    """Return the bytes of a file damaged in one to three ways."""
    data = bytearray(whole)
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        way = WAYS[int(rng.integers(len(WAYS)))]
        data = way(rng, data, others) if data else data
    return bytes(data)


def _place(rng, data):
    """Somewhere in the file, half of the time in its header."""
    end = min(len(data), HEADER) if rng.random() < 0.5 else len(data)
    return int(rng.integers(max(end, 1)))


def _flip_bits(rng, data, others):
    for _ in range(int(rng.integers(1, 9))):
        data[_place(rng, data)] ^= 1 << int(rng.integers(8))
    return data


def _other_bytes(rng, data, others):
    for _ in range(int(rng.integers(1, 9))):
        data[_place(rng, data)] = int(rng.integers(256))
    return data


def _cut(rng, data, others):
    return data[: int(rng.integers(len(data)))]


def _edge(rng, data, others):
    size = int(rng.choice([1, 2, 4, 8]))
    value = EDGES[int(rng.integers(len(EDGES)))] & (256**size - 1)
    at = _place(rng, data)
    data[at : at + size] = value.to_bytes(size, str(rng.choice(["little", "big"])))
    return data


def _without_a_piece(rng, data, others):
    at = _place(rng, data)
    del data[at : at + int(rng.integers(1, 200))]
    return data


def _twice_a_piece(rng, data, others):
    at = _place(rng, data)
    data[at:at] = data[at : at + int(rng.integers(1, 200))]
    return data


def _zeros(rng, data, others):
    at = _place(rng, data)
    size = min(int(rng.integers(1, 400)), len(data) - at)
    data[at : at + size] = bytes(size)
    return data


def _noise(rng, data, others):
    at = _place(rng, data)
    size = int(rng.integers(1, 400))
    data[at : at + size] = rng.bytes(size)
    return data


def _digits(rng, data, others):
    """Change numbers that are written as text, as in JSON and XML."""
    places = np.flatnonzero((np.frombuffer(bytes(data), np.uint8) - 48) < 10)
    for _ in range(int(rng.integers(1, 5))):
        if len(places):
            data[int(rng.choice(places))] = int(rng.choice(list(b'0123456789-.eE,"')))
    return data


def _more_digits(rng, data, others):
    places = np.flatnonzero((np.frombuffer(bytes(data), np.uint8) - 48) < 10)
    if len(places):
        at = int(rng.choice(places))
        data[at:at] = b"9" * int(rng.integers(1, 20))
    return data


def _spliced(rng, data, others):
    if not others:
        return data
    other = others[int(rng.integers(len(others)))]
    at = int(rng.integers(len(data)))
    return data[:at] + bytearray(other[int(rng.integers(len(other))) :])


def _longer(rng, data, others):
    return data + rng.bytes(int(rng.integers(1, 2000)))


WAYS = (
    _flip_bits,
    _flip_bits,
    _other_bytes,
    _other_bytes,
    _cut,
    _cut,
    _edge,
    _edge,
    _without_a_piece,
    _twice_a_piece,
    _zeros,
    _noise,
    _digits,
    _more_digits,
    _spliced,
    _longer,
)
