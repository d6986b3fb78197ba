#!/bin/sh
#
# progress.sh -- runs of more than two seconds show how far they are, on a
# terminal and nowhere else. The terminal is that of script(1).

srcdir=${srcdir:-.} builddir=${builddir:-.} CFX=${CFX:-./cfx}
. "$srcdir/tests/said.sh"
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
# shellcheck disable=SC2086
said 'no terminal' 1 'time limit' $long
if cat out err | grep -q running; then not_ok 'a file is told'; else ok; fi

tell
