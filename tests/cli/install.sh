#!/bin/sh
# What `make install` leaves is enough: the compile lines of the README and of
# doc/library.md work as they stand, in C and C++, with the shared library and the static one, in a folder
# that no one configured; and `make uninstall` leaves nothing.
unset MAKEFLAGS MFLAGS MAKELEVEL DESTDIR CFX_MACHINES
. "$srcdir/tests/cli/said.sh"

root=$work/root
said 'make install' 0 '' make -s -C "$build" install "DESTDIR=$root"
pc=$(find "$root" -name cfx.pc)
said 'cfx.pc is installed' 0 '' test -f "$pc"
PKG_CONFIG_PATH=${pc%/*}
lib=$(cd "${pc%/*}/.." && pwd)
prefix=$(cd "$lib/.." && pwd)
# Libraries that are instrumented want programs that are.
CC="${CC:-cc} ${CFX_LDFLAGS-}"
LD_LIBRARY_PATH=$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PKG_CONFIG_PATH LD_LIBRARY_PATH

# ---- The program ----

said 'the program runs' 0 '^output f32\[3, 5\]$' "$prefix/bin/cfx" run \
    "$prefix/share/cfx/models/mymodule.fx" -i 'x=f32[3,4]'
said 'pkg-config tells the version of the program' 0 \
    "^cfx $(pkg-config --modversion cfx)\$" "$prefix/bin/cfx" --version
for page in cfx cfx-run; do
    said "$page(1) is installed" 0 '' test -f "$prefix/share/man/man1/$page.1"
done
said 'the licence is installed' 0 '' test -f "$prefix/share/doc/cfx/LICENSE"
said 'the chapters are installed' 0 '' \
    test -f "$prefix/share/doc/cfx/doc/models.md"
for f in "$src"/examples/*.c; do
    said "the example ${f##*/} is installed" 0 '' \
        cmp "$f" "$prefix/share/doc/cfx/examples/${f##*/}"
done
# Those that are instrumented name their sources in what they report.
[ -n "${CFX_LDFLAGS-}" ] ||
    for f in "$prefix/bin/cfx" "$lib"/libcfx.*; do
        said "${f##*/} does not name the place of the build" 1 '' \
            grep -F -e "$build/lib/" -e "$src/lib/" -e "$src/interp/" \
            -e "$src/shapeprop/" -e "$src/optimize/" -e "$src/cli/" "$f"
    done

# ---- Lines that compile ----

cp "$src/examples/run.c" "$src/examples/swap.c" "$src/examples/twice.c" .
# lines PATTERN: the commands of the README and the chapter that have it
lines()
{
    sed -n 's/^    \(cc .*\)/\1/p' "$src/README.md" "$src/doc/library.md" |
        grep -e "$1"
}

# compiles NAME LINE
compiles()
{
    rm -f a.out
    said "$1" 0 '' sh -c "$(echo "$2" | sed "s|^cc |$CC |")"
}

# runs NAME: a.out is swap, as the one in the build
runs()
{
    said "$1 runs" 0 '^tensor\(\[\[0.0000, 0.0000, 0.0694' \
        ./a.out "$src/models/mymodule.fx" operator.add operator.sub
}

shared=$(lines 'swap.c .*--cflags --libs cfx)$')
static=$(lines 'swap.c .*--static')
plugin=$(lines 'twice.c')
example=$(lines 'run.c')
said 'there is a line for each' 0 '' \
    test -n "$shared" -a -n "$static" -a -n "$plugin" -a -n "$example"
if [ -e "$lib/libcfx.so" ]; then
    compiles 'with the shared library' "$shared"
    runs 'the program with the shared library'
    compiles "the README's line" "$example"
fi
if [ -e "$lib/libcfx.a" ]; then
    compiles 'with the static library' "$static"
    runs 'the program with the static library'
    # Alone it is taken without a word.
    mkdir alone && cp "$lib/libcfx.a" alone
    compiles 'with nothing but the static library' \
        "$(echo "$static" | sed "s|swap.c|swap.c -L$work/alone|;s/ | .*/)/")"
    runs 'the program with nothing but the static library'
fi
compiles 'a plugin' "$plugin"
cat >twice.fx <<'END'
graph():
    %x : [num_users=1] = placeholder[target=x]
    %twice : [num_users=1] = call_function[target=my.twice](args = (%x,), kwargs = {})
    return twice
END
said 'the installed program loads it' 0 '^output f32\[3\]' \
    "$prefix/bin/cfx" run twice.fx --load ./twice.so -i 'x=f32[3]'

# ---- All headers, from where they are installed ----

cat >all.c <<'END'
#include <cfx.h>

int main(void)
{
    return CFX_VERSION_NUMBER != cfx_version_number();
}
END
libs=--libs
[ -e "$lib/libcfx.so" ] || libs='--static --libs'
compiles 'cfx.h in C11' \
    "cc -std=c11 -Wall -Wextra -Wpedantic -Werror all.c \$(pkg-config --cflags $libs cfx)"
said 'the header and the library are of one version' 0 '' ./a.out
if command -v g++ >/dev/null; then
    cp all.c all.cc
    # shellcheck disable=SC2046
    said 'cfx.h in C++17' 0 '' g++ -std=c++17 -Wall -Wextra -Werror \
        -fsyntax-only all.cc $(pkg-config --cflags cfx)
fi

# ---- Away ----

said 'make uninstall' 0 '' make -s -C "$build" uninstall "DESTDIR=$root"
find "$root" ! -type d >left
said 'it leaves nothing' 1 '' grep . left
tell
