#!/bin/sh
# doc/limits.md names each constant and the file where it stands.
set -u
cd "$srcdir" || exit 99
awk -F ' *[|] *' '
    /^\| .*`/ {
        n = split($4, word, /[`, ;]+/)
        for (i = 1; i <= n; i++) {
            if (word[i] ~ /^[A-Z_]+$/)
                name[++names] = word[i]
            if (word[i] !~ /[.][ch]$/)
                continue
            file = word[i]
            sub(/^cfx\//, "*/cfx/", file)
            for (k = 1; k <= names; k++) {
                found = !system("grep -q \"\\b" name[k] " *= *\\|\\b" name[k] \
                                " ((int64_t)\" " file)
                passed += found
                failed += !found
                if (!found)
                    print "not ok: " name[k] " is not in " word[i]
            }
            names = 0
        }
    }
    END {
        print passed + 0 " passed, " failed + 0 " failed"
        exit failed || !passed
    }' doc/limits.md
