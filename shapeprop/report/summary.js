/* summary.js -- the head of the page: model, machine and totals; the
 * filters. */

function inputText([name, v]) {
  return name + " = " + (typeof v === "object" ? shapeText(v) : String(v));
}

function drawHead() {
  const threads = machine.threads;
  const where = [machine.name, threads ? countOf(threads, "thread") : ""]
    .filter(Boolean).join(", ");
  const inputs = Object.entries(report.inputs ?? {}).map(inputText);
  byId("model").textContent = modelName;
  byId("subtitle").textContent = [...inputs, where].filter(Boolean)
    .join(" · ");
}

/* ---- The most important facts ---- */

/* "53 nodes with 88.3 % of the time are bound by compute, 121 with ..." */
function boundsText() {
  const parts = ["compute", "memory"].flatMap(bound => {
    const list = nodes.filter(n => n.bound === bound);
    const part = ratio(total("time", list), totalTime);
    return list.length && part !== null
      ? [[list.length, percent(part), bound]] : [];
  });
  return parts.map(([n, part, bound], i) => i
    ? `${integer(n)} with ${part} by ${bound}`
    : `${countOf(n, "node")} with ${part} of the time ` +
      `${n === 1 ? "is" : "are"} bound by ${bound}`).join(", ");
}

function findings() {
  const t = report.total ?? {}, text = [];
  const all = isNumber(t.flops) ? t.flops : total("flops");
  const run = isNumber(t.seconds) && t.seconds > 0 ? t.seconds : totalTime;
  if (!nodes.length)
    return ["The graph has no nodes."];
  if (symbolic && !totalTime)
    return ["Costs are expressions over the symbols of the inputs."];
  if (measured)
    text.push(`A run took ${seconds(run)} for ${flop(all)}: ` +
      `${quantity(all / run, "FLOP/s")}` +
      (mainPeak ? `, ${percent(all / run / mainPeak.rate)} of the ` +
        `${mainPeak.name} peak.` : "."));
  const floor = isNumber(t.floor_seconds) ? t.floor_seconds : total("floor");
  if (floor > 0 && measured)
    text.push(`Its floor on this machine is ${seconds(floor)}, ` +
      `${percent(floor / run)} of that.`);
  else if (floor > 0)
    text.push(`A run takes at least ${seconds(floor)} on this machine; it ` +
      "was not measured.");
  const bounds = boundsText();
  return bounds ? [...text, bounds + "."] : text;
}

/* Totals of the report, or sums over its nodes. */
function totals() {
  const t = { ...report.total };
  for (const [key, of] of [["flops", "flops"], ["macs", "macs"],
    ["bytes_read", "read"], ["bytes_written", "written"]])
    t[key] ??= symbolic || !nodes.length ? null : total(of);
  return t;
}

/* [name, number, details]; unknown numbers and expressions are left out. */
function cards(t) {
  const number = (v, format) => isNumber(v) ? format(v) : "–";
  const floor = number(t.floor_seconds, seconds);
  const count = v => quantity(v, "");
  return [
    measured ? ["Whole run", number(t.seconds ?? totalTime, seconds),
      `nodes ${seconds(totalTime)}, floor ${floor}`]
      : ["Least time", floor, "sum of the floors"],
    ["Arithmetic", number(t.flops, flop),
      number(t.macs, v => quantity(v, "MAC"))],
    ["Moved", number(sum(orNull(t.bytes_read), orNull(t.bytes_written)),
      bytes), `${bytes(t.bytes_read)} read, ${bytes(t.bytes_written)} written`],
    t.parameters === 0 && t.buffer_bytes > 0
      ? ["Buffers", bytes(t.buffer_bytes), "packed weights are buffers"]
      : ["Parameters", number(t.parameters, count), bytes(t.parameter_bytes)],
    ["Peak memory", number(t.peak_memory_bytes, bytes),
      "of live results"],
    ["Nodes", integer(nodes.length), countOf(operators.length, "operator")],
  ].filter(([, value]) => value !== "–");
}

/* Totals that are expressions; long ones are collapsed. */
function drawFormulas(t) {
  const found = [["FLOPs", t.flops], ["MACs", t.macs],
    ["Bytes read", t.bytes_read], ["Bytes written", t.bytes_written],
    ["Peak memory", t.peak_memory_bytes]]
    .filter(([, v]) => typeof v === "string");
  byId("formulas").hidden = !found.length;
  byId("formulas").replaceChildren(...found.map(([name, v]) =>
    html("div", {}, html("dt", {}, name), html("dd", {}, v.length < 120
      ? html("code", {}, v) : html("details", {}, html("summary", {},
        html("code", {}, v.slice(0, 90) + "…")), html("code", {}, v))))));
}

function drawTotals() {
  const t = totals();
  byId("finding").textContent = findings().join(" ");
  byId("totals").replaceChildren(...cards(t).map(([name, value, more]) =>
    html("div", {}, html("dt", {}, name), html("dd", {}, value),
      html("dd", { class: "more" }, more.includes("–") ? "" : more))));
  drawFormulas(t);
}

/* ---- The machine, symbols and guards ---- */

function smallTable(caption, head, rows) {
  return html("table", { class: "small" },
    html("caption", {}, caption),
    html("thead", {}, html("tr", {},
      ...head.map(h => html("th", { scope: "col" }, h)))),
    html("tbody", {}, ...rows.map(([first, ...rest]) => html("tr", {},
      html("th", { scope: "row" }, first),
      ...rest.map(v => html("td", {}, v))))));
}

function drawMachine() {
  const box = byId("machine"), memory = levels.at(-1);
  const brief = [...peaks.map(p => `${p.name} ${quantity(p.rate, "FLOP/s")}`),
    ...memory ? [`${memory.name} ${quantity(memory.rate, "B/s")}`] : []];
  box.hidden = !allPeaks.length && !levels.length;
  const rate = v => shown(v, x => quantity(x, "B/s"));
  const kernels = [...new Set(levelsKnown.flatMap(l => rateKeys(l.raw)))];
  const title = key => key[0].toUpperCase() +
    key.slice(1, -perSecond.length);
  box.replaceChildren(
    html("summary", {}, "Machine: " + brief.join(", ")),
    html("div", { class: "tables" },
      smallTable("Peak of arithmetic", ["Type", "FLOP/s"],
        allPeaks.map(p => [p.name, quantity(p.rate, "FLOP/s")])),
      smallTable("Memory", ["Level", "Size", ...kernels.map(title)],
        levelsKnown.map(({ name, raw }) => [name, capacity(raw.bytes),
          ...kernels.map(key => rate(raw[key]))]))));
}

function rangeText(s) {
  return `${shown(s?.min, String)} to ${s?.max ?? "any"}`;
}

function drawSymbols() {
  const symbols = Object.entries(report.symbols ?? {});
  const guards = report.guards ?? [];
  byId("symbols").replaceChildren(
    ...symbols.length ? [smallTable("Symbols", ["Symbol", "Range"],
      symbols.map(([name, s]) => [name, rangeText(s)]))] : [],
    ...guards.length ? [html("div", {}, html("p", {}, "Guards"),
      html("ul", {}, ...guards.map(g => html("li", {}, html("code", {},
        typeof g === "string" ? g : JSON.stringify(g))))))] : []);
}

/* ---- Filters ---- */

function drawChoices(id, all, values) {
  byId(id).replaceChildren(html("option", { value: "" }, all),
    ...values.map(v => html("option", { value: v }, v)));
}

function showFilters() {
  byId("filter-text").value = filter.text;
  byId("filter-operator").value = filter.operator;
  byId("filter-bound").value = filter.bound;
  byId("filter-module").hidden = !filter.module;
  byId("filter-module").textContent = `in ${filter.module} ×`;
  byId("filter-module").setAttribute("aria-label",
    `Only module ${filter.module}: remove this filter`);
  byId("filter-reset").hidden = !isFiltered();
  const time = ratio(total("time", [...matching]), totalTime);
  byId("filter-count").textContent = isFiltered()
    ? `${integer(matching.size)} of ${countOf(nodes.length, "node")}` +
      (time === null ? "" : `, ${percent(time)} of the time`)
    : countOf(nodes.length, "node");
}

function drawFilters() {
  drawChoices("filter-operator", "All operators", operators.map(o => o.name));
  drawChoices("filter-bound", "All bounds",
    [...new Set(nodes.map(n => n.bound))].filter(Boolean).sort());
  byId("filter-text").oninput = e => setFilter({ text: e.target.value });
  byId("filter-operator").onchange =
    e => setFilter({ operator: e.target.value });
  byId("filter-bound").onchange = e => setFilter({ bound: e.target.value });
  byId("filter-module").onclick = () => setFilter({ module: "" });
  byId("filters").onsubmit = e => e.preventDefault();
  byId("filters").onreset = e => {
    e.preventDefault();
    setFilter({ text: "", operator: "", bound: "", module: "" });
  };
  onFilter.push(showFilters);
  showFilters();
}

/* ---- Operators: the legend of all marks, also a filter ---- */

function operatorButton(o) {
  const share = ratio(o.time, totalTime);
  return html("button", { type: "button", "aria-pressed": "false",
    "data-operator": o.name, style: `--share: ${(share ?? 0) * 100}%` },
    markIcon(lookOf.get(o.name)), html("span", { class: "name" }, o.name),
    html("span", { class: "count" }, "×\u2009" + integer(o.nodes)),
    html("span", { class: "share" }, share === null ? "" : percent(share)));
}

function drawOperators() {
  const box = byId("operators");
  box.hidden = !operators.length;
  box.replaceChildren(html("h3", {}, "Operators", html("span", {},
    totalTime > 0 ? (measured ? "share of time" : "share of least time")
      : "")), html("div", {}, ...operators.map(operatorButton)));
  box.onclick = e => {
    const name = e.target.closest("button")?.dataset.operator;
    if (name !== undefined)
      setFilter({ operator: filter.operator === name ? "" : name });
  };
  onFilter.push(() => box.querySelectorAll("button").forEach(b =>
    b.setAttribute("aria-pressed", b.dataset.operator === filter.operator)));
}
