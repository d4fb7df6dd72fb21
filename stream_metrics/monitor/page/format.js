// Numbers, times and names as text. One rule each, everywhere on the page:
// metrics are numbers with four decimals (unbounded ones beyond 10 with four significant digits), shares of counts are
// per cent with one decimal, counts are whole with thousands separators, and what is undefined is a dash.
// English is fixed, as the texts of the page are, so that 1,234 means the same to everyone who reads it.

import { short } from "./dom.js";

export const DASH = "–";

const MINUS = "−";
const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const BYTES = ["B", "kB", "MB", "GB", "TB"];
const UNITS = { s: 1, m: 60, h: 3600, d: 86400, w: 604800 };
const WORDS = new Map(
  Object.entries({
    roc: "ROC",
    auc: "AUC",
    pr: "PR",
    ovr: "OVR",
    ovo: "OVO",
    f1: "F1",
    mcc: "MCC",
    ece: "ECE",
    iou: "IoU",
  }),
);
const NAMES = new Map([
  ["matthews_corrcoef", "Matthews correlation"],
  ["cohen_kappa", "Cohen’s kappa"],
  ["n", "Samples"],
]);

const defined = (x) => typeof x === "number" && Number.isFinite(x);

/** A metric: 0.9031, −0.2000, 12.35. */
export function metric(x) {
  if (!defined(x)) return DASH;
  return (Math.abs(x) < 10 ? x.toFixed(4) : x.toPrecision(4)).replace("-", MINUS);
}

const GROUPED = /(\d)[ \u00a0\u2009\u202f](?=\d{3}(?!\d))/g;

/** How an alert stands: its note, which says more than its value, with the thousands as everywhere here; or the value. */
export const standing = (alert) => alert.note?.replace(GROUPED, "$1,") ?? `now ${metric(alert.value)}`;

/** A confidence interval: [0.9050, 0.9190]; nothing where there is none. */
export const interval = (bounds) =>
  Array.isArray(bounds) && bounds.every(defined) ? `[${bounds.map(metric).join(", ")}]` : "";

/** What intervals promise, and what they assume: {level, assumption} of a window in words. */
export function certainty(kind) {
  if (!kind) return "confidence interval";
  return `${Math.round(100 * kind.level)} % confidence interval, ${kind.assumption}`;
}

/** What missing labels leave open: 0.8712 to 0.9101; nothing where nothing is missing. */
export const open = (bounds) =>
  Array.isArray(bounds) && bounds.every(defined) ? `${metric(bounds[0])} to ${metric(bounds[1])}` : "";

/** Why a value has bounds beside its interval: {due, labelled} of a window in words. */
export const openness = (coverage) =>
  `whichever of the classes seen so far the ${count(coverage.due - coverage.labelled)} due predictions without a label have`;

/** A change of a metric, with its sign: +0.0120. */
export const change = (x) => (defined(x) && x > 0 ? `+${metric(x)}` : metric(x));

/** A count: 12,345; weighted counts with one decimal where they are no whole numbers. */
export function count(x) {
  if (!defined(x)) return DASH;
  return Number.isInteger(x) || Math.abs(x) >= 1e6 ? WHOLE.format(x) : x.toFixed(1);
}

/** A count where space is short: 12.3K beyond 9,999. */
export const compact = (x) => (defined(x) && Math.abs(x) >= 1e4 ? COMPACT.format(x) : count(x));

/** A share of a whole: 97.0 %; none and all are told from next to none and nearly all. */
export function share(x) {
  if (!defined(x)) return DASH;
  if (x > 0 && x < 0.0005) return "<0.1 %";
  return x < 1 && x >= 0.9995 ? ">99.9 %" : `${(100 * x).toFixed(1)} %`;
}

/** A rate: 12,345 /s. */
export const rate = (x) => (defined(x) ? `${x < 10 && x > 0 ? x.toFixed(1) : WHOLE.format(x)} /s` : DASH);

/** A length of time from seconds, to two digits or so: 4 ms, 0.4 s, 12 s, 3.5 min, 2.0 h, 5.1 d; 3 s if it is whole. */
export function duration(x) {
  if (!defined(x)) return DASH;
  const seconds = Math.abs(x);
  if (seconds < 60 && Number.isInteger(seconds)) return `${seconds} s`;
  if (seconds < 0.1) return `${Math.max(1, Math.round(1000 * seconds))} ms`;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 99.5) return `${Math.round(seconds)} s`;
  for (const [limit, unit, name] of [
    [5970, 60, "min"],
    [171900, 3600, "h"],
    [Infinity, 86400, "d"],
  ]) {
    if (seconds < limit) return `${(seconds / unit).toFixed(seconds / unit < 9.95 ? 1 : 0)} ${name}`;
  }
  return DASH;
}

/** A bound of a histogram, exact where it is a whole number of something: 1 s, 10 min, 2 h, or about 17 min. */
export function bound(x) {
  for (const [unit, name] of [
    [86400, "d"],
    [3600, "h"],
    [60, "min"],
  ]) {
    if (x >= unit && Number.isInteger(Number((x / unit).toPrecision(6))))
      return `${Number((x / unit).toPrecision(6))} ${name}`;
  }
  return x < 1 ? `${Number((1000 * x).toPrecision(3))} ms` : x < 200 ? `${Number(x.toPrecision(3))} s` : duration(x);
}

/** A size in memory. */
export function bytes(x) {
  if (!defined(x)) return DASH;
  let power = 0;
  while (x >= 1000 && power < BYTES.length - 1) {
    x /= 1000;
    power += 1;
  }
  return `${power === 0 ? x : x.toFixed(1)} ${BYTES[power]}`;
}

/** A moment, in the time zone of the reader: 14:02:11, with the date if it is not the day of `now`. */
export function moment(seconds, now = Date.now() / 1000) {
  if (!defined(seconds)) return DASH;
  const [date, today] = [new Date(1000 * seconds), new Date(1000 * now)];
  const time = date.toLocaleTimeString("en-GB");
  if (date.toDateString() === today.toDateString()) return time;
  return `${date.toLocaleDateString("en-CA")} ${time}`; // year, month, day, with hyphens
}

/** The seconds of a window such as "1h" or "30m"; null for "total" or what is no length of time. */
export function windowSeconds(name) {
  const parts = /^([0-9.]+)([smhdw])$/.exec(name);
  return parts === null ? null : Number(parts[1]) * UNITS[parts[2]];
}

/** A window as a person says it. */
export const windowName = (name) => (name === "total" ? "time since the start" : `last ${name}`);

/** The key of a metric as a name: balanced_accuracy -> Balanced accuracy; recall["fraud"] -> Recall of fraud. */
export function metricName(key) {
  const parts = /^([a-z0-9_]+)\[(".*")\]$/s.exec(key);
  if (parts !== null) return `${metricName(parts[1])} of ${short(JSON.parse(parts[2]), 40)}`;
  if (NAMES.has(key)) return NAMES.get(key);
  const words = key
    .split("_")
    .map((word) => WORDS.get(word) ?? word)
    .join(" ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
