#!/bin/sh
# Files of torch.export.save run on the sample inputs that they hold. The golden
# inputs, whose results unit tests compare with PyTorch's, are the same.
. "$srcdir/tests/cli/said.sh"
golden=$src/tests/golden/pt2
"$cfx" print "$golden/mlp.pt2" >/dev/null 2>&1 || exit 77

# alike NAME INPUT...: the sample inputs give what the golden ones do. INPUT is
# the name of a placeholder.
alike()
{
    model=$1 i=0
    shift
    said "$model on its samples" 0 '' \
        "$cfx" run "$golden/$model.pt2" -O sample
    for input; do
        set -- "$@" -i "$input=$golden/${model%_flat}.in.safetensors:t$i"
        shift
        i=$((i + 1))
    done
    said "$model on golden inputs" 0 '' \
        "$cfx" run "$golden/$model.pt2" -O given "$@"
    if diff -r sample given >out 2>err; then ok; else
        not_ok "$model: samples give something else"
    fi
    rm -rf sample given
}

alike mlp input
alike mlp_flat input
alike dicts pair_0 pair_1 table_k
alike sizes x y
alike cond x
alike tied tokens
said 'other inputs' 0 'f32\[4, 3\]' \
    "$cfx" run "$golden/mlp.pt2" -i 'f32[4,6]'

# Any call of the pickle that is not of a tensor is refused, as are bytes that
# do not have their checksum.
LC_ALL=C sed 's/OrderedDict/OrderedDoct/' "$golden/mlp.pt2" >bad.pt2
said 'a pickle that is broken' 1 \
    'bad.pt2: sample inputs \(data/sample_inputs/model.pt\): ' \
    "$cfx" run bad.pt2
if [ "$(wc -l <err)" = 1 ]; then ok; else not_ok 'one line'; fi
said 'other inputs need no samples' 0 '' "$cfx" run bad.pt2 -i 'f32[4,6]'
tell
