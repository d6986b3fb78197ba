#!/bin/sh
# The examples in the comments of the public headers are code that compiles,
# without a warning, and runs: programs in tests/headers have lines such as
# "@graph.h.1", which stand for the first paragraph of examples in graph.h.
. "$srcdir/tests/cli/said.sh"

headers=$src/tests/headers
mkdir paragraphs
# shellcheck disable=SC2046
awk -v dir=paragraphs -f "$headers/paragraphs.awk" \
    $(ls "$src"/lib/cfx/*.h "$src"/interp/cfx/*.h "$src"/shapeprop/cfx/*.h \
        "$src"/optimize/cfx/*.h)
cat "$headers"/*.c | sed -n 's/^ *@//p' | sort >used
sort paragraphs/code >code
comm -23 code used >unused
said 'every example is in a program' 1 '' grep . unused
cut -d. -f1-3 used >names
(cd paragraphs && ls) | sort | comm -13 - names >unknown
said 'every example that a program names exists' 1 '' grep . unknown

include="-I$headers -I$build/lib -I$src/lib -I$src/interp -I$src/shapeprop
         -I$src/optimize"
# Examples are put within functions, whose variables they may have as well.
warn="-Wall -Wextra -Wpedantic -Wconversion -Wno-missing-field-initializers
      -Wno-unused-parameter -Wno-misleading-indentation -Werror"
# program FILE LINKER COMPILER...: FILE is compiled, and linked with the library by
# the build's libtool.
program() {
    source=$1 linker=$2
    shift 2
    # shellcheck disable=SC2086
    said "$source compiles" 0 '' "$@" $include ${CFX_LDFLAGS-} -c "$source" \
        -o "$source.o"
    # shellcheck disable=SC2086
    said "$source is linked" 0 '' "$build/libtool" --quiet --tag=CC --mode=link \
        $linker ${CFX_LDFLAGS-} "$source.o" "$build/libcfx.la" \
        -o "${source%.*}"
    said "$source runs" 0 '' sh -c "${CFX_EMULATOR-} ./${source%.*}"
}

for f in "$headers"/*.c; do
    awk '/^ *@/ {
        sub(/^ *@/, "")
        file = "paragraphs/" $0
        while ((getline line <file) > 0)
            print line
        next
    }
    { print }' "$f" >"${f##*/}"
    # shellcheck disable=SC2086
    program "${f##*/}" "${CC:-cc}" ${CC:-cc} -std=c11 $warn
done

cp "$headers/idioms.cc" .
# The sanitizers of two compilers don't go into one program.
case ${CFX_LDFLAGS-}:${CC-} in
:*) compilers="g++ clang++" ;;
*clang*) compilers=clang++ ;;
*) compilers=g++ ;;
esac
for cxx in $compilers; do
    command -v $cxx >/dev/null || continue
    # shellcheck disable=SC2086
    program idioms.cc $cxx $cxx -std=c++17 $warn -Wno-pedantic
done

tell
