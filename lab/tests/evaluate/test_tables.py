"""The tables of the ablation."""

from scipy.stats import ttest_rel

from rankfold_lab.evaluate import tables


def test_the_table_counts_wins_by_subject_and_pairs_its_t():
    def record(subject, seed, row, eye):
        zero = dict.fromkeys(
            ["above_1", "above_3", "rank", "lost", "flagged", "flagged_lost", "seconds"], 0
        )
        return {
            "protocol": "P1",
            "subject": subject,
            "seed": seed,
            "row": row,
            "eye": eye,
            "rec_occ": eye,
            "rec_all": 1.0,
            **zero,
        }

    values = {1: (1.0, 0.5), 2: (1.0, 0.7), 3: (1.0, 1.2)}
    records = [
        record(s, k, r, v)
        for s, pair in values.items()
        for k in (0, 1)
        for r, v in zip(("RASL", "MeADMM"), pair, strict=True)
    ]
    t = ttest_rel([0.5, 0.7, 1.2], [1.0, 1.0, 1.0]).statistic
    assert f"0.80, 2/3, {t:.1f}" in tables.table(records, "P1")
