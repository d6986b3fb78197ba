#!/bin/sh
# Files and folders that the documents for developers name exist, each README of a
# folder is distributed, and links of documents lead to what is installed with them.
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
installed=$(printf '%s\n' "$distributed" | grep -xE '[A-Z]+(\.md)?|doc/.*')
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
# A link is right in the source and where the documents are installed: the folder doc
# is there, too.
for doc in *.md doc/*.md; do
    for link in $(grep -oE '\]\([^) ]+\)' "$doc" | sed 's/^](//;s/)$//'); do
        case $link in *://*) continue ;; esac
        path=$(echo "$(dirname "$doc")/${link%%#*}" |
            sed 's|^\./||;s|[^/]*/\.\./||')
        if [ -e "$path" ] && printf '%s\n' "$installed" | grep -qxF "$path"; then
            passed=$((passed + 1))
        else
            echo "not ok: $doc links to $link"
            failed=$((failed + 1))
        fi
    done
done
for doc in *.md doc/*.md; do
    if printf '%s\n' "$installed" | grep -qxF "$doc"; then
        passed=$((passed + 1))
    else
        echo "not ok: $doc is not installed"
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
