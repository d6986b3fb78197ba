#!/bin/sh
# literals.sh -- a message can be found by its words: a string literal goes on in the
# next line only behind a line end, or where with quotes it is longer than 160 characters.
cd "${srcdir:-.}" || exit 99
find lib interp shapeprop optimize cli -name '*.[ch]' -o -name '*.def' | sort |
    xargs awk '
    function finish() {
        if (parts > 1 && len <= 158) {
            print "not ok: " FILENAME ":" start ": " text
            failed++
        }
        parts = 0
    }
    FNR == 1 { parts = 0; lines += 0 }
    {
        lines++
        goes_on = parts && $0 ~ /^[ \t]*"/
        if (parts && !goes_on)
            finish()
        if ($0 !~ /"$/ || $0 ~ /\\(n|x[0-9a-f]+)"$/ || $0 ~ /^[ \t]*#/) {
            if (goes_on && $0 !~ /\\n"$/ && match($0, /"([^"\\]|\\.)*"/)) {
                len += RLENGTH - 2
                parts++
            }
            if (goes_on)
                finish()
            next
        }
        match($0, /"([^"\\]|\\.)*"$/)
        if (!goes_on) {
            start = FNR
            text = substr($0, RSTART, 60)
            len = parts = 0
        }
        len += RLENGTH - 2
        parts++
    }
    END { printf "%d passed, %d failed\n", (lines > 100000), failed; exit (failed > 0) }'
