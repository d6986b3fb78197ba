#!/bin/sh
# small_build.sh BUILD -- the smallest program that runs a model, as doc/library.md
# describes it: its configure line, in the folder BUILD, gives a library without
# threads, of which examples/embed.c becomes one static program of about the
# size that the chapter names. .ci/run runs it, since it builds the library anew.
src=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1"
build=$(cd "$1" && pwd)
export srcdir="$src" builddir="$build" CFX="$build/embed"
. "$src/tests/cli/said.sh"
jobs=$(getconf _NPROCESSORS_ONLN)

options=$(sed -n 's/^    \.\/configure //p' "$src/doc/library.md")
said 'the chapter has a line for configure' 0 '' test -n "$options"
# shellcheck disable=SC2086
[ -e "$build/Makefile" ] || said 'it configures' 0 '' \
    sh -c "cd '$build' && '$src/configure' --quiet $options"
for what in cfx 'libcfx.la examples/digits_model.h lib/cfx.h'
do
    said "make $what" 0 '' make -s -C "$build" -j"$jobs" $what
done

nm "$build/.libs/libcfx.a" "$build/cfx" >names 2>/dev/null
said 'the names are read' 0 '' grep -q ' T cfx_context_new$' names
said 'library and program know no threads' 1 '' grep -E ' U (pthread|thrd)_' \
    names
# links PROGRAM SOURCE
links()
{
    # shellcheck disable=SC2046
    said "$1 links without a shared library" 0 '' ${CC:-cc} -O2 -static \
        -I"$build/lib" -I"$src/lib" -I"$src/interp" -I"$src/shapeprop" -I"$src/optimize" \
        -I"$build/examples" -o "$1" "$2" -L"$build/.libs" \
        $(PKG_CONFIG_PATH=$build pkg-config --static --libs cfx)
}

cat >threads.c <<'END'
#include <stdio.h>

#include <cfx/context.h>

int main(void)
{
    cfx_error err = {0};
    cfx_context *ctx;
    cfx_options two = {.size = sizeof(two), .threads = 2};
    int refused = cfx_context_new(&ctx, &two, &err) == CFX_EUNSUPPORTED;
    puts(err.text);
    if (!refused || cfx_context_new(&ctx, NULL, NULL))
        return 1;
    int threads = cfx_context_threads(ctx);
    cfx_context_free(ctx);
    return threads != 1;
}
END
links threads threads.c
said 'more than one thread is refused' 0 'built without threads' ./threads

links embed "$src/examples/embed.c"
strip embed
said 'it runs, where there is no file' 0 '^3$' env -i ./embed
told=$(grep -oE 'stripped, the program has [0-9.]+ MB' "$src/doc/library.md" |
    grep -oE '[0-9.]+')
size=$(wc -c <embed)
echo "$size bytes, doc/library.md says $told MB"
said 'it has the size that the chapter names' 0 '' awk -v size="$size" \
    -v told="$told" 'BEGIN { r = size / 1e6 / told; exit r < 0.9 || r > 1.1 }'
tell
