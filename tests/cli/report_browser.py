"""Drive reports in a headless browser.

    report_browser.py REPORT_PAGE JSON [HTML]

REPORT_PAGE turns a document into a page, JSON is one, and HTML is a page that
cfx roofline made of resnet50. With CFX_PICTURES=DIR pictures of all pages are
written there.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

import browser
import report_documents

passed = failed = 0


def claim(name, holds, saw=""):
    global passed, failed
    if holds:
        passed += 1
    else:
        failed += 1
        print(f"not ok: {name}" + (f": {saw}" if saw != "" else ""))


def same(name, have, want):
    claim(name, have == want, f"{have!r}, not {want!r}")


def quiet(b, name):
    b.settle()
    same(f"{name}: nothing on the console, no request", b.problems, [])


# ---- What stands on a page ----

ROWS = "[...document.querySelectorAll('#nodes tbody tr')]"
NAMES = ROWS + ".map(r => r.querySelector('th').textContent)"


def text(b, selector):
    return b.run(f"document.querySelector({json.dumps(selector)})"
                 "?.textContent")


def count(b, selector):
    return b.run(f"document.querySelectorAll({json.dumps(selector)}).length")


def tip(b):
    return b.run("(t => t.hidden ? '' : t.innerText)"
                 "(document.getElementById('tip'))")


def column(b, key):
    """What a column says, from above."""
    return b.run(ROWS + f".map(r => r.querySelector('.column-{key}')"
                 ".title || r.querySelector('.column-" + key +
                 "').textContent).map(t => Number(t.replaceAll(',', '')))")


def overlapping(b):
    """Pairs of texts in the plots that lie on one another."""
    return b.run("""(() => {
        const found = [];
        for (const svg of document.querySelectorAll('.plot svg')) {
            const texts = [...svg.querySelectorAll('text')]
                .filter(t => !/rotate\\(-[1-9]/.test(
                    t.getAttribute('transform')))
                .map(t => [t.textContent, t.getBoundingClientRect()]);
            texts.forEach(([s, a], i) => texts.slice(i + 1)
                .forEach(([t, b]) => {
                    if (a.left < b.right - 1 && b.left < a.right - 1 &&
                        a.top < b.bottom - 3 && b.top < a.bottom - 3)
                        found.push(s + ' / ' + t);
                }));
        }
        return found;
    })()""")


def cut_off(b):
    """Texts in the plots that leave them."""
    return b.run("""[...document.querySelectorAll('.plot svg')].flatMap(svg => {
        const box = svg.getBoundingClientRect();
        return [...svg.querySelectorAll('text')].filter(t => {
            const r = t.getBoundingClientRect();
            return r.left < box.left - 1 || r.right > box.right + 1 ||
                r.top < box.top - 1 || r.bottom > box.bottom + 1;
        }).map(t => t.textContent);
    })""")


# ---- The report of a whole model ----

def try_marks(b, document):
    drawn = [n for n in document["nodes"] if n["flops"] > 0 and
             n["bytes_read"] + n["bytes_written"] > 0]
    same("a mark for each node with arithmetic",
         count(b, "#marks .mark"), len(drawn))
    claim("the others are counted apart",
          str(len([n for n in document["nodes"] if not n["flops"]])) in
          text(b, "#apart summary"), text(b, "#apart"))
    at = b.place("#mark-1")
    b.move(*at)
    for part in ("conv1", "Conv2d", "f32[1, 64, 112, 112]", "236\u00a0MFLOP",
                 "compute", "GFLOP/s"):
        claim(f"the tip of a mark tells {part}", part in tip(b), tip(b))
    b.move(2, 2)
    same("the tip goes with the pointer", tip(b), "")
    b.click(*b.place("#mark-175")) # it stands alone
    same("a click on a mark marks its row",
         b.run(ROWS + ".filter(r => r.classList.contains('selected'))"
               ".map(r => r.dataset.node).join()"), "175")
    claim("that row is in view in the table", b.run("""(() => {
        const row = document.querySelector('tr.selected')
            .getBoundingClientRect();
        const box = document.getElementById('nodes').getBoundingClientRect();
        return row.top >= box.top && row.bottom <= box.bottom; })()"""))
    claim("its numbers are shown", document["nodes"][175]["name"] in
          text(b, "#detail"), text(b, "#detail"))
    b.click_on("tr[data-node='114'] td")
    same("a click on a row marks its mark",
         b.run("document.querySelector('[aria-selected=true]').id"),
         "mark-114")
    claim("a ring is around it",
          count(b, ".ring:not([hidden])") == 1)
    b.click_on("tr[data-node='114'] td")
    same("a second click takes the selection back",
         count(b, "tr.selected, [aria-selected=true]"), 0)


def try_sorting(b):
    for key in ("took", "flops", "moved", "share"):
        if key != "took":  # it is first
            b.click_on(f"#nodes [data-key={key}]")
        have = column(b, key)
        same(f"{key}: the largest first", have, sorted(have, reverse=True))
        same("which is said", b.run("document.querySelector("
             f"'th:has([data-key={key}])').ariaSort"), "descending")
    b.click_on("#nodes [data-key=share]")
    have = column(b, "share")
    same("then the smallest", have, sorted(have))
    same("one column is the sorted one", count(b, "[aria-sort]"), 1)
    b.click_on("#nodes [data-key=name]")
    names = b.run(NAMES)
    same("names by the alphabet", names, sorted(names))
    b.click_on("#nodes [data-key=index]")
    same("and back to the walk", b.run(NAMES)[:2], ["x", "conv1"])


def choose(b, selector, value):
    b.run(f"(s => {{ s.value = {json.dumps(value)};"
          "s.dispatchEvent(new Event('change')); })"
          f"(document.querySelector('{selector}'))")
    b.settle()


def try_filters(b, document):
    nodes = document["nodes"]
    all_marks = count(b, "#marks .mark")
    b.click_on("#filter-text")
    b.type("layer3 conv1")
    want = [n["name"] for n in nodes if "layer3" in n["name"] and
            "conv1" in n["name"]]
    same("words filter the table", b.run(NAMES), want)
    same("and the marks", count(b, "#marks .mark:not(.dim)"), len(want))
    claim("how many are left is told", text(b, "#filter-count").startswith(
        f"{len(want)} of"), text(b, "#filter-count"))
    b.click_on("#filter-reset")
    same("all come back", count(b, "#marks .mark:not(.dim)"), all_marks)
    same("and the field is empty",
         b.run("document.getElementById('filter-text').value"), "")
    choose(b, "#filter-operator", "Linear")
    same("one operator", b.run(NAMES), ["fc"])
    choose(b, "#filter-operator", "")
    choose(b, "#filter-bound", "compute")
    same("one bound", b.run(NAMES),
         [n["name"] for n in nodes if n["bound"] == "compute"])
    b.click_on("#filter-reset")
    b.click_on("#operators [data-operator=add]")
    same("the legend filters", len(b.run(NAMES)), 16)
    same("and says so", text(b, "#operators [aria-pressed=true] .name"), "add")
    b.click_on("#operators [data-operator=add]")
    b.click_on("#filter-text")
    b.type("no such node")
    claim("nothing left is a sentence", "No node matches" in text(b, "#more"))
    b.click_on("#filter-reset")


BOX = ("[...document.querySelectorAll('#modules [role=treeitem]')]"
       ".find(b => b.ariaLabel.startsWith({}))")


def box(b, name):
    """The middle of a module's box, and its width."""
    b.run("document.getElementById('modules').scrollIntoView("
          "{block: 'center'})")
    return b.run("(r => [r.x + r.width / 2, r.y + r.height / 2, r.width])(" +
                 BOX.format(json.dumps(name + ",")) +
                 ".getBoundingClientRect())")


def try_modules(b, document):
    part = {m["path"]: m for m in document["modules"]}
    whole = box(b, document["model"])[2]
    for measure, key in (("time", "seconds"), ("flops", "flops")):
        b.click_on(f"#measure label:has([value={measure}])")
        want = part["layer2"][key] / part[""][key] * whole
        have = box(b, "layer2")[2]
        claim(f"a box is as wide as its {measure}", abs(have - want) < 2,
              f"{have}, not {want}")
    x, y, _ = box(b, "layer2")
    b.move(x, y)
    claim("the tip of a module", "layer2" in tip(b) and "FLOP" in tip(b),
          tip(b))
    b.click(x, y)
    same("a click enters a module", box(b, "layer2")[2], whole)
    same("and filters the rest", sorted(b.run(NAMES)), sorted(
        n["name"] for n in document["nodes"]
        if n["module_path"].startswith("layer2")))
    claim("which is said", "layer2" in text(b, "#filter-module"))
    b.click_on("#filter-module")
    same("and taken back", count(b, "#filter-module[hidden]"), 1)
    claim("all is there again", box(b, "layer2")[2] < whole / 2)
    b.click_on("#measure label:has([value=time])")


def try_memory(b, document):
    peak = max(document["nodes"], key=lambda n: n["live_bytes"])
    claim("the peak has its name", peak["name"] in text(b, "#memory"))
    x, y = b.place("#memory svg")
    b.move(x, y)
    claim("the tip of the curve", "live" in tip(b), tip(b))
    b.move(2, 2)


def try_keys(b):
    b.run("document.getElementById('marks').focus()")
    b.press("End")
    at = b.run("document.getElementById('marks')"
               ".getAttribute('aria-activedescendant')")
    claim("keys go to a mark", bool(at) and tip(b) != "", at)
    b.press("ArrowLeft")
    now = b.run("document.getElementById('marks')"
                ".getAttribute('aria-activedescendant')")
    claim("and to the next", now != at, now)
    b.press("Enter", "\r")
    same("Enter selects it", b.run(
        "document.querySelector('[aria-selected=true]').id"), now)
    b.press("Enter", "\r")
    b.run("document.querySelector('[data-key=flops]').focus()")
    b.press("Enter", "\r")
    same("Enter sorts", b.run("document.querySelector("
         "'th:has([data-key=flops])').ariaSort"), "descending")
    same("and keeps the focus",
         b.run("document.activeElement.dataset.key"), "flops")
    b.click_on("#nodes [data-key=index]")
    b.run("document.querySelector('#modules [tabindex=\"0\"]').focus()")
    b.press("ArrowDown")
    b.press("ArrowRight")
    claim("keys walk the tree", b.run("document.activeElement.ariaLevel") ==
          "2", b.run("document.activeElement.ariaLabel"))
    b.run("document.querySelector('#memory svg').focus()")
    b.press("Home")
    b.press("ArrowRight")
    same("keys walk the curve", b.run(
        "document.querySelector('#memory svg').ariaValueText")[:7], "conv1: ")


def try_roles(b):
    same("headers of columns", count(b, "#nodes thead th:not([scope=col])"), 0)
    same("headers of rows", count(b, "#nodes tbody th:not([scope=row])"),
         0)
    same("the table has a caption", count(b, "#nodes caption"), 1)
    same("every mark is told", count(b, "#marks .mark:not([aria-label])"), 0)
    same("every field has a label", b.run(
        "[...document.querySelectorAll('input, select')]"
        ".filter(f => !f.labels.length).length"), 0)
    same("every button says what it does", b.run(
        "[...document.querySelectorAll('button')].filter(b => !b.hidden &&"
        "!(b.ariaLabel || b.textContent.trim())).length"), 0)


def paper(b):
    return b.run("getComputedStyle(document.body).backgroundColor")


def try_looks(b, page):
    b.media(color_scheme="dark")
    dark = paper(b)
    b.media(color_scheme="light")
    claim("the page is as dark as the screen", dark != paper(b), dark)
    b.click_on("#theme label:has([value=dark])")
    same("unless one chooses", paper(b), dark)
    b.click_on("#theme label:has([value=auto])")
    for width in (1200, 800, 400):
        b.resize(width, 900)
        b.settle()
        b.settle()
        claim(f"no side-scrolling at {width}", b.run(
            "document.documentElement.scrollWidth") <= width)
        same(f"no text on another at {width}", overlapping(b), [])
        same(f"no text is cut off at {width}", cut_off(b), [])
        same(f"all marks are in view at {width}", b.run("""(() => {
            const box = document.getElementById('roofline')
                .getBoundingClientRect();
            return [...document.querySelectorAll('#marks .mark')]
                .map(m => m.getBoundingClientRect())
                .filter(r => r.left < box.left || r.right > box.right).length;
        })()"""), 0)
    b.resize(1200, 900)
    b.click_on("#columns summary")
    b.click_on("#columns label:nth-child(4)")
    claim("a column is added", count(b, "#nodes [data-key=target]") == 1 or
          count(b, "#nodes [data-key=op]") == 0)
    b.media("print")
    same("controls are not printed", b.run(
        "getComputedStyle(document.getElementById('filters')).display"),
        "none")
    b.media()
    b.pdf(page + ".pdf")
    claim("it prints", os.path.getsize(page + ".pdf") > 20000)
    same("with all rows", count(b, "#nodes tbody tr"), 177)


def try_without_script(b, page):
    b.ask("Emulation.setScriptExecutionDisabled", value=True)
    b.open(page)
    same("without JavaScript there is the picture", b.run(
        "[...document.querySelectorAll('#roofline .marks .mark')]"
        ".filter(m => m.getBoundingClientRect().width > 0).length") > 100,
        True)
    same("with its legend", count(b, "#roofline .legend .mark"), 5)
    same("and nothing that does not work", b.run(
        "[...document.querySelectorAll('button, input, select, table')]"
        ".filter(e => e.getBoundingClientRect().width > 0).length"), 0)
    b.ask("Emulation.setScriptExecutionDisabled", value=False)


def try_whole(b, page, document):
    b.open(page)
    quiet(b, "resnet50")
    same("the title", b.run("document.title.trim()"),
         "resnet50 \u2013 roofline")
    try_marks(b, document)
    try_sorting(b)
    try_filters(b, document)
    try_modules(b, document)
    try_memory(b, document)
    try_keys(b)
    try_roles(b)
    try_looks(b, page)
    quiet(b, "resnet50, used")
    try_without_script(b, page)


# ---- Others ----

def try_symbolic(b, page):
    b.open(page)
    claim("formulas stand in the table", "236027904*N" in text(b, "#nodes"))
    claim("where there is no plot there is a sentence",
          "expressions" in text(b, "#roofline-note"))
    same("and no plot", count(b, "#roofline[hidden]"), 1)
    claim("symbols", "33 to 99" in text(b, "#symbols"), text(b, "#symbols"))
    claim("guards", "(H + 1)//2 == 17" in text(b, "#symbols"))


def try_hostile(b, page):
    b.open(page)
    same("a name is a name", text(b, "#model"),
         report_documents.EVIL.split("/")[-1])
    same("in the table too", b.run("document.querySelector(\"tr[data-node='1'] th\").title"),
         report_documents.EVIL + "0")
    same("nothing of it ran", b.run("window.broken ?? 0"), 0)
    same("nor became an element", count(b, "img, script:not([type])"), 0)


def try_large(b, page):
    begin = time.monotonic()
    b.open(page)
    b.settle()
    opened = time.monotonic() - begin
    begin = time.monotonic()
    b.click_on("#nodes [data-key=took]")
    sorted_in = time.monotonic() - begin
    begin = time.monotonic()
    b.click_on("#filter-text")
    b.type("block7")
    filtered = time.monotonic() - begin
    print(f"5,000 nodes: opened in {opened:.2f} s, sorted in {sorted_in:.2f}, "
          f"filtered in {filtered:.2f}")
    claim("5,000 nodes open soon", opened < 30, opened)
    claim("are sorted at once", sorted_in < 10, sorted_in)
    claim("are filtered at once", filtered < 10, filtered)
    b.click_on("#filter-reset")
    claim("rows come as one scrolls", count(b, "#nodes tbody tr") < 1000)
    b.run("document.getElementById('nodes').scrollTop = 1e9")
    b.settle()
    claim("more of them", count(b, "#nodes tbody tr") > 200)


def try_sweep(b, page):
    b.open(page)
    b.move(*b.place("#sweep svg"))
    claim("the tip of a curve", "least time" in tip(b), tip(b))
    b.click_on("#sweep-choice label:has([value=each])")
    claim("what else it shows", "ms" in text(b, "#sweep svg"))
    same("where the bound turns", text(b, "tr[data-node='1'] .column-bound"),
         "memory, compute from N = 3")


OTHERS = {"swept": try_sweep, "symbolic": try_symbolic, "hostile": try_hostile,
          "large": try_large}


def try_real(b, page):
    """A page that cfx roofline made of a whole model, measured."""
    b.open(page)
    quiet(b, "cfx roofline")
    document = json.loads(text(b, "#document"))
    placed = [n for n in document["nodes"] if n["flops"] and n["seconds"]]
    same("cfx roofline: a mark a node", count(b, "#marks .mark"), len(placed))
    same("cfx roofline: a row a node", b.run(
        "document.querySelector('#nodes table').ariaRowCount"),
        str(len(document["nodes"]) + 1))
    same("cfx roofline: its MACs", document["total"]["macs"], 4089184256)
    for part in ("resnet50", "8.21\u00a0GFLOP", "4.09\u00a0GMAC",
                 "25.6\u00a0M"):
        claim(f"cfx roofline: {part} is told", part in text(b, "#page"))
    try_sorting(b)
    for width in (1200, 400):
        b.resize(width, 900)
        b.settle()
        same(f"cfx roofline: no text on another at {width}", overlapping(b),
             [])
        same(f"cfx roofline: no text is cut off at {width}", cut_off(b), [])


def keep(b, page, name):
    """Pictures for people to look at."""
    where = os.environ.get("CFX_PICTURES")
    for scheme in ("light", "dark") if where else ():
        for width in (1200, 400):
            b.media(color_scheme=scheme)
            b.open(page, width)
            b.settle()
            b.picture(f"{where}/{name}-{scheme}-{width}.png")
    b.media()


def main(report_page, path, real=None):
    with open(path) as f:
        document = json.load(f)
    b = browser.Browser(browser.find())
    with tempfile.TemporaryDirectory() as work:
        def make(name, what):
            page = f"{work}/{name}.html"
            with open(page, "wb") as out:
                subprocess.run([*report_page.split(), "html"], check=True,
                               input=json.dumps(what).encode(), stdout=out)
            return page

        page = make("whole", document)
        try_whole(b, page, document)
        keep(b, page, "whole")
        if real:
            try_real(b, real)
            keep(b, real, "real")
        for change in report_documents.ALL:
            name = change.__name__
            page = make(name, change(document))
            b.open(page)
            quiet(b, name)
            same(f"{name}: no text is cut off", cut_off(b), [])
            for width in (1200, 400):
                b.resize(width, 900)
                b.settle()
                claim(f"{name}: no side-scrolling at {width}", b.run(
                    "document.documentElement.scrollWidth") <= width)
            OTHERS.get(name, lambda *_: None)(b, page)
            keep(b, page, name)
    b.close()
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
