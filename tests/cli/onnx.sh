#!/bin/sh
# onnx.sh [--update] -- ONNX models. The cases of cases/onnx.tar.xz (written by
# oracle/onnx_cases.py) give what ONNX expects, but for those that cases/onnx.failures
# names, each with the reason that the program tells. Broken files give one line.
[ "${1-}" != --update ] || : "${srcdir:=.}" "${builddir:=build}" \
    "${CFX:=build/cfx}"
. "$srcdir/tests/cli/said.sh"
"$cfx" convert --help | grep -q onnx || exit 77
cases="${CFX_EMULATOR:-} $build/tests/case_tests onnx"
mkdir cases
xz -dc "$src/tests/cases/onnx.tar.xz" | tar -xf - -C cases

# A build without PCRE2 refuses regular expressions.
"$cfx" run cases/own_regex/model.onnx -i 'x=[["a", "b"]]' >out 2>&1
if grep -q 'without PCRE2' out; then
    grep -l RegexFullMatch cases/*/model.onnx | xargs -n 1 dirname | xargs rm -r
fi

# The reasons without the paths of this run.
failures()
{
    (cd cases && $cases *) >told 2>err </dev/null
    sed -n 's/^FAIL //p' told | sed 's,: [^ ]*/model.onnx: ,: ,
        s,: [^ ]*/test_data_set,: test_data_set,'
}

if [ "${1-}" = --update ]; then
    failures >"$src/tests/cases/onnx.failures"
    tail -n 1 told
    exit
fi
failures >got
count=$(find cases -maxdepth 1 -mindepth 1 | wc -l)
failing=$(wc -l <"$src/tests/cases/onnx.failures")
if diff "$src/tests/cases/onnx.failures" got >out; then ok; else
    not_ok 'the cases that fail are those of cases/onnx.failures'
fi
said 'all of them ran' 0 '' grep -x \
    "$((count - failing)) passed, $failing failed, 0 skipped" told

# ---- Models through other commands ----

said 'shapes have the names of dimensions' 0 'y +call_function +torch.reshape +f32\[N, 2, M//2\]' \
    "$cfx" shapes cases/own_symbolic_reshape/model.onnx -i 'x=f32[N,M]' \
    --set M=4..64
said 'a converted model computes the same' 0 '' \
    "$cfx" convert cases/own_data/model.onnx data.fx
said 'it does' 0 '' "$cfx" diff cases/own_data/model.onnx data.fx \
    -i 'x=f32[3,4]'
said 'a graph with branches, too' 0 '' \
    "$cfx" convert cases/own_if/model.onnx if.fx
said 'it does' 0 '' "$cfx" diff cases/own_if/model.onnx if.fx -i 'x=f32[3,4]'
said 'it is printed' 0 'torch.relu|relu' \
    "$cfx" print cases/test_relu/model.onnx --format python
said 'an input that is a sequence' 1 'the number of items of its sequence is not' \
    "$cfx" print cases/test_sequence_insert_at_back/model.onnx
said 'inputs are read from .pb' 0 '^y f32\[3, 4, 5\]|^output f32\[3, 4, 5\]' \
    "$cfx" run cases/test_relu/model.onnx \
    -i x=cases/test_relu/test_data_set_0/input_0.pb
said 'a sequence is read from .pb' 0 '^output_' \
    "$cfx" run cases/test_identity_sequence/model.onnx \
    -i x=cases/test_identity_sequence/test_data_set_0/input_0.pb
said 'an optional value is read from .pb' 0 'False' \
    "$cfx" run cases/test_optional_has_element_empty_optional_input/model.onnx \
    -i optional_input=cases/test_optional_has_element_empty_optional_input/test_data_set_0/input_0.pb
said 'an input is missing' 1 "input 'x' is missing" \
    "$cfx" run cases/test_relu/model.onnx
said 'a shape that has to be known' 1 'extent 0 of its input as a number' \
    "$cfx" info cases/own_pad_row/model.onnx
also 'and how to tell it' '\(-i NAME=TYPE\[SHAPE\] or NAME=FILE tells it\)$'
said 'it is given' 0 'f32\[18\], %y' \
    "$cfx" info cases/own_pad_row/model.onnx -i 'x=f32[9]'
said 'a number' 0 '^y f64\[5\]' "$cfx" run cases/test_cumprod_1d/model.onnx \
    -i 'x=f64[5]' -i axis=0
said 'one that is no axis' 1 'there is no axis 7 of 1$' \
    "$cfx" run cases/test_cumprod_1d/model.onnx -i 'x=f64[5]' -i axis=7
said 'one that is no int' 1 'its axis is not known' \
    "$cfx" run cases/test_cumprod_1d/model.onnx -i 'x=f64[5]' -i axis=0.5
said 'given to optimize' 0 '' "$cfx" optimize cases/own_pad_row/model.onnx \
    -i 'x=f32[9]' -o row.fx
said 'which declares it' 1 'exported for f32\[9\]' "$cfx" run row.fx -i 'x=f32[8]'
said 'given to transform' 0 'f32\[9\]' \
    "$cfx" transform cases/own_pad_row/model.onnx dead_code -i 'x=f32[9]'
said 'given to diff' 0 '^0 of [0-9]+ nodes compared differ' \
    "$cfx" diff cases/own_pad_row/model.onnx cases/own_pad_row/model.onnx \
    -i 'x=f32[9]'
said 'a symbol is none' 1 "input x: 'f32\[N\]' needs extents that are numbers" \
    "$cfx" shapes cases/own_pad_row/model.onnx -i 'x=f32[N]'
said 'a shape that decides a branch' 0 '^y f32\[6\]|^output f32\[6\]' \
    "$cfx" run cases/own_if_of_shape/model.onnx -i 'f32[3,1]'
said 'the other branch' 0 'f32\[6, 4\]' \
    "$cfx" shapes cases/own_if_of_shape/model.onnx -i 'x=f32[3,4]'
said 'a shape that does not fit' 1 'x' \
    "$cfx" run cases/own_if_of_shape/model.onnx -i 'x=f32[3]'
said 'sizes computed from extents' 0 'f32\[.*x0' \
    "$cfx" shapes cases/own_sizes_0/model.onnx
said 'an input that decides shapes' 0 'symbols: u0 >= 0, u1 >= 0' \
    "$cfx" shapes cases/test_reshape_extended_dims/model.onnx
slice=cases/test_slice/test_data_set_0
said 'an input that decides the axes' 1 'axes are not known' \
    "$cfx" info cases/test_slice/model.onnx
for command in info shapes roofline run; do
    said "its numbers are given to $command" 0 'f32\[3, 10, 5\]' \
        "$cfx" $command cases/test_slice/model.onnx -i x=$slice/input_0.pb \
        -i starts=$slice/input_1.pb -i ends=$slice/input_2.pb \
        -i axes=$slice/input_3.pb -i steps=$slice/input_4.pb
done

# ---- Strings ----

case=cases/own_strings
said 'an input of strings has its type' 0 '^  x +list\[list\[str\]\]$' \
    "$cfx" info $case/model.onnx
said 'strings are given as a list' 0 "\[\['lorem_a', 'bé'\]\]" \
    "$cfx" run $case/model.onnx -i 'x=[["lorem", "b"]]' -i 'n=i64[3]'
said 'a result of strings is one list' 0 '^c list$' \
    "$cfx" run $case/model.onnx -i 'x=[["lorem", "b"]]' -i 'n=i64[3]'
[ ! -e cases/own_regex ] ||
    said 'shapes follow from the strings' 0 '^y0 +call_function +torch.ops.cfx.string_full_match +b8\[1, 2\]' \
        "$cfx" shapes cases/own_regex/model.onnx -i 'x=[["lorem", "b"]]'
said 'strings that show numbers have no shape' 1 'str depend on numbers that are not known' \
    "$cfx" shapes $case/model.onnx -i 'x=[["lorem", "b"]]' -i 'n=i64[3]'
said 'a file of strings' 1 "the input 'n' is missing" \
    "$cfx" run $case/model.onnx -i x=$case/test_data_set_0/input_0.pb
said 'numbers where strings are needed' 1 'a Tensor stands where a str or a list of str should' \
    "$cfx" run $case/model.onnx -i 'x=f32[1,2]' -i 'n=i64[3]'
said 'lists of several lengths' 1 'lists of str differ in length: 2 and 1 items' \
    "$cfx" run $case/model.onnx -i 'x=[["a", "b"], ["c"]]' -i 'n=i64[3]'
LC_ALL=C sed 's/StringConcat/DepthToSpace/' $case/model.onnx >depth.onnx
said 'strings that an operator does not take' 1 'node c \(DepthToSpace\): strings stand where a tensor of numbers should' \
    "$cfx" print depth.onnx
said 'rules know the shape of strings' 0 '%y : .*torch.matmul' \
    "$cfx" print cases/own_embedded_strings/model.onnx
cp -R $case wrong
LC_ALL=C sed 's/-17/-18/' $case/test_data_set_0/output_5.pb \
    >wrong/test_data_set_0/output_5.pb
said 'strings that differ' 1 "output 5: '-18' and '-17'" \
    $cases wrong
for name in own_labels own_grams own_if_of_strings; do
    said "$name is converted" 0 '' "$cfx" convert cases/$name/model.onnx s.fx
    said "$name is read again" 0 'list.list.str' "$cfx" print s.fx
done
said 'and computes the same' 0 '^0 of [1-9]' \
    "$cfx" diff cases/own_if_of_strings/model.onnx s.fx -i 'a=f32[3,4]' \
    -i 'x=[["sit", "lorem"]]'

# ---- ONNX Runtime's operators ----

fused=cases/own_fused_gemm
LC_ALL=C sed 's/LeakyRelu/LeakyRelo/' $fused/model.onnx >relo.onnx
said 'an activation that cannot be fused' 1 "node y \(FusedGemm\): its activation 'LeakyRelo' is not supported" \
    "$cfx" print relo.onnx
LC_ALL=C sed 's/com.microsoft/com.nicrosoft/g' $fused/model.onnx >domain.onnx
said 'an operator of another domain' 1 'no rule for the operator com.nicrosoft.FusedGemm' \
    "$cfx" print domain.onnx
LC_ALL=C sed 's/local_window_size/local_windows_ize/' \
    cases/own_group_attention_window_4/model.onnx >window.onnx
said 'an attribute that is not known' 1 "its attribute 'local_windows_ize' is not supported" \
    "$cfx" print window.onnx
said 'shapes of attention with a past' 0 '^g +call_function +torch.cat +f32\[N, 2, L \+ P, 3\]' \
    "$cfx" shapes cases/own_multi_head_attention/model.onnx
said 'a weight of 4 bits stays packed' 0 'dequantize_per_channel_group' \
    "$cfx" print cases/own_wide_n_bits/model.onnx
said 'and is optimized' 0 '^pack_quantized +[1-9]' \
    "$cfx" optimize cases/own_wide_n_bits/model.onnx -o n_bits.fx
said 'into one' 0 '_int4_0' "$cfx" print n_bits.fx

# ---- Models that are written ----

cp "$src"/models/digits.fx "$src"/models/digits.safetensors .
said 'a model is written' 0 '' \
    "$cfx" convert digits.fx digits.onnx -i 'x=f32[N,1,8,8]'
said 'for operator set 18' 0 'operator set 18' "$cfx" info digits.onnx
said 'its batch is a symbol' 0 'f32\[N, 10\]$' \
    "$cfx" shapes digits.onnx
said 'it computes the same' 0 '^0 of [1-9]' \
    "$cfx" diff digits.fx digits.onnx -i 'x=f32[3,1,8,8]'
said 'shapes are needed' 1 'digits.onnx has the shapes of all values' \
    "$cfx" convert digits.fx digits.onnx
said 'and no use elsewhere' 2 'input needs .*OUT.onnx' \
    "$cfx" convert digits.fx digits2.fx -i 'x=f32[N,1,8,8]'
said 'weights are needed' 1 "'conv1.weight' has no data: give a file .*-w" \
    "$cfx" convert "$src/models/resnet18.fx" r.onnx -i 'x=f32[1,3,64,64]'
printf '%s\n' 'graph():' '    %x : [num_users=3] = placeholder[target=x]' \
    '    %y : [num_users=1] = call_function[target=torch.linalg.det](args = (%x,), kwargs = {})' \
    '    %i : [num_users=1] = call_function[target=torch.linalg.inv](args = (%x,), kwargs = {})' \
    '    %d : [num_users=1] = call_function[target=torch.linalg.det](args = (%x,), kwargs = {})' \
    '    return (y, i, d)' >det.fx
said 'calls that cannot be written are all named' 1 \
    'written as ONNX: _linalg_det, linalg_inv$' \
    "$cfx" convert det.fx det.onnx -i 'x=f32[3,3]'
if [ ! -e det.onnx ]; then ok; else not_ok 'and no file is left'; fi
ln -s /dev/full full.onnx
[ ! -e /dev/full ] || said 'a file that cannot be written' 1 'full[.onx]*: No space' \
    "$cfx" convert digits.fx full.onnx -i 'x=f32[N,1,8,8]'

# ---- Calls that are written, and what ONNX has no form of ----

calls() # calls TARGET ARGS KWARGS [OUTPUTS]: a graph of one call, in call.fx
{
    printf '%s\n' 'graph():' \
        '    %x : [num_users=1] = placeholder[target=x]' \
        "    %output : [num_users=1] = call_function[target=$1](args = (%x,${2:+ $2}), kwargs = {$3})" \
        "    return ${4:-output}" >call.fx
}

writes() # writes NAME INPUT TARGET ARGS KWARGS [OUTPUTS]
{
    calls "$3" "$4" "$5" "${6-}"
    said "$1" 0 '' "$cfx" convert call.fx call.onnx -i "x=$2"
    said "$1 computes the same" 0 '^0 of [1-9]' \
        "$cfx" diff call.fx call.onnx -i "x=$2"
}

lacks() # lacks NAME PATTERN INPUT TARGET ARGS KWARGS
{
    calls "$4" "$5" "$6"
    said "$1" 1 "$2" "$cfx" convert call.fx call.onnx -i "x=$3"
}

f=torch.nn.functional
writes 'outputs of one value, beside a node called output' 'f32[4]' \
    $f.gelu '' '' '(output, output, x)'
writes 'a number that double lacks' 'i64[3]' operator.add 9007199254740993 ''
writes 'and as what fills' 'i64[3]' torch.full_like 9007199254740993 ''
writes 'the largest bound' 'i64[3]' torch.clamp '' 'max: 9223372036854775807'
writes 'not of floats' 'f32[4]' torch.logical_not '' ''
writes 'floor of integers' 'i32[4]' torch.floor '' ''
writes 'the eps of float16' 'f16[2,8]' $f.rms_norm '(8,)' ''
writes 'a scale that is exact' 'f32[1,1,3,3]' $f.interpolate '' \
    'scale_factor: (2, 3)'
writes 'a scale that is computed anew' 'f32[1,1,3,3]' $f.interpolate '' \
    'scale_factor: 2.15, mode: bilinear, recompute_scale_factor: True'
writes 'another scale' 'f32[1,1,3,3]' $f.interpolate '' \
    'scale_factor: 2.15, mode: bilinear'
writes 'another scale of aten' 'f32[1,1,3,3]' \
    aten.upsample_nearest2d.default '[6, 6], 2.15, 2.15' ''
writes 'means whose last window hangs over' 'f32[1,2,5,6]' $f.avg_pool2d \
    '3, 2, 1, True' ''
writes 'means that count no padding' 'f32[1,2,6,8]' $f.avg_pool2d \
    '(3, 2), (2, 3), (1, 1), True, False' ''
writes 'means of an axis' 'f32[1,2,6]' $f.avg_pool1d '4, 3, 2, True' ''
writes 'means of a volume' 'f32[1,2,5,4,6]' $f.avg_pool3d '3, 2, 1, True' ''
writes 'means with another divisor' 'f32[1,2,5,6]' $f.avg_pool2d '3, 2, 1' \
    'divisor_override: 5'
for pool in "max_pool2d 2" "avg_pool2d 2" "adaptive_avg_pool2d 1"; do
    lacks "$pool without a batch" 'has 3 axes, not 4 with a batch' \
        'f32[3,8,8]' "$f.${pool% *}" "${pool#* }" ''
done
lacks 'a call that writes to the input' \
    'a call writes to x, which keeps it' 'f32[4]' aten.relu_.default '' ''
lacks 'a number that the type lacks' 'int32 does not hold a number' 'i32[4]' \
    operator.lt 4294967296 ''
lacks 'an argument that ONNX lacks' 'its threshold is not written' 'f32[4]' \
    $f.softplus '' 'threshold: 1.0'
lacks 'an input of a type that ONNX lacks' 'complex64 is not written as ONNX' \
    'c64[4]' torch.abs '' ''
lacks 'a conversion to it' 'complex64 is not written as ONNX' 'f32[4]' \
    operator.add 1j ''
lacks 'isnan of integers' "IsNaN is of floats" 'i64[4]' torch.isnan '' ''
printf '%s\n' 'graph():' '    %x : [num_users=1] = placeholder[target=x]' \
    '    %z : [num_users=1] = call_function[target=torch.zeros](args = (1000000, 100000), kwargs = {})' \
    '    %y : [num_users=1] = call_function[target=operator.add](args = (%z, %x), kwargs = {})' \
    '    return y' >zeros.fx
said 'constants that no memory holds' 0 '' \
    "$cfx" convert zeros.fx zeros.onnx -i 'x=f32[1]'

# ---- Calls that become others, and writes that become new values ----

writes 'items in a row' 'f32[2,3]' torch.repeat_interleave '2, 1' ''
writes 'the items of all axes' 'f32[2,3]' torch.repeat_interleave '2' ''
writes 'the largest, and where' 'f32[3,5]' torch.topk '2' ''
writes 'the least of an axis' 'f32[3,5]' torch.min '1' ''
writes 'an order' 'f32[3,5]' torch.sort '' ''
writes 'a remainder of floats' 'f32[9]' torch.remainder '-0.3' ''
writes 'a quotient rounded down' 'i64[9]' torch.floor_divide '-3' ''
writes 'log1p' 'f32[4]' torch.log1p '' ''
writes 'a triangle' 'f32[3,4]' torch.tril '1' ''
writes 'differences' 'f32[3,4]' torch.diff '' ''
writes 'any of an axis' 'i64[3,4]' torch.any '1' ''
writes 'how many in each bin' 'f32[40]' torch.histc '4, -1, 1' ''
writes 'what both integers have' 'i64[9]' torch.bitwise_and '6' ''
writes 'what one of them has' 'i32[9]' torch.bitwise_xor '6' ''
writes 'what an integer lacks' 'i64[9]' torch.bitwise_not '' ''
writes 'not, of bools' 'b8[9]' torch.bitwise_not '' ''
writes 'lines of another length' 'f32[1,2,5]' $f.interpolate '' \
    'size: 7, mode: linear'

graph() # graph NAME INPUT LINE...: the calls are written, and compute the same
{
    name=$1 input=$2
    shift 2
    { printf '%s\n' 'graph():' \
        '    %x : [num_users=1] = placeholder[target=x]'
      for line; do echo "    $line"; done; } >graph.fx
    said "$name" 0 '' "$cfx" convert graph.fx graph.onnx -i "x=$input"
    for form in fx onnx; do
        "$cfx" run graph.$form -i "x=$input" | sed -E 's/^[a-z]\w* ([a-z]+[0-9]+\[)/\1/' >$form
    done
    if [ -s fx ] && cmp fx onnx >out; then ok; else
        not_ok "$name: other numbers"
    fi
}

one='[num_users=1] = call_function'
graph 'a tensor of no extent in cat' 'f32[1,2,3]' \
    "%e : $one[target=torch.zeros](args = (0,), kwargs = {})" \
    "%y : $one[target=torch.cat](args = ([%e, %x], -2), kwargs = {})" \
    'return y'
graph 'a product of letters' 'f32[2,3]' \
    "%y : $one[target=torch.einsum](args = (ij,kj->ik, %x, %x), kwargs = {})" \
    'return y'
grouped="$one[target=torch._grouped_mm]"
for n in 4 6; do
    graph "rows in groups, $n of 6" 'f32[6,3]' \
        "%m : $one[target=torch.reshape](args = (%x, [2, 3, 3]), kwargs = {})" \
        "%e : $one[target=torch.arange](args = ($((n - 3)), $((n + 1)), 3), kwargs = {dtype: torch.int32})" \
        "%y : $grouped(args = (%x, %m, %e), kwargs = {})" 'return y'
done
graph 'columns in groups' 'f32[3,6]' \
    "%m : $one[target=torch.reshape](args = (%x, [2, 3, 3]), kwargs = {})" \
    "%e : $one[target=torch.arange](args = (1, 6, 3), kwargs = {dtype: torch.int32})" \
    "%y : $grouped(args = (%m, %x, %e), kwargs = {})" 'return y'
graph 'a matrix for each group' 'f32[2,3,3]' \
    "%y : $grouped(args = (%x, %x), kwargs = {})" 'return y'
# Layers of 2 hidden elements that go both ways, of f32[3,2,4], whose parameters
# are sines.
steps() # steps NAME TARGET GATES STATES LAYERS BATCH_FIRST
{
    name=$1 target=$2 rows=$(($3 * 2)) states=$4 layers=$5 batch_first=$6
    set -- "%z : $one[target=torch.zeros](args = ([$((2 * layers)), $(
        [ "$batch_first" = True ] && echo 3 || echo 2), 2],), kwargs = {})"
    list=
    for layer in $(seq "$layers"); do
        for k in 0 1 2 3 4 5 6 7; do
            p=p${layer}_$k shape="[$rows]" n=$rows columns=2
            [ "$layer" = 1 ] || columns=4
            [ $((k % 4)) = 0 ] && [ "$layer" = 1 ] && columns=4
            [ $((k % 4)) = 1 ] && columns=2
            [ $((k % 4)) -gt 1 ] || shape="[$rows, $columns]" n=$((rows * columns))
            set -- "$@" \
                "%a$p : $one[target=torch.arange](args = ($((k + layer)), $((k + layer + n))), kwargs = {dtype: torch.float32})" \
                "%s$p : $one[target=torch.sin](args = (%a$p,), kwargs = {})" \
                "%$p : $one[target=torch.reshape](args = (%s$p, $shape), kwargs = {})"
            list="$list${list:+, }%$p"
        done
    done
    first=%z
    [ "$states" = 1 ] || first='[%z, %z]'
    graph "$name" 'f32[3,2,4]' "$@" \
        "%y : $one[target=$target](args = (%x, $first, [$list], True, $layers, 0.0, False, True, $batch_first), kwargs = {})" \
        "%o : $one[target=operator.getitem](args = (%y, 0), kwargs = {})" \
        "%h : $one[target=operator.getitem](args = (%y, $states), kwargs = {})" \
        'return (o, h)'
}
steps 'an LSTM' aten.lstm.input 4 2 2 False
steps 'a GRU' aten.gru.input 3 1 2 True
steps 'an RNN' aten.rnn_tanh.input 1 1 1 True
steps 'an RNN of relu' aten.rnn_relu.input 1 1 1 False
calls $f.unfold '(3, 2)' ''
said 'windows of images, any number' 0 '' \
    "$cfx" convert call.fx call.onnx -i 'x=f32[N,3,7,6]'
graph 'memory that is filled later' 'f32[6]' \
    "%c : $one[target=torch.empty_like](args = (%x,), kwargs = {})" \
    "%w : $one[target=aten.copy_.default](args = (%c, %x), kwargs = {})" \
    'return w'
graph 'rows that are added' 'f32[3,4]' \
    "%i : $one[target=torch.arange](args = (2, -1, -2), kwargs = {})" \
    "%s : $one[target=torch.narrow](args = (%x, 0, 1, 2), kwargs = {})" \
    "%y : $one[target=torch.index_add](args = (%x, -2, %i, %s), kwargs = {alpha: 2})" \
    'return y'
graph 'an input that is written to itself' 'f32[6]' \
    "%t : $one[target=aten.to.dtype](args = (%x, torch.float32), kwargs = {})" \
    "%w : $one[target=aten.copy_.default](args = (%x, %t), kwargs = {})" \
    "%y : $one[target=torch.mul](args = (%w, %x), kwargs = {})" 'return y'
graph 'a part that is written to another' 'f32[2,2]' \
    "%c : $one[target=torch.clone](args = (%x,), kwargs = {})" \
    "%t : $one[target=torch.t](args = (%c,), kwargs = {})" \
    "%n : $one[target=torch.clone](args = (%t,), kwargs = {})" \
    "%w : $one[target=aten.copy_.default](args = (%c, %n), kwargs = {})" \
    'return (c, t)'
graph 'a row that is written' 'f32[2,3,4]' \
    "%c : $one[target=torch.clone](args = (%x,), kwargs = {})" \
    "%v : $one[target=torch.select](args = (%c, 1, 0), kwargs = {})" \
    "%f : $one[target=torch.select](args = (%x, 1, 2), kwargs = {})" \
    "%w : $one[target=aten.copy_.default](args = (%v, %f), kwargs = {})" \
    "%l : $one[target=aten.log1p_.default](args = (%w,), kwargs = {})" \
    'return (c, v)'
graph 'a row of a tensor that is written' 'f32[2,3,4]' \
    "%c : $one[target=torch.clone](args = (%x,), kwargs = {})" \
    "%v : $one[target=torch.select](args = (%c, 1, 0), kwargs = {})" \
    "%w : $one[target=aten.mul_.Tensor](args = (%c, 2), kwargs = {})" \
    'return (v, c)'
graph 'zeros that are written' 'f32[2,3]' \
    "%z : $one[target=torch.zeros_like](args = (%x,), kwargs = {})" \
    "%v : $one[target=torch.select](args = (%z, 1, 1), kwargs = {})" \
    "%f : $one[target=torch.select](args = (%x, 1, 0), kwargs = {})" \
    "%w : $one[target=aten.copy_.default](args = (%v, %f), kwargs = {})" \
    'return z'
writes 'a norm of halves' 'f16[3,400]' torch.linalg.vector_norm '' 'dim: 1'
writes 'the norm of all' 'f32[3,4]' torch.norm '' ''
writes 'a norm of 3' 'f32[3,4]' torch.linalg.vector_norm '3, 0, True' ''
writes 'the largest as a norm' 'f32[3,4]' torch.linalg.vector_norm 'inf, 1' ''
writes 'a gate' 'f32[2,6]' $f.glu '' ''
writes 'windows of an axis' 'f32[2,9,3]' aten.unfold.default '1, 4, 2' ''
writes 'windows of an image' 'f32[2,3,7,6]' $f.unfold '(3, 2)' \
    'padding: (1, 0), stride: 2, dilation: (1, 2)'
writes 'columns that become an image' 'f32[2,12,12]' $f.fold '(4, 5), (2, 2)' ''
writes 'rolled axes' 'f32[3,4,5]' torch.roll '(1, -2), (0, 2)' ''
writes 'pools of different windows' 'f32[2,3,7,5]' \
    $f.adaptive_avg_pool2d '(3, 2)' ''
writes 'pools of more windows than items' 'f32[2,3,1,2]' \
    $f.adaptive_avg_pool2d '(6, 5)' ''
writes 'a batch that normalizes itself' 'f32[4,3,5]' $f.batch_norm \
    'None, None' 'training: True'

# ---- Numbers in other files ----

mkdir data
cp cases/own_data/model.onnx data/m.onnx
said 'numbers in a file that is not there' 1 "'data.bin', which is not a file" \
    "$cfx" run data/m.onnx -i 'x=f32[3,4]'
ln -s ../cases/own_data/data.bin data/data.bin
said 'numbers behind a link' 1 "'data.bin', which is not a file" \
    "$cfx" run data/m.onnx -i 'x=f32[3,4]'
rm data/data.bin
head -c 90 cases/own_data/data.bin >data/data.bin
said 'numbers in a file that is too short' 1 'which is shorter' \
    "$cfx" run data/m.onnx -i 'x=f32[3,4]'
cp cases/own_data/data.bin x.bin
for path in '../x.bin' '/etc/host' './da.bin' 'data.bi/'; do
    # As long as data.bin, so that the lengths around it stay right.
    case ${#path} in 8) ;; *) path=$path$(printf '%*s' $((8 - ${#path})) '') ;; esac
    printf %.8s "$path" >name
    LC_ALL=C sed "s,data\.bin,$(sed 's,/,\\/,g;s/,/\\,/g' name),g" \
        cases/own_data/model.onnx >data/p.onnx
    said "numbers in $path" 1 'which is not a file' \
        "$cfx" run data/p.onnx -i 'x=f32[3,4]'
done

# ---- Files that are no models ----

bytes() # bytes FILE FORMAT: printf's format as a file
{
    # shellcheck disable=SC2059
    printf "$2" >"$1"
}

refuses() # refuses NAME PATTERN FORMAT
{
    bytes bad.onnx "$3"
    said "$1" 1 "$2" "$cfx" print bad.onnx
    [ "$(wc -l <err)" = 1 ] || not_ok "$1: one line"
}

refuses 'an empty file' 'no graph|is not' ''
refuses 'a number of 11 bytes' 'more than 10 bytes' \
    '\010\377\377\377\377\377\377\377\377\377\377\001'
refuses 'a length past the end' 'past its end' '\010\010\072\100\001'
refuses 'a length of 2 GiB' 'past its end' '\010\010\072\377\377\377\377\007\001'
refuses 'field 0' 'a number that none can have' '\010\010\002\000'
refuses 'a group' 'unknown kind' '\010\010\073\000'
refuses 'a graph that is a number' 'a field has a wrong type' '\010\010\070\001'
refuses 'no graph' 'no graph' '\010\010\102\002\020\022'
refuses 'no operator set' 'no operator set' '\010\010\072\002\012\000'
{ printf '\010\010\072\377\377\077'; awk 'BEGIN {
    for (i = 0; i < 600000; i++) printf "\012\001" }'; } >bad.onnx
said 'many small messages' 1 'is not an ONNX file|no operator|out of proportion' \
    "$cfx" print bad.onnx

# ---- Every prefix, every byte changed ----

# They run as cases of one program: it must come to its last line.
broken() # broken NAME: the folders of broken/, each with a model
{
    many=$(find broken -maxdepth 1 -mindepth 1 | wc -l)
    (cd broken && $cases *) >out 2>err </dev/null
    got=$?
    sum=$(tail -n 1 out | awk '{ print $1 + $3 + $5 }')
    if [ "$got" -le 1 ] && [ "$sum" = "$many" ] && [ ! -s err ]; then ok
    else not_ok "$1: status $got, $sum of $many"; fi
    rm -rf broken
}

case_of() # case_of FOLDER NAME: a broken case with the data of NAME
{
    mkdir -p "$1"
    cp -R "cases/$2/test_data_set_0" "$1"
}

for name in own_symbolic_reshape own_loop own_function test_lstm_defaults; do
    file=cases/$name/model.onnx
    size=$(wc -c <"$file")
    n=0
    while [ $n -lt "$size" ]; do
        case_of broken/$n $name
        head -c $n "$file" >broken/$n/model.onnx
        n=$((n + 1 + size / 50))
    done
    broken "$name, cut"
    n=0
    while [ $n -lt "$size" ]; do
        case_of broken/$n $name
        { head -c $n "$file"; printf '\%03o' $(((n * 37 + 128) % 256)); tail -c +$((n + 2)) "$file"; } \
            >broken/$n/model.onnx
        n=$((n + 1 + size / 50))
    done
    broken "$name, bytes changed"
done
tell
