"""The readers of clips with labelled frames: frames and labels belong together."""

import numpy as np
import pytest
from scipy.io import savemat

import rankfold as rf
from rankfold.io import write_picture
from rankfold_lab.readers import cdnet_folders, decolor_files, read_cdnet, read_decolor
from real_data import DATA, needs

RNG = np.random.default_rng(0)


class TestCdnet:
    def fill(self, folder, numbers=(470, 471, 472), labelled=(471,), codes=None):
        for part in ("input", "groundtruth"):
            (folder / part).mkdir(parents=True)
        for number in numbers:
            picture = 255 * RNG.random((4, 6, 3))
            write_picture(folder / "input" / f"in{number:06d}.jpg", picture)
        for number in labelled:
            truth = np.zeros((4, 6), np.uint8) if codes is None else codes
            write_picture(folder / "groundtruth" / f"gt{number:06d}.png", truth)
        return folder

    def test_labels_belong_to_the_frame_of_the_same_number(self, tmp_path):
        codes = np.zeros((4, 6), np.uint8)
        codes[0] = [0, 50, 85, 170, 255, 255]
        clip = read_cdnet(self.fill(tmp_path / "cdnet_road", codes=codes))
        assert clip.name == "road"
        assert len(clip.frames) == 3
        assert clip.labelled == (1,)
        labels = clip.labels(1)
        assert labels.moving[0].tolist() == [False] * 4 + [True] * 2
        assert labels.counted[0].tolist() == [True, True, False, False, True, True]
        assert labels.counted[1:].all()

    def test_grey_may_be_stored_in_colour(self, tmp_path):
        codes = np.zeros((4, 6, 3), np.uint8)
        codes[2, 3] = 255
        clip = read_cdnet(self.fill(tmp_path / "cdnet_road", codes=codes))
        assert np.argwhere(clip.labels(1).moving).tolist() == [[2, 3]]

    def test_every_clip_is_found(self, tmp_path):
        self.fill(tmp_path / "cdnet_road")
        self.fill(tmp_path / "cdnet_harbour")
        (tmp_path / "other").mkdir()
        assert [folder.name for folder in cdnet_folders(tmp_path)] == [
            "cdnet_harbour",
            "cdnet_road",
        ]

    def test_what_is_wrong_is_said(self, tmp_path):
        (tmp_path / "cdnet_a" / "input").mkdir(parents=True)
        with pytest.raises(rf.FormatError, match="lacks the folder groundtruth"):
            read_cdnet(tmp_path / "cdnet_a")
        with pytest.raises(rf.FormatError, match="has the number of one in input"):
            read_cdnet(self.fill(tmp_path / "cdnet_b", labelled=(999,)))
        strange = self.fill(tmp_path / "cdnet_c", codes=np.full((4, 6), 7, np.uint8))
        with pytest.raises(rf.FormatError, match="has the code 7; there are 0, 50, 85"):
            read_cdnet(strange).labels(1)
        small = self.fill(tmp_path / "cdnet_d", codes=np.zeros((4, 5), np.uint8))
        with pytest.raises(rf.FormatError, match=r"is \(4, 5\), but its frame is \(4, 6\)"):
            read_cdnet(small).labels(1)
        unnumbered = self.fill(tmp_path / "cdnet_e")
        write_picture(unnumbered / "input" / "still.png", np.zeros((4, 6)))
        with pytest.raises(rf.FormatError, match="has no number at the end"):
            read_cdnet(unnumbered)


class TestDecolor:
    frames = RNG.integers(0, 256, (4, 6, 5), np.uint8)

    def write(self, folder, masks, numbers):
        folder.mkdir(parents=True, exist_ok=True)
        content = {"ImData": self.frames, "Mask": masks, "ID": np.array([numbers])}
        savemat(folder / "cars.mat", content)
        return folder / "cars.mat"

    def test_frames_are_counted_from_one_and_half_a_pixel_is_enough(self, tmp_path):
        masks = np.zeros((4, 6, 2), np.uint8)
        masks[0, :3, 1] = [127, 128, 255]
        clip = read_decolor(self.write(tmp_path / "decolor", masks, [1, 5]))
        assert clip.name == "cars"
        assert clip.labelled == (0, 4)
        pictures = [one.values for one in clip.frames.pictures()]
        np.testing.assert_array_equal(pictures[4], self.frames[..., 4])
        assert clip.labels(4).moving[0].tolist() == [False, True, True, False, False, False]
        assert not clip.labels(0).moving.any()
        assert clip.labels(0).counted.all()

    def test_a_single_mask_of_zeros_and_ones(self, tmp_path):
        mask = np.zeros((4, 6), np.uint8)
        mask[1, 1] = 1
        clip = read_decolor(self.write(tmp_path / "decolor", mask, [2]))
        assert clip.labelled == (1,)
        assert clip.labels(1).moving.sum() == 1

    def test_every_clip_is_found(self, tmp_path):
        path = self.write(tmp_path / "decolor", np.zeros((4, 6, 1), np.uint8), [2])
        assert decolor_files(tmp_path) == [path]

    def test_what_is_wrong_is_said(self, tmp_path):
        two = np.zeros((4, 6, 2), np.uint8)
        with pytest.raises(rf.FormatError, match=r"2 masks of the frames \[1, 6\], but 5 frames"):
            read_decolor(self.write(tmp_path, two, [1, 6]))
        with pytest.raises(rf.FormatError, match=r"Mask of shape \(4, 5, 2\)"):
            read_decolor(self.write(tmp_path, two[:, :5], [1, 2]))
        savemat(tmp_path / "cars.mat", {"ImData": self.frames})
        with pytest.raises(rf.FormatError, match="lacks Mask"):
            read_decolor(tmp_path / "cars.mat")


@needs("cdnet_highway", "decolor")
def test_the_real_clips_are_read():
    road = read_cdnet(DATA / "cdnet_highway")
    assert len(road.frames) == len(road.labelled) == 200
    assert 0.5 < road.labels(100).counted.mean() <= 1
    cars = {path.stem: path for path in decolor_files(DATA)}
    assert read_decolor(cars["cars6"]).labelled == (0, 9, 19, 29)
