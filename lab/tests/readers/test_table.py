"""The READERS table, and the real sets where they are."""

from rankfold_lab.readers import (
    READERS,
    read_ar,
    read_lfw,
    read_oxford,
    read_usps,
    read_yale_subject,
)
from real_data import DATA, needs


def test_every_row_says_what_it_is_and_has_a_reader():
    for name, reader in READERS.items():
        assert reader.folder == name
        assert reader.summary
        assert reader.read.__doc__


@needs("ar", "usps", "lfw", "oxford_affine", "extended_yale_b")
def test_the_real_sets_are_read():
    assert read_ar(DATA, 1).images.shape == (13, 60, 40)
    assert read_usps(DATA, 4).shape[1:] == (16, 16)
    assert read_lfw(DATA, "Laura_Bush").landmarks.shape == (41, 5, 2)
    assert read_oxford(DATA, "graf").homographies.shape == (6, 3, 3)
    assert len(read_yale_subject(DATA, 1).images) == 64
