// The counters of every kind of state. Weights are BigInts in units of 2^-64.

import { KEYS } from "./keys.mjs";
import { DecodeError, NEWER, unframed, Varints } from "./values.mjs";

const MASK = (1n << 64n) - 1n;
const ENDS = [1n, MASK - 1n]; // codes that stand for many scores each
export const MOST_PAIRED = 64;

/** Returns the state that bytes hold, as an object with its `kind`. */
export function decode(bytes) {
  const body = unframed(bytes);
  try {
    return state(body);
  } catch (error) {
    if (error instanceof DecodeError) throw error;
    throw new DecodeError(`Expected the content of a state: ${error.message}`);
  }
}

function state([kind, content]) {
  if (typeof kind !== "string") throw new DecodeError("Expected a kind and its content");
  if (!Object.hasOwn(KINDS, kind)) throw new DecodeError(`Expected a known kind, but got ${kind}: ${NEWER}`);
  return KINDS[kind](content);
}

/** Returns the items of an array by name. */
function named(names, items) {
  return Object.fromEntries(names.split(" ").map((name, at) => [name, items[at]]));
}

function confusion(content) {
  const fields = named("fixed other n abstained labels appearances", content);
  const [bin, weighted = 0n] = content.slice(6);
  const classes = [...(fields.fixed ?? []), ...fields.labels];
  const k = BigInt(classes.length);
  const numbers = new Varints(bin.subarray(1));
  const cells = [];
  for (let number = 0n; !numbers.atEnd; number++) {
    if (!(bin[0] & 1)) number += numbers.next();
    const units = numbers.weight(bin[0] & 2);
    if (number >= k * k) throw new DecodeError("Expected cells of the classes");
    if (units) cells.push({ truth: Number(number / k), predicted: Number(number % k), units });
  }
  return { kind: "confusion", ...fields, cells, weighted, classes };
}

function ranks([configuration, n, abstained, labels, appearances, weights, columns, fine = [20n, 0n]]) {
  const options = named("buckets sample posLabel pairs", configuration);
  const [places, rounded] = fine;
  const paired = options.pairs && labels.length <= MOST_PAIRED;
  const numbers = new Varints(weights, places);
  return {
    kind: "ranks", ...options, n, abstained, labels, appearances,
    weights: numbers.end(labels.map(() => numbers.weight(true))),
    columns: columns.map((bin) => (bin.length ? column(new Varints(bin, places), paired ? labels.length : 2) : null)),
    places, rounded, paired,
  };
}

function column(numbers, groups) {
  const first = numbers.next();
  const level = first % 64n;
  const mode = numbers.next() === 1n;
  const size = numbers.next();
  const cells = [];
  for (let at = 0n, key = 0n; at < size; at++) {
    key += numbers.next();
    let code = null; // the only code of the cell, null if there may be several
    if (level === 0n) code = key;
    else if (numbers.next() === 1n) code = (key << level) + numbers.next();
    const pure = level === 0n || code !== null;
    if (ENDS.includes(code)) code = null;
    const mask = numbers.next();
    const parts = [];
    for (let group = 0; group < groups; group++) {
      if (!((mask >> BigInt(group)) & 1n)) continue;
      parts.push({ group, units: numbers.weight(mode), moment: pure ? 0n : numbers.weight(mode) });
    }
    cells.push({ key, code, parts });
  }
  const samples = [];
  for (let group = 0; level && group < groups; group++) samples.push(sampled(numbers, mode));
  return numbers.end({ level, above: first >= 64n, cells, samples });
}

function sampled(numbers, mode) {
  const codes = [];
  let hash = 0n;
  for (let left = numbers.next(); left; left--) {
    hash += numbers.next();
    codes.push({ code: codeOf(hash), units: numbers.weight(mode) });
  }
  return codes;
}

function codeOf(x) {
  x = ((x ^ (x >> 31n) ^ (x >> 62n)) * 0x319642b2d24d8ec3n) & MASK;
  x = ((x ^ (x >> 27n) ^ (x >> 54n)) * 0x96de1b173f119089n) & MASK;
  return x ^ (x >> 30n) ^ (x >> 60n);
}

const SUMS =
  "posLabel classes n abstained weight two r1 r2 r3 r4 r5 r6 r7 r8 r9 r10 r11 log_loss brier spherical";
const SQUARES = "weighted beyond log_loss_2 brier_2 spherical_2";

function losses(content) {
  const hasSquares = content.length >= 25;
  const sums = named(hasSquares ? `${SUMS} ${SQUARES}` : SUMS, content);
  const last = content.slice(hasSquares ? 25 : 20);
  if (!last.length && sums.two === sums.weight) last.push(sums.weight, sums.brier, sums.brier_2);
  const [binary = 0n, binary_brier = 0n, binary_brier_2 = 0n] = last;
  return { kind: "losses", ...sums, binary, binary_brier, ...(hasSquares && { binary_brier_2 }) };
}

const READERS = { counts: confusion, ranks, losses, confidence: ranks };

function metric([[key, zeroDivision, posLabel, options], content, folds = []]) {
  const name = Object.keys(READERS).find((name) => KEYS[name].includes(key));
  if (!name) throw new DecodeError(`Expected a known metric, but got ${key}: ${NEWER}`);
  const read = READERS[name];
  return {
    kind: "metric", key, zeroDivision, posLabel, options, state: read(content),
    folds: folds.map(([fold, [each]]) => ({ fold, state: read(each) })),
  };
}

const RANKS = ["ranks", "confidence"];

function set([[metrics, zeroDivision, ...more], counts, ...contents]) {
  const options = more.at(-1) instanceof Map ? more.pop() : new Map();
  const [scores = null, posLabel, threshold, buckets, sample, pairs, written] = more;
  const names = scores === null ? [] : (written ?? namesOf(metrics ?? [], scores, pairs, metrics === null));
  const known = ["ranks", "pairs", "confidence", "losses"];
  const unknown = [...names.filter((name) => !known.includes(name)), ...(metrics ?? []).filter((key) => !isKnown(key))];
  if (unknown.length) throw new DecodeError(`Expected known names, but got ${unknown[0]}: ${NEWER}`);
  const order = ["losses", ...RANKS].filter((name) => names.includes(name));
  const read = ([first, ...states]) => ({
    confusion: confusion(first),
    ...Object.fromEntries(order.map((name, at) => [name, READERS[name](states[at])])),
  });
  const [folds = [], removed] = contents.slice(order.length);
  const sketches = order.filter((name) => RANKS.includes(name));
  return {
    kind: "set", metrics, zeroDivision, scores, posLabel, threshold, buckets, sample, pairs, names, options,
    ...read([counts, ...contents]),
    folds: folds.map(([fold, states]) => ({ fold, ...read(states) })),
    removed: removed ? Object.fromEntries(sketches.map((name, at) => [name, ranks(removed[at])])) : null,
  };
}

function isKnown(key) {
  return Object.keys(READERS).some((name) => KEYS[name].includes(key));
}

/** Returns the states of scores of a set whose configuration does not name them. */
function namesOf(metrics, scores, pairs, everything) {
  const names = ["ranks"];
  if (pairs && (everything || metrics.some((key) => KEYS.pairs.includes(key)))) names.push("pairs");
  for (const name of ["confidence", "losses"]) {
    if (scores === true || metrics.some((key) => KEYS[name].includes(key))) names.push(name);
  }
  return names;
}

function comparison([configuration, counters, labels, appearances, columns, scored]) {
  const options = named("a b fixed scores posLabel folds", configuration);
  const [fold, truth, first, second, whole, fraction] = columns;
  const cells = fold.map((each, at) => ({
    fold: each, truth: Number(truth[at]), a: Number(first[at]), b: Number(second[at]),
    units: (whole[at] << 64n) + (fraction ? fraction[at] : 0n),
  }));
  return {
    kind: "comparison", ...options,
    ...named("mass n keyed weighted abstainedA abstainedB abstainedBoth", counters),
    labels, appearances, classes: [...(options.fixed ?? []), ...labels], cells,
    scored: scored.map(([fold, [lossesA, ranksA, lossesB, ranksB]]) => ({
      fold, a: { losses: losses(lossesA), ranks: ranks(ranksA) }, b: { losses: losses(lossesB), ranks: ranks(ranksB) },
    })),
  };
}

function rolling([window, inner, labels, truths, predictions, weights]) {
  const read = (value) => {
    if (value === null) return {};
    if (typeof value === "bigint") return { label: labels[value] };
    if (typeof value === "number") return { score: value };
    if (value.length === 2) return { scores: value[0].map((at, k) => [labels[at], value[1][k]]) };
    return { ...read(value[1]), more: Object.fromEntries(value[2].map(([name, item]) => [name, read(item)])) };
  };
  const samples = truths.map((at, k) => ({ truth: labels[at], predicted: read(predictions[k]), weight: weights[k] ?? 1n }));
  return { kind: "rolling", window, inner: state(inner), samples };
}

const numbered = (inner, states) => states.map(([number, content]) => ({ number, state: state([inner[0], content]) }));

function timed([inner, pane, panes, lateness, latest, hasTimes, states]) {
  const read = { inner: state(inner), states: numbered(inner, states) };
  return { kind: "timed", ...read, pane, panes, lateness, latest: latest[0] ?? null, timed: hasTimes };
}

function fading([inner, byCount, halfLife, latest, states]) {
  const read = { inner: state(inner), states: numbered(inner, states) };
  return { kind: "fading", ...read, byCount, halfLife, latest: latest[0] ?? null };
}

function groups([inner, limit, other, named, rest]) {
  return {
    kind: "groups", inner: state(inner), limit: limit[0] ?? null, other,
    groups: named.map(([name, appearances, content]) => ({ name, appearances, state: state([inner[0], content]) })),
    rest: rest.length ? state([inner[0], rest[0]]) : null,
  };
}

function aggregate(items) {
  const workers = items.filter((item) => item.length === 4).map(([worker, epoch, sequence, content]) => ({
    worker, epoch, sequence,
    status: content.length === 2 ? "counted" : content.length ? "retired" : "dropped",
    state: content.length === 2 ? state(content) : null,
  }));
  const [floor, base] = items.find((item) => item.length === 2) ?? [null, []];
  return { kind: "aggregate", workers, floor, base: base.length ? state(base) : null };
}

function multilabel([configuration, labels, sizes, sets]) {
  const options = named("metrics zeroDivision scores threshold", configuration);
  return { kind: "multilabel", ...options, labels: confusion(labels), sizes: confusion(sizes), sets: sets.map(set) };
}

function detector([configuration, numbers]) {
  const options = named("p0 reference of direction arl method bets restart", configuration);
  const more = configuration.slice(8);
  const [learn, block] = more.length === 2 ? more : [more[0] ?? (options.reference === null ? null : "bound"), 1n];
  const counters = named("n abstained alarms alarm stopped times learned total levels evidence", numbers);
  const rest = numbers.slice(10);
  const first = learn === "running" ? rest.shift() : null;
  const [filled = 0n, part = 0] = rest;
  return { kind: "detector", ...options, learn, block, ...counters, first, filled, part };
}

function running(content) {
  return { kind: "running", ...named("key level label tOpt n looks low high", content) };
}

function badRows([n, reasons, first]) {
  return {
    kind: "bad_rows", n, reasons: reasons.map((each) => named("reason number", each)),
    first: first.map((each) => named("file partition row error", each)),
  };
}

const KINDS = {
  confusion, ranks, losses, metric, set, comparison, rolling, timed, fading, groups, aggregate, multilabel, detector,
  running, bad_rows: badRows,
};
