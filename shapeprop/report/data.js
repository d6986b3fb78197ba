/* data.js -- the document, the picture, and data derived from them. */

const report = JSON.parse(document.getElementById("document").textContent);
const picture = document.querySelector("#roofline svg");
const markOf = new Map([...picture.querySelectorAll("[data-node]")]
  .map(mark => [Number(mark.dataset.node), mark]));

/* Larger numbers are not added up. */
const isNumber = v => typeof v === "number" && Math.abs(v) < 1e300;
const orNull = v => v === undefined ? null : v;

/* A sum; an expression if one operand is one, null if one is missing. */
function sum(a, b) {
  if (isNumber(a) && isNumber(b))
    return a + b;
  if (a === null || b === null)
    return null;
  return a === 0 || a === "0" ? b : b === 0 || b === "0" ? a : a + " + " + b;
}

/* Group items by key, in the order of first occurrence. */
function groups(list, key) {
  const all = new Map();
  for (const v of list) {
    if (!all.has(key(v)))
      all.set(key(v), []);
    all.get(key(v)).push(v);
  }
  return all;
}

const ratio = (a, b) => isNumber(a) && isNumber(b) && b > 0 ? a / b : null;

const typeOf = new Map((report.modules ?? []).map(m => [m.path, m.type]));

/* "linear" for torch.nn.functional.linear, "conv2d" for aten.conv2d.default. */
function shortTarget(target) {
  const parts = target.split(".");
  const overloaded = /^(aten|torch\.ops)\./.test(target);
  return parts.at(overloaded && parts.length > 1 ? -2 : -1) || target;
}

/* The module that a node belongs to or calls. */
function pathOf(raw) {
  const path = String(raw.module_path ?? ""), target = String(raw.target ?? "");
  const inside = raw.op === "call_module" &&
    (path === "" || target.startsWith(path + "."));
  return inside ? target : path;
}

function makeNode(raw, index) {
  const read = orNull(raw.bytes_read), written = orNull(raw.bytes_written);
  const moved = sum(read, written), flops = orNull(raw.flops);
  const took = orNull(raw.seconds), floor = orNull(raw.floor_seconds);
  return {
    index, raw, mark: markOf.get(index) ?? null, name: raw.name, op: raw.op ?? "",
    target: String(raw.target ?? ""), path: pathOf(raw),
    operator: shortTarget(String(raw.operator ?? "")), shape: shapeText(raw.value),
    dtype: raw.dtype ?? raw.value?.dtype ?? "",
    flops, macs: orNull(raw.macs), ops: orNull(raw.ops),
    transcendental: orNull(raw.transcendental), read, written, moved,
    intensity: orNull(raw.intensity) ?? ratio(flops, moved),
    ridge: orNull(raw.ridge), bound: raw.bound ?? "", level: raw.level ?? "",
    algorithm: raw.algorithm ?? "", floor, took,
    rate: ratio(flops, took), bandwidth: ratio(moved, took),
    efficiency: orNull(raw.efficiency), live: orNull(raw.live_bytes),
  };
}

const nodes = report.nodes.map(makeNode);

/* The bound of nodes whose bound changes along a symbol. */
for (const t of report.turning_points ?? []) {
  const n = nodes.find(m => m.name === t.node);
  if (n)
    n.bound = (n.bound || t.bound_before) +
      `, ${t.bound} from ${t.symbol} = ${t.from}`;
}
const measured = nodes.some(n => isNumber(n.took) && n.took > 0);
const symbolic = nodes.some(n =>
  [n.flops, n.read, n.written].some(v => typeof v === "string"));
const timeName = measured ? "Time" : "Least time";

/* The reason why a node has no mark. */
for (const n of nodes) {
  n.time = measured ? n.took : n.floor;
  n.why = n.mark ? "" : n.flops === 0 ? "without arithmetic"
    : n.moved === 0 ? "without bytes" : "with unknown costs";
}

const total = (of, list = nodes) =>
  list.reduce((t, n) => isNumber(n[of]) ? t + n[of] : t, 0);
const totalTime = total("time");
for (const n of nodes)
  n.share = ratio(n.time, totalTime);

/* The index of a mark's look: 0, 1, ... */
const lookOfMark = mark => Number(/ k(\d)/.exec(mark.className.baseVal)[1]);

/* Operators by falling time; those without time by falling node count. */
const operators = [...groups(nodes, n => n.operator)]
  .map(([name, list]) => ({
    name, nodes: list.length, time: total("time", list),
    flops: total("flops", list), mark: list.find(n => n.mark)?.mark ?? null,
  }))
  .sort((a, b) => !a.mark - !b.mark || b.time - a.time ||
    b.flops - a.flops || b.nodes - a.nodes || (a.name < b.name ? -1 : 1));
const lookOf = new Map(operators.map(o =>
  [o.name, o.mark ? lookOfMark(o.mark) : null]));
const lookOfNode = n => lookOf.get(n.operator);

const machine = report.machine ?? {};

/* For a file, its name without folders. */
const modelName = String(report.model ?? "").split("/").at(-1) ||
  "Roofline report";

/* The measured rates of a level: "read_bytes_per_second", ... */
const perSecond = "_bytes_per_second";

function rateKeys(level) {
  return Object.keys(level).filter(key => key.endsWith(perSecond));
}

/* The best measured rate of a level. */
function bandwidthOf(level) {
  return Math.max(0, ...rateKeys(level).map(key => level[key])
    .filter(isNumber));
}

const levelsKnown = (machine.levels ?? [])
  .map(l => ({ name: l.level ?? "?", rate: bandwidthOf(l), raw: l }))
  .filter(l => l.rate > 0)
  .sort((a, b) => b.rate - a.rate)
  .slice(0, 16);

/* Levels of equal rate are one ceiling. */
const levels = [];
for (const { name, rate } of levelsKnown) {
  const last = levels.at(-1);
  if (last && rate > last.rate * .99)
    last.name += ", " + name;
  else
    levels.push({ name, rate });
}

/* The peaks of data types that nodes compute in, or all peaks. */
const allPeaks = Object.entries(machine.peak_flops_per_second ?? {})
  .filter(([, rate]) => isNumber(rate) && rate > 0)
  .map(([name, rate]) => ({ name, rate }))
  .sort((a, b) => b.rate - a.rate)
  .slice(0, 16);
const usedPeaks = allPeaks.filter(p => nodes.some(n => n.dtype === p.name));
const peaks = usedPeaks.length ? usedPeaks : allPeaks;

/* The peak of the type with most of the arithmetic. */
const mainPeak = peaks
  .map(p => [p, total("flops", nodes.filter(n => n.dtype === p.name))])
  .sort((a, b) => b[1] - a[1])[0]?.[0];
