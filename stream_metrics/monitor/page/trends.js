// Trend lines: one canvas chart (uPlot), because a line for each metric over a day of points is what it draws fastest.
//
// Lines differ by colour and by dashes, and are switched by buttons that also show the value under the pointer, or the
// newest. Metrics without two finite bounds, such as the log loss, have an axis of their own on the right. The faint
// area at the bottom is the number of samples behind each point. Thresholds of alert rules are drawn where they are in
// sight, and brought into sight while their alert is pending or firing. A stretch that was zoomed into, by dragging,
// stays while data arrive; a double click shows everything again.

import { colour, numbers, padded, STEPS, times } from "./axes.js";
import { byId, el, setAttribute, setText, setVariable, short, show, sized } from "./dom.js";
import { compact, count, duration, metric, metricName, moment, windowSeconds } from "./format.js";
import { Range } from "./range.js";
import { Table } from "./tables.js";

const DASHES = [[], [7, 3], [2, 3], [10, 3, 2, 3], [5, 5], [14, 4], [2, 6], [8, 2, 2, 2, 2, 2]];
const COLOURS = 8; // --series-1 ... of the style sheet
const RULE = /^\s*([A-Za-z0-9_]+(?:\["(?:[^"\\]|\\.)*"\])?)\s*(?:\[([^\]]*)\])?\s*([<>]=?)\s*(-?[0-9.]+)/;
const ROWS = 60; // points in the table, the newest

/** What the points of the lines of a view cover. */
function covered(view, window) {
  const length = view.history_covers?.[window];
  if (length === undefined) return view.workers ? "each point has all samples so far" : "";
  return `by event time, each point covers ${length === windowSeconds(window) ? window : duration(length)}`;
}

/** The numbers below `length` of which `test` is true, as runs of neighbours. */
function runs(length, test) {
  const all = [];
  for (let i = 0; i < length; i++) {
    if (!test(i)) continue;
    if (i > 0 && test(i - 1)) all.at(-1).push(i);
    else all.push([i]);
  }
  return all;
}

export class Trends {
  #on = null; // keys of the lines that are shown
  #keys = [];
  #plot = null;
  #built = "";
  #zoomed = false;
  #view = null;
  #window = null;
  #thresholds = [];
  #history = { t: [], n: [] };
  #bands = null; // {low, high} of a range, by metric
  #range = new Range(() => {
    if (this.#view !== null) this.update(this.#view, this.#window);
  });
  #table = new Table(byId("trends-table"), { caption: "Trends, newest first", tall: true });

  constructor() {
    this.host = byId("trends-chart");
    new ResizeObserver(() => {
      const size = this.#size();
      if (this.#plot !== null && size.width !== this.#plot.width) this.#plot.setSize(size);
    }).observe(this.host);
    byId("trends-data").addEventListener("toggle", () => this.#showTable());
  }

  /** Show the trends of a window. */
  update(view, window) {
    [this.#view, this.#window] = [view, window];
    const range = this.#range.lines(view);
    const history = range?.lines ?? view.history[window] ?? { t: [], n: [] };
    [this.#history, this.#bands] = [history, range];
    this.#keys = Object.keys(history).filter((key) => key !== "t" && key !== "n");
    this.#on ??= new Set(view.headline);
    this.#thresholds = this.#findThresholds();
    const enough = history.t.length >= 2;
    show(this.host, enough);
    show(byId("trends-empty"), !enough);
    const from = view.workers ? "" : " Points come from the counts that retention in [store] keeps.";
    setText(byId("trends-empty"), `No trend yet: a line needs two points in time.${from}`);
    setText(byId("trends-note"), range?.text ?? (enough ? covered(view, window) : ""));
    if (enough) this.#draw(history);
    this.#showLegend(null);
    this.#describe(history);
    this.#showTable();
  }

  /** Draw in the colours of now. */
  recolour() {
    this.#built = "";
    if (this.#view !== null) this.update(this.#view, this.#window);
  }

  #draw(history) {
    const data = [history.t, history.n ?? history.t.map(() => null), ...this.#keys.map((key) => history[key])];
    const build = JSON.stringify([this.#window, this.#keys, [...this.#on], this.#range.name]);
    if (build !== this.#built) {
      this.#plot?.destroy();
      this.#zoomed = false;
      this.#built = build;
      this.#plot = new uPlot(this.#options(), data, this.host);
      this.#plot.over.addEventListener("dblclick", () => {
        this.#zoomed = false;
      });
    } else if (this.#zoomed) {
      const { min, max } = this.#plot.scales.x;
      this.#plot.batch(() => {
        this.#plot.setData(data, false);
        this.#plot.setScale("x", { min, max });
      });
    } else this.#plot.setData(data);
  }

  #size() {
    return { width: Math.max(200, this.host.clientWidth), height: this.host.clientWidth < 500 ? 220 : 290 };
  }

  #options() {
    const [text, line] = [colour("--muted"), colour("--line")];
    const font = `12px ${getComputedStyle(document.body).fontFamily}`;
    const axis = { stroke: text, font, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1, size: 4 } };
    const right = this.#keys.some((key) => this.#on.has(key) && this.#scale(key) === "right");
    return {
      ...this.#size(),
      padding: [10, right ? 0 : 34, 0, 0], // half of the last time is beside the chart
      legend: { show: false },
      cursor: { drag: { x: true, y: false }, points: { size: 7 }, y: false },
      scales: {
        left: {
          range: (_, low, high) => {
            const marks = this.#thresholds.filter((mark) => mark.wanted).map((mark) => mark.at);
            return padded(low, high, [...marks, ...this.#ends("left")]);
          },
        },
        right: { range: (_, low, high) => padded(low, high, this.#ends("right")) },
        samples: { range: (_, low, high) => [0, 5 * Math.max(1, high ?? 1)] },
      },
      axes: [
        { ...axis, space: 70, size: 40, incrs: STEPS, values: times },
        { ...axis, scale: "left", size: 54, values: (_, ticks) => numbers(ticks, this.#limits()) },
        {
          ...axis,
          scale: "right",
          side: 1,
          size: 50,
          show: right,
          values: (_, ticks) => numbers(ticks),
          grid: { show: false },
        },
      ],
      series: [
        {},
        { scale: "samples", fill: colour("--area"), stroke: colour("--area"), points: { show: false } },
        ...this.#keys.map((key) => this.#series(key)),
      ],
      hooks: {
        setCursor: [(plot) => this.#showLegend(plot.cursor.idx)],
        setSelect: [
          (plot) => {
            if (plot.select.width > 0) this.#zoomed = true;
          },
        ],
        drawClear: [(plot) => this.#drawFirings(plot), (plot) => this.#drawBands(plot)],
        draw: [(plot) => this.#drawThresholds(plot), (plot) => this.#drawAnnotations(plot)],
      },
    };
  }

  #series(key) {
    const at = this.#place(key);
    return {
      scale: this.#scale(key),
      show: this.#on.has(key),
      stroke: colour(`--series-${(at % COLOURS) + 1}`),
      width: 2,
      dash: DASHES[at % DASHES.length],
      points: { show: false },
      spanGaps: false,
    };
  }

  /** Headline metrics come first, so that a metric keeps its colour in every window. */
  #place(key) {
    const at = this.#view.headline.indexOf(key);
    const others = this.#keys.filter((other) => !this.#view.headline.includes(other));
    return at >= 0 ? at : this.#view.headline.length + others.indexOf(key);
  }

  #scale(key) {
    const [low, high] = this.#view.by_window[this.#window].range[key] ?? [0, 1];
    return Number.isFinite(low ?? NaN) && Number.isFinite(high ?? NaN) ? "left" : "right";
  }

  /** The range that the lines on the left share: no tick beyond it is labelled. */
  #limits() {
    const ranges = this.#keys
      .filter((key) => this.#on.has(key) && this.#scale(key) === "left")
      .map((key) => this.#view.by_window[this.#window].range[key] ?? [0, 1]);
    return [Math.min(...ranges.map((range) => range[0])), Math.max(...ranges.map((range) => range[1]))];
  }

  #findThresholds() {
    return this.#view.alerts.flatMap((alert) => {
      const parts = RULE.exec(alert.rule);
      if (
        parts === null ||
        (parts[2] ?? "total") !== this.#window ||
        !this.#on.has(parts[1]) ||
        !this.#keys.includes(parts[1])
      )
        return [];
      return [{ key: parts[1], sign: parts[3], at: Number(parts[4]), wanted: alert.state !== "ok" }];
    });
  }

  /** The ends of the intervals on a scale, so that no area is cut off. */
  #ends(scale) {
    return this.#keys
      .filter((key) => this.#bands?.low && this.#on.has(key) && this.#scale(key) === scale)
      .flatMap((key) => [this.#bands.low[key], this.#bands.high[key]])
      .flatMap((ends) => ends.filter((end) => end !== null));
  }

  /** The intervals of the lines of a range, as areas behind them. */
  #drawBands(plot) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.globalAlpha = 0.13;
    for (const key of this.#bands?.low ? this.#keys.filter((each) => this.#on.has(each)) : []) {
      ctx.fillStyle = colour(`--series-${(this.#place(key) % COLOURS) + 1}`);
      const [low, high] = [this.#bands.low[key], this.#bands.high[key]];
      const point = (i, value) => [plot.valToPos(this.#history.t[i], "x", true), plot.valToPos(value, this.#scale(key), true)];
      for (const at of runs(this.#history.t.length, (i) => low[i] !== null && high[i] !== null)) {
        ctx.beginPath();
        at.forEach((i) => ctx.lineTo(...point(i, high[i])));
        at.reverse().forEach((i) => ctx.lineTo(...point(i, low[i])));
        ctx.fill();
      }
    }
    ctx.restore();
  }

  /** Shade the stretches in which an alert fired. */
  #drawFirings(plot) {
    const { ctx, bbox } = plot;
    const right = bbox.left + bbox.width;
    ctx.save();
    ctx.fillStyle = colour("--bad");
    ctx.globalAlpha = 0.12;
    for (const { began, ended } of this.#view.firings) {
      const [from, to] = [began, ended ?? this.#view.now].map((t) => plot.valToPos(t, "x", true));
      const [left, end] = [Math.max(from, bbox.left), Math.min(Math.max(to, from + 2), right)];
      if (end > left) ctx.fillRect(left, bbox.top, end - left, bbox.height);
    }
    ctx.restore();
  }

  /** A line where something happened to the model, with its text above. */
  #drawAnnotations(plot) {
    const { ctx, bbox } = plot;
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = colour("--text");
    ctx.font = `${11 * ratio}px ${getComputedStyle(document.body).fontFamily}`;
    ctx.setLineDash([2 * ratio, 3 * ratio]);
    for (const { at, text } of this.#view.annotations) {
      const x = plot.valToPos(at, "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      const beyond = x > bbox.left + 0.75 * bbox.width;
      ctx.textAlign = beyond ? "right" : "left";
      ctx.fillText(short(text, 24), x + (beyond ? -4 : 4) * ratio, bbox.top + 11 * ratio);
    }
    ctx.restore();
  }

  #drawThresholds(plot) {
    const { ctx, bbox } = plot;
    const ratio = devicePixelRatio;
    for (const { key, sign, at } of this.#thresholds) {
      const scale = this.#scale(key);
      if (!(at >= plot.scales[scale].min && at <= plot.scales[scale].max)) continue;
      const y = Math.round(plot.valToPos(at, scale, true));
      ctx.save();
      ctx.strokeStyle = ctx.fillStyle = colour("--bad");
      ctx.lineWidth = ratio;
      ctx.setLineDash([3 * ratio, 3 * ratio]);
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
      ctx.font = `${11 * ratio}px ${getComputedStyle(document.body).fontFamily}`;
      ctx.textAlign = "left";
      ctx.textBaseline = "bottom";
      ctx.fillText(`alert: ${metricName(key)} ${sign} ${at}`, bbox.left + 6 * ratio, y - 2 * ratio);
      ctx.restore();
    }
  }

  /** Buttons that switch lines, with the values at a point of the chart, or the newest. */
  #showLegend(at) {
    const history = this.#history;
    const buttons = sized(byId("trends-legend"), this.#keys.length + 1, (i) => this.#newButton(i));
    const index = at ?? history.t.length - 1;
    setText(
      buttons[0],
      history.t.length === 0 ? "" : `${moment(history.t[index], this.#view.now)} · ${compact(history.n?.[index])} samples`,
    );
    this.#keys.forEach((key, i) => {
      const button = buttons[i + 1];
      const [line, name, value] = button.children;
      const place = this.#place(key);
      button.key = key;
      setAttribute(button, "aria-pressed", `${this.#on.has(key)}`);
      setVariable(line, "--colour", `var(--series-${(place % COLOURS) + 1})`);
      setAttribute(line, "class", `stroke dash-${place % DASHES.length}`);
      setText(name, metricName(key));
      setText(value, metric(history[key][index]));
    });
  }

  #newButton(i) {
    if (i === 0) return el("span", { class: "when" });
    const button = el(
      "button",
      { type: "button" },
      el("span", { class: "stroke", "aria-hidden": "true" }),
      el("span"),
      el("span", { class: "value" }),
    );
    button.addEventListener("click", () => {
      if (!this.#on.delete(button.key)) this.#on.add(button.key);
      this.update(this.#view, this.#window);
    });
    return button;
  }

  #describe(history) {
    const lines = this.#keys
      .filter((key) => this.#on.has(key))
      .map((key) => {
        const values = history[key].filter((value) => value !== null);
        if (values.length === 0) return `${metricName(key)}: undefined`;
        const [from, to] = [values[0], values[values.length - 1]].map(metric);
        const [lowest, highest] = [Math.min(...values), Math.max(...values)].map(metric);
        return `${metricName(key)}: from ${from} to ${to}, lowest ${lowest}, highest ${highest}`;
      });
    setAttribute(this.host, "aria-label", `Trends. ${lines.join("; ")}`);
  }

  #showTable() {
    if (!byId("trends-data").open || this.#view === null) return;
    const history = this.#history;
    const rows = history.t
      .map((t, i) => ({ t, i }))
      .reverse()
      .slice(0, ROWS);
    const columns = [
      { key: "t", name: "Time", kind: "text", raw: true, value: (row) => moment(row.t, this.#view.now) },
      { key: "n", name: "Samples", kind: "count", raw: true, text: count, value: (row) => history.n?.[row.i] },
      ...this.#keys.map((key) => ({
        key,
        name: metricName(key),
        kind: "metric",
        raw: true,
        value: (row) => history[key][row.i],
      })),
    ];
    this.#table.update(rows, columns);
  }
}
