// Which stretch of event time the trends show: live, the lines of the view, whose points cover the window; or a range,
// asked of /api/range when it is chosen and every few seconds while it ends now, so that last week is read as the last
// hour is.

import { byId, el, setText, show } from "./dom.js";
import { duration, moment } from "./format.js";

const CHOICES = { live: null, "1h": 3600, "6h": 21600, "1d": 86400, "7d": 604800, "30d": 2592000, all: Infinity, dates: NaN };
const POINTS = 240;
const AGAIN = 10; // seconds between two questions

export class Range {
  #chosen = "live";
  #changed;
  #view = null;
  #asked = 0; // counts the questions, so that a late answer to an early one is not shown
  #at = -Infinity;
  #shown = null; // {lines, text}, or null before the first answer

  /** `changed` is called when there is something else to show. */
  constructor(changed) {
    this.#changed = changed;
    const host = byId("range");
    for (const name of Object.keys(CHOICES)) {
      const input = el("input", { type: "radio", name: "range", value: name });
      input.checked = name === "live";
      input.addEventListener("change", () => this.#choose(name));
      host.append(el("label", {}, input, el("span", {}, name)));
    }
    for (const id of ["range-from", "range-to"]) byId(id).addEventListener("change", () => this.#choose("dates"));
  }

  /** The lines of the chosen range with the text that explains them, or null to show the view's own. */
  lines(view) {
    this.#view = view;
    if (this.#chosen === "live") return null;
    if (this.#chosen !== "dates" && view.now - this.#at >= AGAIN) this.#ask();
    return this.#shown ?? { lines: { t: [], n: [] }, text: "asking …" };
  }

  /** What tells one range from another. */
  get name() {
    return `${this.#chosen} ${this.#chosen === "dates" ? this.#dates() : ""}`;
  }

  #choose(name) {
    this.#chosen = name;
    this.#shown = null;
    show(byId("range-dates"), name === "dates");
    const [from, to] = this.#dates();
    if (name === "dates" && !(from < to)) {
      this.#asked += 1;
      this.#shown = { lines: { t: [], n: [] }, text: "choose two times, the first before the second" };
    } else if (name !== "live" && this.#view !== null) this.#ask();
    this.#changed();
  }

  #dates() {
    return ["range-from", "range-to"].map((id) => new Date(byId(id).value).getTime() / 1000);
  }

  #query() {
    const query = new URLSearchParams({ metrics: this.#view.headline.join(","), points: POINTS });
    const now = this.#view.source.time ?? this.#view.now;
    const length = CHOICES[this.#chosen];
    const [from, to] = this.#chosen === "dates" ? this.#dates() : [now - length, now];
    if (Number.isFinite(from)) query.set("from", from);
    if (Number.isFinite(to) && this.#chosen !== "all") query.set("to", to);
    return query;
  }

  async #ask() {
    const number = (this.#asked += 1);
    this.#at = this.#view.now;
    let shown;
    try {
      const answer = await fetch(`api/range?${this.#query()}`);
      const data = await answer.json();
      shown = answer.ok ? read(data, this.#view) : { lines: { t: [], n: [] }, text: data.error };
    } catch {
      shown = { lines: { t: [], n: [] }, text: "this range cannot be read now" };
    }
    if (number !== this.#asked) return;
    this.#shown = shown;
    this.#changed();
  }
}

/** Lines as the view has them, `low` and `high` beside, and a text. */
function read({ points, complete_from, from }, view) {
  const lines = { t: points.map((point) => point.to), n: points.map((point) => point.n) };
  const [low, high] = [{}, {}];
  for (const key of view.headline) {
    lines[key] = points.map((point) => point.values[key] ?? null);
    low[key] = points.map((point) => point.low[key] ?? null);
    high[key] = points.map((point) => point.high[key] ?? null);
  }
  const lengths = points.map((point) => point.to - point.from);
  const [least, most] = [Math.min(...lengths), Math.max(...lengths)].map(duration);
  const length = points.length === 0 ? "" : least === most ? most : `${least} to ${most}`;
  const since = complete_from > from ? `; complete from ${moment(complete_from, view.now)}` : "";
  return { lines, low, high, text: `each point covers ${length}${since}` };
}
