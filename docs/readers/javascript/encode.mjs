// States of labels as bytes. Of numbers as labels, a BigInt is an integer and a number is a float.

import { KEYS } from "./keys.mjs";
import { framed, packed, varint } from "./values.mjs";

const UNIT = 1n << 64n;

/**
 * Returns the bytes of a state of labels.
 *
 * `kind` is "confusion" or "set". A sample is `{ truth, predicted, n, weight }`: `n` samples, 1 by default, of this
 * weight each, 1 by default; without a prediction they are abstentions. Options are the fixed `labels`, `other` and, of
 * a set, `metrics` (keys) and `zeroDivision`.
 */
export function encode(kind, samples, options = {}) {
  const content = confusion(samples, options.labels ?? null, options.other ?? null);
  if (kind === "confusion") return framed([kind, content]);
  if (kind !== "set") throw new TypeError(`Expected the kind "confusion" or "set", but got ${kind}`);
  const metrics = options.metrics ? [...new Set(options.metrics)] : null;
  const unknown = metrics?.find((key) => !KEYS.counts.includes(key));
  if (unknown) throw new TypeError(`Expected the key of a metric of labels, but got ${unknown}`);
  return framed([kind, [[metrics, options.zeroDivision ?? null], content]]);
}

function confusion(samples, fixed, other) {
  fixed &&= fixed.map(canonical);
  other &&= canonical(other);
  const given = new Map(fixed?.map((label) => [keyOf(label), label]));
  const seen = new Map(); // by the key of a label: label, and its appearances as boolean, integer and float
  const cells = new Map();
  let [n, abstained, weighted, total] = [0n, 0n, 0n, 0n];

  const admitted = (value) => {
    const label = canonical(value);
    if (fixed && !given.has(keyOf(label))) {
      if (other === null) throw new TypeError(`Expected one of the fixed labels, but got ${String(value)}`);
      return other;
    }
    return label;
  };
  const appear = (label, times) => {
    const key = keyOf(label);
    if (given.has(key)) return key;
    if (!seen.has(key)) seen.set(key, { label, as: [0n, 0n, 0n] });
    if (isNumber(label)) seen.get(key).as[["boolean", "bigint", "number"].indexOf(typeof label)] += times;
    return key;
  };

  for (const sample of samples) {
    const times = BigInt(sample.n ?? 1n);
    const units = unitsOf(sample.weight ?? 1n);
    const truth = admitted(sample.truth);
    if (sample.predicted === undefined || sample.predicted === null) {
      abstained += times;
      continue;
    }
    const predicted = admitted(sample.predicted);
    n += times;
    if (units !== UNIT) weighted += times;
    if (!units || !times) continue; // it has no labels
    const pair = JSON.stringify([appear(truth, times), appear(predicted, times)]);
    cells.set(pair, (cells.get(pair) ?? 0n) + times * units);
    total += times * units;
  }
  if (total >= UNIT << 63n) throw new RangeError("Expected a sum of weights below 2^63");

  const added = [...seen.values()].sort((a, b) => compare(a.label, b.label));
  const labels = added.map(({ label, as }) => (isNumber(label) ? narrowest(label, as) : label));
  const position = new Map([...given.keys(), ...added.map(({ label }) => keyOf(label))].map((key, at) => [key, at]));
  const occupied = [...cells].map(([pair, units]) => {
    const [i, j] = JSON.parse(pair).map((key) => position.get(key));
    return { number: i * position.size + j, units };
  });
  const bin = cellBytes(occupied.sort((a, b) => a.number - b.number), position.size ** 2);
  const appearances = added.flatMap(({ label, as }) => (isNumber(label) ? as : []));
  const content = [fixed, other === null ? [] : [other], n, abstained, labels, appearances, bin];
  return weighted ? [...content, weighted] : content;
}

function cellBytes(occupied, size) {
  const every = 2 * occupied.length > size;
  const fractions = occupied.some(({ units }) => units % UNIT);
  const bytes = [(every ? 1 : 0) + (fractions ? 2 : 0)];
  const empty = [0, ...(fractions ? [0] : [])];
  let next = 0;
  for (const { number, units } of occupied) {
    if (every) for (; next < number; next++) bytes.push(...empty);
    else bytes.push(...varint(BigInt(number - next)));
    bytes.push(...varint(units / UNIT), ...(fractions ? varint(units % UNIT) : []));
    next = number + 1;
  }
  if (every) for (; next < size; next++) bytes.push(...empty);
  return Uint8Array.from(bytes);
}

/** Returns a weight in units of 2^-64, rounded half to even. */
function unitsOf(weight) {
  if (!(weight >= 0 && weight < 2 ** 63)) throw new RangeError(`Expected a weight from 0 to 2^63, but got ${weight}`);
  if (typeof weight === "bigint") return weight * UNIT;
  const whole = Math.floor(weight);
  const rest = (weight - whole) * 2 ** 64;
  const down = Math.floor(rest);
  const up = rest - down > 0.5 || (rest - down === 0.5 && down % 2);
  return BigInt(whole) * UNIT + BigInt(down) + (up ? 1n : 0n);
}

const isNumber = (label) => ["boolean", "bigint", "number"].includes(typeof label);

function narrowest(label, [booleans, integers]) {
  if (booleans) return Boolean(Number(label));
  return integers ? BigInt(label) : Number(label);
}

/** Returns a label as it is written; inside an array, a number that is whole is an integer. */
function canonical(value, inside = false) {
  if (Array.isArray(value)) return value.map((item) => canonical(item, true));
  if (typeof value === "string" || value instanceof Uint8Array) return value;
  if (!isNumber(value) || (typeof value === "number" && !Number.isFinite(value))) {
    throw new TypeError(`Expected a label, but got ${String(value)}`);
  }
  if (inside === true && (typeof value !== "number" || Number.isInteger(value))) return BigInt(value);
  return typeof value === "number" ? value + 0 : value; // -0 becomes 0
}

/** Returns a text that is the same for equal labels only. */
function keyOf(label) {
  if (isNumber(label)) label = typeof label === "number" && !Number.isInteger(label) ? label : BigInt(label);
  return packed(label).join();
}

const kindOf = (label) => (isNumber(label) ? 0 : typeof label === "string" ? 1 : label instanceof Uint8Array ? 2 : 3);

/** Compares two labels by the report order. */
function compare(a, b) {
  const kind = kindOf(a);
  if (kind !== kindOf(b)) return kind - kindOf(b);
  if (kind === 0) return a < b ? -1 : a > b ? 1 : 0;
  const [x, y] = kind === 1 ? [a, b].map((text) => Array.from(text, (each) => each.codePointAt(0))) : [a, b];
  for (let at = 0; at < x.length && at < y.length; at++) {
    const order = kind === 3 ? compare(x[at], y[at]) : x[at] - y[at];
    if (order) return order;
  }
  return x.length - y.length;
}
