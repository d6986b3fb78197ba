/* main.js -- build the page. */

function drawTheme() {
  const root = document.documentElement;
  const use = theme => { root.dataset.theme = theme; };
  let kept = "auto";
  /* Files opened without a server may have no storage. */
  try {
    kept = localStorage.getItem("cfx-theme") ?? "auto";
  } catch { /* the choice is not kept */ }
  use(kept);
  for (const radio of byId("theme").querySelectorAll("input")) {
    radio.checked = radio.value === kept;
    radio.onchange = () => {
      use(radio.value);
      try {
        localStorage.setItem("cfx-theme", radio.value);
      } catch { /* as above */ }
    };
  }
}

let drawnWidth = 0;

function drawPictures(roofline, modules, memory) {
  fitRoofline(roofline);
  modulesWidth = modules;
  drawSweep(modules);
  drawModules();
  drawMemory(memory);
}

/* Read all widths before drawing: reading one triggers layout. */
function drawToFit() {
  drawnWidth = byId("page").clientWidth;
  drawPictures(...["roofline", "modules", "memory"]
    .map(id => byId(id).clientWidth));
}

/* Pictures are as wide as their container, which may have no width at first. */
const followWidth = () => new ResizeObserver(() => {
  if (byId("page").clientWidth !== drawnWidth)
    drawToFit();
}).observe(byId("page"));

/* Print everything: paper cannot scroll or open boxes. */
function followPrinting() {
  const paper = 688;
  addEventListener("beforeprint", () => {
    makeRows(2000);
    byId("machine").open = true;
    drawPictures(paper, paper, paper);
  });
  addEventListener("afterprint", drawToFit);
}

byId("page").hidden = false;
drawTheme();
drawHead();
drawTotals();
drawMachine();
drawSymbols();
drawFilters();
drawOperators();
drawRoofline();
drawApart();
drawSweepChoice();
drawMeasures();
drawToFit();
drawTable();
followWidth();
followPrinting();
onFilter.push(showMatching, drawModules, showTable);
onSelect.push(showRing, showDetail, markModules, showMemoryChoice,
  showSelectedRow);
