"""``run --scores``: objects, numbers and columns of scores become the state that Python makes of them."""

from __future__ import annotations

import random

import pytest
from support.command_line import as_json_lines, counted, run_json, saved

import stream_metrics as sm

pytestmark = pytest.mark.quick
CLASSES = ["cat", "dog", "emu"]


def drawn(n):
    """Return pairs of a true class and the scores of all classes."""
    draw, rows = random.Random(1), []
    for _ in range(n):
        raw = [draw.random() for _ in CLASSES]
        scores = {name: round(x / sum(raw), 4) for name, x in zip(CLASSES, raw, strict=True)}
        rows.append((draw.choice(CLASSES), scores))
    return rows


def jsonl(rows, **fields):
    """Return records with y_true and scores, and the same extra fields in each."""
    return as_json_lines({"y_true": truth, "scores": scores, **fields} for truth, scores in rows)


def seen(rows, **options):
    """Return the bytes of a set that saw every row, one by one."""
    state = sm.MetricSet(**({"scores": True} | options))
    for truth, scores in rows:
        state.update(truth, scores=scores)
    return state.to_bytes()


ROWS = drawn(60)
TABLE = b"id,y_true,p_cat,p_dog,p_emu\n" + b"".join(
    f"{i},{truth},{','.join(map(str, scores.values()))}\n".encode() for i, (truth, scores) in enumerate(ROWS)
)
NESTED = as_json_lines({"y_true": truth, "out": {"p": scores}} for truth, scores in ROWS)
HOLES = b"y_true,p_cat,p_dog\ncat,0.7,0.3\ndog,,\n"
NUMBERS = [(1, 0.9), (0, 0.4), (1, 0.35), (0, 0), (1, None)]
MARGINS = [(1, 3.5), (0, -2.0), (1, 0.25)]
TEXTS, BOTH = [("spam", 0.9), ("ham", 0.4), ("spam", 0.35), ("ham", None)], " --labels ham,spam --pos-label spam"
COLUMN = b"y_true,p\n" + b"".join(f"{t},{'' if s is None else s}\n".encode() for t, s in TEXTS)
TEXT_SET = {"labels": ["ham", "spam"], "pos_label": "spam"}
MIXED = [("none", {"none": 0.6, "2": 0.2, "true": 0.2}), (2, {"none": 0.1, "2": 0.6, "true": 0.3})]
LABELS = ["none", 2, True]
WRITTEN = [(truth, dict(zip(LABELS, scores.values(), strict=True))) for truth, scores in MIXED]
FORMS = [
    (jsonl(ROWS), "--scores", seen(ROWS)),
    (TABLE, "--scores p_*", seen(ROWS)),
    (TABLE, "--scores emu=p_emu,cat=p_cat,dog=p_dog", seen(ROWS)),
    (NESTED, "--scores out.p", seen(ROWS)),
    (HOLES, "--scores p_*", seen([("cat", {"cat": 0.7, "dog": 0.3}), ("dog", None)])),
    (jsonl(MIXED), '--scores --labels ["none",2,true]', seen(WRITTEN, labels=LABELS)),
    (jsonl(NUMBERS), "--scores", seen(NUMBERS)),
    (jsonl(NUMBERS), "--scores --threshold 0.3", seen(NUMBERS, threshold=0.3)),
    (jsonl(TEXTS), "--scores" + BOTH, seen(TEXTS, **TEXT_SET)),
    (COLUMN, "--scores p" + BOTH, seen(TEXTS, **TEXT_SET)),
    (jsonl(MARGINS), "--scores --margins", seen(MARGINS, scores="any", threshold=0.0)),
    (jsonl(ROWS), "--scores --buckets 8 --sample 4", seen(ROWS, buckets=8, sample=4)),
    (jsonl(ROWS, w=2.5), "--scores --weight w",
     counted(sm.MetricSet(scores=True), [t for t, _ in ROWS], [s for _, s in ROWS], [2.5] * len(ROWS)).to_bytes()),
    (jsonl(ROWS, land="x"), "--scores --by land --window 40",
     counted(sm.Rolling(sm.ByGroup(sm.MetricSet(scores=True)), 40), *zip(*ROWS, strict=True),
             group=["x"] * 60).to_bytes()),
]  # fmt: skip
SHAPES = {  # order of keys, classes left out, null and {} count as they do in Python
    "best first": lambda scores: dict(sorted(scores.items(), key=lambda item: -item[1])),
    "largest only": lambda scores: {k: v for k, v in scores.items() if v > 0.3},
    "some without": lambda scores: scores if scores["cat"] > 0.2 else None,
    "some empty": lambda scores: scores if scores["cat"] > 0.2 else {},
    "integers": lambda scores: {k: round(v) for k, v in scores.items()},
    "one class": lambda scores: {"cat": scores["cat"]},
}
KEYS = [  # a key stands for a number or a bool where the truth is one, and for text where the truth is text
    ([1, 0], ["1", "0"], [1, 0]),
    ([1, 0], ["1.0", "0.0"], [1.0, 0.0]),
    ([True, False], ["true", "false"], [True, False]),
    ([True, False], ["True", "False"], [True, False]),
    ([2.0, -1], ["2.0", "-1"], [2.0, -1]),
    (["1", "0"], ["1", "0"], ["1", "0"]),
    (["true", "x"], ["true", "x"], ["true", "x"]),
]


@pytest.mark.usefixtures("small_pieces")
def test_every_form_counts_as_in_python():
    """Objects, numbers and columns, in chunks of a few records, leave the state of single updates."""
    cases = {(at, options): (data, options, expected) for at, (data, options, expected) in enumerate(FORMS)}
    for name, shape in SHAPES.items():
        rows = [(truth, shape(scores)) for truth, scores in drawn(80)]
        cases[name] = jsonl(rows), "--scores", seen(rows)
    for truths, keys, labels in KEYS:
        given, expected = (
            [(truths[i % 2], dict(zip(names, (1 - p, p), strict=True))) for i, p in enumerate((0.25, 0.625, 0.75))]
            for names in (keys, labels)
        )
        cases[str(truths), str(keys)] = jsonl(given), "--scores", seen(expected)

    got = {name: saved("-", *options.split(), stdin=data) for name, (data, options, _) in cases.items()}

    assert {name: state for name, state in got.items() if state != cases[name][2]} == {}


POSITIVE = [
    (0, "--input jsonl --pos-label 0", 0),
    (0, "--pos-label 0 --labels [0,1]", 0),
    ("0", "--pos-label x --labels 0,x", "x"),
]


def test_pos_label_takes_its_type():
    """A number on the command line is a number in JSON Lines and the label written so with --labels; CSV has text."""
    for truth, options, positive in POSITIVE:
        state = sm.from_bytes(saved("-", "--scores", *options.split(), stdin=jsonl([(truth, 0.7)])))
        assert (positive, type(positive)) == (state.pos_label, type(state.pos_label))
    data = b"y_true,p_0,p_1\n1,0.3,0.7\n0,0.6,0.4\n"
    state = sm.from_bytes(saved("-", "--input", "csv", "--scores", "p_*", "--pos-label", "1", stdin=data))
    assert (state.pos_label, state.snapshot()["roc_auc"]) == ("1", 1.0)


def test_fields_beside_scores():
    """The label is that of --pred, or that of the largest score; a pattern leaves out the other named fields."""
    scores = {"cat": 0.9, "dog": 0.1}
    data = b"".join(jsonl([("cat", scores)], y_pred=label) for label in ("dog", "dog", None))
    for options, accuracy in ((("--pred", "y_pred"), 1 / 3), ((), 1.0)):
        snapshot = sm.from_bytes(saved("-", "--scores", *options, stdin=data)).snapshot()
        assert (snapshot["accuracy"], snapshot.abstained, snapshot.scored) == (accuracy, 0, 3)

    data = b"truth,guess,w,cat,dog\ncat,cat,1,0.7,0.3\ndog,cat,1,0.7,0.3\n"
    options = ("--true", "truth", "--pred", "guess", "--weight", "w", "--scores", "*")
    assert list(sm.from_bytes(saved("-", *options, stdin=data)).snapshot().per_class["roc_auc"]) == ["cat", "dog"]


def test_resume_and_merge(cli, tmp_path):
    """Two runs joined by --resume, or two states merged, are the bytes of one run."""
    first, second, merged = tmp_path / "first", tmp_path / "second", tmp_path / "merged"
    for path, part in ((first, ROWS[:20]), (second, ROWS[20:])):
        path.write_bytes(saved("-", "--scores", "--threshold", "0.4", stdin=jsonl(part)))

    assert cli("merge", second, first, "-o", merged).status == 0
    whole = saved("-", "--scores", "--threshold", "0.4", stdin=jsonl(ROWS))
    assert whole == merged.read_bytes() == saved("-", "--scores", "--resume", first, stdin=jsonl(ROWS[20:]))


def test_values_of_scores(cli):
    """--every has log loss and ROC area on lines of 80 columns, --margins no loss; JSON has bounds of --metrics."""
    result = cli("run", "-", "--scores", "--every", 10, stdin=jsonl(ROWS))
    margins = cli("run", "-", "--scores", "--margins", "--every", 10, stdin=jsonl(ROWS))
    snapshot = sm.from_bytes(seen(ROWS[:10])).snapshot()
    header, line = result.out.splitlines()[:2]
    assert header.split()[-2:] == ["log_loss", "roc_auc_ovr"]
    assert line.split()[-2:] == [f"{snapshot['log_loss']:.4f}", f"{snapshot['roc_auc_ovr']:.4f}"]
    assert max(len(header), len(line)) <= 80
    assert margins.out.splitlines()[0].split()[-2:] == ["matthews_corrcoef", "roc_auc_ovr"]

    options = ["--buckets", 8, "--sample", 8, "--metrics", "roc_auc_ovo,log_loss"]
    result = run_json("run", "-", "--scores", *options, stdin=jsonl(drawn(200)))
    estimate = sm.from_bytes(seen(drawn(200), buckets=8, sample=8)).snapshot().estimate("roc_auc_ovo")
    bounds = result["scores"]["bounds"]["roc_auc_ovo"]
    assert {"roc_auc_ovo", "log_loss"} == set(result["metrics"])
    assert (bounds["low"], bounds["high"]) == (estimate.low, estimate.high)
    assert estimate.low < estimate.value < estimate.high
