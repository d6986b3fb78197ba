#!/bin/sh
# Files and folders that the documents for developers name exist.
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
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
