#!/bin/sh
# The HTML report in a headless browser: marks, table, sorting, filtering,
# keys, narrow and dark. Needs Chromium and python3.
set -eu
command -v python3 >/dev/null || exit 77
export PYTHONDONTWRITEBYTECODE=1
(cd "$srcdir/tests/cli" &&
    python3 -c 'import browser, sys; sys.exit(not browser.find())') || {
    echo "there is no Chromium"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A whole model as the program reports it, where there is one.
real=
if [ -f "$CFX_ZOO/resnet50.fx" ]; then
    real=$work/resnet50.html
    "$CFX" roofline "$CFX_ZOO/resnet50.fx" -i 'x=f32[1,3,224,224]' \
        --machine "$srcdir/shapeprop/machines/epyc-9654.json" -t 1 \
        --random-weights 1 --measure --runs 1 --format html -o "$real"
fi
python3 "$srcdir/tests/cli/report_browser.py" \
    "${CFX_EMULATOR:-} $builddir/tests/report_page" \
    "$srcdir/tests/golden/report_resnet50.json" $real
