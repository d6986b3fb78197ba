#!/bin/sh
# The Python package, in the build tree: each tests/python/test_*.py is a program of
# unittest. Those of PyTorch are skipped where $PYTHON (python3) does not have it.
set -u
top=$(cd "$srcdir" && pwd)
bin=$(cd "$builddir" && pwd)
python=${PYTHON:-python3}
module=$bin/python/cfx/_cfx.abi3.so
[ -e "$module" ] || { echo "skipped: no module for Python was built"; exit 77; }
case ${CFX_LDFLAGS-} in
*sanitize*) echo "skipped: Python is built without sanitizers"; exit 77 ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/cfx"
ln -s "$top"/python/cfx/*.py "$module" "$work/cfx"
# What pip writes of the package: torch.compile finds the backend there.
mkdir "$work/cfx-0.dist-info"
printf 'Metadata-Version: 2.1\nName: cfx\nVersion: 0\n' \
    >"$work/cfx-0.dist-info/METADATA"
sed -n '/^\[project.entry-points/,/^$/{s/project.entry-points.//;s/"//g;p;}' \
    "$top/pyproject.toml" >"$work/cfx-0.dist-info/entry_points.txt"
export CFX_TOP="$top" CFX_MACHINES="$top/shapeprop/machines" PATH="$bin:$PATH"
export PYTHONPATH="$work" PYTHONDONTWRITEBYTECODE=1
export LD_LIBRARY_PATH="$bin/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
passed=0 failed=0
for test in "$top"/tests/python/test_*.py; do
    for needed in numpy torch; do
        grep -q "^import $needed" "$test" || continue
        "$python" -c "import $needed" 2>/dev/null && continue
        echo "skipped: ${test##*/}: $python has no $needed"
        continue 2
    done
    if "$python" "$test" -q >"$work/log" 2>&1; then
        n=$(sed -n 's/^Ran \([0-9]*\) test.*/\1/p' "$work/log")
        passed=$((passed + n))
    else
        cat "$work/log"
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] || exit 1
[ "$passed" -gt 0 ] || exit 77
