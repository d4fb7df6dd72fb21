// Values of metrics, computed from counters with exact integers and rounded once.

const UNIT = 1n << 64n;
const ZERO = 1n << 63n; // the code of the score 0
const SHIFT = 20n; // moments leave out the lowest bits of a code
const bits = (x) => x.toString(2).length;

/** Returns a / b of BigInts, correctly rounded; NaN if b is 0. */
export function ratio(a, b) {
  if (b === 0n) return NaN;
  if (a < 0n) return -ratio(-a, b);
  const shift = Math.max(0, 66 + bits(b) - bits(a));
  const shifted = a << BigInt(shift);
  const quotient = shifted / b;
  return Number(shifted % b ? quotient | 1n : quotient) * 2 ** -shift;
}

/** Returns metrics of a `confusion` state; `zeroDivision` stands for 0/0, and classes of NaN are left out of means. */
export function labelMetrics(state, zeroDivision = 0) {
  const truths = state.classes.map(() => 0n);
  const predictions = [...truths];
  const hits = [...truths];
  for (const { truth, predicted, units } of state.cells) {
    truths[truth] += units;
    predictions[predicted] += units;
    if (truth === predicted) hits[truth] += units;
  }
  const sum = (terms) => terms.reduce((a, b) => a + b, 0n);
  const dot = (a, b) => sum(a.map((x, at) => x * b[at]));
  const [total, right] = [sum(truths), sum(hits)];
  const defined = (value) => (Number.isNaN(value) ? zeroDivision : value);
  const byClass = (compute) => state.classes.map((label, k) => ({ label, value: defined(compute(k)) }));
  const f1 = byClass((k) => ratio(2n * hits[k], truths[k] + predictions[k]));
  const counted = f1.map(({ value }) => value).filter((value) => !Number.isNaN(value));
  const macro = total && counted.length ? counted.reduce((a, b) => a + b, 0) / counted.length : NaN;
  const square = total * total;
  const covariance = right * total - dot(truths, predictions);
  const product = (square - dot(truths, truths)) * (square - dot(predictions, predictions));
  return {
    accuracy: defined(ratio(right, total)),
    precision: byClass((k) => ratio(hits[k], predictions[k])),
    recall: byClass((k) => ratio(hits[k], truths[k])),
    f1,
    macro_f1: defined(macro),
    matthews_corrcoef: defined((covariance < 0n ? -1 : 1) * Math.sqrt(ratio(covariance * covariance, product))),
  };
}

/** Returns the ROC area of the scores of a class, against the rest: a value and bounds that certainly contain it. */
export function rocAuc(ranks, at) {
  const column = ranks.columns[at] ?? { level: 0n, cells: [] };
  const own = ranks.paired ? at : 1;
  const rows = column.cells.map(({ key, code, parts }) => {
    const side = (mine) => parts.filter(({ group }) => (group === own) === mine);
    const add = (side, name) => side.reduce((sum, part) => sum + part[name], 0n);
    const [units, moments] = ["units", "moment"].map((name) => [add(side(false), name), add(side(true), name)]);
    return { start: key << column.level, mixed: code === null, units, moments };
  });
  const all = ranks.weights.reduce((sum, units) => sum + units, 0n);
  const totals = [all - ranks.weights[at], ranks.weights[at]];
  const zeros = totals.map((total, side) => rows.reduce((left, { units }) => left - units[side], total));
  const place = rows.findIndex(({ start }) => start >= ZERO);
  rows.splice(place < 0 ? rows.length : place, 0, { mixed: false, units: zeros });

  let [below, low, open] = [0n, 0n, 0n]; // low: twice the pairs in order plus those that are tied
  let within = 0;
  const pairs = totals[0] * totals[1];
  for (const { mixed, units: [rest, mine], moments } of rows) {
    low += 2n * mine * below + (mixed ? 0n : mine * rest);
    if (mixed && mine && rest) {
      const [first, second] = [meanPlace(moments[0], rest, column.level), meanPlace(moments[1], mine, column.level)];
      const share = Math.min(Math.max(second - first + 0.5, 0), 1);
      within += (Number.isNaN(share) ? 0.5 : share) * ratio(mine * rest, pairs);
      open += mine * rest;
    }
    below += rest;
  }
  const bounds = [ratio(low, 2n * pairs), ratio(low + 2n * open, 2n * pairs)];
  return { value: bounds[0] + within, low: bounds[0], high: bounds[1] };
}

/** Returns the mean place of a weight within a cell, from 0 to 1; NaN if it is not known. */
function meanPlace(moment, units, level) {
  const scale = 2 ** Number(level - SHIFT);
  const isKnown = level > SHIFT && Number(units) * scale < 2 ** 128;
  return isKnown ? ratio(BigInt.asUintN(128, moment), units) / scale : NaN;
}

/** Returns a weight as a number. */
export const weightOf = (units) => ratio(units, UNIT);

/** Returns metrics of a `losses` state; `classes` are the fixed labels of a set, if it has any. */
export function lossMetrics(state, classes = state.classes) {
  const halved = classes ? (classes.length <= 2 ? state.brier : 0n) : state.binary_brier; // which part counts half
  return {
    log_loss: ratio(state.log_loss, state.weight << 40n),
    brier_score: ratio(2n * state.brier - halved, state.weight << 41n),
    spherical_score: ratio(state.spherical, state.weight << 40n),
  };
}
