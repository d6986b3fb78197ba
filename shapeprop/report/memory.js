/* memory.js -- bytes of results that are live while each node runs. */

/* Exported programs begin with reads of all weights, while nothing is alive. */
const withLive = nodes.filter(n => isNumber(n.live));
const alive = withLive.slice(Math.max(0, withLive.findIndex(n => n.live) - 1));
let memoryAt = 0; /* index under the pointer or keyboard cursor */

function peakNode() {
  return alive.reduce((best, n) => n.live > best.live ? n : best, alive[0]);
}

/* Runs of nodes in the same module at a depth of the tree. */
function stretchesAt(depth) {
  const found = [];
  for (const n of alive) {
    const name = n.path.split(".").slice(0, depth).join(".");
    const last = found.at(-1);
    if (last && last.name === name)
      last.to = n.index + 1;
    else
      found.push({ name, from: n.index, to: n.index + 1 });
  }
  return found;
}

/* The topmost depth at which no module has most of the nodes. */
function stretches() {
  const tells = list => !list.some(s => s.to - s.from > alive.length * .7);
  return [1, 2, 3].map(stretchesAt).find(tells) ?? stretchesAt(1);
}

/* Shade every second run that is wide enough. */
function drawStretches(box, x) {
  const wide = stretches().filter(s => x(s.to) - x(s.from) > 12);
  return wide.flatMap(({ name, from, to }, i) => {
    const room = x(to) - x(from);
    return [
      i % 2 ? svg("rect", { class: "band", x: x(from), y: box.top,
        width: room, height: box.bottom - box.top }) : "",
      name && textWidth(name) < room - 4 ? svg("text", { class: "tick",
        x: (x(from) + x(to)) / 2, y: box.bottom + 17,
        "text-anchor": "middle" }, name) : "",
    ];
  });
}

function curve(x, y) {
  let path = `M${x(alive[0].index)} ${y(0)}`;
  for (const n of alive)
    path += `V${y(n.live).toFixed(1)}H${x(n.index + 1).toFixed(1)}`;
  return { line: path, area: path + `V${y(0)}z` };
}

function drawPeak(box, x, y) {
  const n = peakNode(), at = (x(n.index) + x(n.index + 1)) / 2;
  /* Put the text on the side with more room. */
  const after = at < (box.left + box.right) / 2;
  const label = `peak ${bytes(n.live)}, `;
  const room = (after ? box.right - at : at - box.left) - 16;
  const name = shorten(n.name, room - textWidth(label));
  return [svg("circle", { class: "peak", cx: at, cy: y(n.live), r: 3.5 }),
    svg("text", { class: "halo", x: after ? at + 8 : at - 8,
      y: y(n.live) - 7, "text-anchor": after ? "start" : "end" },
      label + name)];
}

function tellMemory(index, x, y, box, picture) {
  const n = alive[Math.max(0, Math.min(index, alive.length - 1))];
  const at = (x(n.index) + x(n.index + 1)) / 2;
  const page = picture.getBoundingClientRect();
  memoryAt = alive.indexOf(n);
  picture.querySelector(".cross").setAttribute("d",
    `M${at} ${box.top}V${box.bottom}`);
  picture.setAttribute("aria-valuenow", memoryAt);
  picture.setAttribute("aria-valuetext", `${n.name}: ${bytes(n.live)}`);
  showTip(n.name, [["alive", bytes(n.live)], ["operator", n.operator],
    ["shape", n.shape]], page.left + at, page.top + y(n.live));
}

function leaveMemory(picture) {
  picture.querySelector(".cross").setAttribute("d", "");
  hideTip();
}

function followMemory(picture, x, y, box) {
  const tell = i => tellMemory(i, x, y, box, picture);
  const first = alive[0].index, last = alive.at(-1).index + 1;
  picture.onpointermove = e => {
    const at = e.clientX - picture.getBoundingClientRect().left;
    const part = (at - box.left) / (box.right - box.left);
    const index = Math.floor(first + part * (last - first));
    tell(alive.findIndex(n => n.index >= index));
  };
  picture.onpointerleave = () => leaveMemory(picture);
  picture.onblur = picture.onpointerleave;
  picture.onclick = () => select(alive[memoryAt]);
  picture.onkeydown = e => {
    const to = { ArrowRight: memoryAt + 1, ArrowUp: memoryAt + 1,
      ArrowLeft: Math.max(0, memoryAt - 1),
      ArrowDown: Math.max(0, memoryAt - 1),
      Home: 0, End: alive.length - 1 }[e.key];
    if (e.key === "Enter")
      select(alive[memoryAt]);
    else if (to !== undefined)
      tell(to);
    else
      return;
    e.preventDefault();
  };
}

function drawMemory(room) {
  const place = byId("memory"), width = Math.max(room, 280);
  const most = alive.length ? peakNode().live : 0;
  if (!(most >= 1)) {
    place.replaceChildren(html("p", { class: "note" },
      nodes.some(n => typeof n.live === "string")
        ? "Live bytes are expressions, which the table shows."
        : "The report does not have the live bytes of nodes."));
    return;
  }
  const height = width < 560 ? 200 : 240;
  const box = { left: 72, right: width - 8, top: 26, bottom: height - 28 };
  const ticks = rounds(most / .92, 5), high = ticks.at(-1);
  const first = alive[0].index, last = alive.at(-1).index + 1;
  const x = i => box.left + (i - first) / (last - first) *
    (box.right - box.left);
  const y = v => box.bottom - v / high * (box.bottom - box.top);
  const { line, area } = curve(x, y);
  const picture = svg("svg", { width, height, tabindex: 0, role: "slider",
    viewBox: `0 0 ${width} ${height}`, "aria-labelledby": "memory-title",
    "aria-valuemin": 0, "aria-valuemax": alive.length - 1,
    "aria-valuenow": 0, "aria-valuetext": `peak ${bytes(most)}` },
    ...drawStretches(box, x),
    ...ticks.flatMap(v => [
      svg("path", { class: "grid", d: `M${box.left} ${y(v)}H${box.right}` }),
      svg("text", { class: "tick", x: box.left - 8, y: y(v) + 4,
        "text-anchor": "end" }, bytes(v))]),
    svg("path", { class: "area k0", d: area }),
    svg("path", { class: alive.length > width / 2 ? "line many" : "line",
      d: line }),
    svg("path", { class: "cross" }), svg("path", { class: "cross chosen" }),
    ...drawPeak(box, x, y));
  followMemory(picture, x, y, box);
  place.replaceChildren(picture);
  picture.showChosen = () => {
    const at = selected && isNumber(selected.live)
      ? (x(selected.index) + x(selected.index + 1)) / 2 : null;
    picture.querySelector(".chosen").setAttribute("d", at === null ? ""
      : `M${at} ${box.top}V${box.bottom}`);
  };
  picture.showChosen();
}

const showMemoryChoice = () =>
  byId("memory").querySelector("svg")?.showChosen();
