#!/bin/sh
# Each patch beside this file adds one thing to cfx: an operator, a module type,
# a pass, a command, a tensor format, an operator of ONNX, a dtype. It applies to
# the tree by itself and touches few files, tests apart. With all of them the tree
# builds, and what they add works; results are PyTorch's.
#
#     check.sh SRCDIR [MAKE-ARGUMENT]...
#     check.sh -n SRCDIR                   only whether they apply
set -u
here=$(cd "$(dirname "$0")" && pwd)
only_apply=false
[ "$1" != -n ] || { only_apply=true && shift; }
src=$(cd "$1" && pwd)
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

claim() # claim NAME COMMAND...: it succeeds
{
    name=$1
    shift
    if "$@" >"$work/out" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "not ok: $name"
        tail -20 "$work/out" | sed 's/^/    /'
    fi
}

finish()
{
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
    exit
}

# ---- Few files, which it applies to ----

if $only_apply; then
    tree=$src
else
    tree=$work/cfx
    mkdir "$tree"
    (cd "$src" && git ls-files -z 2>/dev/null ||
        find . -type f ! -path './build*' -print0) >"$work/files"
    (cd "$src" && tar cf - --null -T "$work/files" 2>/dev/null) |
        tar xf - -C "$tree"
fi
cd "$tree" || exit 99

# The files that a patch changes, and the parts where it makes some.
touched()
{
    awk '/^--- / { new = $2 == "/dev/null" }
        /^\+\+\+ / {
            sub(/^b\//, "", $2)
            if (new && $2 !~ /^cli\//) {
                split($2, part, "/")
                $2 = part[1] "/" part[2]
            }
            sub(/cmd_[a-z]*/, "cmd_NAME", $2)
            if ($2 !~ /^tests\//)
                print "`" $2 "`"
        }' "$1"
}

while read -r name most title; do
    patch=$here/$name.patch
    touched "$patch" >"$work/touched"
    n=$(wc -l <"$work/touched")
    echo "$name: $n files of at most $most"
    claim "$name touches few files" test "$n" -le "$most"
    claim "$name applies" patch -p1 --dry-run --force -i "$patch"
    grep "^| $title | $n |" doc/architecture.md >"$work/row"
    while read -r path; do
        claim "doc/architecture.md on $title: $n files, $path" \
            grep -qF "$path" "$work/row"
    done <"$work/touched"
done <<END
operator 4 an operator
activation 5 an activation
module 4 a module type
pass 4 a pass
command 4 a command
tensor_format 3 a tensor format
onnx_operator 1 an operator of ONNX
dtype 6 a dtype without arithmetic
END
[ "$failed" = 0 ] && ! $only_apply || finish

# ---- All of them together ----

for patch in "$here"/*.patch; do
    claim "$patch applies" patch -p1 --force --no-backup-if-mismatch -i "$patch"
done
claim 'autoreconf' autoreconf -i
mkdir build
cd build || exit 99
claim 'configure' ../configure --quiet --disable-shared "$@"
build()
{
    make -s -j"$(nproc 2>/dev/null || echo 1)" cfx >"$work/log" 2>&1 && return
    cat "$work/log"
    return 1
}
claim 'make' build
claim 'without a warning' sh -c '! grep "warning:" "$0"' "$work/log"
[ "$failed" = 0 ] || finish

graph() # graph FILE: the lines of standard input as a graph
{
    { echo 'graph():' && sed 's/^/    /'; } >"$1"
}

prints() # prints NAME TEXT ARGUMENT...: the text is in what cfx says
{
    name=$1 text=$2
    shift 2
    ./cfx "$@" >"$work/said" 2>&1
    claim "$name" sh -c 'grep -qF -e "$1" "$2" || { cat "$2"; false; }' sh \
        "$text" "$work/said"
}

graph window.fx <<'END'
%window : [num_users=1] = call_function[target=torch.bartlett_window](args = (4,), kwargs = {})
return window
END
prints 'the operator computes' 'tensor([0.0000, 0.5000, 1.0000, 0.5000])' \
    run window.fx
prints 'and is listed' 'bartlett_window(SymInt window_length' ops bartlett_window

{
    printf 'Net(\n  (conv): Conv2d(16, 16, kernel_size=(1, 1), stride=(1, 1))\n'
    printf '  (act): ReLUSquared()\n)\n\n'
    graph act.graph <<'END'
%x : [num_users=1] = placeholder[target=x]
%conv : [num_users=1] = call_module[target=conv](args = (%x,), kwargs = {})
%act : [num_users=1] = call_module[target=act](args = (%conv,), kwargs = {})
return act
END
    cat act.graph
} >act.fx
graph squared.fx <<'END'
%x : [num_users=1] = call_function[target=torch.tensor](args = ([-2.0, 0.5, 3.0],), kwargs = {})
%y : [num_users=1] = call_method[target=relu_squared](args = (%x,), kwargs = {})
return y
END
prints 'the activation computes' 'tensor([0.0000, 0.2500, 9.0000])' \
    run squared.fx
claim 'its module is optimized' ./cfx optimize act.fx -i 'x=f32[1,16,4,4]' \
    --random-weights 1 -o fused.fx
claim 'and fused' grep -q "activation: 'relu_squared'" fused.fx

{
    printf 'Net(\n  (loss): CTCLoss()\n)\n\n'
    graph ctc.graph <<'END'
%p : [num_users=1] = call_function[target=torch.tensor](args = ([[[0.2, 0.5, 0.3]], [[0.1, 0.6, 0.3]], [[0.4, 0.4, 0.2]]],), kwargs = {})
%log : [num_users=1] = call_function[target=torch.log](args = (%p,), kwargs = {})
%label : [num_users=1] = call_function[target=torch.tensor](args = ([[1, 2]],), kwargs = {})
%loss : [num_users=1] = call_module[target=loss](args = (%log, %label, (3,), (2,)), kwargs = {})
return loss
END
    cat ctc.graph
} >ctc.fx
prints 'the module computes' 'tensor(0.8464)' run ctc.fx --assume-defaults
prints 'and does not guess' 'does not tell blank' run ctc.fx

{
    printf '# cfx 1\nNet()\n\n'
    graph meta.graph <<'END'
%x : [num_users=1] = placeholder[target=x] meta = {'custom': 1}
return %x
END
    cat meta.graph
} >meta.fx
prints 'the pass rewrites' '1 node  changed' transform meta.fx strip_meta \
    -o no_meta.fx
claim 'as it says' sh -c '! grep custom no_meta.fx'
prints 'and is listed' 'strip_meta' passes strip_meta

prints 'the command runs' '1  call_function  torch.bartlett_window' \
    targets window.fx
prints 'and is listed' 'targets' --help
claim 'and is in the manual' grep -q '^\.It Cm targets' ../doc/cfx.1

graph table.fx <<'END'
%y : [num_users=1] = call_function[target=torch.tensor](args = ([[1.0, 2.0, 4.0], [0.0, 3.0, 1.0]],), kwargs = {})
return y
END
claim 'the format is written' ./cfx run table.fx --save y=y.idx
graph same.fx <<'END'
%x : [num_users=1] = placeholder[target=x]
return x
END
prints 'and read' '[0., 3., 1.]' run same.fx -i x=y.idx
claim 'as MNIST has it' sh -c \
    'test "$(od -An -tx1 -N12 y.idx | tr -d " \n")" = 00000d020000000200000003'
prints 'and is listed' 'the files of MNIST' run --help

graph selu.fx <<'END'
%x : [num_users=1] = placeholder[target=x]
%y : [num_users=1] = call_function[target=torch.selu](args = (%x,), kwargs = {})
return y
END
claim 'the operator of ONNX is written' \
    ./cfx convert selu.fx selu.onnx -i 'x=f32[4]'
claim 'by its name' grep -q Selu selu.onnx
prints 'and computes the same' '0 of' diff selu.fx selu.onnx -i 'x=f32[4]'

graph narrow.fx <<'END'
%x : [num_users=1] = call_function[target=torch.tensor](args = ([0.1, 1.5, -15.5, 1000.0],), kwargs = {})
%small : [num_users=2] = call_method[target=to](args = (%x, torch.float8_e3m4), kwargs = {})
%wide : [num_users=1] = call_method[target=to](args = (%small, torch.float32), kwargs = {})
return (small, wide)
END
prints 'the dtype converts' \
    'tensor([  0.0938,   1.5000, -15.5000,      inf])' \
    run narrow.fx
prints 'and is printed' 'dtype=torch.float8_e3m4)' run narrow.fx
claim 'and stored' ./cfx run narrow.fx --save small=small.safetensors
claim 'by its name' grep -q '"F8_E3M4"' small.safetensors
prints 'and read' '-15.5000,      inf]' run same.fx \
    -i x=small.safetensors:small
graph sum.fx <<'END'
%x : [num_users=1] = placeholder[target=x]
%y : [num_users=1] = call_function[target=operator.add](args = (%x, %x), kwargs = {})
return y
END
prints 'and has no arithmetic' 'add: not implemented for float8_e3m4' \
    run sum.fx -i 'x=f8e3m4[3]'
finish
