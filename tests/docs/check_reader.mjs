// Checks the reader in JavaScript: `node check_reader.mjs golden` reads all golden files and vectors in a folder, writes
// the states of its tables, and prints what is wrong.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { decode, encode, labelMetrics, lossMetrics, rocAuc } from "../../docs/readers/javascript/index.mjs";
import { framed, unframed } from "../../docs/readers/javascript/values.mjs";

/** Returns the value that JSON stands for: integers as BigInts. */
function value(json) {
  if (typeof json === "number") return BigInt(json);
  if (Array.isArray(json)) return json.map(value);
  if (json === null || typeof json !== "object") return json;
  if ("int" in json) return BigInt(json.int);
  if ("float" in json) return number(json.float);
  if ("tuple" in json) return value(json.tuple);
  if ("bytes" in json) return Uint8Array.from(Buffer.from(json.bytes, "hex"));
  return new Map(value(json.map));
}

const number = (text) => ({ inf: Infinity, "-inf": -Infinity })[text] ?? Number(text);

/** Returns a value as text, to compare it. */
const shown = (value) => JSON.stringify(value, (_, each) => {
  if (typeof each === "bigint") return { int: String(each) };
  if (typeof each === "number") return { float: String(each) };
  if (each instanceof Map) return { map: [...each] };
  return each instanceof Uint8Array ? { bytes: Buffer.from(each).toString("hex") } : each;
});

/** Returns the counters of all matrices and sketches in a decoded state, in the form of the vectors. */
function counters(state) {
  if (state?.kind === "confusion") {
    const cells = state.cells.map(({ truth, predicted, units }) => [[BigInt(truth), BigInt(predicted)], units]);
    return [[state.classes, new Map(cells)]];
  }
  if (state?.kind === "ranks") {
    const byGroup = (parts, name) => new Map(parts.map((part) => [BigInt(part.group), part[name]]));
    const columns = state.columns.map((column) => column && [
      column.level,
      column.above,
      column.cells.map(({ key, code, parts }) => [key, code, byGroup(parts, "units"), byGroup(parts, "moment")]),
      column.samples.map((sample) => new Map(sample.map(({ code, units }) => [code, units]))),
    ]);
    return [[state.labels, state.weights, columns]];
  }
  const isInside = state !== null && typeof state === "object" && !(state instanceof Uint8Array);
  return isInside ? Object.values(state).flatMap(counters) : [];
}

/** Returns the value of a metric of a state, or value, low and high of an area. */
function computed(state, key, label) {
  const states = state.kind === "set" ? state : { [state.kind]: state, confusion: state.state ?? state };
  if (key === "roc_auc") {
    const area = rocAuc(states.ranks, states.ranks.labels.findIndex((each) => shown(each) === shown(label)));
    return [area.value, area.low, area.high];
  }
  if (key === "log_loss" || key === "brier_score") return lossMetrics(states.losses, states.confusion.fixed)[key];
  const values = labelMetrics(states.confusion)[key];
  return label === undefined ? values : values.find((each) => shown(each.label) === shown(label)).value;
}

function refused(bytes, message) {
  try {
    decode(bytes);
  } catch (error) {
    return error.name === "DecodeError" && error.message.includes(message);
  }
  return false;
}

const NEWER = "written by a newer version";
const problems = [];
const check = (isRight, ...what) => isRight || problems.push(what.join(" "));

function checkFile(name, bytes) {
  const [kind, content] = unframed(bytes);
  check(decode(bytes).kind === kind, name, "has another kind");
  check(Buffer.compare(framed([kind, content]), bytes) === 0, name, "is written in another way");
  check(refused(bytes.subarray(0, -1), "checksum"), name, "is read when it is cut short");
  check(refused(bytes.map((byte, at) => (at === 4 ? 2 : byte)), NEWER), name, "is read in version 2");
  check(refused(framed([`${kind}s`, content]), NEWER), name, "is read as an unknown kind");
  if (kind === "metric") content[0][0] += "_of_the_future";
  if (kind === "set") content[0][0] = ["metric_of_the_future"];
  if (kind === "metric" || kind === "set") check(refused(framed([kind, content]), NEWER), name, "has an unknown key");
}

function checkVector(folder, vector) {
  const bytes = readFileSync(join(folder, vector.file));
  const state = decode(bytes);
  check(shown(unframed(bytes)) === shown(value(vector.body)), vector.file, "has another body");
  check(shown(counters(state)) === shown(value(vector.counters)), vector.file, "has other counters");
  for (const { key, label, decimal } of vector.values) {
    if (state.removed && key === "roc_auc") continue; // of the samples that are left
    const ours = [computed(state, key, ...value(label))].flat();
    const theirs = decimal;
    const isClose = ours.every((x, at) => Object.is(x, theirs[at]) || Math.abs(x - theirs[at]) <= 1e-15);
    check(isClose, vector.file, key, shown(label), "is", ours, "and not", theirs);
  }
}

function checkTable({ kind, options, samples, bytes }) {
  const { zero_division: zeroDivision, ...more } = Object.fromEntries(
    Object.entries(options).map(([name, option]) => [name, value(option)]),
  );
  const bytesOf = (rows) => Buffer.from(encode(kind, rows, { zeroDivision, ...more })).toString("hex");
  const rows = samples.map(value).map(([truth, predicted, weight]) => ({ truth, predicted, weight }));
  const pairs = rows.map(({ truth, predicted }) => ({ truth, predicted }));
  check(bytesOf(rows) === bytes, kind, JSON.stringify(samples), "is written with other bytes");
  check(bytesOf(rows.reverse()) === bytes, kind, JSON.stringify(samples), "is written by the order of the samples");
  check(bytesOf(pairs.map((pair) => ({ ...pair, n: 2 }))) === bytesOf([...pairs, ...pairs]), kind, "counts n otherwise");
}

const [folder] = process.argv.slice(2);
const read = (name) => JSON.parse(readFileSync(join(folder, "vectors", name), "utf8"));
const files = readdirSync(folder).filter((name) => name.endsWith(".bin"));
const vectors = readdirSync(join(folder, "vectors")).filter((name) => name.includes("_v1_"));
const tables = read("tables.json");
files.forEach((name) => checkFile(name, readFileSync(join(folder, name))));
vectors.forEach((name) => checkVector(folder, read(name)));
tables.forEach(checkTable);
problems.forEach((problem) => console.log(problem));
console.log(`${files.length} files, ${vectors.length} vectors, ${tables.length} tables, ${problems.length} problems`);
process.exitCode = problems.length ? 1 : 0;
