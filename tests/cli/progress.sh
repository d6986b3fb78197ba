#!/bin/sh
#
# progress.sh -- runs of more than two seconds show how far they are, on a
# terminal and nowhere else. The terminal is that of script(1).

srcdir=${srcdir:-.} builddir=${builddir:-.} CFX=${CFX:-./cfx}
. "$srcdir/tests/cli/said.sh"
script -qec true /dev/null >/dev/null 2>&1 || exit 77
[ -z "${CFX_EMULATOR:-}" ] || exit 77

cat >net.fx <<'END'
graph():
    %x : [num_users=1] = placeholder[target=x]
    %relu : [num_users=1] = call_method[target=relu](args = (%x,), kwargs = {})
    return relu
END
long="$cfx run net.fx -i f32[4] --repeat 1000000000 --timeout 4"

said 'a long run' 1 'running: [0-9]+ s, [0-3] of 3 done' \
    script -qec "$long" /dev/null
said 'a short run' 0 'output f32\[4\]' \
    script -qec "$cfx run net.fx -i f32[4]" /dev/null
if grep -q running out; then not_ok 'a short run tells'; else ok; fi
{
    printf 'graph():\n    %%x : [num_users=1] = placeholder[target=x]\n'
    last=x
    for i in $(seq 1000); do
        printf '    %%m%s : [num_users=1] = call_function[target=torch.matmul](args = (%%%s, %%x), kwargs = {})\n' \
            "$i" $last
        last=m$i
    done
    printf '    return %s\n' $last
} >products.fx
products="products.fx -i x=f32[1500,1500] --timeout 4"
said 'a long comparison' 1 'comparing: [0-9]+ s, [0-9]+ of 1002 done' \
    script -qec "$cfx diff $products" /dev/null
said 'a long verification' 1 'verifying: [0-9]+ s, [0-9]+ of 1002 done' \
    script -qec "$cfx transform products.fx dead_code --verify \
    ${products#* } -o out.fx" /dev/null
cp products.fx other.fx
sed -i 's/%m1, %x/%m1, %m1/' other.fx
said 'a difference that is told on the terminal' 1 \
    '(^|[[:space:]])%m2 : f32\[1500, 1500\] : ' \
    script -qec "$cfx diff products.fx other.fx -i x=f32[1500,1500]" /dev/null

# shellcheck disable=SC2086
said 'no terminal' 1 'time limit' $long
if cat out err | grep -q running; then not_ok 'a file is told'; else ok; fi

tell
