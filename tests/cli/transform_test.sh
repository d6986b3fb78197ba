#!/bin/sh
#
# transform_test.sh -- cfx transform and cfx passes: what they print, the files
# they leave, and those they do not. $CFX names the program (default: ./cfx),
# $srcdir the source tree.

cfx=${CFX:-./cfx}
src=${srcdir:-.}
case $cfx in */*) cfx=$(cd "$(dirname "$cfx")" && pwd)/$(basename "$cfx") ;; esac
src=$(cd "$src" && pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/cfx-transform-test.XXXXXX") || exit 99
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 99

passed=0
failed=0

check() # check NAME COMMAND...: it succeeds
{
    name=$1
    shift
    if "$@" >/dev/null 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "not ok: $name"
        sed 's/^/    /;10q' err out 2>/dev/null
    fi
}

not() { ! "$@"; }

# gives STATUS NAME ARGUMENT...: out and err keep the program's words.
gives()
{
    want=$1
    what=$2
    shift 2
    # shellcheck disable=SC2086
    ${CFX_EMULATOR:-} "$cfx" "$@" >out 2>err </dev/null
    got=$?
    check "$what: status $got, not $want" [ "$got" = "$want" ]
}

says() { check "$what: stderr is not '$1'" grep -Eq -e "$1" err; }
prints() { check "$what: stdout is not '$1'" grep -Eq -e "$1" out; }

cat >net.fx <<'END'
Net(
  (fc): Linear(in_features=3, out_features=2, bias=True)
  (drop): Dropout(p=0.5, inplace=False)
)

graph():
    %x : [num_users=2] = placeholder[target=x]
    %a : [num_users=1] = call_method[target=cos](args = (%x,), kwargs = {})
    %b : [num_users=1] = call_method[target=cos](args = (%x,), kwargs = {})
    %c : [num_users=2] = call_function[target=operator.add](args = (%a, %b), kwargs = {})
    %dead : [num_users=0] = call_function[target=torch.neg](args = (%c,), kwargs = {})
    %w : [num_users=1] = get_attr[target=fc.weight]
    %s : [num_users=1] = call_function[target=torch.sin](args = (%w,), kwargs = {})
    %y : [num_users=1] = call_function[target=torch.nn.functional.linear](args = (%c, %s), kwargs = {})
    %fc : [num_users=1] = call_module[target=fc](args = (%c,), kwargs = {})
    return (y, fc)
END

# ---- The list ----

gives 0 'passes' passes
prints '^dead_code\(bool random=False'
prints '^common_subexpressions$'
prints '^    Merge nodes that compute the same value\.$'
gives 0 'one pass' passes constant_folding
prints '^constant_folding\(str'
prints 'needs the numbers of weights'
gives 1 'unknown pass' passes lisp
says "^cfx: there is no pass 'lisp'$"
gives 2 'unknown format' passes -f xml
says "'xml' is not a valid FORMAT"
gives 0 'json' passes --format json
prints '"schema": "cfx-passes-1"'
prints '"name": "legalize"'
prints '"needs_weights": true'
if command -v python3 >/dev/null; then
    check 'json reads' python3 -c '
import json
d = json.load(open("out"))
p = {x["name"]: x for x in d["passes"]}
o = {x["name"]: x for x in p["normalize"]["options"]}
assert o["to"] == {"name": "to", "type": "str", "default": "'"'torch'"'"}, o
assert p["constant_folding"]["options"][1]["type"] == "int?"
'
fi

# ---- Transforming ----

gives 0 'text to stdout' transform net.fx common_subexpressions,dead_code
prints '%c : .*operator.add\]\(args = \(%a, %a\)'
check 'dead code is gone' not grep -q dead out
check 'the text stays plain' not grep -q '# cfx' out
says 'common_subexpressions +1 node  changed \(0 made, 1 removed\)'
says 'dead_code +1 node  changed'

gives 0 'a file without weights' transform net.fx dead_code -o out.fx
prints 'dead_code +1 node  changed'
check 'stderr is silent' [ ! -s err ]
check 'the file is there' grep -q 'return (y, fc)' out.fx
check 'no weights appear' [ ! -e out.safetensors ]
gives 0 'quiet' transform net.fx dead_code -q -o out.fx
check 'nothing is said' [ ! -s out ] && check 'nor on stderr' [ ! -s err ]
rm -f out.fx

gives 0 'random weights' transform net.fx 'constant_folding(skip=[]),dead_code' \
    --random-weights 7 -o folded.fx --verify -i 'f32[4,3]'
prints '^verified: largest difference '
check 'weights appear' [ -s folded.safetensors ]
check 'the superset, since PyTorch does not tell the shape' \
    grep -q '_folded_0: f32\[2, 3\] buffer' folded.fx
gives 0 'before' run net.fx -i 'f32[4,3]' --random-weights 7 -O before
gives 0 'after' run folded.fx -i 'f32[4,3]' -O after
check 'the same outputs (1)' cmp before/output_1.npy after/output_1.npy
check 'the same outputs (0)' cmp before/output_0.npy after/output_0.npy
gives 0 'weights beside the model' transform folded.fx legalize -o again.fx
check 'they are written again' cmp folded.safetensors again.safetensors
check 'the superset stays' grep -q '^# cfx 1' again.fx

gives 0 'several arguments, blanks' transform net.fx ' legalize , dead_code' \
    common_subexpressions -o out.fx
check 'three lines' [ "$(wc -l <out)" = 3 ]
gives 0 'steps' transform net.fx dead_code --steps 4 -o out.fx
check 'until nothing changes' [ "$(wc -l <out)" = 2 ]
rm -f out.fx out.safetensors

# ---- Reversible passes come back from the file, byte for byte ----

cat >attention.fx <<'END'
Net(
  (q): Linear(in_features=4, out_features=4, bias=True)
  (norm): LayerNorm((4,), eps=1e-05, elementwise_affine=True, bias=True)
  (k): Linear(in_features=4, out_features=4, bias=False)
  (v): Linear(in_features=4, out_features=6, bias=True)
  (out): Linear(in_features=6, out_features=4, bias=True)
)

graph():
    %x : [num_users=1] = placeholder[target=x]
    %norm : [num_users=3] = call_module[target=norm](args = (%x,), kwargs = {})
    %v : [num_users=1] = call_module[target=v](args = (%norm,), kwargs = {})
    %q : [num_users=1] = call_module[target=q](args = (%norm,), kwargs = {})
    %k : [num_users=1] = call_module[target=k](args = (%norm,), kwargs = {})
    %truediv : [num_users=1] = call_function[target=operator.truediv](args = (%q, 3), kwargs = {})
    %add : [num_users=1] = call_function[target=operator.add](args = (%truediv, %k), kwargs = {})
    %div : [num_users=1] = call_method[target=div](args = (%add, 7.0), kwargs = {})
    %pad : [num_users=1] = call_function[target=torch.nn.functional.pad](args = (%v, (0, 1), constant, 1.0), kwargs = {})
    %narrow : [num_users=1] = call_method[target=narrow](args = (%pad, 1, 0, 6), kwargs = {})
    %out : [num_users=1] = call_module[target=out](args = (%narrow,), kwargs = {})
    return (out, div)
END

gives 0 'numbers' transform attention.fx dead_code -q --random-weights 3 \
    -o plain.fx
check 'plain text' cmp attention.fx plain.fx
gives 0 'the superset' convert plain.fx superset.fx --lossless

# comes_back FILE PASSES: --reverse undoes what it did to FILE.fx
comes_back()
{
    gives 0 "$1: $2" transform "$1.fx" "$2" -o there.fx --verify -i 'f32[2,4]'
    check 'it changed' not cmp -s "$1.fx" there.fx
    rm -f back.fx back.safetensors
    gives 0 "$1: $2, back" transform there.fx "$2" --reverse -o back.fx
    check "the text ($1, $2)" cmp "$1.fx" back.fx
    check "the numbers ($1, $2)" cmp "$1.safetensors" back.safetensors
    gives 1 "$1: $2, once more" transform back.fx "$2" --reverse -o none.fx
    says 'nothing to undo: no node carries the traces of'
    check 'no file is left' [ ! -e none.fx ]
}

reversible=0
for pass in $("$cfx" passes | grep -o '^[a-z_]*'); do
    "$cfx" passes "$pass" | grep -q 'can be undone' || continue
    reversible=$((reversible + 1))
    comes_back plain "$pass"
    comes_back superset "$pass"
done
check 'there are some' [ $reversible -ge 3 ]
comes_back plain merge_linears,fuse_bias_in_linear,div_to_mul
comes_back superset merge_linears,fuse_bias_in_linear,div_to_mul

# Without the note, nothing is guessed.
gives 0 'divide' transform plain.fx div_to_mul -q -o there.fx
sed '1,2d; s/ meta = .*//' there.fx >noted.fx
cp there.safetensors noted.safetensors
gives 1 'the note is gone' transform noted.fx div_to_mul --reverse -o none.fx
says 'nothing to undo'
rm -f there.* back.* noted.* superset.* plain.*

# ---- Tensors in arguments are entries of the weights file ----

cat >constant.fx <<'END'
# cfx 1
graph():
    %x : [num_users=1] = placeholder[target=x]
    %a : [num_users=1] = call_function[target=operator.add](args = (%x, tensor('%tensor0', f32[2])), kwargs = {})
    %b : [num_users=1] = call_method[target=relu](args = (%a,), kwargs = {})
    return %b
END
header='{"%tensor0":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}} '
printf '\100\0\0\0\0\0\0\0%-64s\0\0\200\077\0\0\0\100' "$header" \
    >constant.safetensors
gives 0 'a tensor in arguments' transform constant.fx \
    'replace_targets(call_method, relu, call_function, torch.relu)' \
    --verify -i 'f32[3,2]' -o functions.fx
check 'it is written' grep -q "tensor('%tensor0', f32\[2\])" functions.fx
check 'with its numbers' [ -s functions.safetensors ]
gives 0 'before' run constant.fx -i 'f32[3,2]' -O constant
gives 0 'after' run functions.fx -i 'f32[3,2]' -O functions
check 'the same output' cmp constant/output.npy functions/output.npy

# ---- What goes wrong leaves no file ----

gives 1 'missing weights' transform net.fx dead_code,constant_folding -o bad.fx
says "^cfx: net.fx: An error occurred when running the 'constant_folding' pass \
after the following passes: \['dead_code'\]: missing weight: fc.weight$"
check 'no file' not ls bad.fx bad.safetensors
gives 1 'unknown pass' transform net.fx dead_code,lisp -o bad.fx
says "^cfx: net.fx: there is no pass 'lisp'$"
gives 1 'unknown option' transform net.fx 'dead_code(x=1)' -o bad.fx
says "unexpected keyword argument 'x'"
gives 1 'not reversible' transform net.fx dead_code --reverse -o bad.fx
says "the pass 'dead_code' is not reversible"
gives 1 'no such model' transform none.fx dead_code -o bad.fx
says '^cfx: none.fx: '
gives 1 'no such directory' transform net.fx dead_code -o none/bad.fx
says '^cfx: none/bad.fx: '
gives 1 'the name of its weights' transform net.fx dead_code \
    --random-weights 1 -o bad.safetensors
says 'is the name of its weights'
gives 1 'other results' transform net.fx \
    'replace_targets(call_method, cos, call_method, exp)' --verify \
    -i 'f32[4,3]' --random-weights 1 -o bad.fx
says '^cfx: net.fx: --verify: the outputs differ: '
check 'no file at all' not ls bad.fx bad.safetensors none
gives 2 'a seed without --verify' transform net.fx dead_code --seed 1
says '--seed needs --verify'
gives 0 'shapes for a pass' transform net.fx reinplace -i 'f32[4,3]' \
    --random-weights 1
check 'shapes are not printed' not grep -q tensor_meta out
gives 2 'no pass' transform net.fx
says 'PASS.* is missing'

# ---- The model that ships ----

gives 0 'digits' transform "$src/models/digits.fx" \
    inline_modules,decompose,common_subexpressions,canonicalize \
    -o digits.fx --verify -i 'f32[5,1,8,8]'
prints '^verified'
gives 0 'digits run' run digits.fx -i 'f32[5,1,8,8]' -O digits
gives 0 'as before' run "$src/models/digits.fx" -i 'f32[5,1,8,8]' -O was
check 'the same digits' test -s digits/output.npy

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
