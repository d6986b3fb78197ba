#!/bin/sh
# Every operator and module case at each level of instructions, and with one
# thread. (The tests of kernels go through levels and threads themselves.)
set -eu
passed=0 failed=0
add() {
    out=$("$builddir/tests/case_tests" opcases \
        "$srcdir"/tests/golden/*.golden) || :
    case $(echo "$out" | tail -1) in
    [1-9]*' passed, 0 failed')
        echo "$*: $(echo "$out" | tail -1)"
        passed=$((passed + 1)) ;;
    *)
        failed=$((failed + 1))
        echo "$out"
        echo "not ok: $*" ;;
    esac
}
cpu=${CFX_CPU:-}
features=${cpu#"${cpu%%-*}"} # those that are switched off
for level in plain neon avx2 avx512; do
    CFX_CPU=$level$features "$CFX" ops relu >/dev/null 2>&1 || continue
    CFX_CPU=$level$features add "level $level$features"
done
CFX_THREADS=1 add 'one thread'
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
