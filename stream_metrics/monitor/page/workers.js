// The workers of a collector: how many report, and which of them need attention. A monitor has none; what only a monitor
// has is hidden where there are some.

import { byId, setAttribute, setText, show } from "./dom.js";
import { compact, count, duration, share } from "./format.js";
import { Table } from "./tables.js";

const OUTCOMES = [
  ["accepted", "Accepted", "States that were new"],
  ["duplicate", "Twice", "States that came again, and were not counted again"],
  ["stale", "Late", "States that came after a newer one"],
  ["fenced", "Fenced", "States of an earlier process of this name, which is over"],
];

let table = null;

/** The facts of a collector as {name, value, text, filled} lists, as the headline shows them. */
export function workerFacts(view, part) {
  const { live, silent, missing, retired, expected, outcomes, refused } = view.workers;
  const abstained = part.abstained > 0 ? `${count(part.abstained)} abstained` : "of all workers";
  const [reports, wrong] = [total(outcomes), total(refused)];
  return [
    ["Samples", compact(part.n), abstained],
    ["Workers live", count(live), `of ${count(live + silent + missing)}`, live / Math.max(1, live + silent + missing)],
    ["Silent", count(silent), "counted, but not heard of"],
    ["Missing", count(missing), expected === null ? "no names are expected" : `of ${count(expected)} expected`],
    ["Retired", compact(retired), "gone; their counts stay"],
    ["Reports", compact(reports), "since the start"],
    ["Refused", compact(wrong), wrong === 0 ? "reports" : `reports, ${share(wrong / (reports + wrong))} of all`],
  ];
}

/** What is wrong with the workers, in words; nothing if all report. */
export function absent({ silent, missing }) {
  return [missing > 0 ? `${count(missing)} missing` : "", silent > 0 ? `${count(silent)} silent` : ""]
    .filter(Boolean)
    .join(", ");
}

/** Show the table of workers, or hide it with all that is of collectors only. */
export function showWorkers(view) {
  const workers = view.workers ?? null;
  setAttribute(document.documentElement, "data-view", workers === null ? "monitor" : "collector");
  show(byId("workers"), workers !== null);
  if (workers === null) return;
  table ??= new Table(byId("workers-table"), {
    caption: "Table of workers, those that need attention first",
    filter: "workers",
    tall: true,
    empty: "No worker has reported yet.",
    columns: [
      { key: "worker", name: "Worker", kind: "label", wide: true, value: (row) => row.worker },
      { key: "state", name: "State", kind: "label", value: (row) => row.state },
      { key: "age", name: "Last report", kind: "age", down: true, lacks: "none yet", value: (row) => row.age },
      { key: "n", name: "Samples", kind: "count", down: true, value: (row) => row.n },
      ...OUTCOMES.map(([key, name, title]) => ({
        key,
        name,
        title,
        kind: "count",
        down: true,
        value: (row) => row[key],
      })),
    ],
  });
  table.update(workers.rows);
  const away = absent(workers);
  const more = workers.omitted > 0 ? `; ${count(workers.omitted)} more report` : "";
  setText(byId("workers-note"), workers.rows.length === 0 ? "" : `${away || "all report"}${more}`);
}

const total = (counts) => Object.values(counts).reduce((sum, n) => sum + n, 0);
