// What is around the metrics: alerts, labels and their delay, records, partitions, dead letters.

import { byId, el, labelNode, setAttribute, setLabel, setText, setVariable, show, sized } from "./dom.js";
import { bound, bytes, count, DASH, duration, metric, moment, rate, share, standing } from "./format.js";
import { Table } from "./tables.js";
import { lag } from "./tiles.js";

const URGENCY = { firing: 0, pending: 1, unknown: 2, ok: 3 };
const SOURCES = {
  waiting: "waiting for the first event",
  live: "live",
  silent: "silent",
  away: "cannot be read",
  unassigned: "waiting for partitions",
  ended: "read to its end",
};
const JOINED = [
  ["joined", "Joined", "predictions that met their label"],
  ["pending", "Waiting for a label", "predictions, in memory or spilled to the state file"],
  ["labels_unmatched", "Labels without a prediction", "waiting for one, or given up"],
  ["labels_late", "Labels too late", "their prediction had expired"],
  ["predictions_expired", "Predictions never labelled", "given up after the time to live, or early"],
  ["expired_early", "Given up early", "of these, since more than max_pending waited"],
  ["labels_duplicate", "Labels twice", "counted once"],
  ["predictions_duplicate", "Predictions twice", "counted once"],
  ["corrections", "Corrected labels", "taken back and counted again"],
  ["corrections_refused", "Corrections refused", "what they correct can no longer be taken back"],
  ["forgotten", "Ids forgotten", "more than max_ids; a replay of these would be counted again"],
];

const tables = {};

/** Show alerts: those that did not arrive, then firing ones. */
export function showAlerts(view) {
  const alerts = [...view.alerts].sort((a, b) => (URGENCY[a.state] ?? 4) - (URGENCY[b.state] ?? 4));
  const lost = view.undelivered;
  const all = [...sized(byId("alerts-list"), lost.length + Math.max(1, alerts.length), newAlert)];
  const nodes = all.slice(lost.length);
  lost.forEach((each, i) => {
    const [state, rule, text] = all[i].children;
    setAttribute(all[i], "data-state", "undelivered");
    setText(state, "not delivered");
    setLabel(rule, each.rule);
    setText(text, `${each.state} since ${moment(each.at, view.now)}; ${each.sink}: ${each.problem}`);
  });
  alerts.forEach((alert, i) => {
    const [state, rule, text] = nodes[i].children;
    setAttribute(nodes[i], "data-state", alert.state);
    setText(state, alert.state);
    setLabel(rule, alert.rule);
    const since =
      alert.since === null || alert.since === undefined
        ? ""
        : `, ${duration(view.now - alert.since)} (since ${moment(alert.since, view.now)})`;
    setText(text, `${standing(alert)}${since}`);
  });
  if (alerts.length === 0) {
    const [state, rule, text] = nodes[0].children;
    setAttribute(nodes[0], "data-state", "none");
    setText(state, "");
    setLabel(rule, "No rules are set.");
    setText(text, "Rules such as balanced_accuracy[1h] < 0.8 for 5m go into the configuration, under alerts.");
  }
  setText(
    byId("alerts-note"),
    alerts.length === 0 ? "" : `${count(alerts.length)} ${alerts.length === 1 ? "rule" : "rules"}`,
  );
}

/** Show when alerts fired and what happened to the model, newest first. */
export function showPast(view) {
  const rows = [
    ...view.firings.map((row) => ({ at: row.began, label: row.rule, kind: "fired", text: firedFor(row, view.now) })),
    ...view.annotations.map((row) => ({ at: row.at, label: row.text, kind: "note", text: "" })),
  ].sort((a, b) => b.at - a.at);
  const nodes = sized(byId("past-list"), rows.length, () =>
    el("li", {}, el("span", { class: "than" }), labelNode(), el("span", { class: "than" })),
  );
  rows.forEach((row, i) => {
    const [at, label, text] = nodes[i].children;
    setAttribute(nodes[i], "data-kind", row.kind);
    setText(at, moment(row.at, view.now));
    setLabel(label, row.label);
    setText(text, row.text);
  });
  show(byId("past"), rows.length > 0);
}

function firedFor(row, now) {
  const value = `at ${metric(row.value)}`;
  return row.ended === null ? `fires for ${duration(now - row.began)}, ${value}` : `fired for ${duration(row.ended - row.began)}, ${value}`;
}

function newAlert() {
  const rule = el("code", { class: "label", dir: "auto" });
  return el("li", {}, el("span", { class: "chip" }), rule, el("span", { class: "than" }));
}

/** Show coverage, delay and what became of predictions and labels. */
export function showLabels(view, window) {
  const part = view.by_window[window];
  const { coverage, delay } = part;
  pairs("coverage", [
    ["Coverage", share(coverage.ratio), "of the predictions old enough to have a label, in this window"],
    ["Labelled", count(coverage.labelled), `of ${count(coverage.due)} due`],
    ["Too late", count(part.late), "for this window: its time was over"],
    ["Delay, median", duration(delay.p50)],
    ["Delay, 90 %", duration(delay.p90)],
    ["Delay, 99 %", duration(delay.p99)],
  ]);
  pairs(
    "join",
    JOINED.map(([key, name, text]) => [name, count(view.join[key]), text]),
  );
  showDelays(view.delays);
}

/** The histogram without its empty ends; the last column is what is beyond all bounds. */
function showDelays({ le, counts, sum }) {
  const all = counts.map((number, i) => ({ number, from: i === 0 ? 0 : le[i - 1], to: le[i] ?? null }));
  const used = all.map((bar) => bar.number > 0);
  const bars = used.includes(true) ? all.slice(used.indexOf(true), used.lastIndexOf(true) + 1) : [];
  const total = bars.reduce((s, bar) => s + bar.number, 0);
  const most = Math.max(1, ...bars.map((bar) => bar.number));
  const nodes = sized(byId("delays"), bars.length, () =>
    el(
      "li",
      {},
      el("span", { class: "unseen" }),
      el("span", { class: "column", "aria-hidden": "true" }),
      el("span", { class: "tick", "aria-hidden": "true" }),
    ),
  );
  const every = Math.ceil(bars.length / 8);
  bars.forEach((bar, i) => {
    const range = bar.to === null ? `more than ${bound(bar.from)}` : `up to ${bound(bar.to)}`;
    const [text, column, tick] = nodes[i].children;
    setText(text, `${range}: ${count(bar.number)}`);
    setAttribute(nodes[i], "title", `${range}: ${count(bar.number)} (${share(bar.number / total)})`);
    setVariable(column, "--value", `${((100 * bar.number) / most).toFixed(1)}%`);
    setText(tick, i % every === 0 ? (bar.to === null ? `> ${bound(bar.from)}` : `≤ ${bound(bar.to)}`) : "");
  });
  show(byId("delays"), bars.length > 0);
  setText(
    byId("delays-note"),
    total === 0
      ? "No label has arrived yet."
      : `${count(total)} labels since the start, ${duration(sum / total)} on average.`,
  );
}

/** Show the reader of records: speed, lag, checkpoint, partitions, what was refused. */
export function showOperation(view) {
  const { records, checkpoint, source } = view;
  const reading = view.workers
    ? [["Reports", count(records.read), "since the start"]]
    : [
        ["Records read", count(records.read), rate(records.per_second)],
        ["Source", SOURCES[source.state] ?? source.state, source.problem ?? lastCame(view)],
        ["Lag", ...lag(view)],
        ["Newest event", moment(view.event_time, view.now), "by its own time"],
      ];
  setText(byId("rejected-title"), view.workers ? "Refused reports" : "Rejected records");
  setText(byId("letters-title"), view.workers ? "The last refused reports" : "Dead letters");
  pairs("running", [
    ...reading,
    ["Running", duration(view.now - view.started), `since ${moment(view.started, view.now)}`],
    [
      "Checkpoint",
      `${duration(checkpoint?.age)}`,
      checkpoint?.age == null ? "none yet" : `ago, ${bytes(checkpoint.bytes)} in ${duration(checkpoint.duration)}`,
    ],
    ...workersOf(view.replicas ?? []),
    ...(view.workers
      ? []
      : [
          [
            "Counts",
            view.incomplete.length === 0 ? "complete" : "incomplete",
            view.incomplete.length === 0 ? "" : JSON.stringify(view.incomplete),
          ],
        ]),
  ]);
  const reasons = Object.entries(records.rejected)
    .filter(([, number]) => number > 0)
    .sort((a, b) => b[1] - a[1]);
  pairs(
    "rejected",
    reasons.length === 0
      ? [["None", "0"]]
      : reasons.map(([reason, number]) => [reason, count(number), share(number / records.read)]),
  );
  showPartitions(view.partitions, view.replicas ?? []);
  showLetters(view);
}

/** The workers that share the store: how many report, and which one evaluates alerts. */
function workersOf(replicas) {
  if (replicas.length === 0) return [];
  const silent = replicas.filter((each) => each.state !== "live").map((each) => each.worker);
  const alerts = replicas.find((each) => each.alerts);
  const who = alerts === undefined ? "no worker evaluates alerts" : `${alerts.this ? "this one" : alerts.worker} evaluates alerts`;
  return [["Workers", count(replicas.length), silent.length === 0 ? who : `${who}; silent: ${silent.join(", ")}`]];
}

const lastCame = ({ event_time, source: { silence, idle } }) =>
  event_time === null || silence === null ? "" : `last event ${duration(silence)} ago; silent from ${duration(idle)} on`;

/** Whose a partition is: this worker's as it is now, another's as of its last checkpoint. */
function owned({ owner, age }) {
  if (owner === null || owner === undefined) return "this one, now";
  return `${owner === "" ? "none" : owner}, ${duration(age)} ago`;
}

function showPartitions(partitions, replicas) {
  const topics = [...new Set(partitions.flatMap((part) => Object.keys(part.next)))];
  tables.partitions ??= new Table(byId("partitions-table"), {
    caption: "Table of partitions",
    empty: "None assigned.",
    tall: true,
  });
  tables.partitions.update(partitions, [
    { key: "partition", name: "Partition", kind: "count", value: (part) => part.partition },
    ...topics.map((topic) => ({
      key: `next ${topic}`,
      name: `Next of ${topic}`,
      kind: "count",
      value: (part) => part.next[topic],
    })),
    { key: "lag", name: "Lag", kind: "count", down: true, value: (part) => part.lag },
    ...(replicas.length === 0 ? [] : [{ key: "owner", name: "Counted by", kind: "label", value: owned }]),
  ]);
}

function showLetters({ dead_letters: letters, workers }) {
  const places = workers
    ? [
        { key: "topic", name: "Worker", kind: "label", value: (letter) => letter.topic },
        { key: "offset", name: "Sequence", kind: "count", value: (letter) => letter.offset },
      ]
    : [
        { key: "topic", name: "Topic", kind: "label", value: (letter) => letter.topic },
        { key: "partition", name: "Part.", title: "Partition", kind: "count", value: (letter) => letter.partition },
        { key: "offset", name: "Offset", kind: "count", value: (letter) => letter.offset },
      ];
  tables.letters ??= new Table(byId("letters-table"), {
    caption: "Table of dead letters",
    tall: true,
    columns: [
      ...places,
      { key: "reason", name: "Reason", kind: "label", value: (letter) => letter.reason },
      { key: "detail", name: "Detail", kind: "label", wide: true, value: (letter) => letter.detail ?? "" },
    ],
  });
  tables.letters.update(letters);
}

/** A list of names with values, and a word on each where one is needed. */
function pairs(id, rows) {
  const nodes = sized(byId(id), rows.length, () =>
    el("div", {}, el("dt", {}, labelNode()), el("dd", { class: "value" }), el("dd", { class: "than" })),
  );
  rows.forEach(([name, value, text], i) => {
    const [dt, dd, than] = nodes[i].children;
    setLabel(dt.firstChild, name);
    setText(dd, value);
    setAttribute(dd, "title", value === DASH ? "undefined" : null);
    setText(than, text ?? "");
  });
}
