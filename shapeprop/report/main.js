/* main.js -- put the parts together. */

function drawTheme() {
  const root = document.documentElement;
  const use = theme => { root.dataset.theme = theme; };
  let kept = "auto";
  /* Files that are opened without a server may have no storage. */
  try {
    kept = localStorage.getItem("cfx-theme") ?? "auto";
  } catch { /* then it is not kept */ }
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

function drawPictures(modules, memory) {
  modulesWidth = modules;
  drawSweep(modules);
  drawModules();
  drawMemory(memory);
}

/* All widths are asked for before anything is drawn: to ask for one lays the
 * page out. */
function drawToFit() {
  drawnWidth = byId("page").clientWidth;
  drawPictures(...["modules", "memory"].map(id => byId(id).clientWidth));
}

/* Pictures are as wide as their place. A page may be drawn before it has any
 * width at all. */
const followWidth = () => new ResizeObserver(() => {
  if (byId("page").clientWidth !== drawnWidth)
    drawToFit();
}).observe(byId("page"));

/* On paper, which is so wide, there is nothing to scroll or to open. */
function followPrinting() {
  const paper = 688;
  addEventListener("beforeprint", () => {
    makeRows(2000);
    byId("machine").open = true;
    drawPictures(paper, paper);
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
