/* roofline.js -- the plot: ceilings, and a mark a node. */

const placed = nodes.filter(n => n.place)
  .sort((a, b) => b.time - a.time);  /* the small ones lie on top */
let marks = new Map();               /* node -> its mark */
let spots = [];                      /* where marks are: {node, x, y, r} */
let ring = null;                     /* around the one that is selected */

/* ---- Axes ---- */

/* Low and high values, with room around them, and two decades at least. */
function extent(values, below, above) {
  const logs = values.map(Math.log10);
  const high = Math.max(...logs) + above;
  return [10 ** Math.min(Math.min(...logs) - below, high - 2), 10 ** high];
}

/* Math.min takes no lists of any length: the ends are found one by one. */
function ends(values) {
  let low = Infinity, high = 0;
  for (const v of values) {
    low = Math.min(low, v);
    high = Math.max(high, v);
  }
  return high > 0 ? [low, high] : [];
}

function axes(box) {
  const ridges = peaks.length ? levels.map(l => peaks[0].rate / l.rate) : [];
  const xs = [...ends(placed.map(n => n.place.x)), ...ridges];
  const ys = [...ends(placed.map(n => n.place.y)), ...peaks.map(p => p.rate)];
  /* To the left there is room for the names of the ceilings. */
  const [x0, x1] = extent(xs.length ? xs : [.1, 100],
    box.narrow ? .5 : .9, .35);
  const [y0, y1] = extent(ys.length ? ys : [1e9, 1e12], .3, .3);
  return { x: logScale(x0, x1, box.left, box.right),
    y: logScale(y0, y1, box.bottom, box.top) };
}

function intensityText(v) {
  return v >= 1e5 || v < 1e-4 ? v.toExponential(0).replace("+", "")
    : String(Number(v.toPrecision(1)));
}

function drawAxes(box, { x, y }) {
  const tick = v => box.narrow ? quantity(v, "") : quantity(v, "FLOP/s");
  return [
    ...decades(x, 46).flatMap(v => [
      svg("path", { class: "grid", d: `M${x(v)} ${box.top}V${box.bottom}` }),
      svg("text", { class: "tick", x: x(v), y: box.bottom + 18,
        "text-anchor": "middle" }, intensityText(v))]),
    ...decades(y, 40).flatMap(v => [
      svg("path", { class: "grid", d: `M${box.left} ${y(v)}H${box.right}` }),
      svg("text", { class: "tick", x: box.left - 8, y: y(v) + 4,
        "text-anchor": "end" }, tick(v))]),
    svg("text", { class: "tick", x: (box.left + box.right) / 2,
      y: box.bottom + 38, "text-anchor": "middle" },
      "arithmetic intensity, FLOP/byte"),
    ...box.narrow ? [svg("text", { class: "tick", x: 0,
      y: box.top - 12 }, "FLOP/s")] : [],
  ];
}

/* ---- Marks ---- */

function drawMarks(box, { x, y }) {
  const large = placed.length > 1000 || box.narrow ? 8 : 13;
  const most = placed[0]?.time;
  spots = placed.map(n => ({ node: n, x: x(n.place.x), y: y(n.place.y),
    r: 2.5 + (large - 2.5) * Math.sqrt(n.time / most) }));
  marks = new Map(spots.map(s => [s.node, svg("path", {
    class: "mark k" + lookOfNode(s.node), id: "mark-" + s.node.index,
    role: "option", "aria-label": s.node.name + ", " + s.node.operator,
    d: markPath(lookOfNode(s.node), s.x, s.y, s.r) })]));
  const list = svg("g", { role: "listbox", tabindex: 0, id: "marks",
    "aria-label": "Nodes; the arrow keys go from one to the next" },
    ...marks.values());
  list.onkeydown = stepMarks;
  list.onfocus = () => { if (current) tellMark(current); };
  list.onblur = leaveMarks;
  return list;
}

let current = null; /* what the keyboard is at */

function tellMark(n) {
  const spot = spots.find(s => s.node === n), list = byId("marks");
  if (!spot)
    return;
  const at = list.ownerSVGElement.getBoundingClientRect();
  current = n;
  marks.get(n).setAttribute("aria-label", spoken(n));
  list.setAttribute("aria-activedescendant", "mark-" + n.index);
  hover(n);
  showTip(n.name, factsOf(n), at.left + spot.x, at.top + spot.y);
}

function leaveMarks() {
  hover(null);
  hideTip();
}

/* By rising intensity, as the plot goes; what is filtered away is left out. */
function stepMarks(e) {
  const order = placed.filter(n => matching.has(n))
    .sort((a, b) => a.place.x - b.place.x || a.place.y - b.place.y);
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
  marks.get(hovered)?.classList.remove("hover");
  hovered = n;
  marks.get(n)?.classList.add("hover");
}

/* The mark under the pointer, or the nearest one in reach. */
function nearest(x, y) {
  let best = null, least = 12;
  for (const s of spots) {
    const d = Math.hypot(s.x - x, s.y - y);
    const away = d < s.r ? d / s.r - 1 : d - s.r;
    if (matching.has(s.node) && away < least) {
      least = away;
      best = s.node;
    }
  }
  return best;
}

function followPointer(picture) {
  const find = e => {
    const box = picture.getBoundingClientRect();
    return nearest(e.clientX - box.left, e.clientY - box.top);
  };
  picture.onpointermove = e => {
    const n = find(e);
    hover(n);
    if (n)
      showTip(n.name, factsOf(n), e.clientX, e.clientY);
    else
      hideTip();
  };
  picture.onpointerleave = leaveMarks;
  picture.onclick = e => {
    const n = find(e);
    if (n)
      select(n);
    else if (selected)
      select(selected);
  };
}

/* ---- Filter and selection ---- */

function showMatching() {
  for (const [n, mark] of marks)
    mark.classList.toggle("dim", !matching.has(n));
}

function showRing() {
  const spot = spots.find(s => s.node === selected);
  marks.forEach((mark, n) =>
    mark.setAttribute("aria-selected", n === selected));
  ring?.setAttribute("d", spot
    ? markPath(0, spot.x, spot.y, spot.r + 5) : "");
}

function drawRoofline(room) {
  const place = byId("roofline"), width = Math.max(room, 280);
  place.hidden = !placed.length;
  const height = Math.round(Math.max(330, Math.min(width * .58, 540)));
  const narrow = width < 560;
  const box = { narrow, left: narrow ? 46 : 88, right: width - 8,
    top: narrow ? 26 : 14, bottom: height - 48 };
  const scales = axes(box), lines = ceilings(box, scales);
  const marked = drawMarks(box, scales); /* names keep away from marks */
  ring = svg("path", { class: "ring" });
  const picture = svg("svg", { width, height,
    viewBox: `0 0 ${width} ${height}`, role: "group",
    "aria-labelledby": "roofline-title roofline-note" },
    ...drawAxes(box, scales), ...lines.map(drawLine), marked,
    ...drawNames(lines, spots), ring);
  followPointer(picture);
  place.replaceChildren(picture);
  showMatching();
  showRing();
}

/* ---- What has no place in it ---- */

function drawApart() {
  const why = [...groups(nodes.filter(n => !n.place), n => n.why)];
  const box = byId("apart");
  byId("roofline-note").textContent = !placed.length
    ? symbolic ? "Costs are formulas, which have no place on axes: give the " +
      "symbols values to see the nodes here."
      : "No node has both arithmetic and bytes."
    : measured ? "A mark is a node, its area the time it took. What lies " +
      "well below its ceiling could be faster."
      : "A mark is a node where the machine's limits put it, its area the " +
      "least time it takes. Nothing was measured.";
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

/* The numbers of the one that is selected. */
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
