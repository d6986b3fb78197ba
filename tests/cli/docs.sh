#!/bin/sh
# Files and folders that the documents for developers name exist, and each README
# of a folder is distributed.
set -u
cd "$srcdir" || exit 99
passed=0 failed=0
for doc in doc/architecture.md CONTRIBUTING.md; do
    for path in $(grep -o '`[a-z.]*/[A-Za-z0-9_./-]*`' "$doc" | tr -d '`' |
        sort -u); do
        case $path in *NAME*) continue ;; esac
        if [ -e "$path" ]; then
            passed=$((passed + 1))
        else
            echo "not ok: $doc names $path"
            failed=$((failed + 1))
        fi
    done
done
# A makefile names it, or its folder.
distributed=$({ cat Makefile.am
    find . -name local.mk | sed 's|^\./||' | while read -r mk; do
        sed "s|%reldir%|${mk%/*}|g" "$mk"
    done; } | tr -s '[:space:]\\' '\n')
for readme in $(find cli interp lib optimize shapeprop tests bench examples \
    -name README.md); do
    if printf '%s\n' "$distributed" |
        grep -qxF -e "$readme" -e "${readme%/*}"; then
        passed=$((passed + 1))
    else
        echo "not ok: $readme is not distributed"
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
