#!/bin/sh
# caches.sh -- results do not depend on the sizes of the caches that work is cut for.
. "$srcdir/tests/cli/said.sh"

cat >attention.fx <<'END'
Model(
  (q): Linear(in_features=96, out_features=200, bias=True)
  (k): Linear(in_features=96, out_features=200, bias=True)
  (v): Linear(in_features=96, out_features=200, bias=True)
  (up): Linear(in_features=200, out_features=1500, bias=True)
  (down): Linear(in_features=1500, out_features=70, bias=True)
)

graph():
    %x : [num_users=3] = placeholder[target=x]
    %q : [num_users=2] = call_module[target=q](args = (%x,), kwargs = {})
    %k : [num_users=2] = call_module[target=k](args = (%x,), kwargs = {})
    %v : [num_users=2] = call_module[target=v](args = (%x,), kwargs = {})
    %seen : [num_users=1] = call_function[target=torch.nn.functional.scaled_dot_product_attention](args = (%q, %k, %v), kwargs = {is_causal: True})
    %all : [num_users=1] = call_function[target=torch.nn.functional.scaled_dot_product_attention](args = (%q, %k, %v), kwargs = {})
    %y : [num_users=1] = call_function[target=operator.add](args = (%seen, %all), kwargs = {})
    %up : [num_users=1] = call_module[target=up](args = (%y,), kwargs = {})
    %act : [num_users=1] = call_function[target=torch.nn.functional.gelu](args = (%up,), kwargs = {})
    %down : [num_users=1] = call_module[target=down](args = (%act,), kwargs = {})
    return down
END

# same MODEL INPUT OPTION...: small and large caches give the same bits.
same()
{
    model=$1 input=$2
    shift 2
    rm -rf usual
    CFX_CACHES=32K,1M,32M said "$model $*" 0 "" \
        "$cfx" run "$model" --random-weights 1 -i "$input" -O usual -t 1 "$@"
    for sizes in 16K,128K,2M 256K,16M,256M; do
        rm -rf other
        CFX_CACHES=$sizes said "$model $* $sizes" 0 "" \
            "$cfx" run "$model" --random-weights 1 -i "$input" -O other -t 3 "$@"
        for file in usual/*; do
            if cmp "$file" "other/${file#*/}" >out 2>err; then ok; else
                not_ok "$model $* $sizes: other bits"
            fi
        done
    done
}

for options in '' --optimize '--optimize --bfloat16' '--optimize --int8-weights'; do
    for level in $(levels); do
        set -- --cpu "$level" $options
        same attention.fx 'f32[2,531,96]' "$@"
        same "$src/models/mobilenet_v3_small.fx" 'f32[1,3,200,180]' "$@"
    done
    same "$src/models/resnet18.fx" 'f32[2,3,160,150]' $options
done
tell
