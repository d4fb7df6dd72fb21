// Axes of the trend chart: their ranges, the texts at their ticks, and colours for a canvas, which knows no properties.

import { el } from "./dom.js";

/** The colour that a custom property has now. */
export function colour(name) {
  const probe = el("i");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/** An axis with some air around what it shows, never so short that noise looks like news. */
export function padded(low, high, also) {
  if (low === null || high === null) return [0, 1];
  const [from, to] = [Math.min(low, ...also), Math.max(high, ...also)];
  const air = Math.max(0.08 * (to - from), 0.01);
  return [from - air, to + air];
}

/** Labels of a number axis, all with the decimals that the finest needs; none for what no value can be. */
export function numbers(ticks, [low, high] = [-Infinity, Infinity]) {
  const decimals = Math.max(...ticks.map((tick) => (Number(tick.toFixed(4)).toString().split(".")[1] ?? "").length));
  const possible = (tick) => tick > low - 1e-9 && tick < high + 1e-9;
  return ticks.map((tick) => (possible(tick) ? tick.toFixed(decimals).replace("-", "−") : ""));
}

const MINUTES = [1, 2, 5, 10, 15, 30];

/** Steps of the time axis in seconds, none below what its labels tell apart. */
export const STEPS = [
  ...MINUTES,
  ...MINUTES.map((n) => 60 * n),
  ...[1, 2, 3, 4, 6, 8, 12].map((n) => 3600 * n),
  ...[1, 2, 3, 4, 5, 7, 10, 14, 30, 60, 90, 180, 365].map((n) => 86400 * n),
];

/** Labels of the time axis on the 24-hour clock; the date where the day changes, and at the first. */
export function times(plot, ticks, axis, space, step) {
  const clock = step < 60 ? {} : { hour: "2-digit", minute: "2-digit" };
  const { min, max } = plot.scales.x;
  let last = new Date(1000 * max).toDateString() === new Date(1000 * min).toDateString() ? null : "";
  return ticks.map((tick) => {
    const date = new Date(1000 * tick);
    const time = date.toLocaleTimeString("en-GB", clock);
    const day = date.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
    const changed = last !== null && day !== last;
    last = day;
    if (step >= 86400) return day;
    return changed ? `${time}\n${day}` : time;
  });
}
