// The one sentence at the top: is the model well? The worst of what is known decides, in this order: no connection,
// nothing read any more, an alert firing, a source that cannot be read (blind), no data, a checkpoint that failed,
// partitions without any event, counts that lack records, records rejected, labels of several types, predictions lost,
// corrections refused, classes folded, an alert that did not arrive, an alert pending, a rule whose value is unknown.
// Without rules nothing defines what "well" means, so the page says only that it is live. The sentence is spoken to
// screen readers when its kind or the alerts change, not whenever a number in it does.

import { byId, setAttribute, setText, short } from "./dom.js";
import { count, duration, moment, share, standing, windowName } from "./format.js";
import { absent } from "./workers.js";

const BEHIND = 60; // seconds of events, from which records that wait are a backlog

// Icons of the tab, by state: shape and colour, as on the page.
const TAB = {
  well: ["#12805c", "M9 17l5 5 9-11"],
  firing: ["#c4281c", "M16 8v10M16 23v1"],
  warn: ["#9a6700", "M16 8v10M16 23v1"],
  stale: ["#9a6700", "M16 8v9l6 3"],
  lost: ["#6b7280", "M10 10l12 12M22 10L10 22"],
  live: ["#2563eb", "M10 16h12"],
  blind: ["#a63d00", "M7 16q9-10 18 0q-9 10-18 0M9 24L23 8"],
  nodata: ["#6b3fa0", "M11 16h.1M16 16h.1M21 16h.1"],
};

const REJECTING = 0.01; // the share of records that is too much, as in the default rule
const DEFAULTS = /^(rejected_share|mismatched_labels)\b/; // rules that the bar says in words

let spoken = "";
let tab = "";

const rules = (alerts) => alerts.map((alert) => short(alert.rule)).join("; ");
const plural = (number, one, many) => `${count(number)} ${number === 1 ? one : many}`;

/** What is known, as {kind, text, detail}. Kinds: lost, stale, firing, blind, nodata, warn, waiting, live, well. */
export function judge(view, feed, now = Date.now()) {
  if (feed.state === "lost") return lost(view, feed, now);
  if (view === null) return { kind: "waiting", text: "Connecting", detail: "" };
  const of = (state) => view.alerts.filter((alert) => alert.state === state);
  const [firing, pending, unknown] = [of("firing"), of("pending"), of("unknown")];
  const blind = view.source.state === "away";
  if (view.workers && view.checkpoint?.error) return notSaved(view);
  if (feed.stuck) {
    const also = firing.length > 0 ? ` ${plural(firing.length, "alert was", "alerts were")} firing.` : "";
    return {
      kind: "stale",
      text: "Stale",
      detail: `The monitor no longer reads its source; numbers of ${moment(view.now)}.${also}`,
    };
  }
  if (firing.length > 0) return alarm(view, firing);
  if (view.workers) return collecting(view, now - feed.heardAt);
  if (blind) {
    return {
      kind: "blind",
      text: "Blind",
      detail: `The source cannot be read: ${short(view.source.problem ?? "", 200)}; ${lastEvent(view)}`,
    };
  }
  if (view.source.state === "unassigned")
    return { kind: "stale", text: "Waiting for partitions", detail: `${short(view.source.problem)}; ${lastEvent(view)}` };
  const missing = missingData(view);
  if (missing !== null) return { kind: "nodata", text: "No data", detail: missing };
  if (view.checkpoint?.error) return notSaved(view);
  if (view.unreadable.length > 0) {
    return { kind: "warn", text: "Unreadable", detail: view.unreadable.map((part) => short(part, 300)).join("; ") };
  }
  if (view.incomplete.length > 0) {
    return {
      kind: "warn",
      text: "Incomplete",
      detail: `Counts lack records: ${view.incomplete.map((part) => short(described(part))).join("; ")}`,
    };
  }
  const doubt = doubtful(view);
  if (doubt !== null) return { kind: "warn", ...doubt };
  const early = view.join.expired_early;
  if (early > 0) {
    const detail = `${count(early)} predictions were given up before their time, since more than max_pending waited`;
    return { kind: "warn", text: "Predictions lost", detail };
  }
  const refused = view.join.corrections_refused;
  if (refused > 0) {
    const detail = `${plural(refused, "label was", "labels were")} corrected later than keep_joined, and counts have the first one`;
    return { kind: "warn", text: "Corrections refused", detail };
  }
  const folded = foldedClasses(view);
  if (folded !== null) return { kind: "warn", text: "Classes folded", detail: folded };
  const undelivered = view.undelivered;
  if (undelivered.length > 0) {
    const detail = `${undelivered[0].sink}: ${short(undelivered[0].problem, 200)}; ${rules(undelivered)}`;
    return { kind: "warn", text: plural(undelivered.length, "alert not delivered", "alerts not delivered"), detail };
  }
  if (pending.length > 0)
    return { kind: "warn", text: plural(pending.length, "alert pending", "alerts pending"), detail: rules(pending) };
  if (unknown.length > 0 && !empty(view)) {
    const reasons = unknown.map((alert) => `${short(alert.rule)} (${alert.note ?? "no value"})`).join("; ");
    return { kind: "warn", text: plural(unknown.length, "rule unknown", "rules unknown"), detail: reasons };
  }
  if (empty(view)) return { kind: "waiting", text: "Waiting", detail: "for the first prediction with a label" };
  const quiet = now - feed.heardAt;
  const ended =
    view.source.state === "ended" ? `; the source was read to its end, to events of ${moment(view.event_time, view.now)}` : "";
  const { records, seconds } = view.lag;
  if (records > 0 && seconds >= BEHIND) {
    const detail = `${count(records)} records still to be read; numbers of ${moment(view.event_time, view.now)}`;
    return { kind: "warn", text: "Catching up", detail };
  }
  const fresh = quiet <= 10000 ? `; numbers of ${moment(view.now)}` : `; no news for ${duration(quiet / 1000)}`;
  const slow = ended || fresh;
  if (view.alerts.length === 0) return { kind: "live", text: ended ? "Ended" : "Live", detail: `No alert rules are set${slow}` };
  return {
    kind: "well",
    text: "Well",
    detail: `No alert of ${plural(view.alerts.length, "rule", "rules")} is firing${slow}`,
  };
}

/** What is wrong with the data, as {text, detail}, or null: many records are rejected, or labels differ in type. */
function doubtful(view) {
  const { rejected, rejected_share: recent } = view.records;
  if (recent > REJECTING) {
    const reasons = Object.entries(rejected).sort((a, b) => b[1] - a[1]);
    const detail = `of the last records; since the start ${reasons.map(([reason, n]) => `${count(n)} for ${reason}`).join(", ")}`;
    return { text: `Rejecting ${share(recent)}`, detail };
  }
  const windows = view.windows.filter((name) => name !== "total" && view.by_window[name].n > 0);
  const { mismatch } = view.by_window[windows[0] ?? "total"] ?? {};
  return mismatch ? { text: "Labels differ", detail: short(mismatch, 300) } : null;
}

function notSaved(view) {
  return { kind: "warn", text: "Not saved", detail: `The last checkpoint failed: ${short(view.checkpoint.error)}` };
}

function collecting(view, quiet) {
  const away = absent(view.workers);
  const slow = quiet > 10000 ? `; no news for ${duration(quiet / 1000)}` : `; numbers of ${moment(view.now)}`;
  if (away) return { kind: "warn", text: "Workers away", detail: `${away}${slow}` };
  if (empty(view) && view.workers.live === 0)
    return { kind: "waiting", text: "Waiting", detail: "for the first report of a worker" };
  return { kind: "live", text: "Live", detail: `${plural(view.workers.live, "worker reports", "workers report")}${slow}` };
}

function lost(view, feed, now) {
  const seconds = Math.floor((now - feed.lostAt) / 1000);
  const numbers = view === null ? "" : ` Numbers of ${moment(view.now)}.`;
  const detail = `since ${moment(feed.lostAt / 1000)} (${duration(seconds)}): ${feed.reason}; trying again.${numbers}`;
  return { kind: "lost", text: "Disconnected", detail };
}

function alarm(view, firing) {
  const [first] = firing;
  const more = firing.length > 1 ? ` and ${firing.length - 1} more` : "";
  const long = typeof first.since === "number" ? ` · for ${duration(view.now - first.since)}` : "";
  const source = view.source.state === "away" ? " · blind: the source cannot be read" : "";
  const detail = `${short(first.rule)} · ${standing(first)}${long}${more}${source}`;
  const doubt = doubtful(view);
  if (doubt !== null && firing.every((alert) => DEFAULTS.test(alert.rule)))
    return { kind: "firing", text: doubt.text, detail: `${doubt.detail}${long}${source}` };
  return { kind: "firing", text: plural(firing.length, "alert firing", "alerts firing"), detail };
}

/** When the last event came, in words. */
function lastEvent(view) {
  const { silence } = view.source;
  if (silence === null || view.event_time === null) return "no event has come yet";
  return `the last event came ${duration(silence)} ago (${moment(view.now - silence, view.now)})`;
}

/** Why nothing is known of the present, or null: the source is silent, or every window is empty. */
function missingData(view) {
  const { state, silence } = view.source;
  if (state === "silent") return `No event for ${duration(silence)}, since ${moment(view.now - silence, view.now)}`;
  if (empty(view)) return null;
  const windows = view.windows.filter((name) => name !== "total");
  if (windows.length === 0 || windows.some((name) => view.by_window[name].n > 0)) return null;
  const longest = windows[windows.length - 1];
  return `No labelled prediction in the ${windowName(longest)}; ${lastEvent(view)}`;
}

/** How many samples have a class that is not counted apart, or null: in the shortest window, else since the start. */
function foldedClasses(view) {
  const name = view.windows.find((window) => window !== "total") ?? "total";
  const number = view.by_window[name]?.classes_folded ?? 0;
  if (number === 0) return null;
  return `${count(number)} samples in the ${windowName(name)} have a class beyond max_classes; these are counted as one`;
}

const described = (part) => (typeof part === "string" ? part : JSON.stringify(part));
const empty = (view) => Object.values(view.by_window).every((part) => part.n === 0);

/** Show it: the bar, the tab, and aloud. */
export function showStatus(view, feed) {
  const { kind, text, detail } = judge(view, feed);
  const title = view === null ? "Model monitor" : short(view.title, 60);
  setAttribute(byId("bar"), "data-kind", kind);
  setAttribute(byId("state-icon"), "href", `#icon-${kind === "waiting" ? "live" : kind}`);
  setText(byId("state"), text);
  setText(byId("state-detail"), detail);
  setTab(kind === "waiting" ? "live" : kind, `${text} – ${title}`);
  speak(view, kind, text);
}

function setTab(kind, title) {
  if (document.title !== title) document.title = title;
  if (tab === kind) return;
  tab = kind;
  const [colour, path] = TAB[kind];
  const drawing =
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><circle cx="16" cy="16" r="15" fill="${colour}"/>` +
    `<path d="${path}" fill="none" stroke="#fff" stroke-width="3.5" stroke-linecap="round"/></svg>`;
  byId("icon").href = `data:image/svg+xml,${encodeURIComponent(drawing)}`;
}

function speak(view, kind, text) {
  const firing = kind === "firing" ? `: ${rules(view.alerts.filter((alert) => alert.state === "firing"))}` : "";
  const sentence = `${text}${firing}`;
  if (sentence === spoken) return;
  spoken = sentence;
  setText(byId("announce"), sentence);
}
