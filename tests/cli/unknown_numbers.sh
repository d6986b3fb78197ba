#!/bin/sh
#
# unknown_numbers.sh -- tensors where numbers are asked for, and numbers that
# only a run knows: cfx run gives the type that PyTorch gave, cfx shapes what is
# known of it without numbers, and both refuse what PyTorch refuses.
# golden/unknown_numbers.txt is of oracle/unknown_numbers.py.

srcdir=${srcdir:-.} builddir=${builddir:-.} CFX=${CFX:-./cfx}
. "$srcdir/tests/cli/said.sh"

awk '/^== / { n++; print substr($0, 4) >"list"; next }
     { print >(n ".fx") }' "$src/tests/golden/unknown_numbers.txt"

# The result of `cfx shapes` is $1 but for extents that a symbol is part of.
is_like()
{
    awk -v want="$1" '$1 == "output" { sub(/.* output +/, ""); have = $0 }
        END {
            while (gsub(/\([^()]*\)/, "u0", have)) {}
            n = split(have, h, /[][]|, /)
            same = have != "" && n == split(want, w, /[][]|, /)
            for (i = 1; i <= n; i++)
                same = same && (h[i] == w[i] || (i > 1 && h[i] ~ /u[0-9]/))
            exit !same
        }' out
}

n=0
while read -r what case want; do
    n=$((n + 1))
    if [ "$what" = refused ]; then
        said "$case is refused" 1 "$want" "$cfx" run $n.fx -i 'x=f32[4,8]'
        continue
    fi
    said "$case runs" 0 '' "$cfx" run $n.fx -i 'x=f32[4,8]'
    if [ "$(sed -n 1p out)" = "output $want" ]; then ok; else
        not_ok "$case: '$(sed -n 1p out)', not '$want'"
    fi
    [ "$what" = shapes ] || continue
    said "$case has a shape" 0 '' "$cfx" shapes $n.fx -i 'x=f32[4,8]'
    if is_like "$want"; then ok; else not_ok "$case: not like '$want'"; fi
done <list

[ $n -gt 40 ] || not_ok "only $n graphs"
tell
