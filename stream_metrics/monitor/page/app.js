// The page: a feed of views in, everything drawn from the last one. Nothing is counted here; the server's numbers are
// shown as they came (its contract is `Monitor.view()`), so that page, API and exports always agree.
//
// Drawing waits for the next frame and takes the newest view then, so a page in a background tab, or on a slow machine,
// falls behind in frames and never in views; the sentence at the top and the title of the tab are kept right always.
// A part that cannot be drawn leaves the others alone, and an error in the console.

import { Curves } from "./curves.js";
import { byId, el, recall, remember, setAttribute, setLabel, setText, show } from "./dom.js";
import { Feed } from "./feed.js";
import { count, metricName, moment } from "./format.js";
import { Matrix } from "./matrix.js";
import { showAlerts, showLabels, showOperation, showPast } from "./operation.js";
import { showStatus } from "./status.js";
import { Table } from "./tables.js";
import { showHeadline } from "./tiles.js";
import { Trends } from "./trends.js";
import { showWorkers } from "./workers.js";

const THEMES = ["auto", "light", "dark"];

let window_ = recall("window");
let names = "";
let queued = false;

const feed = new Feed(() => {
  refresh();
  queue();
}, refresh);
const [trends, matrix, curves] = [new Trends(), new Matrix(), new Curves()];

const CLASSES = [
  { key: "label", name: "Class", kind: "label", value: (row) => row.label },
  {
    key: "support",
    name: "True",
    title: "How often it is the true class",
    kind: "count",
    down: true,
    value: (row) => row.support,
  },
  {
    key: "predicted",
    name: "Predicted",
    title: "How often it is predicted",
    kind: "count",
    down: true,
    value: (row) => row.predicted,
  },
  ...["precision", "recall", "f1"].map((key) => ({
    key,
    name: metricName(key),
    kind: "metric",
    bar: true,
    value: (row) => row[key],
    interval: (row) => row.intervals?.[key],
    open: (row) => row.label_bounds?.[key],
  })),
];
const AREA = { key: "roc_auc", name: "ROC AUC", kind: "metric", bar: true, value: (row) => row.roc_auc };
const classes = new Table(byId("classes-table"), {
  caption: "Table of classes",
  filter: "classes",
  tall: true,
  empty: "Nothing counted yet.",
});
const groups = new Table(byId("groups-table"), {
  caption: "Table of groups, worst first",
  filter: "groups",
  tall: true,
  empty: "No groups were counted.",
});
const gaps = new Table(byId("gaps-table"), {
  caption: "Table of gaps between groups",
  empty: "No gaps: they need two groups of 30 samples.",
  columns: [
    { key: "key", name: "Metric", kind: "text", value: (row) => metricName(row.key) },
    { key: "size", name: "Gap", kind: "metric", down: true, bar: true, value: (row) => row.size, interval: (row) => row.interval, note: (row) => row.note },
    { key: "lowest", name: "Lowest", kind: "label", value: (row) => row.lowest ?? "" },
    { key: "highest", name: "Highest", kind: "label", value: (row) => row.highest ?? "" },
  ],
});
const metrics = new Table(byId("metrics-table"), {
  caption: "Table of all metrics",
  filter: "metrics",
  tall: true,
  columns: [
    { key: "key", name: "Metric", kind: "label", wide: true, value: (row) => row.key },
    { key: "value", name: "Value", kind: "metric", value: (row) => row.value, interval: (row) => row.interval },
    {
      key: "low",
      name: "At least",
      title: "Certified bound",
      lacks: "no bounds",
      kind: "metric",
      value: (row) => row.low,
    },
    {
      key: "high",
      name: "At most",
      title: "Certified bound",
      lacks: "no bounds",
      kind: "metric",
      value: (row) => row.high,
    },
    ...["Worst", "Best"].map((name, side) => ({
      key: name,
      name: `${name} labels`,
      title: `With the ${side === 0 ? "lowest" : "highest"} value that missing labels allow`,
      lacks: (row) => row.unbounded ?? "no label is missing",
      kind: "metric",
      value: (row) => row.open?.[side],
    })),
    { key: "range", name: "Range", kind: "text", raw: true, lacks: "unknown", value: (row) => row.range },
    { key: "better", name: "Better", kind: "text", lacks: "neither", value: (row) => row.better },
  ],
});

function refresh() {
  showStatus(feed.view, feed);
}

function queue() {
  if (queued) return;
  queued = true;
  requestAnimationFrame(() => {
    queued = false;
    draw(feed.view);
  });
}

function draw(view) {
  const start = performance.now();
  showWindows(view);
  const part = view.by_window[window_];
  for (const show of [
    () => setLabel(byId("title"), view.title),
    () => showHeadline(view, window_),
    () => showWorkers(view),
    () => trends.update(view, window_),
    () => showAlerts(view),
    () => showPast(view),
    () => matrix.update(part.matrix, part.classes),
    () => showClasses(part),
    () => showGroups(view, part),
    () => curves.update(part),
    () => showLabels(view, window_),
    () => showOperation(view),
    () => showMetrics(part),
    () => setText(byId("foot"), `View of ${moment(view.now)}.`),
  ]) {
    try {
      show();
    } catch (error) {
      console.error(error);
    }
  }
  performance.clearMeasures("draw");
  performance.measure("draw", { start, end: performance.now() });
}

/** The choice of the window; at first the shortest, since what is wrong now shows there. */
function showWindows(view) {
  const known = view.windows.filter((name) => view.by_window[name] !== undefined);
  if (!known.includes(window_)) window_ = known.find((name) => name !== "total") ?? known[0];
  if (names !== known.join()) {
    names = known.join();
    const choices = known.map((name) => {
      const input = el("input", { type: "radio", name: "window", value: name });
      input.checked = name === window_;
      return el("label", {}, input, el("span", {}, name));
    });
    byId("windows").replaceChildren(byId("windows").querySelector("legend"), ...choices);
  }
  show(byId("windows"), known.length > 1);
}

function showClasses(part) {
  classes.update(
    part.classes,
    part.classes.some((row) => row.roc_auc !== undefined && row.roc_auc !== null) ? [...CLASSES, AREA] : CLASSES,
  );
  const [shown, omitted] = [part.classes.length, part.classes_omitted ?? 0];
  const all =
    omitted > 0 ? `the ${count(shown)} most frequent of ${count(shown + omitted)} classes` : `${count(shown)} classes`;
  setText(byId("classes-note"), shown > 0 ? all : "");
}

function showGroups(view, part) {
  const { rows, gaps: found, folded } = part.groups;
  const keys = view.headline.filter((key) => rows.some((row) => key in row.metrics));
  groups.update(rows, [
    { key: "group", name: "Group", kind: "label", value: (row) => row.group },
    { key: "n", name: "Samples", kind: "count", down: true, value: (row) => row.n },
    ...keys.map((key) => ({
      key,
      name: metricName(key),
      kind: "metric",
      bar: true,
      value: (row) => row.metrics[key],
      interval: (row) => row.intervals?.[key],
      note: (row) => row.interval_notes?.[key],
    })),
  ]);
  gaps.update(Object.entries(found).map(([key, gap]) => ({ key, ...gap })));
  const more = folded > 0 ? `; ${count(folded)} samples are of further groups` : "";
  setText(byId("groups-note"), rows.length > 0 ? `${count(rows.length)} groups, worst first${more}` : "");
  const lacking = rows.filter((row) => row.classes_absent > 0).length;
  const few = `Means over classes are over the classes that a group has: ${count(lacking)} of ${count(rows.length)} lack some.`;
  const notes = Object.entries(found).flatMap(([key, gap]) => (gap.note ? [`${metricName(key)}: ${gap.note}.`] : []));
  setText(byId("gaps-note"), [lacking > 0 ? few : "", ...notes].filter(Boolean).join(" "));
  show(byId("gaps-note"), lacking > 0 || notes.length > 0);
}

function showMetrics(part) {
  const bounds = ([low, high]) =>
    `${low === null ? "−∞" : Number(low)} to ${high === null ? "∞" : Number(high)}`.replaceAll("-", "−");
  metrics.update(
    Object.entries(part.metrics).map(([key, value]) => ({
      key,
      value,
      interval: part.intervals?.[key],
      open: part.label_bounds?.[key],
      unbounded: part.label_bounds_missing?.[key],
      low: part.estimates[key]?.low,
      high: part.estimates[key]?.high,
      better: part.better[key],
      range: part.range[key] ? bounds(part.range[key]) : null,
    })),
  );
  setText(byId("metrics-note"), `${count(Object.keys(part.metrics).length)} metrics; the names that rules use`);
}

function showTheme() {
  const chosen = document.documentElement.dataset.theme ?? "auto";
  setText(byId("theme-text"), `Theme: ${chosen}`);
  trends.recolour();
}

byId("windows").addEventListener("change", (event) => {
  window_ = event.target.value;
  remember("window", window_);
  draw(feed.view);
});
byId("theme").addEventListener("click", () => {
  const next = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme ?? "auto") + 1) % THEMES.length];
  setAttribute(document.documentElement, "data-theme", next === "auto" ? null : next);
  remember("theme", next === "auto" ? null : next);
  showTheme();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);
// The token is in a cookie by now, and should stay neither in sight nor in the history.
if (new URLSearchParams(location.search).has("token"))
  history.replaceState(history.state, "", location.pathname + location.hash);
setInterval(refresh, 1000);
showTheme();
feed.start();
