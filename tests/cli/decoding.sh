#!/bin/sh
# A decoder of transformers that torch.export has saved with its cache generates the
# tokens that it generates in PyTorch (golden/decoders.txt, by oracle/decoders.py).
. "$srcdir/tests/cli/said.sh"
m=$src/models/small_llama
"$cfx" print "$m.pt2" >/dev/null 2>&1 || exit 77

# generates NAME MODEL: the prompts are continued as PyTorch does.
generates()
{
    while read -r ids; do
        n=$(($(echo "$ids" | wc -w) - 24))
        prompt=$(echo "$ids" | cut -d ' ' -f "1-$n")
        said "$1: $prompt" 0 "^$ids\$" sh -c "
            echo $prompt | ${CFX_EMULATOR:-} '$build/generate' -n 24 '$2'"
    done <"$src/tests/golden/decoders.txt"
}

generates 'as exported' "$m.pt2"
said 'it is optimized' 0 '' "$cfx" optimize "$m.pt2" -q -o fast.fx
generates 'optimized' fast.fx
said 'heads of the cache are not copied' 0 '^2$' grep -c 'enable_gqa: True' fast.fx
said 'optimized for single tokens' 0 '' "$cfx" optimize "$m.pt2" \
    -i 'i64[1,1]' -i 'i64[1]' -q -o single.fx
generates 'optimized for single tokens' single.fx
said 'it is converted' 0 '' "$cfx" convert "$m.pt2" again.pt2
generates 'converted' again.pt2
for type in int8 int4; do
    said "its weights become $type" 0 '' "$cfx" quantize "$m.pt2" \
        --weights-only $type -q -o q.fx
    said "$type is optimized" 0 '' "$cfx" optimize q.fx -q -o $type.fx
done

# ---- generate ----

# generate NAME STATUS PATTERN IDS ARGUMENTS
generate()
{
    said "$1" "$2" "$3" sh -c "echo $4 | ${CFX_EMULATOR:-} '$build/generate' $5"
}
for type in int8 int4; do
    generate "weights of $type" 0 '^1 99 27 157 53 4 23 37 115$' \
        '1 99 27 157' "-n 5 $type.fx"
done
generate 'no token is asked for' 0 '^1 99 27$' '1 99 27' "-n 0 $m.pt2"
generate 'it ends at a token' 0 '^1 99 27 157 53 4$' '1 99 27 157' "-e 4 $m.pt2"
generate 'one likeliest token is the likeliest' 0 '^1 99 27 157 53 4 23$' \
    '1 99 27 157' "-n 3 -t 2 -k 1 $m.pt2"
generate 'tokens by chance' 0 '' 1 "-n 50 -t 2 -r 1 $m.pt2"
cp out first
generate 'with the same seed' 0 '' 1 "-n 50 -t 2 -r 1 $m.pt2"
said 'are the same' 0 '' cmp first "$work/first"
generate 'with the same seed, optimized' 0 "^$(cat first)\$" 1 \
    "-n 50 -t 2 -r 1 fast.fx"
generate 'with another seed' 0 '' 1 "-n 50 -t 2 -r 2 $m.pt2"
cp out second
said 'are others' 1 '' cmp first second
generate 'a full cache' 1 'index 128 is out of bounds for dimension 2 with size 128' \
    1 "-n 200 $m.pt2"
generate 'no ids' 1 '^generate: expected token ids' '' "$m.pt2"
generate 'words' 1 '^generate: expected token ids' '1 word' "$m.pt2"
generate 'an id that the vocabulary lacks' 1 '^generate: .*320' '1 320' "$m.pt2"
generate 'no model' 2 '^usage: generate' 1 ''
generate 'no such model' 1 '^generate: none.pt2: ' 1 none.pt2

# ---- With a tokenizer ----

if command -v spm_encode >/dev/null; then
    said 'text' 0 '^An operator.s ' sh -c "
        echo 'An operator' | spm_encode --model='$m.model' \
            --output_format=id --extra_options=bos |
            ${CFX_EMULATOR:-} '$build/generate' -n 20 fast.fx |
            spm_decode --model='$m.model' --input_format=id"
fi

tell
