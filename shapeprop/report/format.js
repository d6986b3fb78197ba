/* format.js -- format numbers and shapes. */

const PREFIXES = ["p", "n", "µ", "m", "", "k", "M", "G", "T", "P", "E"];

/* Three digits, and at least the integer part. */
function rounded(v) {
  const a = Math.abs(v);
  if (a >= 1e6 || (a > 0 && a < 1e-4))
    return String(Number(v.toPrecision(3)).toExponential()).replace("+", "");
  return String(Number(v.toFixed(a < 9.995 ? 2 : a < 99.95 ? 1 : 0)));
}

/* 8.21e9, "FLOP" -> "8.21 GFLOP". */
function quantity(v, unit) {
  let i = 4;
  const last = unit === "s" ? 4 : PREFIXES.length - 1;
  if (Math.abs(v) >= 1e21 || (v !== 0 && Math.abs(v) < 1e-15))
    return (rounded(v) + "\u00a0" + unit).trimEnd();
  for (; Math.abs(v) >= 999.5 && i < last; i++)
    v /= 1000;
  if (unit !== "B" && unit !== "FLOP" && unit !== "MAC" && unit !== "")
    for (; Math.abs(v) < 0.9995 && v !== 0 && i > 0; i--)
      v *= 1000;
  return (rounded(v) + "\u00a0" + PREFIXES[i] + unit).trimEnd();
}

/* Format a number with `format`; expressions stay as they are. */
function shown(v, format) {
  if (v === null || v === undefined)
    return "–";
  return typeof v === "number" ? format(v) : String(v);
}

const percent = v => shown(v, x =>
  (x > 0 && x < 0.0005 ? "<\u20090.1" : rounded(Math.round(x * 1000) / 10)) +
  "\u00a0%");
const seconds = v => shown(v, x => quantity(x, "s"));
const flop = v => shown(v, x => quantity(x, "FLOP"));
const bytes = v => shown(v, x => quantity(x, "B"));

/* Cache sizes use powers of two: "32 KiB". */
const capacity = v => shown(v, x => {
  const i = Math.max(0, Math.min(4, Math.floor(Math.log2(x) / 10)));
  return rounded(x / 1024 ** i) + "\u00a0" + ["", "Ki", "Mi", "Gi", "Ti"][i] +
    "B";
});
const plain = v => shown(v, rounded);
const grouped = new Intl.NumberFormat("en"); /* 1,234,567 */
const integer = v => shown(v, x => grouped.format(x));

const DTYPES = {
  bool: "b8", uint8: "u8", int8: "i8", int16: "i16", int32: "i32",
  int64: "i64", float16: "f16", bfloat16: "bf16", float32: "f32",
  float64: "f64",
};

/* Format f32[1, 64, 56, 56], a list of shapes, or a number. */
function shapeText(v) {
  if (v === null || v === undefined)
    return "";
  if (Array.isArray(v))
    return "(" + v.map(shapeText).join(", ") + ")";
  if (typeof v !== "object")
    return String(v);
  if (!Array.isArray(v.shape))
    return Object.entries(v).map(([k, x]) => k + ": " + shapeText(x))
      .join(", ");
  return (DTYPES[v.dtype] ?? v.dtype ?? "") + "[" + v.shape.join(", ") + "]";
}

const countOf = (n, word) =>
  grouped.format(n) + "\u00a0" + word + (n === 1 ? "" : "s");
