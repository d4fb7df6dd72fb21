// The confusion matrix as a heat map, and its largest confusions as a list.
//
// A row is a true class and is shaded by its shares, so that rare classes are seen as well as common ones. What is right
// is one colour; what is wrong is another, on a square-root scale, because one per cent of confusion matters and would
// not be seen beside ninety per cent of success. Colours stay pale enough that the same text is readable on all of them.
// Cells are reached with one tab stop and the arrow keys, and read out below, because 2,500 tab stops are too many.

import { byId, el, labelNode, setAttribute, setLabel, setText, setVariable, show, sized } from "./dom.js";
import { compact, count, share } from "./format.js";

const WORST = 12; // confusions listed, twice as many beside a large matrix
const FAINTEST = 0.15; // intensity of a single wrong one, so that it is seen
const ROOMY = 8; // classes up to which a cell has space for its share
const DENSE = 20; // classes beside which the list of confusions is longer
const NAMES = 130; // pixels that the names of the rows take, or so
const COUNTED = 34; // pixels that a count needs; narrower cells are mere colours at first, so that all are seen at once
const NARROWEST = 14;
const WIDEST = { roomy: 300, upright: 64, dense: 33 };
const LEVELS = 14; // of intensity, [data-level] in the style sheet: cells of one level share their style, which is fast
const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

export class Matrix {
  #matrix = { labels: [], counts: [], omitted: 0 };
  #totals = [];
  #cells = [];
  #at = [0, 0];
  #read = null; // the cell that is read out
  #size = -1;

  constructor() {
    const corner = el(
      "td",
      { class: "corner", "aria-hidden": "true" },
      el("span", {}, "predicted →"),
      el("span", {}, "true ↓"),
    );
    this.head = el("tr", {}, corner);
    this.body = el("tbody");
    const caption = el(
      "caption",
      { class: "unseen", id: "matrix-caption" },
      "Confusion matrix: rows are true classes, columns are predicted classes",
    );
    this.table = el("table", { class: "matrix" }, caption, el("thead", {}, this.head), this.body);
    this.scroller = el(
      "div",
      { class: "scroll heat", tabindex: 0, role: "region", "aria-labelledby": "matrix-caption" },
      this.table,
    );
    this.none = el("p", { class: "note" }, "Nothing counted yet.");
    byId("matrix").append(this.scroller, this.none);
    this.numbers = byId("matrix-numbers");
    this.numbers.addEventListener("click", () => {
      const shown = this.table.classList.toggle("counted");
      setAttribute(this.numbers, "aria-pressed", `${shown}`);
    });
    this.#listen();
    new ResizeObserver(() => this.#fit()).observe(byId("matrix"));
  }

  /** Show the matrix of a window. */
  update(matrix, classes) {
    this.#matrix = matrix;
    const supports = new Map(classes.map((row) => [row.label, row.support]));
    this.#totals = matrix.labels.map(
      (label, i) => supports.get(label) ?? matrix.counts[i].reduce((sum, n) => sum + n, 0),
    );
    const size = matrix.labels.length;
    show(this.scroller, size > 0);
    show(this.none, size === 0);
    show(byId("matrix-readout"), size > 0);
    show(byId("matrix-keys"), size > 0);
    if (size !== this.#size) this.#resize(size);
    matrix.labels.forEach((label, i) => {
      setLabel(this.head.children[i + 1].firstChild, label);
      setLabel(this.body.children[i].firstChild.firstChild, label);
      this.#fill(i);
    });
    const omitted =
      matrix.omitted > 0
        ? `the ${count(size)} most frequent of ${count(size + matrix.omitted)} classes`
        : `${count(size)} classes`;
    const more = this.scroller.scrollWidth > this.scroller.clientWidth + 1 ? "; scroll sideways for more" : "";
    setText(byId("confusion-note"), size > 0 ? `${omitted}${more}` : "");
    this.#readOut();
    this.#worst();
  }

  #resize(size) {
    this.#size = size;
    this.#at = [0, 0];
    this.#read = null;
    sized(this.head, size + 1, () => el("th", { scope: "col", class: "column" }, labelNode()));
    this.#fit();
    this.#cells = [];
    this.body.replaceChildren();
    for (let i = 0; i < size; i += 1) {
      const cells = Array.from({ length: size }, (_, j) =>
        el("td", { class: i === j ? "right" : "wrong", tabindex: i + j === 0 ? 0 : -1 }),
      );
      cells.forEach((cell, j) => {
        cell.place = [i, j];
      });
      this.#cells.push(cells);
      this.body.append(el("tr", {}, el("th", { scope: "row", class: "row" }, labelNode()), ...cells));
    }
  }

  /** Let the cells use the width of the card: with counts and shares, with counts, or as mere colours. */
  #fit() {
    if (this.#size < 1) return;
    const width = (byId("matrix").clientWidth - NAMES) / this.#size;
    const kind = this.#size <= ROOMY ? "roomy" : width >= COUNTED ? "upright" : "dense";
    for (const name of ["roomy", "upright", "dense"]) this.table.classList.toggle(name, name === kind);
    this.table.classList.toggle("upright", kind !== "roomy");
    setVariable(this.table, "--cell", `${Math.floor(Math.min(WIDEST[kind], Math.max(NARROWEST, width)))}px`);
    show(this.numbers, kind === "dense");
  }

  #fill(i) {
    const total = this.#totals[i];
    this.#matrix.counts[i].forEach((number, j) => {
      const cell = this.#cells[i][j];
      if (cell.number === number && cell.total === total) return;
      [cell.number, cell.total] = [number, total];
      const part = total > 0 ? number / total : 0;
      const level = i === j ? part : number > 0 ? FAINTEST + (1 - FAINTEST) * Math.sqrt(part) : 0;
      setText(cell, number === 0 ? "" : compact(number));
      setAttribute(cell, "data-share", number > 0 && this.#size <= ROOMY ? share(part) : null);
      setAttribute(cell, "data-level", Math.round(LEVELS * Math.min(1, level)));
    });
  }

  #listen() {
    this.body.addEventListener("pointerover", (event) => this.#point(event.target.place));
    this.body.addEventListener("pointerleave", () => this.#point(null));
    this.body.addEventListener("focusin", (event) => this.#point(event.target.place));
    this.body.addEventListener("keydown", (event) => {
      const step = STEPS[event.key];
      if (step === undefined || event.target.place === undefined) return;
      event.preventDefault();
      const bounded = (x) => Math.min(this.#size - 1, Math.max(0, x));
      this.focus(bounded(event.target.place[0] + step[0]), bounded(event.target.place[1] + step[1]));
    });
  }

  /** Move the one tab stop to a cell, and the focus with it. */
  focus(i, j) {
    this.#cells[this.#at[0]][this.#at[1]].tabIndex = -1;
    this.#at = [i, j];
    this.#cells[i][j].tabIndex = 0;
    this.#cells[i][j].focus();
  }

  #point(place) {
    if (place === undefined) return;
    this.#read = place;
    this.#readOut();
  }

  #readOut() {
    const node = byId("matrix-readout");
    const place = this.#read;
    const key =
      place === null
        ? ""
        : JSON.stringify([
            place,
            this.#matrix.labels[place[0]],
            this.#matrix.labels[place[1]],
            this.#cells[place[0]][place[1]].number,
            this.#totals[place[0]],
          ]);
    if (place === null || node.key === key) return;
    node.key = key;
    const [i, j] = place;
    const number = this.#matrix.counts[i][j];
    const [truth, prediction] = [labelNode(), labelNode()];
    setLabel(truth, this.#matrix.labels[i]);
    setLabel(prediction, this.#matrix.labels[j]);
    const part = this.#totals[i] > 0 ? number / this.#totals[i] : null;
    node.replaceChildren(
      "true ",
      truth,
      ", predicted ",
      prediction,
      `: ${count(number)}, ${share(part)} of the ${count(this.#totals[i])} that are true `,
      truth.cloneNode(true),
    );
  }

  #worst() {
    const { labels, counts, omitted } = this.#matrix;
    const all = [];
    counts.forEach((row, i) => row.forEach((number, j) => i !== j && number > 0 && all.push([number, i, j])));
    all.sort((a, b) => b[0] - a[0] || a[1] - b[1] || a[2] - b[2]);
    const top = all.slice(0, labels.length > DENSE ? 2 * WORST : WORST);
    const nodes = sized(byId("worst"), top.length, () => this.#newWorst());
    const largest = top.length > 0 ? top[0][0] : 1;
    top.forEach(([number, i, j], k) => {
      const [button] = nodes[k].children;
      const [truth, , prediction, part, total] = button.children;
      nodes[k].place = [i, j];
      setLabel(truth, labels[i]);
      setLabel(prediction, labels[j]);
      setText(total, count(number));
      setText(part, share(this.#totals[i] > 0 ? number / this.#totals[i] : null));
      setVariable(nodes[k], "--value", `${((100 * number) / largest).toFixed(0)}%`);
    });
    setText(byId("worst-note"), top.length === 0 ? "" : `${omitted > 0 ? "in the matrix, " : ""}% of true class`);
    const none = omitted > 0 ? "No confusion between the classes of the matrix." : "No confusion.";
    setText(byId("worst-empty"), labels.length === 0 ? "Nothing counted yet." : none);
    show(byId("worst-empty"), top.length === 0);
  }

  #newWorst() {
    const arrow = el(
      "span",
      { class: "arrow" },
      el("span", { class: "unseen" }, " predicted as "),
      el("span", { "aria-hidden": "true" }, "→"),
    );
    const button = el(
      "button",
      { type: "button", title: "Show in the matrix" },
      labelNode(),
      arrow,
      labelNode(),
      el("span", { class: "part" }),
      el("span", { class: "number" }),
    );
    const item = el("li", {}, button);
    button.addEventListener("click", () => this.focus(...item.place));
    return item;
  }
}
