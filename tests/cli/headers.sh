#!/bin/sh
# Each public header stands alone, in C and in C++, and beside every other one;
# parts include only parts before them; what the library exports has its name.
src=$(cd "$srcdir" && pwd)
build=$(cd "$builddir" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

claim() { # claim NAME FILE: the file, which tells what is wrong, is empty
    if [ -s "$2" ]; then
        failed=$((failed + 1))
        echo "not ok: $1"
        sed 's/^/    /;20q' "$2"
    else
        passed=$((passed + 1))
    fi
}

# ---- Alone, and before the others ----

warn="-Wall -Wextra -Wshadow -Wconversion -Wundef -Wpointer-arith
      -Wwrite-strings -Werror"
c_warn="-Wpedantic -Wstrict-prototypes -Wmissing-prototypes -Wvla
        -Wold-style-definition"
headers=$(ls "$src"/lib/cfx/*.h "$src"/interp/cfx/*.h \
    "$src"/shapeprop/cfx/*.h "$src"/optimize/cfx/*.h "$build"/lib/cfx/*.h 2>/dev/null | sort -u)

compiles() { # compiles NAME COMMAND...: what stands in $work/x
    name=$1
    shift
    "$@" -I"$build/lib" -I"$src/lib" -I"$src/interp" -I"$src/shapeprop" -I"$src/optimize" \
        -c -o "$work/x.o" "$work/x" >"$work/out" 2>&1
    status=$?
    [ $status = 0 ] || [ -s "$work/out" ] || echo "status $status" >"$work/out"
    [ $status != 0 ] || [ ! -s "$work/out" ] || : >"$work/out"
    claim "$name" "$work/out"
}

# Each of them comes first once, so that every pair is met in both orders.
cc=${CC:-cc}
for h in $headers; do
    printf '#include <cfx/%s>\n' "${h##*cfx/}"
done >"$work/all"
while read -r include; do
    h=${include#*<cfx/}
    h=cfx/${h%>}
    { echo "$include" && cat "$work/all"; } >"$work/x"
    # shellcheck disable=SC2086
    compiles "$h and all others in C" $cc -std=c11 $warn $c_warn -x c
    for cxx in g++ clang++; do
        command -v $cxx >/dev/null || continue
        # shellcheck disable=SC2086
        compiles "$h and all others in C++ ($cxx)" $cxx -std=c++17 $warn -x c++
    done
done <"$work/all"

sed 's/.*<cfx/<cfx/' "$work/all" | sort >"$work/want"
sed -n 's/^#include //p' "$build/lib/cfx.h" | diff - "$work/want" >"$work/out"
claim 'cfx.h includes all public headers' "$work/out"

# Names, those that are not installed too, differ by more than underscores.
# shellcheck disable=SC2086,SC2046
cat $headers $(find "$src/lib" "$src/interp" "$src/shapeprop" "$src/optimize" -name '*.h') |
    tr '\n' ' ' | sed 's:/\*:\n/*:g; s:\*/:*/\n:g' | grep -v '^/\*' |
    sed 's/[A-Za-z0-9_]*##[A-Za-z0-9_#]*//g' | grep -ow 'cfx_[A-Za-z0-9_]*' |
    sort -u | awk '{
        name = $0
        gsub(/_/, "")
        if ($0 in first)
            print first[$0] " and " name
        first[$0] = name
    }' >"$work/out"
claim 'names differ by more than underscores' "$work/out"

# What C++ calls has C's names.
cat >"$work/x" <<'END'
#include <cfx/file.h>
#include <cfx/graph_module.h>
#include <cfx/interp.h>
#include <cfx/ops.h>
#include <cfx/text.h>

cfx_value clamped(cfx_scope *s, cfx_value x)
{
    cfx_clamp_args a = {};
    a.self = x;
    a.min = cfx_float(0);
    return cfx_clamp_with(s, cfx_scope_failed(s) ? cfx_clamp_args() : a);
}

cfx_status all(cfx_context *ctx, cfx_module **m, cfx_interp *it)
{
    cfx_value v[] = {cfx_none(), cfx_int(1), cfx_bool(true), CFX_NOTHING,
                     cfx_value_of_dtype(CFX_F32),
                     cfx_value_of_dim(CFX_DIM_BAD)};
    if (cfx_model_load(m, ctx, "m.fx", nullptr, nullptr) ||
        cfx_interp_init(it, &cfx_interp_base, *m, nullptr))
        return CFX_EIO;
    cfx_print_graph(cfx_sink_file(stdout), cfx_graph_module_graph(*m), false,
                    nullptr);
    return cfx_interp_run(it, v, 1, v, nullptr);
}
END
for cxx in g++ clang++; do
    command -v $cxx >/dev/null || continue
    # shellcheck disable=SC2086
    compiles "a program in C++ ($cxx)" $cxx -std=c++17 $warn -x c++
    nm "$work/x.o" | grep ' U .*Z.*cfx' >"$work/out"
    claim "C++ calls C's names ($cxx)" "$work/out"
done

# `= {0}` zeroes every struct of the headers in C++, too: the first member is no
# enum.
# shellcheck disable=SC2086
cat $headers | sed -n 's/^typedef struct \(cfx_[a-z0-9_]*\) {.*/\1/p
                       s/^struct \(cfx_[a-z0-9_]*\) {.*/\1/p' | sort -u |
    awk 'BEGIN { print "#include <cfx.h>" }
        !/_args$/ || /^cfx_args$/ { print "void zero_" $0 "(void);\nvoid zero_" \
            $0 "(void) { " $0 " x = {0}; (void)x; }" }' >"$work/x"
for cxx in g++ clang++; do
    command -v $cxx >/dev/null || continue
    # shellcheck disable=SC2086
    compiles "structs that are zeroed ($cxx)" $cxx -std=c++17 $warn \
        -Wno-missing-field-initializers -Wno-missing-braces -x c++
done

# ---- Direction ----

# Which parts a part may include, and to which a public header belongs. The
# data, of tensor, are known to kernels too.
cd "$src" || exit 99
parts=$(ls interp/cfx/*.h shapeprop/cfx/*.h optimize/cfx/*.h 2>/dev/null | tr '\n' ' ')
find lib interp shapeprop optimize cli -name '*.[ch]' -exec grep -n '#include [<"]' \
    /dev/null {} + |
    awk -F: -v parts="$parts" '
    function all(part, list,   i, n, a) {
        n = split(list, a, " ")
        for (i = 1; i <= n; i++)
            may[part, a[i]] = 1
        may[part, part] = 1
    }
    function headers(part, list,   i, n, a) {
        n = split(list, a, " ")
        for (i = 1; i <= n; i++)
            part_of[a[i]] = part
    }
    BEGIN {
        headers("base", "comm compiler status context dtype nearest version")
        headers("dim", "dim")
        headers("tensor", "tensor")
        headers("value", "value")
        headers("op", "op scope ops effects")
        headers("nn", "module observer")
        headers("graph", "graph graph_module operators")
        headers("format", "text file picture")
        # Above lib all headers of a folder are of one part.
        n = split(parts, a, " ")
        for (i = 1; i <= n; i++) {
            split(a[i], piece, "/")
            sub(/\.h$/, "", piece[3])
            part_of[piece[3]] = piece[1]
        }
        all("base", "")
        all("dim", "base")
        all("tensor", "base dim")
        all("value", "base dim tensor")
        all("kernel", "base")
        all("op", "base dim tensor value kernel")
        all("ops", "base dim tensor value kernel op")
        lib = "base dim tensor value op ops"
        all("nn", lib)
        lib = lib " nn"
        all("graph", lib)
        lib = lib " graph"
        all("format", lib)
        lib = lib " format"
        all("interp", lib)
        all("shapeprop", lib " interp")
        all("optimize", lib " interp shapeprop")
        all("cli", lib " interp shapeprop optimize")
    }
    {
        n = split($1, path, "/")
        name = path[n]
        sub(/\.[ch]$/, "", name)
        public = path[n - 1] == "cfx"
        from = path[1] == "lib" ? path[2] : path[1]
        if (public)
            from = name in part_of ? part_of[name] : path[1]
        quoted = $3 ~ /"/
        split($3, piece, /[<">]/)
        what = piece[2]
        if (public && quoted)
            print $1 ":" $2 ": a public header includes " what
        if (what ~ /^cfx\//) {
            h = what
            sub(/^cfx\//, "", h)
            sub(/\.(h|def)$/, "", h)
            to = h in part_of ? part_of[h] : h == "ops" ? "op" : "?"
        } else if (quoted && what ~ /\//) {
            to = what
            sub(/\/.*/, "", to)
            if (from == "cli" && to != "cli")
                print $1 ":" $2 ": the program includes " what
        } else
            next
        if (!((from, to) in may))
            print $1 ":" $2 ": " from " includes " what ", of " to
    }' >"$work/out"
claim 'parts include only parts before them' "$work/out"

# ---- Names ----

cd "$build" || exit 99
lib=$(ls .libs/libcfx.so.?.* .libs/libcfx.so .libs/libcfx.a 2>/dev/null |
    head -1)
if [ -n "$lib" ] && command -v readelf >/dev/null; then
    readelf -sW "$lib" 2>/dev/null |
        awk '$5 == "GLOBAL" && $6 == "DEFAULT" && $7 != "UND" { print $8 }' |
        sed 's/@.*//' | grep -v '^_[_edi]' | sort -u >"$work/names"
    grep -v '^cfx_' "$work/names" >"$work/out"
    claim "$lib exports only cfx_*" "$work/out"
    # shellcheck disable=SC2086
    cat $headers |
        sed '/\\$/d' | # macros that are for others to declare with
        tr '\n' ' ' | grep -o 'CFX_API [^;(]*[;(]' |
        grep -o 'cfx_[a-z0-9_]*\(\[[^]]*\]\)\{0,1\} *[;(]$' |
        sed 's/[^a-z0-9_].*//' | sort -u >"$work/declared"
    comm -23 "$work/names" "$work/declared" >"$work/out"
    claim "$lib exports only what headers declare" "$work/out"
    comm -13 "$work/names" "$work/declared" >"$work/out"
    claim "$lib has all that headers declare" "$work/out"
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
