/* modules.js -- the module tree: one box per module, as wide as its share,
 * above those of its submodules. */

const MEASURES = [
  ...measured ? [["time", "Time", seconds]] : [],
  ["floor", "Least time", seconds], ["flops", "FLOP", flop],
  ["moved", "Bytes", bytes],
].filter(([of]) => total(of) > 0);
let measure = MEASURES[0];

/* ---- The tree: modules in execution order ---- */

const DEEPEST = 64;

function makeModule(path, name, parent) {
  return { path, name, parent, children: [], nodes: [], node: null,
    byName: new Map(), sums: new Map(), type: typeOf.get(path) ?? "" };
}

/* A node that does not call a module has a box in its own module. */
const isBox = n => n.op !== "placeholder" && n.op !== "output" &&
  n.path !== n.target;

function growTree() {
  const root = makeModule("", modelName, null);
  for (const n of nodes) {
    let at = root;
    for (const part of n.path ? n.path.split(".", DEEPEST) : []) {
      let child = at.byName.get(part);
      if (!child) {
        child = makeModule(at.path ? at.path + "." + part : part, part, at);
        at.byName.set(part, child);
        at.children.push(child);
      }
      at = child;
    }
    at.nodes.push(n);
    if (isBox(n))
      at.children.push({ ...makeModule(at.path, n.name, at), nodes: [n],
        node: n, type: n.operator });
  }
  return root;
}

/* The sum of a module and all its submodules. */
function within(m, of) {
  if (m.sums.has(of))
    return m.sums.get(of);
  const own = m.node || !m.children.length ? m.nodes
    : m.nodes.filter(n => !isBox(n));
  const all = total(of, own) +
    m.children.reduce((t, c) => t + within(c, of), 0);
  m.sums.set(of, all);
  return all;
}

const tree = growTree();

function findModule(path, m = tree) {
  return path === m.path && !m.node ? m
    : m.children.filter(c => !c.node && isWithin(path, c.path))
      .map(c => findModule(path, c)).find(Boolean);
}

/* ---- Boxes ---- */

const ROW = 27; /* pixels */

/* Boxes of a module and its submodules: {m, left, width} as fractions. */
function place(m, left, width, depth, found) {
  const [of] = measure, all = within(m, of);
  found.push({ m, left, width, depth });
  if (!all)
    return;
  for (const c of m.children) {
    const part = within(c, of) / all * width;
    if (part > 0.0004)
      place(c, left, part, depth + 1, found);
    left += part;
  }
}

function factsOfModule(m) {
  const rows = MEASURES.map(([of, name, format]) =>
    [name.toLowerCase(), format(within(m, of))]);
  const part = ratio(within(m, measure[0]), within(tree, measure[0]));
  return [["type", m.type], ["path", m.path], ...rows,
    ["share", percent(part)]];
}

/* A leaf has the colour of its operator. */
function lookOfModule(m) {
  const leaf = !m.children.length && m.nodes[0];
  return leaf ? lookOfNode(leaf) : null;
}

function makeBox({ m, left, width, depth }, current, pixels) {
  const look = lookOfModule(m), [of, , format] = measure;
  const value = format(within(m, of)), room = width * pixels - 10;
  /* Half of a name is enough if it has several letters. */
  const name = textWidth(m.name), least = Math.max(40, name / 2);
  const fits = room > Math.min(name, least);
  const box = html("div", { role: "treeitem", tabindex: current ? 0 : -1,
    "aria-level": depth + 1, class: look === null ? "" : "leaf k" + look,
    "aria-label": [m.name, m.type, value].filter(Boolean).join(", "),
    style: `left: ${left * 100}%; width: ${width * 100}%; ` +
      `top: ${depth * ROW}px` },
    fits ? shorten(m.name, room * 12 / 13) : "",
    name + textWidth(value) + 6 < room ? html("small", {}, value) : "");
  box.module = m;
  return box;
}

let modulesWidth = 0; /* pixels */

function drawModules() {
  const boxes = byId("modules"), found = [];
  const top = findModule(filter.module) ?? tree, above = [];
  for (let m = top.parent; m; m = m.parent)
    above.unshift(m);
  if (!MEASURES.length) {
    boxes.replaceChildren(html("p", { class: "note" }, symbolic
      ? "Costs are expressions: there is no width to draw."
      : "No module has any cost."));
    return;
  }
  above.forEach((m, depth) => found.push({ m, left: 0, width: 1, depth }));
  place(top, 0, 1, above.length, found);
  const depth = Math.max(...found.map(f => f.depth)) + 1;
  const list = html("div", { role: "tree", "aria-labelledby":
    "modules-title", style: `height: ${depth * ROW}px` },
    ...found.map(f => makeBox(f, f.m === top, modulesWidth)));
  list.onclick = e => enter(e.target.closest("[role=treeitem]"));
  list.onkeydown = stepModules;
  list.onpointermove = e => {
    const box = e.target.closest("[role=treeitem]");
    if (box)
      showTip(box.module.name, factsOfModule(box.module), e.clientX,
        e.clientY);
    else
      hideTip();
  };
  list.onpointerleave = hideTip;
  boxes.replaceChildren(list);
  markModules();
}

/* Click: open a module, select a node. */
function enter(box) {
  const m = box?.module;
  if (!m)
    return;
  if (m.node || (!m.children.length && m.nodes.length === 1))
    select(m.nodes[0]);
  else
    setFilter({ module: m.path === filter.module ? m.parent?.path ?? ""
      : m.path });
}

function stepModules(e) {
  const boxes = [...byId("modules").querySelectorAll("[role=treeitem]")];
  const at = e.target.closest("[role=treeitem]"), m = at?.module;
  const beside = m?.parent?.children ?? [];
  const boxOf = x => boxes.find(b => b.module === x);
  const near = step => boxOf(beside[beside.indexOf(m) + step]);
  const to = { ArrowUp: () => boxOf(m?.parent),
    ArrowDown: () => m?.children.map(boxOf).find(Boolean),
    ArrowRight: () => near(1), ArrowLeft: () => near(-1),
    Home: () => boxes[0] }[e.key]?.();
  if (e.key === "Enter" || e.key === " ") {
    enter(at);
    byId("modules").querySelector("[tabindex='0']")?.focus();
  } else if (to) {
    at.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  } else {
    return;
  }
  e.preventDefault();
}

/* Mark the boxes of the selected node and of filtered nodes. */
function markModules() {
  for (const box of byId("modules").querySelectorAll("[role=treeitem]")) {
    const m = box.module;
    const holds = m.children.length === 0 && m.nodes.includes(selected);
    box.classList.toggle("selected", holds);
    box.classList.toggle("dim", m.children.length === 0 &&
      !m.nodes.some(n => matching.has(n)));
  }
}

const drawMeasures = () => drawChoice("measure", MEASURES, m => {
  measure = m;
  drawModules();
});
