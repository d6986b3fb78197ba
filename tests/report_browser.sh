#!/bin/sh
# The HTML report in a headless browser: marks, table, sorting, filtering,
# keys, narrow and dark. Needs Chromium and python3.
set -eu
command -v python3 >/dev/null || exit 77
export PYTHONDONTWRITEBYTECODE=1
cd "$srcdir/tests"
python3 -c 'import browser, sys; sys.exit(not browser.find())' || {
    echo "there is no Chromium"
    exit 77
}
cd - >/dev/null
exec python3 "$srcdir/tests/report_browser.py" \
    "${CFX_EMULATOR:-} $builddir/tests/report_page" \
    "$srcdir/tests/golden/report_resnet50.json"
