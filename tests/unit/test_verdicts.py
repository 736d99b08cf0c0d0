"""The words of verdicts, and the sentences that are made of them."""

import pytest

from rankfold.verdicts import NAMED, BatchVerdict, Verdict, listed, outcome

PLACED = Verdict.PLACED
DOUBTFUL = Verdict.DOUBTFUL
FAILED = Verdict.FAILED
SOME = (PLACED, DOUBTFUL, FAILED, PLACED)
NAMES = ("a.png", "b.png", "c.png", "d.png")


def test_the_words_are_these():
    """They are in results on disk and in JSON: another word is another format."""
    assert [one.value for one in Verdict] == ["placed", "doubtful", "failed"]
    assert [one.value for one in BatchVerdict] == ["good", "partial", "only roughly", "failed"]


class TestOutcome:
    def test_all_found_their_place(self):
        said = outcome(BatchVerdict.GOOD, [PLACED] * 4, NAMES)
        assert said == "4 of 4 pictures found their place."

    def test_those_that_did_not_are_named_doubtful_ones_first(self):
        said = outcome(BatchVerdict.PARTIAL, SOME, NAMES)
        assert said == "2 of 4 pictures found their place; doubtful: b.png; failed: c.png."

    def test_only_what_there_is_is_said(self):
        doubtful = outcome(BatchVerdict.GOOD, [PLACED, DOUBTFUL], NAMES[:2])
        assert doubtful == "1 of 2 pictures found their place; doubtful: b.png."
        failed = outcome(BatchVerdict.PARTIAL, [FAILED, PLACED], NAMES[:2])
        assert failed == "1 of 2 pictures found their place; failed: a.png."

    def test_pictures_that_agree_roughly(self):
        said = outcome(BatchVerdict.ROUGH, SOME, NAMES)
        assert said == (
            "The pictures agree only roughly: 2 of 4 lie about where the others do; "
            "doubtful: b.png; failed: c.png."
        )

    def test_of_a_batch_that_failed_nobody_is_named(self):
        said = outcome(BatchVerdict.FAILED, [DOUBTFUL, FAILED, FAILED, FAILED], NAMES)
        assert said == "The alignment failed: most of the 4 pictures do not agree on a place."

    @pytest.mark.parametrize("batch", BatchVerdict)
    @pytest.mark.parametrize("words", [(PLACED,) * 4, SOME, (FAILED,) * 4])
    def test_nobody_found_their_place_in_a_batch_that_is_not_aligned(self, batch, words):
        aligned = batch in (BatchVerdict.GOOD, BatchVerdict.PARTIAL)
        said = outcome(batch, words, NAMES)
        assert ("found their place" in said) == aligned
        assert said.endswith(".")

    def test_many_names_are_cut(self):
        names = [f"{k}.png" for k in range(30)]
        said = outcome(BatchVerdict.PARTIAL, [FAILED] * 20 + [PLACED] * 10, names)
        assert f"{NAMED - 1}.png and {20 - NAMED} more." in said
        assert f" {NAMED}.png" not in said

    def test_a_verdict_for_every_name(self):
        with pytest.raises(ValueError, match="zip"):
            outcome(BatchVerdict.GOOD, [PLACED], NAMES)


class TestLists:
    @pytest.mark.parametrize(
        ("names", "said"),
        [
            ([], ""),
            (["a"], "a"),
            (["a", "b", "c"], "a, b, c"),
            (["a", "b", "c", "d"], "a, b, c and 1 more"),
        ],
    )
    def test_up_to_so_many(self, names, said):
        assert listed(names, most=3) == said

    def test_as_many_as_sentences_have(self):
        assert "more" not in listed(["x"] * NAMED)
        assert listed(["x"] * (NAMED + 2)).endswith("x and 2 more")
