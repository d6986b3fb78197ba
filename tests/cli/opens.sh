#!/bin/sh
# opens.sh -- a command opens each file of a model once.
. "$srcdir/tests/cli/said.sh"
golden=$src/tests/golden/pt2
[ -z "${CFX_EMULATOR:-}" ] || exit 77
strace -o log true 2>/dev/null || exit 77
# The checker of leaks does not work in a traced process.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"

# once FILE... -- COMMAND...: it ends well and opens each file once.
once()
{
    files=
    while [ "$1" != -- ]; do
        files="$files $1"
        shift
    done
    shift
    strace -f -e trace=open,openat -o log "$cfx" "$@" >out 2>err </dev/null ||
        not_ok "$*: status $?"
    for file in $files; do
        n=$(grep -v ENOENT log | grep -c "[\"/]$file\"")
        if [ "$n" = 1 ]; then ok; else
            not_ok "$*: opens $file $n times"
            grep "$file\"" log
        fi
    done
}

cat >linear.fx <<'END'
Model(
  (fc): Linear(in_features=4, out_features=5, bias=True)
)

graph():
    %x : [num_users=1] = placeholder[target=x]
    %fc : [num_users=1] = call_module[target=fc](args = (%x,), kwargs = {})
    return fc
END
"$cfx" convert linear.fx text.fx --random-weights 1 >out 2>err
once text.fx text.safetensors -- run text.fx -i 'f32[3,4]' -O saved
once output.npy -- run text.fx -i 'f32[3,4]' --expect saved
if "$cfx" info "$golden/mlp.pt2" >/dev/null 2>&1; then
    cp "$golden/mlp.pt2" .
    for command in run shapes 'roofline --machine epyc-9654' 'optimize --verify' info \
        'print --format python' 'quantize --dynamic'; do
        once mlp.pt2 -- $command mlp.pt2
    done
    once mlp.pt2 -- convert mlp.pt2 mlp.fx
    "$cfx" run linear.fx --random-weights 1 -i 'f32[3,4]' --save x=in.npz \
        --save fc=out.npz >out 2>err
    once in.npz -- run text.fx -i x=in.npz:x
fi
if "$cfx" convert --help | grep -q onnx; then
    # x + v + w, whose numbers are in w.data.
    printf '\010\010\072\267\001\012\016\012\001x\012\001v\022\001t\042\003Add' >ext.onnx
    printf '\012\016\012\001t\012\001w\022\001y\042\003Add\022\001g' >>ext.onnx
    for tensor in v:0 w:8; do
        printf '\0527\010\002\020\001B\001%sj\022\012\010location\022\006w.data' ${tensor%:*}
        printf 'j\013\012\006offset\022\001%sj\013\012\006length\022\0018p\001' ${tensor#*:}
    done >>ext.onnx
    printf 'Z\017\012\001x\022\012\012\010\010\001\022\004\012\002\010\002' >>ext.onnx
    printf 'b\017\012\001y\022\012\012\010\010\001\022\004\012\002\010\002B\002\020\015' >>ext.onnx
    printf '\000\000\200\077\000\000\200\077\000\000\000\100\000\000\000\100' >w.data
    for command in 'run -i f32[2]' shapes 'optimize --verify -i f32[2]' info; do
        once ext.onnx w.data -- $command ext.onnx
    done
fi
tell
