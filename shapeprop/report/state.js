/* state.js -- filter and selection, and their listeners. */

const filter = { text: "", operator: "", bound: "", module: "" };
let selected = null;         /* a node */
let matching = new Set(nodes);
const onFilter = [], onSelect = [];

const isWithin = (path, module) =>
  module === "" || path === module || path.startsWith(module + ".");

const searched = nodes.map(n =>
  [n.name, n.target, n.path, n.operator, n.shape, n.bound, n.algorithm]
    .join("\n").toLowerCase());

function matches(n, words) {
  return (!filter.operator || n.operator === filter.operator) &&
    (!filter.bound || n.bound === filter.bound) &&
    isWithin(n.path, filter.module) &&
    words.every(w => searched[n.index].includes(w));
}

function setFilter(part) {
  Object.assign(filter, part);
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  matching = new Set(nodes.filter(n => matches(n, words)));
  onFilter.forEach(f => f());
}

function select(n) {
  selected = n === selected ? null : n;
  onSelect.forEach(f => f());
}

const isFiltered = () => matching.size < nodes.length || filter.module !== "";
