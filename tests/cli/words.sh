#!/bin/sh
#
# words.sh -- the word that was meant, and messages that name operators as
# their users do.

srcdir=${srcdir:-.} builddir=${builddir:-.} CFX=${CFX:-./cfx}
. "$srcdir/tests/cli/said.sh"

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
said 'operator.add' 1 \
    "^cfx: m.fx: operator.add: unsupported operand type\\(s\\) for \\+: 'list' and 'str'; While executing %y : " \
    "$cfx" run m.fx -i 'f32[4]'
graph 'call_function[target=operator.add](args = (%x, None), kwargs = {})'
said 'operator.add of None' 1 \
    "^cfx: m.fx: operator.add: unsupported operand type\\(s\\) for \\+: 'Tensor' and 'None'; While executing %y : " \
    "$cfx" run m.fx -i 'f32[4]'

# refuses TARGET NAME WORDS: five arguments that it cannot take.
refuses()
{
    graph "call_function[target=$1](args = ({}, [], 'a', 2, 3), kwargs = {})"
    said "$1" 1 "^cfx: m.fx: $2\\(\\)$3; While executing %y : " \
        "$cfx" run m.fx -i 'f32[4]'
}
no_scalar=": argument 'self' must be Scalar, not dict"
no_tensor=": argument 'self' must be Tensor, not dict"
for name in add mul truediv lt eq; do
    refuses operator.$name operator.$name "$no_scalar"
done
refuses operator.not_ operator.not_ \
    ' takes 1 positional arguments but 5 were given'
refuses operator.getitem getitem \
    ' takes 2 positional arguments but 5 were given'
refuses torch.ops.aten.sum.default sum "$no_tensor"
refuses torch.ops.aten.mean.dim mean "$no_tensor"
refuses torch.ops.aten.add.Tensor add "$no_tensor"

# numbers TARGET ARGUMENTS NAME WORDS: where x is a number.
numbers()
{
    graph "call_function[target=$1](args = ($2), kwargs = {})"
    said "numbers for $1" 1 "^cfx: m.fx: $3: argument $4; While executing %y : " \
        "$cfx" run m.fx -i x=3
}
numbers torch.pow '%x, %x' pow "'self' must be Tensor, not int"
numbers torch.bitwise_and '2, %x' bitwise_and "'self' must be Tensor, not int"
numbers torch.maximum '%x, 2' 'maximum\(\)' "'other' must be Tensor, not int"
numbers torch.lt '%x, %x' lt "'self' must be Tensor, not int"
numbers torch.ops.aten.add.Scalar '%x, torch.float32' 'add\(\)' \
    "'other' must be Scalar, not torch.dtype"
graph 'call_function[target=torch.ops.aten.sub.Scalar](args = (%x, %x), kwargs = {})'
said 'a tensor for a number' 1 \
    "^cfx: m.fx: sub: argument 'other' must be Scalar, not Tensor; While " \
    "$cfx" run m.fx -i 'f32[4]'
graph 'call_function[target=operator.lt](args = (2, %x), kwargs = {})'
said 'a number is compared' 0 '' "$cfx" run m.fx -i 'f32[4]'

# Only a bare parameter is said to be one.
graph 'call_module[target=nonexistent.target](args = (%x,), kwargs = {})'
said 'a module that is not there' 1 \
    '^cfx: m.fx: .*references nonexistent attribute nonexistent' \
    "$cfx" transform m.fx dead_code
if grep -q 'bare parameter' err; then not_ok 'no bare parameter'; else ok; fi
graph 'get_attr[target=w]'
said 'a bare parameter' 1 \
    '^cfx: m.fx: the text lacks the shape of a bare parameter.*: .*w' \
    "$cfx" transform m.fx dead_code

# An extent that no int holds is told by its place.
negative='Trying to create tensor with negative dimension'
# sized SIZE WORDS WORDS_OF_REPEAT
sized()
{
    for call in zeros ones; do
        graph "call_function[target=torch.$call](args = (($1, 2),), kwargs = {})"
        said "$call of $1" 1 "^cfx: m.fx: $call: $2; While executing %y : " \
            "$cfx" run m.fx -i 'f32[4]'
    done
    graph "call_method[target=repeat](args = (%x, $1), kwargs = {})"
    said "repeat of $1" 1 "^cfx: m.fx: repeat: $3; While executing %y : " \
        "$cfx" run m.fx -i 'f32[4]'
}
for size in 9223372036854775807 -9223372036854775808; do
    sized $size 'extent 0 of the size is not an int of 62 bits' \
        'extent 0 of the result is not an int of 62 bits'
done
sized -7 "$negative -7" "$negative -28"

tell
