/* table.js -- the table of all nodes, sorted and filtered. Rows are created
 * while scrolling: thousands at once would take seconds. */

const CHUNK = 150;

/* The unit is in the column's head. */
const count = v => shown(v, x => quantity(x, ""));

/* On a narrow screen the table begins with names and times. */
const wide = innerWidth > 600;

/* key, title, text of a cell, and whether it is shown by default, if some node
 * has it. */
const COLUMNS = [
  ["index", "#", n => String(n.index), wide],
  ["name", "Node", n => n.name, true],
  ["operator", "Operator", n => n.operator, true],
  ["op", "Opcode", n => n.op, false],
  ["target", "Target", n => n.target, false],
  ["path", "Module", n => n.path, false],
  ["shape", "Shape", n => n.shape, wide],
  ["dtype", "Type", n => n.dtype, false],
  ["macs", "MACs", n => count(n.macs), false],
  ["flops", "FLOPs", n => count(n.flops), wide],
  ["ops", "Other FLOPs", n => count(n.ops), false],
  ["transcendental", "Transcendental", n => count(n.transcendental), false],
  ["moved", "Bytes", n => bytes(n.moved), wide],
  ["read", "Read", n => bytes(n.read), false],
  ["written", "Written", n => bytes(n.written), false],
  ["intensity", "FLOP/byte", n => plain(n.intensity), wide],
  ["ridge", "Ridge", n => plain(n.ridge), false],
  ["bound", "Bound", n => n.bound, wide],
  ["level", "Level", n => n.level, false],
  ["algorithm", "Algorithm", n => n.algorithm, false],
  ["floor", "Floor", n => seconds(n.floor), wide || !measured],
  ["took", "Time", n => seconds(n.took), measured],
  ["rate", "FLOP/s", n => count(n.rate), measured],
  ["bandwidth", "B/s", n => count(n.bandwidth), false],
  ["efficiency", "Efficiency", n => percent(n.efficiency), measured],
  ["share", "Share", n => percent(n.share), true],
  ["live", "Alive", n => bytes(n.live), false],
].map(([key, title, text, atFirst]) => ({ key, title, text,
  shown: atFirst && (key === "index" || nodes.some(n => n[key])),
  words: nodes.every(n => typeof n[key] === "string"),
}));
const mostShare = nodes.reduce((most, n) => Math.max(most, n.share ?? 0), 0);
const columnOf = new Map(COLUMNS.map(c => [c.key, c]));

/* Times are read from the largest down. */
const order = { key: measured ? "took" : "index", down: measured };
let stateShown = false; /* rows for get_attr nodes, which are free */
let rows = [];    /* nodes in the order shown */
let made = 0;     /* how many of them have a table row */
const rowOf = new Map();

/* ---- Order: numbers, then expressions, then nothing ---- */

const rank = v => isNumber(v) ? 0 : v === null || v === "" ? 2 : 1;

function compare(a, b) {
  const x = a[order.key], y = b[order.key], turn = order.down ? -1 : 1;
  return rank(x) - rank(y) ||
    turn * (isNumber(x) ? x - y : String(x).localeCompare(String(y))) ||
    a.index - b.index;
}

/* Numbers are sorted in descending order first. */
function sortBy(key) {
  const first = key !== "index" && !columnOf.get(key).words;
  order.down = order.key === key ? !order.down : first;
  order.key = key;
  showTable();
  byId("nodes").querySelector(`[data-key=${key}]`).focus();
}

/* ---- Rows ---- */

const nameRoom = () => innerWidth <= 600 ? 118 : 230;

function makeCell(c, n) {
  const text = c.text(n), v = n[c.key];
  if (c.key === "name")
    return html("th", { scope: "row", title: text }, html("button",
      { type: "button", class: "link" }, shorten(text, nameRoom())));
  const cell = html("td", { class: c.words ? null : "number" });
  if (c.key === "operator")
    cell.append(markIcon(lookOfNode(n)));
  cell.append(text);
  if (isNumber(v) && text !== String(v))
    cell.title = integer(v);
  else if (text.length > 24)
    cell.title = text;
  if (c.key === "share" && isNumber(v))
    cell.style.setProperty("--share", v / mostShare * 100 + "%");
  cell.classList.add("column-" + c.key);
  return cell;
}

function makeRow(n, columns) {
  const row = html("tr", { "data-node": n.index,
    "aria-rowindex": made + 2 }, ...columns.map(c => makeCell(c, n)));
  row.classList.toggle("selected", n === selected);
  rowOf.set(n, row);
  return row;
}

/* Create rows up to a number. */
function makeRows(count) {
  const body = byId("nodes").querySelector("tbody");
  const columns = COLUMNS.filter(c => c.shown);
  const list = [];
  for (; made < Math.min(count, rows.length); made++)
    list.push(makeRow(rows[made], columns));
  body?.append(...list);
}

function moreRows() {
  const box = byId("nodes");
  if (box.scrollTop + 3 * box.clientHeight > box.scrollHeight)
    makeRows(made + CHUNK);
}

/* ---- The table ---- */

function makeHead(columns) {
  return html("thead", {}, html("tr", { "aria-rowindex": 1 },
    ...columns.map(c => html("th", { scope: "col",
      class: c.words ? null : "number",
      "aria-sort": c.key !== order.key ? null
        : order.down ? "descending" : "ascending" },
      html("button", { type: "button", "data-key": c.key }, c.title)))));
}

/* A button for the rows that are left out, and a note on the numbers. */
function belowTable(state) {
  const parts = [];
  if (!rows.length)
    parts.push(html("p", { class: "note" }, nodes.length
      ? "No node matches the filter." : "The graph has no nodes."));
  if (rows.some(n => n.efficiency > 1))
    parts.push(html("p", { class: "note" }, "Efficiency above 100 %: fewer " +
      "operations than the floor counts, as in Winograd's algorithm, or data " +
      "in a nearer cache."));
  if (state) {
    const more = html("button", { type: "button", id: "state" },
      (stateShown ? "Hide " : "Show ") + countOf(state, "get_attr node"));
    more.onclick = () => {
      stateShown = !stateShown;
      showTable();
    };
    parts.push(more);
  }
  return parts;
}

function showTable() {
  const columns = COLUMNS.filter(c => c.shown);
  const found = nodes.filter(n => matching.has(n));
  const isState = n => n.op === "get_attr" && n.bound === "free";
  const state = isFiltered() ? 0 : found.filter(isState).length;
  rows = found.filter(n => !state || stateShown || !isState(n) ||
    n === selected).sort(compare);
  made = 0;
  rowOf.clear();
  byId("nodes").replaceChildren(html("table", { "aria-rowcount":
    rows.length + 1 }, html("caption", { class: "unseen" },
    "Nodes in the order of the walk, unless sorted"),
    makeHead(columns), html("tbody")));
  byId("more").replaceChildren(...belowTable(state));
  byId("nodes").scrollTop = 0;
  makeRows(CHUNK);
}

/* Scroll to the selected row, inside of the table only. */
function showSelectedRow() {
  rowOf.forEach(row => row.classList.remove("selected"));
  const at = rows.indexOf(selected), box = byId("nodes");
  if (at < 0)
    return;
  makeRows(at + CHUNK);
  const row = rowOf.get(selected);
  row.classList.add("selected");
  const head = box.querySelector("thead").offsetHeight;
  if (row.offsetTop < box.scrollTop + head ||
      row.offsetTop + row.offsetHeight > box.scrollTop + box.clientHeight)
    box.scrollTop = row.offsetTop - box.clientHeight / 2;
}

function drawColumns() {
  const list = byId("columns").querySelector("div");
  list.append(...COLUMNS.filter(c => c.key !== "name").map(c => {
    const check = html("input", { type: "checkbox", checked: c.shown });
    check.onchange = () => {
      c.shown = check.checked;
      showTable();
    };
    return html("label", {}, check, c.key === "index" ? "Number" : c.title);
  }));
  /* A click anywhere else, or Escape, closes the list. */
  addEventListener("click", e => {
    if (!byId("columns").contains(e.target))
      byId("columns").open = false;
  });
  byId("columns").onkeydown = e => {
    if (e.key === "Escape")
      byId("columns").open = false;
  };
}

function drawTable() {
  const box = byId("nodes");
  drawColumns();
  showTable();
  box.onscroll = moreRows;
  box.onclick = e => {
    const key = e.target.closest("thead button")?.dataset.key;
    const row = e.target.closest("tbody tr");
    if (key)
      sortBy(key);
    else if (row)
      select(nodes[row.dataset.node]);
  };
  box.onpointerover = e => {
    const row = e.target.closest("tbody tr");
    hover(row ? nodes[row.dataset.node] : null);
  };
  box.onpointerleave = () => hover(null);
}
