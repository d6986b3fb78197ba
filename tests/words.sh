#!/bin/sh
#
# words.sh -- the word that was meant, and messages that name operators as
# their users do.

srcdir=${srcdir:-.} builddir=${builddir:-.} CFX=${CFX:-./cfx}
. "$srcdir/tests/said.sh"

# graph LINE: m.fx, of x and one call
graph()
{
    {
        printf '# cfx 1\ngraph():\n'
        printf '    %%x : [num_users=1] = placeholder[target=x]\n'
        printf '    %%y : [num_users=1] = %s\n    return %%y\n' "$1"
    } >m.fx
}

# meant NAME STATUS WORD COMMAND...
meant()
{
    what=$1 status=$2 word=$3
    shift 3
    said "$what" "$status" "; did you mean '$word'\\?" "$@"
}

graph 'call_method[target=relu](args = (%x,), kwargs = {})'
meant 'a command' 2 shapes "$cfx" shaeps m.fx
meant 'a command, in capitals' 2 run "$cfx" RUN m.fx
meant 'an option' 2 --threads "$cfx" run m.fx --treads 2
meant 'an option with its value' 2 --max-mem "$cfx" run m.fx --maxmem=1G
meant 'a pass' 1 dead_code "$cfx" transform m.fx dead-code
meant 'a pass of a list' 1 normalize "$cfx" transform m.fx dead_code,normalise
meant 'a pass to be told of' 1 decompose "$cfx" passes decompos
meant "a pass's option" 1 parts "$cfx" transform m.fx 'split(part=2)'
meant 'an operator' 1 softmax "$cfx" ops sofmax
meant 'a module type' 1 Conv2d "$cfx" ops -m conv2d
meant 'a column' 2 flops "$cfx" roofline m.fx -i 'f32[4]' --columns flosp
meant 'a machine' 1 raspberry-pi-5 "$cfx" roofline m.fx -i 'f32[4]' \
    --machine rasberry-pi-5
said 'nothing is near' 2 "there is no command 'lisp' \\(see" "$cfx" lisp m.fx

graph 'call_method[target=rellu](args = (%x,), kwargs = {})'
meant 'a method' 1 relu "$cfx" run m.fx -i 'f32[4]'
graph 'call_function[target=torch.gelu](args = (%x,), kwargs = {})'
meant 'a function elsewhere' 1 torch.nn.functional.gelu \
    "$cfx" run m.fx -i 'f32[4]'
graph 'call_function[target=torch.nn.functional.dropout](args = (%x,), kwargs = {trainng: True})'
meant 'a keyword' 1 training "$cfx" run m.fx -i 'f32[4]'

# Operators have the names that calls have.
graph "call_function[target=operator.add](args = ([1], 'a'), kwargs = {})"
said 'operator.add' 1 ': operator.add: unsupported operand' \
    "$cfx" run m.fx -i 'f32[4]'
graph 'call_function[target=operator.add](args = (%x, None), kwargs = {})'
said 'operator.add of None' 1 'add' "$cfx" run m.fx -i 'f32[4]'
for target in operator.add operator.mul operator.truediv operator.lt \
    operator.eq operator.not_ operator.getitem torch.ops.aten.sum.default \
    torch.ops.aten.mean.dim torch.ops.aten.add.Tensor; do
    graph "call_function[target=$target](args = ({}, [], 'a', 2, 3), kwargs = {})"
    said "$target" 1 '^cfx: m.fx.*: .+' "$cfx" run m.fx -i 'f32[4]'
    if grep -Eq 'py_|number_|default\(\)|dim\(\)' err; then
        not_ok "$target: an inner name"
    else ok; fi
done

# An extent that no int holds is told by its place.
for size in 9223372036854775807 -9223372036854775808 -7; do
    for call in torch.zeros torch.ones; do
        graph "call_function[target=$call](args = (($size, 2),), kwargs = {})"
        said "$call of $size" 1 \
            'extent 0 of the size is no int|negative dimension -7' \
            "$cfx" run m.fx -i 'f32[4]'
    done
    graph "call_method[target=repeat](args = (%x, $size), kwargs = {})"
    said "repeat of $size" 1 '^cfx: m.fx.*: .+' "$cfx" run m.fx -i 'f32[4]'
    if grep -q 'dimension ?' err; then not_ok "repeat of $size"; else ok; fi
done

tell
