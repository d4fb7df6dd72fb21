// The headline: a tile for each metric, and the facts that say how far it can be trusted.
//
// A change is against the same window one length ago, and against the reference if there is one. It is called better or
// worse, by colour and word, only where the monitor says so, from the intervals of both values: red for noise would
// teach people to ignore red.

import { byId, el, labelNode, setAttribute, setLabel, setText, setVariable, show, sized, svg } from "./dom.js";
import {
  certainty,
  change,
  compact,
  count,
  DASH,
  duration,
  interval,
  metric,
  metricName,
  moment,
  open,
  openness,
  rate,
  share,
  windowSeconds,
} from "./format.js";
import { workerFacts } from "./workers.js";

const WIDTH = 120;
const HEIGHT = 32;
const STILL = 0.00005; // below, a change shows as 0.0000

/** The rule texts of alerts that concern this metric in this window. */
export function alertsOn(view, key, window) {
  const name = new RegExp(`(^|[^A-Za-z0-9_])${key.replace(/\W/g, "\\$&")}($|[^A-Za-z0-9_])`);
  return view.alerts.filter(
    (alert) => alert.state !== "ok" && name.test(alert.rule) && ruleWindow(alert.rule) === window,
  );
}

const ruleWindow = (rule) => /\[([^\]"]*)\]/.exec(rule)?.[1] ?? "total";

/** What a comparison of a window is with, in words. */
function than(row, view, window) {
  if (row.against === "reference") return "against the reference";
  const length = row.covers ?? windowSeconds(window);
  return `against the ${length === windowSeconds(window) ? window : duration(length)} before`;
}

/** Draw the tiles and the facts of a window. */
export function showHeadline(view, window) {
  const part = view.by_window[window];
  const tiles = sized(byId("tiles"), view.headline.length, newTile);
  view.headline.forEach((key, i) => showTile(tiles[i], view, part, key, window));
  showReference(view.reference ?? null, view.now);
  showAssumption(part);
  const doubts = part.warnings ?? [];
  setText(byId("warnings"), doubts.map((text) => `Warning: ${text}.`).join(" "));
  show(byId("warnings"), doubts.length > 0);
  showFacts(view, part);
  showWeakest(view, part);
}

/** Which stretch of time is the reference. */
function showReference(reference, now) {
  const said = reference && [moment(reference.start, now), moment(reference.at, now), count(reference.n)];
  setText(byId("reference"), said ? `Reference: ${said[0]} to ${said[1]}, ${said[2]} labelled predictions.` : "");
  show(byId("reference"), said !== null);
}

/** What the numbers in brackets assume, and what those without brackets allow for. */
function showAssumption(part) {
  const [intervals, missing] = [part.intervals, part.label_bounds].map((found) => Object.keys(found ?? {}).length > 0);
  const text = [
    intervals ? `In brackets: ${certainty(part.interval)}.` : "",
    missing ? `Any labels: the value can be anything between these two, ${openness(part.coverage)}.` : "",
  ];
  setText(byId("assumption"), text.filter(Boolean).join(" "));
  show(byId("assumption"), intervals || missing);
}

function newTile() {
  const line = svg(
    "svg",
    { class: "spark", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("path", { class: "area" }),
    svg("path", { class: "line" }),
  );
  return el(
    "li",
    { class: "tile" },
    el("h3"),
    el("p", { class: "value" }),
    el("p", { class: "interval" }),
    el("p", { class: "open" }),
    el("div", { class: "changes" }),
    line,
    el("p", { class: "alarm" }),
  );
}

function showTile(tile, view, part, key, window) {
  const [name, value, between, unknown, changed, spark, alarm] = tile.children;
  const now = part.metrics[key] ?? null;
  setText(name, metricName(key));
  setAttribute(name, "title", key);
  setText(value, metric(now));
  setAttribute(value, "title", now === null ? "undefined so far" : null);
  const bounds = interval(part.intervals?.[key]);
  const note = part.interval_notes?.[key];
  setText(between, bounds + (note ? "?" : ""));
  setAttribute(between, "title", certainty(part.interval) + (note ? `; not to be trusted: ${note}` : ""));
  show(between, bounds !== "");
  const least = open(part.label_bounds?.[key]);
  setText(unknown, least && `any labels: ${least}`);
  setAttribute(unknown, "title", least ? openness(part.coverage) : null);
  show(unknown, least !== "");
  const rows = part.comparisons?.[key] ?? [];
  const nodes = sized(changed, Math.max(rows.length, 1), newChange);
  if (rows.length === 0) showChange(nodes[0], null, "no earlier value");
  rows.forEach((row, i) => showChange(nodes[i], row, than(row, view, window)));
  const alerts = alertsOn(view, key, window);
  const worst = ["firing", "pending", "unknown"].find((state) => alerts.some((alert) => alert.state === state)) ?? null;
  setAttribute(tile, "data-alarm", worst);
  setText(alarm, worst === null ? "" : `alert ${worst}`);
  showSpark(spark, view.history[window], key);
}

const newChange = () => el("p", { class: "change" }, el("span", { class: "by" }), el("span", { class: "than" }));

function showChange(node, row, words) {
  const [by, text] = node.children;
  const difference = row?.difference ?? 0;
  const still = Math.abs(difference) < STILL;
  const sign = still ? "=" : difference > 0 ? "▲" : "▼";
  const verdict = row?.verdict ?? null;
  setText(by, row === null ? "" : `${sign} ${change(still ? 0 : difference)}${verdict === null ? "" : ` ${verdict}`}`);
  setAttribute(by, "data-way", verdict);
  const bounds = row === null ? "" : interval([row.low, row.high]);
  const before = row === null ? "" : `it was ${metric(row.value)}`;
  setAttribute(by, "title", [before, bounds && `change ${bounds}`, row?.reason].filter(Boolean).join("; ") || null);
  setText(text, row === null ? words : ` ${words}`);
}

function showSpark(node, history, key) {
  const points = [];
  (history?.[key] ?? []).forEach((value, i) => value !== null && points.push([history.t[i], value]));
  if (points.length < 2) {
    node.children[0].removeAttribute("d");
    node.children[1].removeAttribute("d");
    return;
  }
  const [low, high] = [Math.min(...points.map((p) => p[1])), Math.max(...points.map((p) => p[1]))];
  const reach = Math.max(high - low, 0.02); // a flat line stays flat, however often it is magnified
  const [start, span] = [points[0][0], points[points.length - 1][0] - points[0][0] || 1];
  const x = (t) => (((t - start) / span) * WIDTH).toFixed(1);
  const y = (value) => (HEIGHT - 2 - ((value - (low + high - reach) / 2) / reach) * (HEIGHT - 4)).toFixed(1);
  const line = points.map(([t, value]) => `${x(t)},${y(value)}`).join("L");
  setAttribute(node.children[0], "d", `M0,${HEIGHT}L${line}L${WIDTH},${HEIGHT}Z`);
  setAttribute(node.children[1], "d", `M${line}`);
}

function showFacts(view, part) {
  const facts = view.workers ? workerFacts(view, part) : monitorFacts(view, part);
  const nodes = sized(byId("facts"), facts.length + 1, () =>
    el(
      "div",
      { class: "fact" },
      el("dt"),
      el("dd", { class: "value" }),
      el("dd", { class: "meter", hidden: "" }),
      el("dd", { class: "than" }),
    ),
  );
  facts.forEach(([name, value, text, filled], i) => {
    const [dt, dd, meter, than] = nodes[i].children;
    setText(dt, name);
    setText(dd, value);
    setText(than, text);
    show(meter, filled !== undefined);
    setVariable(meter, "--value", `${(100 * (filled ?? 0)).toFixed(0)}%`);
  });
}

function monitorFacts(view, part) {
  const rejected = Object.values(view.records.rejected).reduce((sum, n) => sum + n, 0);
  const weight = part.weight === part.n ? "" : `weight ${count(part.weight)}`;
  const abstained = part.abstained > 0 ? `${count(part.abstained)} abstained` : "";
  const folded = part.classes_folded > 0 ? `${count(part.classes_folded)} of folded classes` : "";
  const { ratio, labelled, due } = part.coverage;
  return [
    ["Labelled predictions", count(part.n), [weight, abstained, folded].filter(Boolean).join(", ") || "in this window"],
    ["Label coverage", share(ratio), due > 0 ? `${compact(labelled)} of ${compact(due)} due` : "none due yet", ratio],
    [
      "Median label delay",
      duration(part.delay.p50),
      part.delay.p99 === null ? "no label yet" : `99 % within ${duration(part.delay.p99)}`,
    ],
    ["Throughput", rate(view.records.per_second), `${compact(view.records.read)} records read`],
    ["Lag", ...lag(view)],
    ["Waiting for labels", compact(view.join.pending), "predictions pending"],
    [
      "Rejected",
      compact(rejected),
      rejected === 0 ? "records" : `records, ${share(rejected / view.records.read)} of all`,
    ],
  ];
}

/** How far behind: records that wait, if the source tells, and the age of the newest event. */
export function lag(view) {
  const { records, seconds } = view.lag;
  const age = seconds === null ? "" : `newest ${duration(seconds)} old`;
  if (view.source.state === "unassigned") return ["unknown", age || "waiting for partitions"];
  if (view.source.state === "away") return ["unknown", age || "the source cannot be read"];
  if (records === null) return [DASH, age || "unknown"];
  return [compact(records), seconds === null ? "records" : `records, ${age}`];
}

/** The last fact: the group that does worst by the first headline metric, or the class of the lowest recall. */
function showWeakest(view, part) {
  const [key] = view.headline;
  const group = part.groups.rows.find((row) => typeof row.metrics[key] === "number");
  const row = part.classes.reduce(
    (worst, other) => (other.recall !== null && (worst === null || other.recall < worst.recall) ? other : worst),
    null,
  );
  const [dt, dd, , than] = byId("facts").lastElementChild.children;
  setText(dt, group !== undefined ? "Weakest group" : "Weakest class");
  setLabel(dd.firstElementChild ?? dd.appendChild(labelNode()), group?.group ?? row?.label ?? DASH);
  setText(
    than,
    group !== undefined
      ? `${metricName(key)} ${metric(group.metrics[key])}`
      : row !== null
        ? `recall ${metric(row.recall)}${part.classes_omitted > 0 ? `, of the ${count(part.classes.length)} most frequent` : ""}`
        : "nothing counted yet",
  );
}
