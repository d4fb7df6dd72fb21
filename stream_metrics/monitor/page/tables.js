// A table that is sorted, filtered and kept up to date in place.
//
// Row number i shows whatever item is i-th now: texts change, nodes stay, so that a view moves neither scroll nor focus.
// An order that follows numbers would shuffle rows under the reader four times a second, so it is held while the
// pointer is over the rows. Undefined values come last in either direction.
//
// A column is {key, name, kind, value(row)} with kind "label", "text", "metric", "count" or one of its own with
// `text(value)`; `bar: true` draws the value, 0 to 1, as a line below it; `down: true` sorts the largest first at first;
// `interval(row)` is a pair of bounds to be shown below the value, if there is one, and `open(row)` those that missing
// labels allow; `lacks` is the title of a dash, a text or a function of the row, "undefined" unless told; `title` explains the column; `raw: true` is a column that is
// not sorted by; `wide: true` one whose labels get more space.

import { el, labelNode, setAttribute, setLabel, setText, show, sized } from "./dom.js";
import { count, DASH, duration, interval, metric, open } from "./format.js";

const TEXT = { metric, count, age: (value) => `${duration(value)} ago`, text: (value) => value, label: (value) => value };
const FEW = 10; // rows that need no filter
const WORDS = new Intl.Collator("en", { numeric: true });

let serial = 0;

export class Table {
  #columns = [];
  #rows = [];
  #order = null; // {key, down}, or null: as it came
  #held = false;
  #shown = [];
  #options;

  /** `host` is filled; options: caption, columns, filter (what a field filters, in a word), empty (a text), tall. */
  constructor(host, options) {
    this.#options = options;
    this.id = `table-${(serial += 1)}`;
    this.head = el("tr");
    this.body = el("tbody");
    const table = el(
      "table",
      { class: "data" },
      el("caption", { class: "unseen", id: this.id }, options.caption),
      el("thead", {}, this.head),
      this.body,
    );
    this.scroller = el(
      "div",
      { class: options.tall ? "scroll tall" : "scroll", tabindex: 0, role: "region", "aria-labelledby": this.id },
      table,
    );
    this.none = el("p", { class: "note" }, options.empty ?? "None.");
    if (options.filter) host.append(this.#filter());
    host.append(this.scroller, this.none);
    this.body.addEventListener("pointerenter", (event) => {
      this.#held = event.pointerType === "mouse";
    });
    this.body.addEventListener("pointerleave", () => {
      this.#held = false;
    });
    this.#setColumns(options.columns ?? []);
  }

  /** Show these rows; `columns` only where they change from view to view. */
  update(rows, columns = this.#columns) {
    if (columns.length !== this.#columns.length || columns.some((column, i) => column.key !== this.#columns[i].key))
      this.#setColumns(columns);
    else this.#columns = columns;
    this.#rows = rows;
    if (this.input !== undefined) show(this.input.parentNode, rows.length > FEW || this.input.value !== "");
    this.#draw(this.#held && this.#shown.length > 0);
  }

  #filter() {
    this.input = el("input", {
      type: "search",
      id: `${this.id}-filter`,
      placeholder: "Filter",
      autocomplete: "off",
      spellcheck: "false",
    });
    this.input.addEventListener("input", () => this.#draw(false));
    this.found = el("span", { class: "aside", role: "status" });
    return el(
      "p",
      { class: "filter" },
      el("label", { class: "unseen", for: this.input.id }, `Filter ${this.#options.filter}`),
      this.input,
      this.found,
    );
  }

  #setColumns(columns) {
    this.#columns = columns;
    if (this.#order !== null && !columns.some((column) => column.key === this.#order.key)) this.#order = null;
    this.head.replaceChildren(...columns.map((column) => this.#header(column)));
    this.body.replaceChildren();
    this.#marks();
  }

  #header(column) {
    const cell = el("th", { scope: "col", class: `is-${column.kind}`, title: column.title ?? null });
    if (column.raw) {
      cell.append(column.name);
      return cell;
    }
    const button = el("button", { type: "button" }, column.name);
    button.addEventListener("click", () => this.#sortBy(column));
    cell.append(button);
    return cell;
  }

  /** First click: the way that the column likes; second: the other way; third: as it came. */
  #sortBy(column) {
    const first = column.down === true;
    if (this.#order?.key !== column.key) this.#order = { key: column.key, down: first };
    else if (this.#order.down === first) this.#order = { key: column.key, down: !first };
    else this.#order = null;
    this.#marks();
    this.#draw(false);
  }

  #marks() {
    this.#columns.forEach((column, i) => {
      const sorted = this.#order?.key === column.key ? (this.#order.down ? "descending" : "ascending") : null;
      setAttribute(this.head.children[i], "aria-sort", column.raw ? null : (sorted ?? "none"));
    });
  }

  #sorted() {
    const wanted = (this.input?.value ?? "").trim().toLowerCase();
    const labels = this.#columns.filter((column) => column.kind === "label");
    const rows =
      wanted === ""
        ? [...this.#rows]
        : this.#rows.filter((row) => labels.some((column) => column.value(row).toLowerCase().includes(wanted)));
    const column = this.#columns.find((other) => other.key === this.#order?.key);
    if (column === undefined) return rows;
    const sign = this.#order.down ? -1 : 1;
    return rows.sort((a, b) => compare(column.value(a), column.value(b), sign));
  }

  /** The rows in the order in which they were last shown, by their first column; new ones at the end. */
  #kept() {
    const [name] = this.#columns;
    const place = new Map(this.#shown.map((row, i) => [name.value(row), i]));
    const at = (row) => place.get(name.value(row)) ?? Infinity;
    return this.#sorted().sort((a, b) => Math.sign(at(a) - at(b)) || 0);
  }

  #draw(held) {
    const rows = held ? this.#kept() : this.#sorted();
    this.#shown = rows;
    show(this.scroller, this.#rows.length > 0);
    show(this.none, this.#rows.length === 0);
    const nodes = sized(this.body, rows.length, () => this.#newRow());
    rows.forEach((row, i) => this.#fill(nodes[i], row));
    if (this.input !== undefined)
      setText(
        this.found,
        rows.length < this.#rows.length ? `${count(rows.length)} of ${count(this.#rows.length)}` : "",
      );
  }

  #newRow() {
    const cells = this.#columns.map((column, i) => {
      const style = `is-${column.kind}${column.wide ? " is-name" : ""}${column.bar ? " metered" : ""}`;
      const cell = el(i === 0 ? "th" : "td", { class: style, scope: i === 0 ? "row" : null });
      if (column.kind === "label") cell.append(labelNode());
      return cell;
    });
    const row = el("tr", {}, ...cells);
    row.cellNodes = cells; // a live collection would cost a walk for each cell
    return row;
  }

  #fill(node, row) {
    this.#columns.forEach((column, i) => {
      const cell = node.cellNodes[i];
      const value = column.value(row);
      if (column.kind === "label") {
        setLabel(cell.firstChild, value);
        return;
      }
      const text = value === null || value === undefined ? DASH : (column.text ?? TEXT[column.kind])(value);
      setText(cell, text);
      const lacks = typeof column.lacks === "function" ? column.lacks(row) : (column.lacks ?? "undefined");
      const bounds = column.interval ? interval(column.interval(row)) : "";
      const note = column.note?.(row) ?? "";
      const title = text === DASH ? lacks : bounds === "" && note ? `no interval: ${note}` : null;
      if (cell.titleShown !== title) {
        cell.titleShown = title;
        setAttribute(cell, "title", title);
      }
      if (column.interval) setBounds(cell, "interval", bounds && bounds + (note ? "?" : ""), note || "confidence interval");
      if (column.open) setBounds(cell, "open", open(column.open(row)), "whichever of the classes seen so far the missing labels are");
      if (column.bar) setBar(cell, Math.round(100 * Math.min(1, Math.max(0, value ?? 0))));
    });
  }
}

/** The line below a value: a size of the background, because a custom property in each cell took ten times as long. */
function setBar(cell, percent) {
  if (cell.percent === percent) return;
  cell.percent = percent;
  cell.style.backgroundSize = `${percent}% 2px, 100% 2px`;
}

/** Bounds below a value; cells have no place for them before they need it. */
function setBounds(cell, name, text, title) {
  let place = cell[name];
  if (place === undefined && text !== "") place = cell[name] = cell.appendChild(el("span", { class: name, title }));
  if (place === undefined) return;
  setText(place, text);
  setAttribute(place, "title", title);
}

function compare(a, b, sign) {
  const [lacksA, lacksB] = [a === null || a === undefined, b === null || b === undefined];
  if (lacksA || lacksB) return lacksA - lacksB;
  return sign * (typeof a === "number" ? a - b : WORDS.compare(a, b));
}
