// ROC, precision-recall and reliability curves: all three live in the unit square, so one small drawing serves them.
//
// The chosen class is drawn strongly over the others, so that ten classes remain one picture. A point is read out under
// the pointer, or with the arrow keys: to assistive technology a chart is a slider along its curve.

import { byId, el, labelNode, setAttribute, setLabel, setText, short, show, sized, svg } from "./dom.js";
import { count, metric } from "./format.js";
import { Table } from "./tables.js";

const [LEFT, TOP, SIDE, LOW] = [40, 8, 260, 38];
const TICKS = [0, 0.25, 0.5, 0.75, 1];
const CHARTS = [
  { key: "roc", title: "ROC", x: "false positive rate", y: "true positive rate" },
  { key: "pr", title: "Precision and recall", x: "recall", y: "precision" },
  { key: "reliability", title: "Reliability", x: "predicted probability", y: "observed share", dots: true },
];

const px = (x) => (LEFT + SIDE * x).toFixed(1);
const py = (y) => (TOP + SIDE * (1 - y)).toFixed(1);
const drawn = (curve) =>
  curve.x.flatMap((x, i) => (x === null || curve.y[i] === null ? [] : [[x, curve.y[i], curve.w?.[i] ?? null]]));
const path = (points) => (points.length === 0 ? null : `M${points.map(([x, y]) => `${px(x)},${py(y)}`).join("L")}`);

class Chart {
  #points = [];
  #at = null;

  constructor(options) {
    this.options = options;
    this.name = el("span", { class: "of" });
    this.others = svg("g", { class: "others" });
    this.bars = svg("g", { class: "bars" });
    this.reference = svg("path", { class: "reference" });
    this.line = svg("path", { class: "curve" });
    this.dots = svg("g", { class: "dots" });
    this.spot = svg("circle", { class: "spot", r: 5, visibility: "hidden" });
    this.drawing = svg(
      "svg",
      { viewBox: `0 0 ${LEFT + SIDE + 12} ${TOP + SIDE + LOW}`, tabindex: 0, role: "slider", "aria-valuemin": 0 },
      ...frame(options),
      this.bars,
      this.reference,
      this.others,
      this.line,
      this.dots,
      this.spot,
    );
    this.readout = el("p", { class: "readout", "aria-hidden": "true" });
    this.node = el("figure", {}, el("h3", {}, `${options.title} `, this.name), this.drawing, this.readout);
    this.#listen();
  }

  /** Show these curves with one of them in front; `area` and `base` (a height) only where they have a meaning. */
  update(curves, label, area, base) {
    const front = curves.find((curve) => curve.label === label) ?? curves[0];
    show(this.node, front !== undefined);
    if (front === undefined) return;
    if (this.shown === undefined || this.shown.textContent !== short(front.label)) this.#named(front.label);
    setText(this.area, area === null || area === undefined ? "" : `area ${metric(area)}`);
    this.#points = drawn(front);
    const rest = curves.filter((curve) => curve !== front);
    const paths = sized(this.others, rest.length, () => svg("path"));
    rest.forEach((curve, i) => setAttribute(paths[i], "d", path(drawn(curve))));
    setAttribute(this.line, "d", path(this.#points));
    setAttribute(
      this.reference,
      "d",
      base === null
        ? null
        : base === undefined
          ? `M${px(0)},${py(0)}L${px(1)},${py(1)}`
          : `M${px(0)},${py(base)}L${px(1)},${py(base)}`,
    );
    if (this.options.dots) this.#weights();
    setAttribute(this.drawing, "aria-label", `${this.options.title} of ${short(front.label, 60)}`);
    setAttribute(this.drawing, "aria-valuemax", Math.max(0, this.#points.length - 1));
    this.#read();
  }

  #named(label) {
    this.shown ??= labelNode();
    this.area ??= el("span", { class: "area" });
    setLabel(this.shown, label);
    this.name.replaceChildren(this.shown, " ", this.area);
  }

  /** Points, over bars that say how many predictions are behind each. */
  #weights() {
    const most = Math.max(...this.#points.map((point) => point[2] ?? 0), 0) || 1;
    const dots = sized(this.dots, this.#points.length, () => svg("circle", { r: 3.5 }));
    const bars = sized(this.bars, this.#points.length, () => svg("rect", { width: 10 }));
    this.#points.forEach(([x, y, w], i) => {
      const height = ((w ?? 0) / most) * 0.2;
      setAttribute(dots[i], "cx", px(x));
      setAttribute(dots[i], "cy", py(y));
      setAttribute(bars[i], "x", (px(x) - 5).toFixed(1));
      setAttribute(bars[i], "y", py(height));
      setAttribute(bars[i], "height", (SIDE * height).toFixed(1));
    });
  }

  #listen() {
    this.drawing.addEventListener("pointermove", (event) => {
      const box = this.drawing.getBoundingClientRect();
      const scale = (LEFT + SIDE + 12) / box.width;
      const x = ((event.clientX - box.left) * scale - LEFT) / SIDE;
      const y = 1 - ((event.clientY - box.top) * scale - TOP) / SIDE;
      const distance = (point) => Math.hypot(point[0] - x, point[1] - y);
      this.#move(
        this.#points.reduce(
          (best, point, i) => (best === null || distance(point) < distance(this.#points[best]) ? i : best),
          null,
        ),
      );
    });
    this.drawing.addEventListener("pointerleave", () => this.#move(null));
    this.drawing.addEventListener("keydown", (event) => {
      const last = this.#points.length - 1;
      const at = this.#at ?? 0;
      const page = Math.max(1, Math.round(last / 10));
      const to = {
        ArrowRight: at + 1,
        ArrowUp: at + 1,
        ArrowLeft: at - 1,
        ArrowDown: at - 1,
        PageUp: at + page,
        PageDown: at - page,
        Home: 0,
        End: last,
      }[event.key];
      if (to === undefined || last < 0) return;
      event.preventDefault();
      this.#move(Math.min(last, Math.max(0, to)));
    });
  }

  #move(at) {
    this.#at = at;
    this.#read();
  }

  #read() {
    const point = this.#points[Math.min(this.#at ?? 0, this.#points.length - 1)];
    const pointed = this.#at !== null && point !== undefined;
    setAttribute(this.spot, "visibility", pointed ? "visible" : "hidden");
    setAttribute(this.drawing, "aria-valuenow", this.#at ?? 0);
    if (point === undefined) return;
    const weight = point[2] === null ? "" : `, ${count(point[2])} predictions`;
    const text = `${this.options.x} ${metric(point[0])}, ${this.options.y} ${metric(point[1])}${weight}`;
    setAttribute(this.drawing, "aria-valuetext", text);
    setText(this.readout, pointed ? text : "");
    if (!pointed) return;
    setAttribute(this.spot, "cx", px(point[0]));
    setAttribute(this.spot, "cy", py(point[1]));
  }
}

function frame({ x, y }) {
  const nodes = [svg("rect", { class: "frame", x: LEFT, y: TOP, width: SIDE, height: SIDE })];
  for (const tick of TICKS) {
    nodes.push(svg("path", { class: "grid", d: `M${px(tick)},${py(0)}V${py(1)}M${px(0)},${py(tick)}H${px(1)}` }));
    nodes.push(svg("text", { x: px(tick), y: TOP + SIDE + 15, "text-anchor": "middle" }, `${tick}`));
    nodes.push(svg("text", { x: LEFT - 6, y: Number(py(tick)) + 4, "text-anchor": "end" }, `${tick}`));
  }
  nodes.push(svg("text", { class: "axis", x: px(0.5), y: TOP + SIDE + 32, "text-anchor": "middle" }, x));
  nodes.push(
    svg(
      "text",
      { class: "axis", x: 0, y: 0, "text-anchor": "middle", transform: `translate(9 ${py(0.5)}) rotate(-90)` },
      y,
    ),
  );
  return nodes;
}

export class Curves {
  #charts = CHARTS.map((options) => new Chart(options));
  #chosen = null;
  #part = null;
  #areas = new Table(byId("areas-table"), {
    caption: "Table of certified bounds",
    columns: [
      { key: "key", name: "Metric", kind: "label", wide: true, value: (row) => row.key },
      { key: "value", name: "Value", kind: "metric", value: (row) => row.value },
      { key: "low", name: "At least", kind: "metric", value: (row) => row.low },
      { key: "high", name: "At most", kind: "metric", value: (row) => row.high },
      {
        key: "width",
        name: "Width",
        kind: "metric",
        down: true,
        value: (row) => (row.low === null || row.high === null ? null : row.high - row.low),
      },
    ],
  });

  constructor() {
    byId("curves-charts").append(...this.#charts.map((chart) => chart.node));
    this.select = byId("curves-class");
    this.select.addEventListener("change", () => {
      this.#chosen = this.select.selectedOptions[0]?.ofLabel ?? null;
      this.#draw();
    });
  }

  /** Show the curves and areas of a window. */
  update(part) {
    this.#part = part;
    const labels = [...new Set([...part.curves.roc, ...part.curves.pr].map((curve) => curve.label))];
    const any = labels.length > 0 || part.curves.reliability.length > 0;
    show(byId("curves-empty"), !any);
    show(byId("curves-charts"), any);
    show(byId("curves-choose"), labels.length > 1);
    if (!labels.includes(this.#chosen)) this.#chosen = this.#weakest(labels);
    this.#options(labels);
    this.#draw();
    const rows = Object.entries(part.estimates).map(([key, bounds]) => ({
      key,
      value: part.metrics[key] ?? null,
      ...bounds,
    }));
    show(byId("areas"), rows.length > 0);
    this.#areas.update(rows);
  }

  /** At first the class that is told apart worst: the one to look at. */
  #weakest(labels) {
    const area = new Map(this.#part.classes.map((row) => [row.label, row.roc_auc ?? Infinity]));
    return labels.reduce(
      (worst, label) =>
        worst === null || (area.get(label) ?? Infinity) < (area.get(worst) ?? Infinity) ? label : worst,
      null,
    );
  }

  #options(labels) {
    const nodes = sized(this.select, labels.length, () => el("option"));
    labels.forEach((label, i) => {
      nodes[i].ofLabel = label;
      setText(nodes[i], short(label, 48));
    });
    const at = labels.indexOf(this.#chosen);
    if (this.select.selectedIndex !== at) this.select.selectedIndex = at;
  }

  #draw() {
    const { curves, classes, n } = this.#part;
    const row = classes.find((other) => other.label === this.#chosen);
    const [roc, pr, reliability] = this.#charts;
    roc.update(curves.roc, this.#chosen, row?.roc_auc);
    pr.update(curves.pr, this.#chosen, null, row !== undefined && n > 0 ? row.support / n : null);
    reliability.update(curves.reliability, this.#chosen, null);
    setText(
      byId("curves-note"),
      curves.roc.length > 1
        ? `${count(curves.roc.length)} classes, the chosen one in front; point at a curve to read it`
        : "",
    );
  }
}
