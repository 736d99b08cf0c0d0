"""Verdicts follow the figures."""

from rankfold_lab.reproduce import experiments
from rankfold_lab.reproduce.claims import CLAIMS, Evidence
from rankfold_lab.reproduce.page import claim_row


def test_every_claim_has_a_verdict_whether_it_was_run_or_not():
    for claim in CLAIMS:
        assert claim_row(claim, Evidence({e.name: [] for e in experiments()}))[-1] == "not run"


def judged(what, **rows):
    claim = next(c for c in CLAIMS if what in c.what)
    return claim_row(claim, Evidence({"table2": [], "ar": [], "usps": [], "windows": [], **rows}))


def test_verdicts_follow_the_figures():
    def eyes(mean, whole):
        return [
            {
                "lights": lights,
                "method": m,
                "mean": mean[lights][k],
                "whole_mean": whole[k],
                "whole_std": 0.3,
                "whole_max": 1.0,
            }
            for lights in (50, 130)
            for k, m in enumerate(("rasl", "meadmm"))
        ]

    good, middling = {50: (0.16, 0.14), 130: (0.17, 0.15)}, {50: (0.17, 0.15), 130: (0.5, 0.3)}
    assert judged("mean eye error", table2=eyes(good, (0.1, 0.1)))[-1] == "reproduced"
    assert judged("mean eye error", table2=eyes(middling, (0.1, 0.1)))[-1].endswith(
        "only under moderate light"
    )
    bad = {50: (0.3, 0.3), 130: (0.5, 0.3)}
    assert "whole pixels" in judged("mean eye error", table2=eyes(bad, (0.16, 0.14)))[-1]
    assert judged("mean eye error", table2=eyes(bad, (0.3, 0.3)))[-1] == "not reproduced"

    def people(values):
        return [
            {"person": p, "sparsity": w, "method": m, "sunglasses": v}
            for p in (1, 2, 3)
            for w, triple in values.items()
            for m, v in zip(("rasl", "meadmm", "paper"), triple, strict=True)
        ]

    assert judged("sunglasses", ar=people({1.0: (0.3, 0.2, 0.4)}))[-1] == "reproduced"
    conditional = judged("sunglasses", ar=people({1.0: (0.3, 0.4, 0.4), 0.5: (0.2, 0.1, 0.3)}))
    assert conditional[-1] == "reproduced only with sparsity 0.5"
    assert "the paper's own MeADMM" in judged("sunglasses", ar=people({1.0: (0.3, 0.4, 0.2)}))[-1]
    assert judged("sunglasses", ar=people({1.0: (0.3, 0.4, 0.4)}))[-1] == "not reproduced"
