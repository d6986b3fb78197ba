/* sweep.js -- the floor of a run for each value of a symbol. */

const symbol = Object.keys(report.sweep?.[0] ?? {})
  .find(k => k in (report.symbols ?? {})) ?? "";
const points = (report.sweep ?? [])
  .filter(p => isNumber(p[symbol]) && isNumber(p.floor_seconds));

/* key, title, format, and layers from the bottom: [name, value of a point]. */
const SWEEPS = [
  ["time", "Least time", seconds, [
    ["bound by compute", p => p.compute_bound_seconds],
    ["bound by memory", p => p.memory_bound_seconds]]],
  ["each", "Per " + symbol, seconds, [
    ["bound by compute", p => p.compute_bound_seconds / p[symbol]],
    ["bound by memory", p => p.memory_bound_seconds / p[symbol]]]],
  ["memory", "Peak memory", bytes, [
    ["live results", p => p.peak_memory_bytes]]],
];
let sweepShown = SWEEPS[0];

/* The top of each layer, stacked. */
function stack(layers) {
  const under = points.map(() => 0);
  return layers.map(([name, value]) => {
    const from = [...under];
    points.forEach((p, i) => {
      const v = value(p);
      under[i] += isNumber(v) && v > 0 ? v : 0;
    });
    return { name, from, to: [...under] };
  });
}

function drawLayer({ name, from, to }, index, x, y) {
  const at = (i, v) => `${x(points[i][symbol]).toFixed(1)} ` +
    y(v).toFixed(1);
  const over = to.map((v, i) => at(i, v));
  const back = from.map((v, i) => at(i, v)).reverse();
  const last = points.length - 1, end = y(to[last]);
  /* Put the text inside of the layer, or above it if it is thin. */
  const inside = y(from[last]) - end > 18;
  return [
    svg("path", { class: "area k" + index,
      d: "M" + [...over, ...back].join("L") + "z" }),
    svg("path", { class: "line along" + index, d: "M" + over.join("L") }),
    svg("text", { class: "halo", x: x(points[last][symbol]) - 8,
      y: inside ? (y(from[last]) + end) / 2 + 4 : end - 8,
      "text-anchor": "end" }, name),
  ];
}

function tellPoint(i, picture, x, box) {
  const p = points[Math.max(0, Math.min(i, points.length - 1))];
  const page = picture.getBoundingClientRect(), at = x(p[symbol]);
  picture.pointAt = points.indexOf(p);
  picture.querySelector(".cross").setAttribute("d",
    `M${at} ${box.top}V${box.bottom}`);
  picture.setAttribute("aria-valuenow", picture.pointAt);
  picture.setAttribute("aria-valuetext",
    `${symbol} = ${p[symbol]}: ${seconds(p.floor_seconds)}`);
  showTip(`${symbol} = ${p[symbol]}`, [
    ["least time", seconds(p.floor_seconds)],
    ["per " + symbol, seconds(p.floor_seconds / p[symbol])],
    ["arithmetic", flop(p.flops)], ["bytes", bytes(p.bytes)],
    ["peak memory", bytes(p.peak_memory_bytes)],
  ], page.left + at, page.top + box.top);
}

function followSweep(picture, x, box) {
  picture.pointAt = 0;
  picture.onpointermove = e => {
    const at = e.clientX - picture.getBoundingClientRect().left;
    const away = points.map(p => Math.abs(x(p[symbol]) - at));
    tellPoint(away.indexOf(Math.min(...away)), picture, x, box);
  };
  picture.onpointerleave = () => leaveMemory(picture);
  picture.onblur = picture.onpointerleave;
  picture.onkeydown = e => {
    const now = picture.pointAt, to = { ArrowRight: now + 1, ArrowUp: now + 1,
      ArrowLeft: now - 1, ArrowDown: now - 1, Home: 0,
      End: points.length - 1 }[e.key];
    if (to === undefined)
      return;
    tellPoint(to, picture, x, box);
    e.preventDefault();
  };
}

/* Ticks at whole numbers, about one every 60 pixels. */
function symbolTicks(first, last, room) {
  const step = Math.max(1, Math.round(rounds(last - first || 1,
    Math.max(2, room / 60))[1]));
  const found = [];
  for (let v = Math.ceil(first / step) * step; v <= last; v += step)
    found.push(v);
  return found;
}

function drawSweep(room) {
  byId("sweep").hidden = points.length < 2;
  if (byId("sweep").hidden)
    return;
  const [, , format, layers] = sweepShown, width = Math.max(room, 280);
  const height = width < 560 ? 220 : 280;
  const box = { left: 72, right: width - 14, top: 14, bottom: height - 44 };
  const stacked = stack(layers);
  const ticks = rounds(Math.max(...stacked.at(-1).to, 1e-12) / .9, 5);
  const first = points[0][symbol], last = points.at(-1)[symbol];
  const x = v => box.left + (v - first) / (last - first || 1) *
    (box.right - box.left);
  const y = v => box.bottom - v / ticks.at(-1) * (box.bottom - box.top);
  const picture = svg("svg", { width, height, tabindex: 0, role: "slider",
    viewBox: `0 0 ${width} ${height}`, "aria-labelledby": "sweep-title",
    "aria-valuemin": 0, "aria-valuemax": points.length - 1,
    "aria-valuenow": 0 },
    ...ticks.flatMap(v => [
      svg("path", { class: "grid", d: `M${box.left} ${y(v)}H${box.right}` }),
      svg("text", { class: "tick", x: box.left - 8, y: y(v) + 4,
        "text-anchor": "end" }, format(v))]),
    ...symbolTicks(first, last, box.right - box.left).map(v =>
      svg("text", { class: "tick", x: x(v), y: box.bottom + 18,
        "text-anchor": "middle" }, integer(v))),
    svg("text", { class: "tick", x: (box.left + box.right) / 2,
      y: box.bottom + 38, "text-anchor": "middle" }, symbol),
    ...stacked.flatMap((layer, i) => drawLayer(layer, i, x, y)),
    svg("path", { class: "cross" }));
  followSweep(picture, x, box);
  byId("sweep-plot").replaceChildren(picture);
}

function drawSweepChoice() {
  byId("sweep-title").textContent = "Along " + symbol;
  drawChoice("sweep-choice", SWEEPS.filter(([, , , layers]) =>
    points.some(p => isNumber(layers[0][1](p)))), s => {
    sweepShown = s;
    drawSweep(byId("sweep-plot").clientWidth);
  });
}
