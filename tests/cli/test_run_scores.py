"""``run --scores``: objects, numbers and columns of scores become the state that Python makes of them."""

from __future__ import annotations

import csv
import io
import json
import random

import pytest

import stream_metrics as sm

pytestmark = pytest.mark.quick
CLASSES = ["cat", "dog", "emu"]


def drawn(n, seed=1):
    """Return pairs of a true class and the scores of all classes."""
    draw = random.Random(seed)
    rows = []
    for _ in range(n):
        raw = [draw.random() for _ in CLASSES]
        rows.append(
            (draw.choice(CLASSES), {name: round(x / sum(raw), 4) for name, x in zip(CLASSES, raw, strict=True)})
        )
    return rows


def jsonl(rows, **fields):
    """Return records with y_true and scores, and the same extra fields in each."""
    return "".join(json.dumps({"y_true": t, "scores": s, **fields}) + "\n" for t, s in rows).encode()


def as_csv(rows):
    """Return records with y_true and a column p_CLASS for each class."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["id", "y_true", *(f"p_{name}" for name in CLASSES)])
    writer.writerows([i, truth, *(scores[name] for name in CLASSES)] for i, (truth, scores) in enumerate(rows))
    return text.getvalue().encode()


def counted(rows, **options):
    """Return the state of a set that saw every row, one by one."""
    state = sm.MetricSet(scores=True, **options)
    for truth, scores in rows:
        state.update(truth, scores=scores)
    return state


@pytest.fixture
def saved(cli, tmp_path):
    """Run on stdin and return the saved bytes."""

    def call(data, *options):
        result = cli("run", "-", *options, "--state", tmp_path / "saved", stdin=data)
        assert (result.status, result.err) == (0, "")
        return (tmp_path / "saved").read_bytes()

    return call


@pytest.mark.usefixtures("small_pieces")
def test_chunks_give_the_bytes_of_one_by_one(saved):
    """Objects of JSON Lines and columns of CSV, in chunks, leave the state of single updates."""
    rows = drawn(60)
    expected = counted(rows).to_bytes()

    assert expected == saved(jsonl(rows), "--scores")
    assert expected == saved(as_csv(rows), "--scores", "p_*")
    assert expected == saved(as_csv(rows), "--scores", "emu=p_emu,cat=p_cat,dog=p_dog")


SHAPES = {
    "best first": lambda scores: dict(sorted(scores.items(), key=lambda item: -item[1])),
    "largest only": lambda scores: {k: v for k, v in scores.items() if v > 0.3},
    "some without": lambda scores: scores if scores["cat"] > 0.2 else None,
    "some empty": lambda scores: scores if scores["cat"] > 0.2 else {},
    "integers": lambda scores: {k: round(v) for k, v in scores.items()},
    "one class": lambda scores: {"cat": scores["cat"]},
}


def test_objects_of_any_shape(saved):
    """Order of keys, classes left out, null and {} count as they do in Python."""
    for name, shape in SHAPES.items():
        rows = [(truth, shape(scores)) for truth, scores in drawn(80)]

        assert counted(rows).to_bytes() == saved(jsonl(rows), "--scores"), name


def test_fields_of_csv_that_are_all_empty_are_no_scores(saved):
    """Such a record is an abstention."""
    data = b"y_true,p_cat,p_dog\ncat,0.7,0.3\ndog,,\n"

    assert counted([("cat", {"cat": 0.7, "dog": 0.3}), ("dog", None)]).to_bytes() == saved(data, "--scores", "p_*")


def test_nested_field(saved):
    """FIELD walks into objects as the other fields do."""
    rows = drawn(9)
    data = "".join(json.dumps({"y_true": t, "out": {"p": s}}) + "\n" for t, s in rows).encode()

    assert counted(rows).to_bytes() == saved(data, "--scores", "out.p")


KEYS = [
    ([1, 0], ["1", "0"], [1, 0]),
    ([1, 0], ["1.0", "0.0"], [1.0, 0.0]),
    ([True, False], ["true", "false"], [True, False]),
    ([True, False], ["True", "False"], [True, False]),
    ([2.0, -1], ["2.0", "-1"], [2.0, -1]),
    (["1", "0"], ["1", "0"], ["1", "0"]),
    (["true", "x"], ["true", "x"], ["true", "x"]),
]


def test_keys_take_the_type_of_the_truth(saved):
    """A key stands for a number or a bool where the truth is one, and for text where the truth is text."""
    scores = [(0.7, 0.3), (0.4, 0.6), (0.2, 0.8)]
    for truth, keys, labels in KEYS:
        data = jsonl([(truth[i % 2], dict(zip(keys, pair, strict=True))) for i, pair in enumerate(scores)])
        expected = counted([(truth[i % 2], dict(zip(labels, pair, strict=True))) for i, pair in enumerate(scores)])

        assert expected.to_bytes() == saved(data, "--scores"), (truth, keys)


def test_keys_are_labels_written_so(saved):
    """With --labels of mixed types each key finds its label, regardless of the truth of the record."""
    labels = ["none", 2, True]
    rows = [("none", {"none": 0.6, "2": 0.2, "true": 0.2}), (2, {"none": 0.1, "2": 0.6, "true": 0.3})]
    named = [(truth, dict(zip(labels, scores.values(), strict=True))) for truth, scores in rows]

    assert counted(named, labels=labels).to_bytes() == saved(jsonl(rows), "--scores", "--labels", '["none", 2, true]')


def test_one_number_is_the_score_of_true(saved):
    """A number is the score of true, or 1, which it predicts from the threshold on."""
    rows = [(1, 0.9), (0, 0.4), (1, 0.35), (0, 0), (1, None)]

    assert counted(rows).to_bytes() == saved(jsonl(rows), "--scores")
    assert counted(rows, threshold=0.3).to_bytes() == saved(jsonl(rows), "--scores", "--threshold", "0.3")


def test_one_number_of_a_named_class(saved):
    """--labels and --pos-label name the classes of a number, in JSON Lines and in a column of CSV."""
    rows = [("spam", 0.9), ("ham", 0.4), ("spam", 0.35), ("ham", None)]
    as_text = b"y_true,p\n" + b"".join(f"{t},{'' if s is None else s}\n".encode() for t, s in rows)
    both = ["--labels", "ham,spam", "--pos-label", "spam"]
    expected = counted(rows, labels=["ham", "spam"], pos_label="spam").to_bytes()

    assert expected == saved(jsonl(rows), "--scores", *both)
    assert expected == saved(as_text, "--scores", "p", *both)


POSITIVE = [
    (0, ["--input", "jsonl", "--pos-label", "0"], 0),
    (0, ["--pos-label", "0", "--labels", "[0, 1]"], 0),
    ("0", ["--pos-label", "x", "--labels", "0,x"], "x"),
]


def test_pos_label_takes_its_type(saved):
    """A number on the command line is a number in JSON Lines and the label written so with --labels; CSV has text."""
    for truth, options, positive in POSITIVE:
        state = sm.from_bytes(saved(jsonl([(truth, 0.7)]), "--scores", *options))
        assert (positive, type(positive)) == (state.pos_label, type(state.pos_label))
    data = b"y_true,p_0,p_1\n1,0.3,0.7\n0,0.6,0.4\n"
    state = sm.from_bytes(saved(data, "--input", "csv", "--scores", "p_*", "--pos-label", "1"))
    assert (state.pos_label, state.snapshot()["roc_auc"]) == ("1", 1.0)


def test_margins(saved):
    """--margins keeps numbers of any size; one number predicts true above 0."""
    rows = [(1, 3.5), (0, -2.0), (1, 0.25)]
    expected = sm.MetricSet(scores="any", threshold=0.0)
    for truth, score in rows:
        expected.update(truth, score)

    assert expected.to_bytes() == saved(jsonl(rows), "--scores", "--margins")


def test_sizes(saved):
    """--buckets and --sample set the memory."""
    rows = drawn(40)

    small = saved(jsonl(rows), "--scores", "--buckets", "8", "--sample", "4")

    assert counted(rows, buckets=8, sample=4).to_bytes() == small


def test_weights(saved):
    """A weight counts for scores as for labels."""
    rows = drawn(20)
    expected = sm.MetricSet(scores=True)
    for truth, scores in rows:
        expected.update(truth, scores, 2.5)

    assert expected.to_bytes() == saved(jsonl(rows, w=2.5), "--scores", "--weight", "w")


def test_prediction_beside_scores(saved):
    """The label is that of --pred; without it, or where it is null, that of the largest score."""
    scores = {"cat": 0.9, "dog": 0.1}
    data = b"".join(jsonl([("cat", scores)], y_pred=label) for label in ("dog", "dog", None))
    given = sm.from_bytes(saved(data, "--scores", "--pred", "y_pred")).snapshot()
    largest = sm.from_bytes(saved(data, "--scores")).snapshot()

    assert (given["accuracy"], given.abstained, given.scored) == (1 / 3, 0, 3)
    assert (largest["accuracy"], largest.abstained, largest.scored) == (1.0, 0, 3)


def test_pattern_leaves_out_the_other_fields(saved):
    """Columns of the truth, the prediction and the weight are no classes."""
    data = b"truth,guess,w,cat,dog\ncat,cat,1,0.7,0.3\ndog,cat,1,0.7,0.3\n"
    options = ["--true", "truth", "--pred", "guess", "--weight", "w", "--scores", "*"]

    assert list(sm.from_bytes(saved(data, *options)).snapshot().per_class["roc_auc"]) == ["cat", "dog"]


def test_resume_and_merge(cli, saved, tmp_path):
    """Two runs joined by --resume, or two states merged, are the bytes of one run."""
    rows = drawn(50)
    whole = saved(jsonl(rows), "--scores", "--threshold", "0.4")
    first, second, merged = tmp_path / "first", tmp_path / "second", tmp_path / "merged"
    for path, part in ((first, rows[:20]), (second, rows[20:])):
        path.write_bytes(saved(jsonl(part), "--scores", "--threshold", "0.4"))

    assert cli("merge", second, first, "-o", merged).status == 0
    assert whole == merged.read_bytes()
    assert whole == saved(jsonl(rows[20:]), "--scores", "--resume", first)


def test_every_prints_values_of_scores(cli):
    """Running values have log loss and ROC area beside labels, on lines of 80 columns; --margins has no loss."""
    rows = drawn(20)
    result = cli("run", "-", "--scores", "--every", 10, stdin=jsonl(rows))
    margins = cli("run", "-", "--scores", "--margins", "--every", 10, stdin=jsonl(rows))
    snapshot = counted(rows[:10]).snapshot()
    header, line = result.out.splitlines()[:2]

    assert header.split()[-2:] == ["log_loss", "roc_auc_ovr"]
    assert line.split()[-2:] == [f"{snapshot['log_loss']:.4f}", f"{snapshot['roc_auc_ovr']:.4f}"]
    assert max(len(header), len(line)) <= 80
    assert margins.out.splitlines()[0].split()[-2:] == ["matthews_corrcoef", "roc_auc_ovr"]


def test_metrics_of_scores(cli):
    """--metrics takes keys of scores, and JSON brings their bounds."""
    rows = drawn(200)
    options = ["--buckets", 8, "--sample", 8, "--metrics", "roc_auc_ovo,log_loss", "--format", "json"]
    result = json.loads(cli("run", "-", "--scores", *options, stdin=jsonl(rows)).out)
    estimate = counted(rows, buckets=8, sample=8).snapshot().estimate("roc_auc_ovo")

    assert {"roc_auc_ovo", "log_loss"} == set(result["metrics"])
    assert (estimate.low, estimate.high) == tuple(
        result["scores"]["bounds"]["roc_auc_ovo"][side] for side in ("low", "high")
    )
    assert estimate.low < estimate.value < estimate.high


def test_empty_stream(cli):
    """No records are no error where scores are kept either."""
    for data in (b"", b"y_true,p_a\n"):
        result = cli("run", "-", "--scores", "p_*", "--input", "csv", stdin=data)

        assert (0, f"{sm.MetricSet(scores=True).snapshot()}\n", "") == result
