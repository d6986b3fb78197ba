/* ceilings.js -- what the machine can do at most, as lines with names that hide
 * as few marks as can be. */

/* In the font that the page got, which need not be the one it asked for. */
const pen = document.createElement("canvas").getContext("2d");
pen.font = "12px " + getComputedStyle(document.body).fontFamily;
const textWidth = s => pen.measureText(s).width;

/* A line from a point, `long` pixels in the direction of an angle. */
function lineFrom(x1, y1, x2, y2, name) {
  const long = Math.hypot(x2 - x1, y2 - y1);
  return { x: x1, y: y1, long, name, cos: (x2 - x1) / long,
    sin: (y1 - y2) / long, flat: y1 === y2 };
}

/* A level's line begins where it enters the plot and ends at the highest
 * ceiling of arithmetic; null where none of it is to be seen. */
function slope({ x, y }, { name, rate }) {
  const roof = peaks.length ? peaks[0].rate : y.high;
  const low = Math.max(x.low, y.low / rate);
  const high = Math.min(x.high, roof / rate);
  return low < high ? lineFrom(x(low), y(rate * low), x(high),
    y(rate * high), `${name} ${quantity(rate, "B/s")}`) : null;
}

function ceilings(box, scales) {
  return [
    ...peaks.map(p => lineFrom(box.left, scales.y(p.rate), box.right,
      scales.y(p.rate), `${p.name} ${quantity(p.rate, "FLOP/s")}`)),
    ...levels.map(l => slope(scales, l)).filter(Boolean),
  ];
}

const drawLine = ({ x, y, long, cos, sin }) => svg("path", { class: "roof",
  d: `M${x} ${y}l${long * cos} ${-long * sin}` });

/* How far along a line a point is, and how far above it. */
function onLine(line, { x, y }) {
  const dx = x - line.x, dy = y - line.y;
  return [dx * line.cos - dy * line.sin, -dx * line.sin - dy * line.cos];
}

/* What a name would hide that begins `at` along its line. */
function hides(at, width, near) {
  return near.reduce((cost, { from, to, price }) =>
    from < at + width && to > at ? cost + price : cost, 0);
}

/* The stretches of a line where something stands in a name's way: marks, and,
 * which is worse, names of lines that run beside it. */
function inTheWay(line, spots, names) {
  const found = [];
  for (const s of spots) {
    const [at, above] = onLine(line, s);
    if (above + s.r > 2 && above - s.r < 18)
      found.push({ from: at - s.r, to: at + s.r, price: 1 });
  }
  for (const n of names) {
    const [at, above] = onLine(line, n);
    if (n.flat === line.flat && Math.abs(above) < 17)
      found.push({ from: at - 8, to: at + n.width + 8, price: 1e6 });
  }
  return found;
}

/* Slopes are named from their lower end upwards, peaks from the right. */
function findSpot(line, width, near) {
  const last = line.long - width - 8;
  let best = -1, least = Infinity;
  for (let step = 10; step <= last; step += 6) {
    const at = line.flat ? last + 10 - step : step;
    const cost = hides(at, width, near);
    if (cost < least) {
      least = cost;
      best = at;
    }
  }
  return best;
}

function drawNames(lines, spots) {
  const names = [];
  for (const line of lines) {
    const width = textWidth(line.name);
    const at = findSpot(line, width, inTheWay(line, spots, names));
    if (at >= 0)
      names.push({ ...line, x: line.x + at * line.cos,
        y: line.y - at * line.sin, width });
  }
  return names.map(n => svg("text", { class: "halo", transform:
    `translate(${n.x} ${n.y}) ` +
    `rotate(${-Math.atan2(n.sin, n.cos) * 180 / Math.PI}) translate(0 -6)` },
    n.name));
}
