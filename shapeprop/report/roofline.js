/* roofline.js -- the plot, which is part of the page, and its marks, reachable
 * by pointer and keyboard. */

const marked = nodes.filter(n => n.mark);
let spots = [];                      /* positions of marks: {node, x, y, r} */
const ring = svg("circle", { class: "ring", hidden: true });

/* ---- Marks ---- */

/* The position of a mark in the units of the picture. */
function spotOf(node) {
  const [x, y] = node.mark.getAttribute("transform").match(/-?[\d.]+/g)
    .map(Number);
  return { node, x, y, r: node.mark.getBBox().height / 2 };
}

/* Label a mark for screen readers; a title would hide the tooltip. */
function nameMark(n) {
  fill(n.mark, { id: "mark-" + n.index, role: "option",
    "aria-label": n.name + ", " + n.operator }, []).replaceChildren();
}

let current = null; /* the mark under the keyboard cursor */

function tellMark(n) {
  const at = n.mark.getBoundingClientRect();
  current = n;
  n.mark.setAttribute("aria-label", spoken(n));
  byId("marks").setAttribute("aria-activedescendant", n.mark.id);
  hover(n);
  showTip(n.name, factsOf(n), at.x + at.width / 2, at.y + at.height / 2);
}

function leaveMarks() {
  hover(null);
  hideTip();
}

/* Step by rising intensity, as on the axis, through the nodes of the filter. */
function stepMarks(e) {
  const order = spots.filter(s => matching.has(s.node))
    .sort((a, b) => a.x - b.x || b.y - a.y).map(s => s.node);
  const at = order.indexOf(current), last = order.length - 1;
  const to = { ArrowRight: Math.min(at + 1, last), ArrowUp: Math.min(at + 1,
    last), ArrowLeft: Math.max(at - 1, 0), ArrowDown: Math.max(at - 1, 0),
    Home: 0, End: last }[e.key];
  if (e.key === "Enter" || e.key === " ")
    current && select(current);
  else if (e.key === "Escape")
    leaveMarks();
  else if (to === undefined || last < 0)
    return;
  else
    tellMark(order[to]);
  e.preventDefault();
}

/* ---- The pointer ---- */

let hovered = null;

function hover(n) {
  hovered?.mark?.classList.remove("hover");
  hovered = n;
  n?.mark?.classList.add("hover");
}

/* The mark under the pointer, or a nearby one. */
function nearest(e) {
  const at = new DOMPoint(e.clientX, e.clientY)
    .matrixTransform(picture.getScreenCTM().inverse());
  let best = null, least = 12;
  for (const s of spots) {
    const d = Math.hypot(s.x - at.x, s.y - at.y);
    const away = d < s.r ? d / s.r - 1 : d - s.r;
    if (matching.has(s.node) && away < least) {
      least = away;
      best = s.node;
    }
  }
  return best;
}

function followPointer() {
  picture.onpointermove = e => {
    const n = nearest(e);
    hover(n);
    if (n)
      showTip(n.name, factsOf(n), e.clientX, e.clientY);
    else
      hideTip();
  };
  picture.onpointerleave = leaveMarks;
  picture.onclick = e => {
    const n = nearest(e);
    if (n)
      select(n);
    else if (selected)
      select(selected);
  };
}

/* ---- Narrow screens: the same height, nearer decades ---- */

const WIDE = 720;
const plotLeft = Number(picture.dataset.left);
const stretchers = []; /* each places an element, given its x and the scale */

/* Read where the elements of the picture are, once. */
function readPlaces() {
  for (const e of picture.querySelectorAll("text[x]")) {
    const x = Number(e.getAttribute("x"));
    stretchers.push(at => e.setAttribute("x", at(x)));
  }
  for (const e of picture.querySelectorAll("[transform]")) {
    const text = e.getAttribute("transform");
    const [x, , turn = 0] = text.match(/-?[\d.]+/g).map(Number);
    stretchers.push((at, scale, right) => {
      const angle = Math.atan(Math.tan(turn * Math.PI / 180) / scale);
      const room = e.getComputedTextLength?.() ?? 0;
      const most = right - room * Math.cos(angle);
      /* On a steep line a name stands below it: above there is the axis. */
      const aside = scale < 1 && angle ? -18 / Math.sin(angle)
        : -8 * Math.sin(angle);
      e.setAttribute("transform", text
        .replace(/-?[\d.]+/, room ? Math.min(at(x) + aside, most) : at(x))
        .replace(/rotate\([^)]*/, "rotate(" + angle * 180 / Math.PI));
    });
  }
  for (const e of picture.querySelectorAll(".grid, .roof")) {
    const text = e.getAttribute("d");
    stretchers.push((at, scale) => e.setAttribute("d",
      text.replace(/([MLl])(-?[\d.]+)/g, (_, letter, x) =>
        letter + (letter === "l" ? x * scale : at(Number(x))))));
  }
}

/* Pixels are units of the picture where it is narrow. */
function fitRoofline(room) {
  const [, top, full, height] = picture.dataset.plot.split(" ").map(Number);
  const width = room < WIDE ? Math.max(room, 280) : full;
  const margin = full - picture.dataset.right, right = width - margin;
  const scale = (right - plotLeft) / (full - margin - plotLeft);
  const at = x => x < plotLeft ? x : plotLeft + (x - plotLeft) * scale;
  picture.setAttribute("viewBox", `0 ${top} ${width} ${height}`);
  stretchers.forEach(place => place(at, scale, right));
  spots = marked.map(spotOf);
  showRing();
}

/* ---- Filter and selection ---- */

function showMatching() {
  for (const n of marked)
    n.mark.classList.toggle("dim", !matching.has(n));
}

function showRing() {
  const spot = spots.find(s => s.node === selected);
  for (const n of marked)
    n.mark.setAttribute("aria-selected", n === selected);
  ring.toggleAttribute("hidden", !spot);
  if (spot)
    fill(ring, { cx: spot.x, cy: spot.y, r: spot.r + 5 }, []);
}

/* Use the page's own head, legend and colours instead of the picture's. */
function drawRoofline() {
  const list = picture.querySelector(".marks");
  byId("roofline").hidden = !marked.length;
  picture.querySelectorAll("style, title, .about, .legend")
    .forEach(part => part.remove());
  picture.removeAttribute("width");
  picture.removeAttribute("height");
  fill(picture, { role: "group",
    "aria-labelledby": "roofline-title roofline-note" }, [ring]);
  fill(list, { role: "listbox", tabindex: 0, id: "marks",
    "aria-label": "Nodes; use the arrow keys to step through them" }, []);
  list.onkeydown = stepMarks;
  list.onfocus = () => { if (current) tellMark(current); };
  list.onblur = leaveMarks;
  marked.forEach(nameMark);
  readPlaces();
  followPointer();
}

/* ---- Nodes that are not in the plot ---- */

const firstSymbol = Object.keys(report.symbols ?? {})[0] ?? "N";

function drawApart() {
  const why = [...groups(nodes.filter(n => !n.mark), n => n.why)];
  const box = byId("apart");
  byId("roofline-note").replaceChildren(...!marked.length
    ? symbolic ? ["Costs are expressions: give the symbols numbers to see the " +
      "nodes here, as in ", html("code", {}, `cfx roofline --set ${firstSymbol}=8`), "."]
      : ["No node has both arithmetic and bytes."]
    : [measured ? "A mark is a node, its area is its time. Nodes far below " +
      "their ceiling could be faster."
      : "A mark is a node at the machine's limits, its area is its least " +
      "time. Nothing was measured."]);
  box.replaceChildren(...why.map(([reason, list]) => html("details", {},
    html("summary", {}, `Not in the plot: ${countOf(list.length, "node")} ` +
      reason + (total("time", list) > 0
        ? `, ${percent(total("time", list) / totalTime)} of the time` : "")),
    html("p", {}, ...list.slice(0, 500).flatMap(n => [html("button",
      { type: "button", class: "link", "data-node": n.index }, n.name), " "]),
      list.length > 500 ? "…" : ""))));
  box.onclick = e => {
    const index = e.target.closest("button")?.dataset.node;
    if (index !== undefined)
      select(nodes[index]);
  };
}

/* Show the numbers of the selected node. */
function showDetail() {
  byId("detail").replaceChildren(...selected ? [
    html("h3", {}, selected.name), html("button", { type: "button" },
      "Show in the table"),
    html("dl", {}, ...factsOf(selected)
      .filter(([, v]) => v !== "" && v !== "–").map(([k, v]) =>
        html("div", {}, html("dt", {}, k), html("dd", {}, v))))] : []);
  byId("detail").querySelector("button")?.addEventListener("click",
    () => byId("nodes-title").scrollIntoView());
}
