"""Folders and patterns: order, names, types, and files that are no pictures."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.io import open_pictures, write_picture, write_pictures
from rankfold.io.pictures import load_picture
from rankfold.io.source import natural
from unit.io.samples import noise


def fill(folder, names, shape=(8, 9)):
    folder.mkdir(exist_ok=True)
    pictures = [noise(shape) for _ in names]
    for name, values in zip(names, pictures, strict=True):
        write_picture(folder / name, values.astype(float))
    return pictures


def test_natural_order_names_and_pattern(tmp_path):
    names = [f"f{k}.png" for k in (1, 2, 10, 11)]
    pictures = fill(tmp_path / "in", sorted(names))
    source = open_pictures(tmp_path / "in")
    assert list(source.names) == names
    by_name = dict(zip(sorted(names), pictures, strict=True))
    for name, picture in zip(source.names, source.pictures(), strict=True):
        np.testing.assert_array_equal(picture.values, by_name[name])
    assert open_pictures(f"{tmp_path}/in/f1?.png").names == ("f10.png", "f11.png")
    assert natural("a2") < natural("a10") < natural("b1")


def test_back_into_a_folder_with_the_same_names(tmp_path):
    pictures = fill(tmp_path / "in", ["a.png", "b.bmp"])
    source = open_pictures(tmp_path / "in")
    out = write_pictures(
        tmp_path / "out", source.names, (p.astype(float) for p in pictures), source
    )
    assert sorted(p.name for p in out.iterdir()) == ["a.png", "b.bmp"]
    np.testing.assert_array_equal(load_picture(out / "b.bmp").values, pictures[1])


def test_every_picture_keeps_its_own_type(tmp_path):
    (tmp_path / "in").mkdir()
    eight, sixteen, real = noise((8, 9)), noise((8, 9), np.uint16), noise((8, 9), np.float32)
    for name, values in (("a.png", eight), ("b.png", sixteen), ("c.tif", real)):
        write_picture(tmp_path / "in" / name, values.astype(float), values.dtype)
    source = open_pictures(tmp_path / "in")
    pictures = [p.values.astype(float) for p in source.pictures()]
    out = write_pictures(tmp_path / "out", source.names, pictures, source)
    for name, values in (("a.png", eight), ("b.png", sixteen), ("c.tif", real)):
        back = load_picture(out / name).values
        assert back.dtype == values.dtype
        np.testing.assert_allclose(back, values, rtol=1e-6)
    one = write_pictures(tmp_path / "stack", source.names, pictures, source, "array")
    together = np.load(one)  # in one file all have the unit of floats
    np.testing.assert_allclose(together[0], eight / 255, rtol=1e-6)
    np.testing.assert_allclose(together[1], sixteen / 65535, rtol=1e-6)


def test_names_that_look_like_patterns_or_numbers(tmp_path):
    fill(tmp_path, ["a[1].png", "1²3.png", "img01.png", "img1.png"])
    assert open_pictures(tmp_path / "a[1].png").names == ("a[1].png",)
    names = open_pictures(tmp_path).names
    assert names.index("img01.png") < names.index("img1.png")


def test_same_names_in_two_folders_stay_apart(tmp_path):
    for folder in ("a", "b"):
        fill(tmp_path / folder, ["x.png"])
    source = open_pictures(f"{tmp_path}/?/x.png")
    out = write_pictures(
        tmp_path / "out", source.names, (p.values for p in source.pictures()), source
    )
    assert len(list(out.iterdir())) == 2


def test_an_empty_folder_says_what_would_help(tmp_path):
    with pytest.raises(rf.InputError, match=r"has no pictures; put some there \(png"):
        open_pictures(tmp_path)
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(rf.InputError, match="it has 1 other files"):
        open_pictures(tmp_path)


def test_what_does_not_exist(tmp_path):
    with pytest.raises(rf.InputError, match="does not exist"):
        open_pictures(tmp_path / "nowhere")
    with pytest.raises(rf.InputError, match="names no pictures"):
        open_pictures(f"{tmp_path}/*.png")


def test_other_files_are_left_out_and_named(tmp_path):
    fill(tmp_path, ["a.png", "b.png"])
    (tmp_path / "notes.txt").write_text("hello")
    assert open_pictures(tmp_path).left_out == ("notes.txt",)


@pytest.mark.parametrize("damage", ["text", "truncated"])
def test_a_bad_picture_is_named_and_left_out_only_when_asked(tmp_path, damage):
    fill(tmp_path, ["a.jpg", "b.jpg", "c.jpg"], (60, 60))
    bad = tmp_path / "b.jpg"
    bad.write_bytes(b"no picture" if damage == "text" else bad.read_bytes()[:-800])
    source = open_pictures(tmp_path)
    with pytest.raises(rf.FormatError, match=r"b\.jpg.*(replace|remove) it, or skip bad pictures"):
        list(source.pictures())
    good = source.without_bad()
    assert good.names == ("a.jpg", "c.jpg")
    assert good.left_out == ("b.jpg",)
    assert len(list(good.pictures())) == 2


def test_nothing_but_bad_pictures(tmp_path):
    (tmp_path / "a.png").write_text("no")
    with pytest.raises(rf.FormatError, match=r"a\.png is not a picture"):
        open_pictures(tmp_path)


def test_grey_among_colour_is_refused_with_both_names_and_can_be_made_grey(tmp_path):
    fill(tmp_path, ["a.png"])
    fill(tmp_path, ["b.png"], (8, 9, 3))
    source = open_pictures(tmp_path)
    with pytest.raises(rf.InputError, match=r"a\.png and b\.png.*read all of them in grey"):
        source.stack()
    assert source.in_grey().stack().channels == 1
