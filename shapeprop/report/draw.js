/* draw.js -- elements, scales, marks and the tip that follows the pointer. */

const SVG = "http://www.w3.org/2000/svg";
const byId = id => document.getElementById(id);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes))
    if (value !== null && value !== undefined && value !== false)
      element.setAttribute(name, value === true ? "" : value);
  element.append(...children);
  return element;
}

/* An element of HTML or of SVG. Children that are strings become text: what
 * the document holds never becomes markup. */
const html = (tag, attributes = {}, ...children) =>
  fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

/* Radio buttons for items [value, title, ...], of which the first is chosen. */
function drawChoice(id, items, use) {
  byId(id).hidden = items.length < 2;
  byId(id).append(...items.map((item, i) => {
    const radio = html("input", { type: "radio", name: id, value: item[0],
      checked: i === 0 });
    radio.onchange = () => use(item);
    return html("label", {}, radio, html("span", {}, item[1]));
  }));
}

/* ---- Scales ---- */

/* A logarithmic scale from the values low..high to the pixels from..to. */
function logScale(low, high, from, to) {
  const a = Math.log10(low), b = Math.log10(high);
  const scale = v => from + (Math.log10(v) - a) / (b - a) * (to - from);
  return Object.assign(scale, { low, high, from, to });
}

/* Powers of ten; every nth where there is no room for all. */
function decades(scale, room) {
  const first = Math.ceil(Math.log10(scale.low) - 1e-9);
  const last = Math.floor(Math.log10(scale.high) + 1e-9);
  const fits = Math.max(1, Math.abs(scale.to - scale.from) / room);
  const step = Math.max(1, Math.ceil((last - first + 1) / fits));
  const found = [];
  for (let i = Math.ceil(first / step) * step; i <= last; i += step)
    found.push(10 ** i);
  return found;
}

/* Round values from 0 to the first at or above `high`, about `n` of them. */
function rounds(high, n) {
  const raw = high / n, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].find(s => s * power >= raw) * power;
  const found = [];
  for (let i = 0; (i - 1) * step < high; i++)
    found.push(i * step);
  return found;
}

/* ---- Marks: shapes of about the same area, so that colours need not be
 * told apart ---- */

const CORNERS = [
  null,
  [[-.89, -.89], [.89, -.89], [.89, .89], [-.89, .89]],
  [[0, -1.4], [1.35, .9], [-1.35, .9]],
  [[0, -1.35], [1.16, 0], [0, 1.35], [-1.16, 0]],
  [[0, 1.4], [1.35, -.9], [-1.35, -.9]],
  [[-.4, -1.2], [.4, -1.2], [.4, -.4], [1.2, -.4], [1.2, .4], [.4, .4],
    [.4, 1.2], [-.4, 1.2], [-.4, .4], [-1.2, .4], [-1.2, -.4], [-.4, -.4]],
  [[0, -1.1], [.95, -.55], [.95, .55], [0, 1.1], [-.95, .55], [-.95, -.55]],
  null,
];

function markPath(look, x, y, r) {
  const at = v => v.toFixed(1);
  const corners = CORNERS[look];
  if (!corners)
    return `M${at(x - r)} ${at(y)}a${at(r)} ${at(r)} 0 1 0 ${at(2 * r)} 0` +
      `a${at(r)} ${at(r)} 0 1 0 ${at(-2 * r)} 0z`;
  return "M" + corners.map(([i, j]) => at(x + i * r) + " " + at(y + j * r))
    .join("L") + "z";
}

const markIcon = look =>
  svg("svg", { class: "icon", viewBox: "0 0 14 14", "aria-hidden": "true" },
    svg("path", { class: "mark k" + look, d: markPath(look, 7, 7, 4.6) }));

/* ---- The tip ---- */

/* Rows of [term, text]. */
function showTip(title, rows, x, y) {
  const tip = byId("tip");
  tip.replaceChildren(html("strong", {}, title), html("dl", {},
    ...rows.filter(([, v]) => v !== "" && v !== "–")
      .flatMap(([k, v]) => [html("dt", {}, k), html("dd", {}, v)])));
  tip.hidden = false;
  const w = tip.offsetWidth, h = tip.offsetHeight;
  const left = x + 16 + w > innerWidth ? x - 16 - w : x + 16;
  tip.style.left = Math.max(4, Math.min(left, innerWidth - w - 4)) + "px";
  tip.style.top = Math.max(4, Math.min(y + 16, innerHeight - h - 4)) + "px";
}

const hideTip = () => { byId("tip").hidden = true; };

/* What there is to say of a node, in the order in which one wants it. */
function factsOf(n) {
  return [
    ["operator", n.operator === n.target ? n.operator
      : n.operator + ", " + n.target],
    ["shape", n.shape],
    ["algorithm", n.algorithm === "direct" ? "" : n.algorithm],
    ["arithmetic", flop(n.flops)],
    ["bytes", bytes(n.moved)],
    ["intensity", shown(n.intensity, v => rounded(v) + "\u00a0FLOP/byte")],
    ["bound", n.bound], ["level", n.level],
    ["floor", seconds(n.floor)],
    ["time", seconds(n.took)],
    ["rate", shown(n.rate, v => quantity(v, "FLOP/s"))],
    ["bandwidth", shown(n.bandwidth, v => quantity(v, "B/s"))],
    ["efficiency", percent(n.efficiency)],
    ["share", percent(n.share)],
  ];
}

/* In one line, for those who listen. */
const spoken = n => [n.name, ...factsOf(n)
  .filter(([k, v]) => v !== "" && v !== "–" && k !== "shape")
  .map(([k, v]) => k + " " + v)].join(", ");
