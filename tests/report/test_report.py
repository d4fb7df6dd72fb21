"""The report as text and HTML: correct at every width, it names what it leaves out, and any label is safe."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.values import html, snapshot
from support.widths import columns, widest

import stream_metrics as sm

BLEIK_GAUHER = [[24, 2, 1], [3, 30, 4], [0, 5, 31]]
ABC = ["a", "b", "c"]
TAGS = {"div", "style", "p", "table", "thead", "tbody", "tr", "th", "td", "span"}
UNSAFE = r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\ud800-\udfff]"


def report(matrix: Any, labels: Any = None, width: int = 80, **options: Any) -> str:
    """Return the report of a matrix."""
    return snapshot(matrix, labels, **options).report(width)


def many(count: int) -> sm.Snapshot:
    """Return a snapshot of `count` classes with errors all over."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, count, 60 * count)
    predicted = np.where(rng.random(len(truth)) < 0.8, truth, rng.integers(0, count, len(truth)))
    names = np.array([f"class_{k:03d}" for k in range(count)])
    state = sm.ConfusionMatrix(labels=names.tolist())
    state.update_many(names[truth].tolist(), names[predicted].tolist())
    return state.snapshot()


@pytest.mark.quick
def test_the_width_is_that_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a width the report is as wide as the terminal, up to 140 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    taken = snapshot(BLEIK_GAUHER, ABC)

    assert taken.report(80) == str(taken) == taken.report()
    monkeypatch.setenv("COLUMNS", "300")
    long = taken.with_warning("and so on " * 30)
    assert str(long) == long.report(140) != long.report(141)


@given(st.lists(st.text(max_size=30), min_size=1, max_size=6, unique=True), st.integers(40, 150), st.integers(0, 10**9))
def test_no_label_breaks_the_tables(labels: list[str], width: int, scale: int) -> None:
    """Whatever is in a label, of labels or of scores, lines fit, and nothing is a control character or markup."""
    state = sm.MetricSet(scores=True, pos_label=labels[0] if scale % 2 else True)
    for label in labels:
        state.update(label, dict.fromkeys(labels, 0.125) | {label: 0.5})
    for taken in (
        snapshot(scale * (np.arange(len(labels) ** 2).reshape(len(labels), -1) % 7), labels),
        state.snapshot(),
    ):
        text = taken.report(width)
        assert widest(text) <= width
        assert not re.search(UNSAFE, text)
        assert text.splitlines() == text.split("\n")
        ElementTree.fromstring(html(taken).replace("&nbsp;", " "))


@pytest.mark.quick
def test_labels_are_visible_and_aligned() -> None:
    """Control characters are escaped, blanks at the ends quoted; wide characters take two columns."""
    names = {
        "plain": "plain", "a\tb\nc\x1b[31m": "a\\tb\\nc\\x1b[31m", "\u202eabc": "\\u202eabc", "": "''", " a": "' a'",
        "日本 語": "日本 語", "cafe\u0301": "cafe\u0301", "\ud800": "\\ud800",
    }  # fmt: skip
    lines = report(20 * np.eye(8, dtype=int) + 1, list(names), 120).split("\n")
    at = next(index for index, line in enumerate(lines) if line.startswith("Class"))

    for line, name in zip(lines[at + 1 : at + 9], names.values(), strict=True):
        assert line.startswith(f"{name} ")
    assert len({columns(line) for line in lines[at : at + 9]}) == 1


@pytest.mark.quick
def test_long_names_are_shortened_in_the_middle() -> None:
    """Both ends survive, no character is cut in two, and names that become equal are numbered."""
    for part, middles in (("x", "abc"), ("日", "本語人"), ("e\u0301", "aou")):
        labels = [f"A{part * 40}{middle}{part * 40}Z" for middle in middles]
        shown = re.findall(r"^(A\S+…\S+?)(#\d)", report(BLEIK_GAUHER, labels, 60), re.M)
        assert [number for _, number in shown[:3]] == ["#1", "#2", "#3"]
        assert all(re.fullmatch(f"A({part})*…({part})*Z?", name) for name, _ in shown), shown
    texts = [report([[5, 1], [1, 5]], ["abcdefghij" * 8, "b"], width) for width in range(40, 50)]
    halves = [re.findall(r"^(abcde\w*)…(\w*ghij) ", text, re.M)[0] for text in texts]
    assert {len(head) - len(tail) for head, tail in halves} == {0, 1}


@pytest.mark.quick
def test_only_exact_values_look_exact() -> None:
    """A score is 0, 1 or -1 in print only if it is, and a share 0 or 100 %; all others show on which side they are."""
    for matrix, recall, mcc in (
        ([[99996, 4], [4, 99996]], ">.999", ">.999"), ([[4, 99996], [99996, 4]], "<.001", "<-.999"),
        ([[0, 9], [9, 0]], "0.000", "-1.000"), ([[9, 0], [0, 9]], "1.000", "1.000"),
        ([[99996, 100004], [100000, 100000]], "0.500", ">-.001"), ([[3, 5], [5, 3]], "0.375", "-0.250"),
        ([[100004, 99996], [100000, 100000]], "0.500", "<.001"),
    ):  # fmt: skip
        (line,) = re.findall(r"^0 +\d.*", report(matrix, width=140).split("\n\n")[2], re.M)
        assert (line.split()[-4], line.split()[-1]) == (recall, mcc), line
    shares = np.eye(50, dtype=int) * 3000
    shares[3, 4:6], shares[7, 1], shares[8, :9], shares[9, 2] = (1, 0), 3000, [2999] + [0] * 7 + [1], 1
    shares[9, 9] = 3
    text = report(shares)
    for place, share in (("7 +-> 1", "50"), ("8 +-> 0", ">99"), ("3 +-> 4", "<1"), ("9 +-> 2", "25")):
        assert re.search(rf"^{place} .* {share} %$", text, re.M), place


@pytest.mark.quick
def test_intervals_in_the_report_hold_those_that_were_computed() -> None:
    """For values of both signs, and no bound is written as minus zero."""
    rng = np.random.default_rng(0)
    titles = {"Accuracy": "accuracy", r"MCC \(Matthews\)": "matthews_corrcoef", "Cohen's kappa": "cohen_kappa"}
    for _ in range(60):
        taken = snapshot(rng.integers(5, 10.0 ** rng.uniform(1.5, 5), (2, 2)))
        text = taken.with_intervals().report(120)
        for title, key in titles.items():
            (ends,) = re.findall(rf"^{title} +\S+ +\[(\S+), (\S+)\]", text, re.M)
            interval: Any = taken.interval(key)
            assert Decimal(ends[0]) <= Decimal(interval.low) < Decimal(interval.high) <= Decimal(ends[1])
            assert not any(re.fullmatch(r"-0\.0+", end) for end in ends)


@pytest.mark.quick
def test_marks_and_their_notes() -> None:
    """What is not above every baseline, what is 0/0, and classes without samples are marked, with a note for each."""
    text = report([[40, 0], [10, 0]], ("no", "yes"))
    rare = report([[30, 2, 0], [1, 30, 0], [0, 0, 0]], ABC)
    few = snapshot([[3, 0], [2, 0]], ["a", "b"]).with_intervals(0.9)

    assert re.search(r"Accuracy +0\.8000! +0\.8000 +0\.5000 +0\.6800$", text, re.M)
    assert "! the model is not above every baseline" in text
    assert "nan*" in report([[40, 0], [10, 0]], zero_division=math.nan)
    assert re.search(r"^c +0 +0 +- +- +- +1\.000 +-$", rare, re.M)
    assert "*" not in rare
    assert few.report(140).count("\n* undefined (0/0)") == 2
    assert few.report(40).count("\n* undefined (0/0)") == 1
    assert "Left out at this width: support, predicted, precision" in " ".join(few.report(40).split())


def test_a_row_has_fewer_than_three_marks() -> None:
    """However few samples there are, no row of a table is full of marks; baselines come with 30 samples."""
    for n, classes in ((1, 2), (3, 3), (29, 3), (30, 3), (40, 12), (400, 4)):
        rng = np.random.default_rng(n)
        truth = rng.integers(0, classes, n)
        metrics = sm.MetricSet(labels=list(range(classes + 1)))
        metrics.update_many(truth, np.where(rng.random(n) < 0.4, truth, 0))
        for taken in (metrics.snapshot(), metrics.snapshot().with_intervals()):
            for width in (60, 80, 140):
                text = taken.report(width)
                assert all(len(re.findall(r"\d[*!]|nan\*|\]\?", line)) < 3 for line in text.split("\n"))
                assert ("most frequent" in text) == ("McNemar" in text) == (n >= 30), (n, width)
                assert widest(text) <= width


def test_many_classes_show_the_worst_and_say_what_is_missing() -> None:
    """With 200 classes the report stays short, lists the lowest F1 first, and says how to get the rest; lines fit."""
    for classes in (2, 10, 60, 200):
        taken = many(classes)
        for width in (1, 40, 60, 80, 100, 140, 200):
            assert widest(taken.report(width)) <= max(width, 40), (classes, width)
    state = sm.ConfusionMatrix()
    text, f1 = taken.report(80), taken.per_class["f1"]
    shown = re.findall(r"^(class_\d+) .*\d$", text.split("The 25 classes")[1].split("\n\n")[0], re.M)
    state.update_many(np.arange(5000), np.arange(5000) // 2 * 2)

    assert [f1[label] for label in shown] == sorted(f1.values())[:25]
    parts = ("175 classes left out: JSON has all of them", "The 200 x 200 matrix does not fit here: JSON has it")
    assert [part for part in (*parts, "most frequent of") if part not in text] == []
    assert text.count("\n") < 80
    assert "matrix does not fit here: JSON has its cells" in state.snapshot().report(100)
    assert "No confusions: every prediction is right." in report(np.eye(50, dtype=int))


@pytest.mark.quick
def test_what_does_not_fit_is_named() -> None:
    """At 40 columns columns go; a matrix too wide is in per cent, or a list of confusions, the most frequent first."""
    matrix = np.eye(50, dtype=int) * 90
    matrix[3, 4], matrix[7, 1] = 10, 30
    assert re.search(r"All confusions\n.*\n7 +-> 1 +30 +25 %\n3 +-> 4 +10 +10 %\n", report(matrix))
    narrow = report(BLEIK_GAUHER, ABC, 40)
    large = report(np.full((8, 8), 12_345_678) + np.eye(8, dtype=int))
    assert ("Left out at this width: specificity, MCC" in narrow, "frequent" in narrow) == (True, True)
    assert "stratified" not in narrow
    assert ("percent of the row" in large, "98 765 425" in large) == (True, True)


@pytest.mark.quick
def test_amounts() -> None:
    """Without samples there are no tables; thousands are grouped; one weight with a fraction gives all decimals."""
    absent, weighted = sm.ConfusionMatrix(labels=["a", "b"]), sm.ConfusionMatrix()
    absent.update("a", None)
    weighted.update_many(["a", "b", "b"], ["a", "a", "b"], [2.0, 1e-9, 1234.5])
    twice = sm.evaluate([0, 1] * 20, [0, 1] * 20, w=[2] * 40).report(80)
    text = weighted.snapshot().report(80)

    assert 'against always "0": no p-value, which needs samples of weight 1' in twice
    assert re.search(r"1 abstained(.|\n)*Classes: a, b", absent.snapshot().report(80))
    assert "3 samples, 2 classes, weight 1 236.50 (figures are weighted)" in text
    assert re.search(r"^a +\[2\.00\] ", text, re.M)
    assert re.search(r"^b +\(<\.01\) +\[1 234\.50\]", text, re.M)
    assert report([[1234000, 567], [0, 0]]).startswith("1 234 567 samples")


@pytest.mark.quick
def test_chosen_keys_are_what_the_report_shows() -> None:
    """Those and no others, amounts without decimals; a rough test is called one, and the valid one is named."""
    text = report(BLEIK_GAUHER, ABC, keys=["macro_precision", "cov_true_pred", "recall"])
    asked, caution = snapshot(BLEIK_GAUHER, ABC, keys=["nir_p_value", "accuracy"]), "nir_p_value is no valid test"

    assert re.search(r"Macro precision +0\.8536 +0\.1233 +0\.3333 +0\.3333$", text, re.M)
    assert re.search(r"^Covariance.* 5 106$", text, re.M)
    assert re.search(r"Class +recall$", text, re.M)
    assert "F1" not in text
    assert (caution in asked.report(80), caution in html(asked)) == (True, True)
    assert "majority_p_value tests the same question" in " ".join(asked.report(80).split())


@pytest.mark.quick
def test_intervals_that_are_not_to_be_trusted_are_left_out_of_crowded_rows() -> None:
    """Where a row would have three intervals in doubt, they are left out with the reason."""
    groups = sm.evaluate([0, 1] * 20, [0, 1, 1, 1] * 10, group=["x"] * 36 + ["y"] * 4).with_intervals()
    lines = groups.report(140).split("\n")

    assert "?" not in next(line for line in lines if line.startswith("y "))
    assert any("Intervals that are not to be trusted are left out: " in line for line in lines)


def parsed(taken: Any) -> Any:
    """Return the HTML report as a tree; the fragment is well-formed XML."""
    return ElementTree.fromstring(html(taken).replace("&nbsp;", " "))


@pytest.mark.quick
def test_html_turns_long_headings_and_leaves_out_columns_without_values() -> None:
    """Headings of the matrix of more than six characters stand upright; baselines come where a score has one."""
    upright = [len(re.findall('class="sm-up"', html(snapshot([[3, 1], [1, 3]], ["x", "y" * n])))) for n in (6, 7)]
    alone = snapshot(BLEIK_GAUHER, ABC, keys=["cramers_v"])

    assert upright == [0, 2]
    assert [cell.text for cell in parsed(alone).find("table").find("thead")[0]] == ["Score", "model"]
    assert "Guessing" not in html(alone)


@pytest.mark.quick
def test_html_is_safe_and_self_contained() -> None:
    """Markup in a label is text; no script, no link, no colour that clashes with a theme."""
    hostile = snapshot(BLEIK_GAUHER, ("<script>alert(1)</script>", '"><img src=x>', "a & b\n"))
    tree, text = parsed(hostile), html(snapshot(BLEIK_GAUHER, ABC))

    assert {element.tag for element in tree.iter()} <= TAGS
    assert "a & b\\n" in "".join(tree.itertext())
    assert ("<script" in html(hostile), "script" in text, "http" in text) == (False, False, False)
    assert not re.search(r"[;{\"]color:(?!inherit)", text)
    assert all(match == "rgba" for match in re.findall(r"background:(\w+)\(", text))


@pytest.mark.quick
def test_html_of_many_classes_is_capped() -> None:
    """The worst of 200 classes and the most frequent confusions, not a square table; short notes where none are."""
    taken = snapshot(np.tri(200, dtype=int) + 300 * np.eye(200, dtype=int))
    text = "".join(parsed(taken).itertext())

    assert len(html(taken)) < 30_000
    assert ("150 classes left out" in text, "matrix does not fit here: JSON has it" in text) == (True, True)
    assert "Nothing counted yet." in html(sm.ConfusionMatrix().snapshot())
    assert "No confusions: every prediction is right." in html(snapshot(300 * np.eye(40, dtype=int)))


# The block of scores: values with certified bounds, for every combination of states.
BINARY = [(True, 0.9), (True, 0.6), (False, 0.7), (False, 0.2)]
SKETCH = {'ROC AUC of "True"': ["1.0000"], 'Average precision of "True"': ["1.0000"]}
SCORES = [
    *SKETCH, "Log loss (cross-entropy)", "Brier score", "Calibration error of the prediction"
]  # fmt: skip


def binary(**options: Any) -> sm.MetricSet:
    """Return a set that has seen four hand-made samples."""
    state = sm.MetricSet(**({"scores": True} | options))
    for truth, value in BINARY:
        state.update(truth, value)
    return state


def coarse() -> sm.Snapshot:
    """Return a snapshot of sketches that are too small for their scores, so that areas are not exact."""
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 3, 900)
    logits = rng.normal(size=(900, 3)) + 1.5 * np.eye(3)[truth]
    scores = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    state = sm.MetricSet(scores=True, buckets=16, sample=64)
    state.update_many(truth, scores=scores, classes=range(3))
    return state.snapshot()


def block(text: str) -> str:
    """Return the block of scores."""
    return next(part for part in text.split("\n\n") if part.startswith("Scores"))


def rows(text: str) -> dict[str, list[str]]:
    """Return the rows of the block of scores: title, then numbers."""
    lines = block(text).split("\n")[1:]
    split = [re.split(r" {2,}", line) for line in lines if not line.startswith(("Certified", "  "))]
    return {title: numbers for title, *numbers in split}


@pytest.mark.quick
def test_exact_values_stand_without_bounds() -> None:
    """Four samples: AUC 3/4, AP (1 + 2/3)/2, losses and errors by hand; chosen keys alone if some are chosen."""
    log_loss = -sum(math.log(p) for p in (0.9, 0.6, 0.3, 0.8)) / 4
    brier, errors = (0.1**2 + 0.4**2 + 0.7**2 + 0.2**2) / 4, (0.1 + 0.4 + 0.7 + 0.2) / 4  # each is a bin of its own
    chosen = binary(metrics=["accuracy", "log_loss", "roc_auc_ovr", "roc_auc"], scores=False).snapshot().report(80)

    by_hand = [f"{value:.4f}" for value in (3 / 4, 5 / 6, log_loss, brier, errors)]
    assert list(rows(binary().snapshot().report(80)).items()) == [(SCORES[at], [x]) for at, x in enumerate(by_hand)]
    assert rows(chosen) == {"Log loss (cross-entropy)": ["0.5108"], "ROC AUC, mean over classes": ["0.7500"]}
    assert re.search(r"^Accuracy +0\.7500$", chosen, re.M)
    assert re.search(r"^Class +ROC AUC\nFalse\nTrue +0\.750$", chosen, re.M)


@pytest.mark.quick
def test_bounds_contain_the_value_and_are_told_apart() -> None:
    """Certified bounds are rounded outwards, around the value, and differ; HTML has the same; exact rows have none."""
    taken = coarse()
    text, estimate = taken.report(80), taken.estimate("roc_auc_ovo")
    value, low, high = map(float, rows(text)["ROC AUC, Hand and Till's M"])
    table = ElementTree.fromstring(html(taken)).findall("table")[1]
    cells = {row.find("th").text: [cell.text or "" for cell in row.findall("td")] for row in table.find("tbody")}

    assert low <= estimate.low < estimate.high <= high
    assert low < value < high
    assert high - low < 1.3 * (estimate.high - estimate.low)
    assert len(rows(text)["Brier score"]) == 1
    assert "certified low  certified high" in text
    assert "95 %" not in text
    assert "certified" not in taken.with_intervals().report(80).lower()
    assert "Certified: the full list of scores gives" in text
    shown = {title: [x.strip("\u2007") for x in texts if x.strip("\u2007")] for title, texts in cells.items()}
    assert shown == rows(text)
    assert [cell.text for cell in table.find("thead")[0]] == ["Scores", "value", "certified low", "certified high"]


@pytest.mark.quick
def test_no_line_is_wider_than_asked() -> None:
    """Scores fit every width; bounds go together, per-class values of scores before those of labels; notes say so."""
    taken = coarse()
    for width in (40, 50, 60, 70, 80, 120):
        text = taken.report(width)
        head = block(text).split("\n")[0]
        headings = next(line for line in text.split("\n") if line.startswith("Class")).split()
        shown = [f"{word} {end}" in head for end in ("low", "high") for word in ("certified", "cert.")]
        note = "Left out at this width: certified low, certified high" in " ".join(block(text).split())
        assert widest(text) <= width
        assert shown[:2] == shown[2:]
        assert note == (not any(shown)), width
        assert ("ECE" in headings) <= ("AP" in headings) <= ("AUC" in headings) <= ("MCC" in headings)
    narrow = " ".join(taken.report(40).split())
    assert "Left out at this width: certified low, certified high" in narrow
    assert "ROC AUC, avg. precision, calibr. error" in narrow


@pytest.mark.quick
def test_what_is_missing_is_said() -> None:
    """Samples without scores are counted apart; areas of one class are 0/0; margins have no calibration."""
    some, none, one = binary(), sm.MetricSet(scores=True), sm.MetricSet(scores=True)
    margins = sm.MetricSet(scores="any", threshold=0.0)
    some.update(True, False)
    none.update("a", "b")
    one.update("cat", {"cat": 0.6, "dog": 0.4})
    margins.update_many([True, True, False], scores=[2.0, -1.0, -3.0])
    texts = [state.snapshot().report(80) for state in (some, none, one, margins)]
    outside, unscored = "Calibration errors left out: a score lies outside [0, 1]", "No sample came with scores yet."

    assert texts[0].startswith("5 samples, 2 classes, 4 with scores\n")
    undefined = ("* undefined (0/0), replaced by zero_division", "- undefined (0/0)")
    said = (["\nScores of 4 samples "], ["0 with scores", unscored], undefined, [outside])
    for text, parts in zip(texts, said, strict=True):
        assert [part for part in parts if part not in text] == []
    assert (unscored in html(none.snapshot()), outside in html(margins.snapshot())) == (True, True)
    assert ("nan" in texts[1], "ROC" in texts[1], "ECE" in texts[3]) == (False, False, False)
    assert rows(texts[2])["ROC AUC, mean over classes"] == ["nan*"]
    assert re.search(r"^cat .* - +1\.000 +0\.400$", texts[2], re.M)
    assert [rows(texts[3])[title] for title in SKETCH] == [["1.0000"]] * 2


@pytest.mark.quick
def test_scores_without_labels_have_a_report() -> None:
    """States of scores alone report, in text and HTML, empty or not, without a matrix."""
    kinds: tuple[Any, ...] = (sm.RankSketch, sm.ROCAUC, sm.ProbabilityLosses, sm.LogLoss, sm.HandTillAUC)
    for make in kinds:
        empty, state = make().snapshot(), make()
        state.update(True, 0.8)
        state.update(False, 0.3)
        text, tree = state.snapshot().report(80), ElementTree.fromstring(html(state.snapshot()))
        assert "Nothing scored yet." in empty.report(80)
        assert "Nothing scored yet." in html(empty)
        assert text.startswith("2 samples")
        assert "Confusion" not in text
        assert len(tree.findall("table")) == text.count("\n\n")
        assert make is not sm.RankSketch or rows(text) == SKETCH | {'Calibration error of "True"': ["0.2500"]}


@pytest.mark.quick
def test_many_classes_of_scores_alone() -> None:
    """Of many classes without a matrix the ones with the lowest area are listed, worst first."""
    state = sm.RankSketch(pairs=False)
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 70, 700)
    state.update_many(truth, rng.random((700, 70)) + 0.02 * truth[:, None] * np.eye(70)[truth], classes=range(70))
    text, areas = state.snapshot().report(80), state.snapshot().per_class["roc_auc"]
    shown = [int(label) for label in re.findall(r"^(\d+)(?: +[\w.<>*]+){3}$", text, re.M)]

    assert "The 25 classes with the lowest ROC AUC, of 70" in text
    assert shown == sorted(areas, key=areas.__getitem__)[:25]
    assert "Hand and Till" not in text
