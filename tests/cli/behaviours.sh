#!/bin/sh
# behaviours/*.md say where the claims of torch.fx's own tests are tested here:
# each number from 1 to 98 in one file, where README.md says, its rows together;
# and each test that is named exists. In the last column, what stands in
# backticks and looks like a name is a test, a case of golden/code or
# golden/text, or a file of these folders; so is a word that ends in _test; "these
# names" are those of the column before.
set -u
cd "$srcdir/tests" || exit 99
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tests='s/^TEST_[CE]A[SC][EH](\([a-z_A-Z0-9]*\)[,)].*/\1/p'
# Names, and names with the file that has them.
{
    for f in ./*/*.c ./unit/*/*.c; do
        sed -n "$tests" "$f" |
            sed "s/\$/ ${f##*/}/;s/\.c\$//"
    done
    sed -n "$tests" ./*/*.c ./unit/*/*.c
    sed -n 's/^==== //p' cases/passes/*.test
    sed -n 's/^# \([a-z_0-9A-Z]*\)$/\1/p' cases/shapes/*.test
    for f in ./*/*.c ./unit/*/*.c cli/*.sh golden/code/*.txt golden/text/*.txt oracle/*.py; do
        f=${f##*/}
        echo "${f%.*}"
    done
} | sort -u >"$work/names"
cat README.md behaviours/*.md >/dev/null || exit 99

awk -v names="$work/names" -v last=98 '
    function ok() { passed++ }
    function bad(why) { failed++; print "not ok: " FILENAME ":" FNR ": " why }

    function known(name,    n, pattern) {
        if (name in test)
            return 1
        if (name !~ /\*$/)
            return 0
        pattern = "^" substr(name, 1, length(name) - 1)
        for (n in test) {
            if (n ~ pattern)
                return 1
        }
        return 0
    }
    function must_be_known(name) {
        if (known(name))
            ok()
        else
            bad("there is no test " name)
    }

    # "1-18, 41" of the overview: which file has them.
    function promise(ranges, file,    n, part, i, ends, k) {
        n = split(ranges, part, /, */)
        for (i = 1; i <= n; i++) {
            split(part[i], ends, "-")
            for (k = ends[1]; k <= (ends[2] ? ends[2] : ends[1]) + 0; k++) {
                if (k in promised)
                    bad(k " is promised twice")
                promised[k] = file
            }
        }
    }
    function number(n) {
        if (n == before)
            return
        before = n
        if (n in seen)
            bad("rows of " n " stand apart, here and in " seen[n])
        else if (promised[n] != file)
            bad(n " belongs to " promised[n] " by README.md")
        else
            ok()
        seen[n] = file
    }

    BEGIN {
        while ((getline name <names) > 0)
            test[name] = 1
        place = "`[a-z][a-zA-Z0-9_]*` in [a-z_]*_test"
    }
    FNR == 1 { before = "" }
    FILENAME == "README.md" {
        if ($0 ~ /^\| [0-9][-0-9, ]*\| behaviours\//) {
            split($0, cell, / *\| */)
            file = cell[3]
            promise(cell[2], file)
        }
        next
    }
    /^\| *[0-9]* *\| .* \|$/ {
        file = FILENAME
        split($0, cell, / *\| */)
        if (cell[2] != "")
            number(cell[2] + 0)
        rest = cell[4]
        while (match(rest, /`[^`]*`/)) {
            quoted = substr(rest, RSTART + 1, RLENGTH - 2)
            rest = substr(rest, RSTART + RLENGTH)
            if (quoted ~ /^[a-z][a-zA-Z0-9_]*\*?$/)
                must_be_known(quoted)
        }
        rest = cell[4]
        while (match(rest, place)) {
            split(substr(rest, RSTART, RLENGTH), part, /[` ]+/)
            rest = substr(rest, RSTART + RLENGTH)
            if (part[2] in test)
                must_be_known(part[2] " " part[4])
        }
        n = split(cell[4], word, /[^a-zA-Z0-9_]+/)
        for (i = 1; i <= n; i++) {
            if (word[i] ~ /^[a-z].*_test$/)
                must_be_known(word[i])
        }
        if (cell[4] ~ /(these|this) names?/) {
            n = split(cell[3], word, /, */)
            for (i = 1; i <= n; i++)
                must_be_known(word[i])
        }
    }
    END {
        for (k = 1; k <= last; k++) {
            if (k in seen)
                ok()
            else {
                failed++
                print "not ok: " k " occurs in no file"
            }
        }
        print passed " passed, " failed + 0 " failed"
        exit failed > 0
    }' README.md behaviours/*.md
