/* draw.js -- elements, scales, icons and the tooltip. */

const SVG = "http://www.w3.org/2000/svg";
const byId = id => document.getElementById(id);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes))
    if (value !== null && value !== undefined && value !== false)
      element.setAttribute(name, value === true ? "" : value);
  element.append(...children);
  return element;
}

/* Make an element of HTML or SVG. Strings among the children become text nodes,
 * so content of the document never becomes markup. */
const html = (tag, attributes = {}, ...children) =>
  fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

/* Draw radio buttons for items [value, title, ...]; the first is selected. */
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

/* Round values from 0 to the first at or above `high`, about `n` of them. */
function rounds(high, n) {
  const raw = high / n, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].find(s => s * power >= raw) * power;
  const found = [];
  for (let i = 0; (i - 1) * step < high; i++)
    found.push(i * step);
  return found;
}

/* Measure in the font that the page got, which may not be the requested one. */
const pen = document.createElement("canvas").getContext("2d");
pen.font = "12px " + getComputedStyle(document.body).fontFamily;
const textWidth = s => pen.measureText(s).width;

/* Names of neighbours begin alike, so their middle is cut out. */
function shorten(name, room) {
  const cut = n => name.slice(0, Math.ceil(n / 2)) + "…" +
    name.slice(name.length - Math.floor(n / 2));
  let n = name.length;
  if (textWidth(name) <= room)
    return name;
  while (n > 2 && textWidth(cut(n)) > room)
    n--;
  return cut(n);
}

/* ---- Icons: the marks of the legend ---- */

const legend = [...picture.querySelectorAll(".legend .mark")];

function markIcon(look) {
  const mark = legend[look]?.cloneNode();
  mark?.removeAttribute("transform");
  return svg("svg", { class: "icon", viewBox: "-8 -8 16 16",
    "aria-hidden": "true" }, mark ?? "");
}

/* ---- The tooltip ---- */

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

/* Facts about a node, the most important first. */
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

/* In one line, for screen readers. */
const spoken = n => [n.name, ...factsOf(n)
  .filter(([k, v]) => v !== "" && v !== "–" && k !== "shape")
  .map(([k, v]) => k + " " + v)].join(", ");
