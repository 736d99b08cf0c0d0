"""Files and folders appear whole or not at all, and nothing that is not ours is ever replaced."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import rankfold as rf
from rankfold import runs, storage
from rankfold.storage import disk, marks, places


def made(target, text="old", overwrite=False):
    """Write a folder with one file."""
    with storage.whole_or_nothing(target, overwrite) as draft:
        (draft / "result.json").write_text(text)
    return target


def text_of(target):
    return (target / "result.json").read_text()


@pytest.fixture(params=["exchange", "two renames"])
def swapping(request, monkeypatch):
    """Both ways to put a folder in the place of another: in one step, and where there is none."""
    if request.param == "two renames":
        monkeypatch.setattr(places, "exchanged", lambda *_: False)
    return request.param


class TestReplacing:
    def test_the_new_one_is_there_and_nothing_else(self, tmp_path, swapping):
        target = made(tmp_path / "run")
        made(target, "new", overwrite=True)
        assert text_of(target) == "new"
        assert list(tmp_path.iterdir()) == [target]

    def test_the_system_can_exchange_folders_here(self, tmp_path):
        """Else the tests above would try one way twice."""
        one = made(tmp_path / "one", "1")
        two = made(tmp_path / "two", "2")
        if not disk.exchanged(one, two):
            pytest.skip("this file system cannot exchange two folders in one step")
        assert (text_of(one), text_of(two)) == ("2", "1")

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    @pytest.mark.parametrize("call", ["exchanged", "renamed", "removed"])
    def test_an_interruption_waits_until_it_is_done(
        self, tmp_path, swapping, number, call, monkeypatch
    ):
        """At every step of the swap, Ctrl-C used to be able to delete both folders."""
        target = made(tmp_path / "run")
        came = []
        before = signal.signal(number, lambda *_: came.append(number))
        names = {"exchanged": "exchanged", "removed": "remove_replaced"}

        def interrupted(function):
            def called(*given, **named):
                os.kill(os.getpid(), number)
                assert came == []
                return function(*given, **named)

            return called

        if call == "renamed":
            monkeypatch.setattr(Path, "rename", interrupted(Path.rename))
        else:
            monkeypatch.setattr(places, names[call], interrupted(getattr(places, names[call])))
        try:
            made(target, "new", overwrite=True)
        finally:
            signal.signal(number, before)
        # In one step, nothing is renamed.
        assert came or (swapping, call) == ("exchange", "renamed")
        assert text_of(target) == "new"
        assert list(tmp_path.iterdir()) == [target]

    def test_ctrl_c_that_was_put_off_says_what_was_written(self, tmp_path, swapping, monkeypatch):
        target = made(tmp_path / "run")

        def interrupted(*given):
            os.kill(os.getpid(), signal.SIGINT)
            return marks.remove_replaced(*given)

        monkeypatch.setattr(places, "remove_replaced", interrupted)
        with pytest.raises(KeyboardInterrupt) as stopped:
            made(target, "new", overwrite=True)
        assert stopped.value.__notes__ == [f"{target} was written."]
        assert text_of(target) == "new"

    def test_an_error_between_two_renames_puts_the_old_one_back(self, tmp_path, monkeypatch):
        monkeypatch.setattr(places, "exchanged", lambda *_: False)
        target = made(tmp_path / "run")
        rename = Path.rename

        def failing(self, to):
            if self.name.endswith(storage.DRAFT):
                raise OSError(5, "Input/output error")
            return rename(self, to)

        monkeypatch.setattr(Path, "rename", failing)
        with pytest.raises(OSError, match="Input/output error"):
            made(target, "new", overwrite=True)
        assert text_of(target) == "old"
        assert list(tmp_path.iterdir()) == [target]

    def test_a_swap_that_was_killed_half_way_is_undone_by_whoever_looks(self, tmp_path):
        target = made(tmp_path / "run")
        rf.decompose([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]).save(target, overwrite=True)
        aside = tmp_path / f".run-a1b2_c3d{storage.REPLACED}"
        aside.mkdir()
        target.rename(aside / storage.INSIDE)
        assert rf.load(target).rank >= 1
        assert list(tmp_path.glob("*run*")) == [target]

    def test_an_older_folder_that_was_not_yet_removed_goes_at_the_next_start(self, tmp_path):
        target = made(tmp_path / "run")
        aside = tmp_path / f".run-a1b2_c3d{storage.REPLACED}"
        made(aside / storage.INSIDE)
        made(target, "new", overwrite=True)
        assert text_of(target) == "new"
        assert list(tmp_path.glob("*run*")) == [target]

    def test_files_and_folders_are_on_the_disk_before_they_are_in_place(
        self, tmp_path, monkeypatch
    ):
        seen = []

        def looked(path):
            seen.append((path.name, (tmp_path / "run").exists()))

        monkeypatch.setattr(disk, "sync", looked)
        monkeypatch.setattr(places, "sync", looked)
        made(tmp_path / "run")
        names = [name for name, in_place in seen if not in_place]
        assert {"result.json", storage.MARK} <= set(names)
        assert names[-1].endswith(storage.DRAFT)
        assert seen[-1] == (tmp_path.name, True)


class TestStrangers:
    """Only what rankfold wrote is ever removed."""

    @pytest.mark.parametrize("inside", ["thesis.txt", "aligned/thesis.txt"])
    def test_a_folder_with_something_else_in_it_stays(self, tmp_path, inside):
        """Every folder with a file result.json was taken for ours, thesis.txt and all."""
        target = made(tmp_path / "run")
        (target / inside).parent.mkdir(exist_ok=True)
        (target / inside).write_text("three years")
        with pytest.raises(rf.InputError, match=r"did not write there \(.*thesis\.txt\)"):
            made(target, "new", overwrite=True)
        assert (target / inside).read_text() == "three years"
        assert text_of(target) == "old"

    def test_nor_does_an_empty_folder_go(self, tmp_path):
        target = made(tmp_path / "run")
        (target / "notes" / "empty").mkdir(parents=True)
        with pytest.raises(rf.InputError, match=r"did not write there \(notes/empty\)"):
            made(target, "new", overwrite=True)
        marks.remove_ours(target)
        assert {path.name for path in target.rglob("*")} == {storage.MARK, "notes", "empty"}

    @pytest.mark.parametrize("ours", ["nothing", "a folder", "a file in it"])
    def test_a_folder_that_nobody_may_look_into_stays(self, tmp_path, monkeypatch, ours):
        """It was hidden in a draft."""
        target = tmp_path / "run"
        with storage.whole_or_nothing(target) as draft:
            (draft / "result.json").write_text("old")
            if ours != "nothing":
                (draft / "private").mkdir()
            if ours == "a file in it":
                (draft / "private" / "a.png").write_text("a picture")
        (target / "private").mkdir(exist_ok=True)
        (target / "private" / "thesis.txt").write_text("three years")
        real = os.scandir

        def scandir(place):
            if Path(place).name == "private":
                raise PermissionError(13, "Permission denied", str(place))
            return real(place)

        with monkeypatch.context() as patched:
            patched.setattr(os, "scandir", scandir)
            with pytest.raises(rf.InputError, match=r"did not write there \(private\)"):
                made(target, "new", overwrite=True)
        assert (target / "private" / "thesis.txt").exists()

    def test_empty_folders_of_ours_go(self, tmp_path):
        target = tmp_path / "run"
        for text in ("old", "new"):
            with storage.whole_or_nothing(target, overwrite=True) as draft:
                (draft / "result.json").write_text(text)
                (draft / "parts" / "none").mkdir(parents=True)
        assert text_of(target) == "new"
        assert list(tmp_path.iterdir()) == [target]

    def test_a_file_result_json_is_no_mark(self, tmp_path):
        target = tmp_path / "run"
        target.mkdir()
        (target / "result.json").write_text("mine")
        with pytest.raises(rf.InputError, match="was not written by this version of rankfold"):
            made(target, "new", overwrite=True)
        assert text_of(target) == "mine"

    @pytest.mark.parametrize(
        "mark",
        [
            "",
            "{}",
            "[" * 100_000,
            '{"format": "rankfold-folder", "format_version": 1, "files": ["../precious"]}',
            '{"format": "rankfold-folder", "format_version": 1, "files": ["/precious"]}',
            '{"format": "rankfold-folder", "format_version": 1, "files": [1]}',
            '{"format": "rankfold-folder", "format_version": 2, "files": []}',
        ],
    )
    def test_a_mark_that_is_not_one(self, tmp_path, mark):
        target = made(tmp_path / "run")
        (target / storage.MARK).write_text(mark)
        with pytest.raises(rf.InputError, match="was not written by this version of rankfold"):
            made(target, "new", overwrite=True)
        assert text_of(target) == "old"

    def test_what_comes_in_while_the_old_one_goes_is_left(self, tmp_path, swapping, monkeypatch):
        target = made(tmp_path / "run")

        def late(folder):
            (folder / "thesis.txt").write_text("three years")
            marks.remove_replaced(folder)

        monkeypatch.setattr(places, "remove_replaced", late)
        made(target, "new", overwrite=True)
        assert text_of(target) == "new"
        assert [path.read_text() for path in tmp_path.rglob("thesis.txt")] == ["three years"]

    def test_a_link_is_not_replaced(self, tmp_path):
        target = made(tmp_path / "run")
        (tmp_path / "link").symlink_to(target)
        with pytest.raises(rf.InputError, match="is a link, which is not replaced"):
            made(tmp_path / "link", "new", overwrite=True)
        assert text_of(target) == "old"

    def test_a_link_in_the_folder_is_a_stranger_and_is_not_followed(self, tmp_path):
        (tmp_path / "thesis").mkdir()
        (tmp_path / "thesis" / "a.txt").write_text("three years")
        target = made(tmp_path / "run")
        (target / "link").symlink_to(tmp_path / "thesis")
        with pytest.raises(rf.InputError, match=r"did not write there \(link\)"):
            made(target, "new", overwrite=True)
        assert (tmp_path / "thesis" / "a.txt").exists()

    def test_a_name_of_the_mark_does_not_lead_out_through_a_link(self, tmp_path):
        target = tmp_path / "run"
        with storage.whole_or_nothing(target) as draft:
            (draft / "aligned").mkdir()
            (draft / "aligned" / "0.png").touch()
        (tmp_path / "mine").mkdir()
        (target / "aligned" / "0.png").rename(tmp_path / "mine" / "0.png")
        (target / "aligned").rmdir()
        (target / "aligned").symlink_to(tmp_path / "mine")
        storage.remove_ours(target)
        assert (tmp_path / "mine" / "0.png").exists()

    @pytest.mark.parametrize("inside", ["", "thesis.txt"])
    def test_a_folder_where_a_file_was(self, tmp_path, swapping, inside):
        """An empty one used to end the swap with an error, after it was done."""
        target = made(tmp_path / "run")
        (target / "result.json").unlink()
        (target / "result.json").mkdir()
        if inside:
            (target / "result.json" / inside).write_text("three years")
            with pytest.raises(rf.InputError, match=r"result\.json/thesis\.txt"):
                made(target, "new", overwrite=True)
            assert (target / "result.json" / inside).exists()
            return
        made(target, "new", overwrite=True)
        assert text_of(target) == "new"
        assert list(tmp_path.iterdir()) == [target]

    def test_what_cannot_be_removed_of_the_old_one_is_no_error(
        self, tmp_path, swapping, monkeypatch
    ):
        target = made(tmp_path / "run")
        unlink = Path.unlink

        def refused(self, missing_ok=False):
            if self.name == "result.json":
                raise PermissionError(13, "Permission denied", str(self))
            unlink(self, missing_ok)

        with monkeypatch.context() as patched:
            patched.setattr(Path, "unlink", refused)
            made(target, "new", overwrite=True)
        assert text_of(target) == "new"
        (left,) = set(tmp_path.iterdir()) - {target}
        # It still has its mark, by which it is known what of it is ours.
        assert [path.name for path in left.rglob(storage.MARK)] == [storage.MARK]
        assert runs.clean(target)
        assert list(tmp_path.iterdir()) == [target]

    def test_a_mark_that_is_a_pipe(self, tmp_path):
        """Nobody ever writes into it, and it was read until somebody would."""
        target = made(tmp_path / "run")
        (target / storage.MARK).unlink()
        os.mkfifo(target / storage.MARK)
        with pytest.raises(rf.InputError, match="was not written by this version of rankfold"):
            made(target, "new", overwrite=True)


def half_written(path, error, overwrite=False):
    """Begin to write a file, and fail."""
    with storage.whole_file(path, overwrite) as draft:
        draft.write_text("half")
        raise error


class TestPlaces:
    """That are no names, or not to be replaced."""

    @pytest.mark.parametrize("path", [".", "..", "a/..", "/", ""])
    def test_without_a_name(self, tmp_path, path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(rf.InputError, match=r"not the name of a folder|is no path"):
            made(path, overwrite=True)
        with pytest.raises(rf.InputError, match="is no path"):
            made("a\0b")
        assert list(tmp_path.iterdir()) == []

    def test_where_a_disk_is_mounted(self, tmp_path, monkeypatch):
        """It cannot be renamed, which was found out when everything was computed."""
        (tmp_path / "disk").mkdir()
        monkeypatch.setattr(Path, "is_mount", lambda path: path.name == "disk")
        with pytest.raises(rf.InputError, match="where a disk is mounted"):
            made(tmp_path / "disk", overwrite=True)

    @pytest.mark.parametrize("overwrite", [False, True])
    def test_a_folder_that_appears_in_the_last_moment(self, tmp_path, monkeypatch, overwrite):
        """It was taken for the one to replace, and removed with all that was in it."""
        target = tmp_path / "run"
        real = places._check_place

        def checked(*given):
            real(*given)
            if not target.exists() and any(tmp_path.glob(".run-*")):
                target.mkdir()
                (target / "thesis.txt").write_text("the only copy")

        monkeypatch.setattr(places, "_check_place", checked)
        if overwrite:
            made(target, "new", overwrite)
        else:
            with pytest.raises(rf.WriteError, match=r"the result is in .*run-2"):
                made(target, "new")
        found = [path.read_text() for path in tmp_path.rglob("thesis.txt")]
        assert found == ["the only copy"]
        assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
        results = [path.read_text() for path in tmp_path.rglob("result.json")]
        assert results == ["new"]

    def test_the_mark_can_be_read_by_whoever_may_read_the_rest(self, tmp_path):
        """A mark that a second user could not read was none for them."""
        target = made(tmp_path / "run")
        rights = {path.stat().st_mode & 0o777 for path in target.iterdir()}
        assert rights == {0o666 & ~disk.umask()}


def test_the_mask_of_a_process_stays_whoever_looks_at_it():
    """Two threads that looked at once could leave files that everybody may write."""
    before = disk.umask()
    with ThreadPoolExecutor(4) as threads:
        found = set(threads.map(lambda _: disk.umask(), range(5000)))
    assert found == {before} == {disk.umask()}


class TestWholeFile:
    def test_it_appears_when_it_is_whole(self, tmp_path):
        target = tmp_path / "new" / "a.txt"
        with storage.whole_file(target) as draft:
            assert draft.suffix == ".txt"
            assert draft.parent == target.parent
            draft.write_text("all of it")
            assert not target.exists()
        assert target.read_text() == "all of it"
        assert list(target.parent.iterdir()) == [target]

    def test_it_has_the_permissions_of_other_files(self, tmp_path):
        (tmp_path / "other").touch()
        with storage.whole_file(tmp_path / "a.txt") as draft:
            draft.touch()
        assert (tmp_path / "a.txt").stat().st_mode == (tmp_path / "other").stat().st_mode

    @pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError("bad"), OSError(5, "I/O")])
    def test_what_is_interrupted_leaves_nothing(self, tmp_path, error):
        kind = error if isinstance(error, type) else type(error)
        with pytest.raises(kind):
            half_written(tmp_path / "a.txt", error)
        assert list(tmp_path.iterdir()) == []

    def test_no_space(self, tmp_path):
        full = OSError(28, "No space left on device")
        with pytest.raises(rf.WriteError, match=r"no space is left to write .*a\.txt; make room"):
            half_written(tmp_path / "a.txt", full)
        assert list(tmp_path.iterdir()) == []

    def test_a_disk_that_fails_is_named(self, tmp_path):
        """The system says only what is wrong with it."""
        with pytest.raises(
            rf.WriteError, match=r"a\.txt could not be written \(Input/output error"
        ):
            half_written(tmp_path / "a.txt", OSError(5, "Input/output error"))

    def test_what_an_encoder_says_of_a_full_disk_names_the_file(self, tmp_path):
        """NumPy says how many bytes it could write, and has no number of the system."""
        with pytest.raises(rf.WriteError, match=r"a\.txt could not be written \(9 requested"):
            half_written(tmp_path / "a.txt", OSError("9 requested and 3 written"))

    def test_what_a_killed_writer_left_goes_when_the_file_is_written_again(self, tmp_path):
        left = tmp_path / f".a-a1b2_c3d{storage.DRAFT}.txt"
        left.touch()
        other = tmp_path / f".b-a1b2_c3d{storage.DRAFT}.txt"
        other.touch()
        with storage.whole_file(tmp_path / "a.txt") as draft:
            draft.write_text("new")
        assert {path.name for path in tmp_path.iterdir()} == {"a.txt", other.name}

    def test_what_a_living_writer_needs_stays(self, tmp_path):
        with storage.whole_file(tmp_path / "a.txt", overwrite=True) as slow:
            slow.write_text("slow")
            with storage.whole_file(tmp_path / "a.txt", overwrite=True) as quick:
                quick.write_text("quick")
            assert runs.leftovers(tmp_path) == []
        assert (tmp_path / "a.txt").read_text() == "slow"

    def test_what_a_killed_writer_left_in_a_folder_of_ours_is_no_stranger(self, tmp_path):
        """A report that was killed used to keep its run from ever being replaced."""
        target = made(tmp_path / "run")
        (target / f".report-a1b2_c3d{storage.DRAFT}.html").touch()
        made(target, "new", overwrite=True)
        assert text_of(target) == "new"
        assert list(tmp_path.iterdir()) == [target]

    def test_a_file_of_ours_is_known_before_it_is_there(self, tmp_path, monkeypatch):
        """Killed in between, it could never have been replaced."""
        target = made(tmp_path / "run")

        replace = Path.replace

        def killed(draft, to):
            if to.name == "report.html":
                raise KeyboardInterrupt
            return replace(draft, to)

        monkeypatch.setattr(Path, "replace", killed)
        with (
            pytest.raises(KeyboardInterrupt),
            storage.whole_file(target / "report.html", ours=True),
        ):
            pass
        assert "report.html" in (target / storage.MARK).read_text()
        made(target, "new", overwrite=True)

    @pytest.mark.parametrize("ours", [True, False])
    def test_a_folder_in_its_place(self, tmp_path, ours):
        target = made(tmp_path / "run")
        (target / "report.html").mkdir()
        with (
            pytest.raises(rf.InputError, match=r"report\.html is a folder; name a file"),
            storage.whole_file(target / "report.html", overwrite=True, ours=ours),
        ):
            pass

    def test_what_is_there_stays_unless_it_shall_be_replaced(self, tmp_path):
        target = tmp_path / "a.txt"
        target.write_text("old")
        with (
            pytest.raises(rf.InputError, match=r"a\.txt exists already; .* overwrite=True"),
            storage.whole_file(target),
        ):
            pass
        with pytest.raises(ValueError, match="bad"):
            half_written(target, ValueError("bad"), overwrite=True)
        assert target.read_text() == "old"
        with storage.whole_file(target, overwrite=True) as draft:
            draft.write_text("new")
        assert target.read_text() == "new"
        assert list(tmp_path.iterdir()) == [target]

    def test_a_part_of_a_result_is_never_replaced(self, tmp_path):
        """An export to RUN/result.json used to destroy the run."""
        target = made(tmp_path / "run")
        with (
            pytest.raises(rf.InputError, match=r"is one of the files that rankfold wrote in .*run"),
            storage.whole_file(target / "result.json", overwrite=True),
        ):
            pass
        assert text_of(target) == "old"

    def test_nor_the_mark(self, tmp_path):
        """Without it, nothing in the folder would be known as ours any more."""
        target = made(tmp_path / "run")
        with pytest.raises(rf.InputError, match="is one of the files that rankfold wrote"):
            storage.check_free(target / storage.MARK, True)

    def test_nor_by_the_name_of_a_link_to_its_folder(self, tmp_path):
        made(tmp_path / "run")
        (tmp_path / "other").symlink_to(tmp_path / "run")
        with pytest.raises(rf.InputError, match="is one of the files that rankfold wrote"):
            storage.check_free(tmp_path / "other" / "result.json", True)

    def test_nor_where_a_copy_has_lost_its_mark(self, tmp_path):
        """As after ``cp run/* copy``, and in every folder of a version without marks."""
        run = tmp_path / "run"
        (run / "aligned").mkdir(parents=True)
        names = ("result.json", "arrays.npz", "config.toml", "aligned/a.png")
        for name in names:
            (run / name).write_text("old")
        for name in names:
            with pytest.raises(rf.InputError, match="is one of the files that rankfold wrote"):
                storage.check_free(run / name, True)
        storage.check_free(run / "new.csv", True)

    @pytest.mark.parametrize("exists", [True, False])
    def test_links_are_replaced_and_not_followed(self, tmp_path, exists):
        other = tmp_path / "other.txt"
        if exists:
            other.write_text("precious")
        (tmp_path / "a.txt").symlink_to(other)
        with (
            pytest.raises(rf.InputError, match="exists already"),
            storage.whole_file(tmp_path / "a.txt"),
        ):
            pass
        with storage.whole_file(tmp_path / "a.txt", overwrite=True) as draft:
            draft.write_text("new")
        assert not (tmp_path / "a.txt").is_symlink()
        assert (tmp_path / "a.txt").read_text() == "new"
        assert other.exists() == exists
        assert not exists or other.read_text() == "precious"

    @pytest.mark.parametrize("overwrite", [True, False])
    def test_a_folder_is_no_file(self, tmp_path, overwrite):
        with (
            pytest.raises(rf.InputError, match="is a folder; name a file"),
            storage.whole_file(tmp_path, overwrite),
        ):
            pass

    def test_a_place_that_cannot_be_written(self, tmp_path):
        (tmp_path / "file").touch()
        with (
            pytest.raises(
                rf.WriteError, match=r"cannot be written .* choose a folder that you may"
            ),
            storage.whole_file(tmp_path / "file" / "a.txt"),
        ):
            pass
