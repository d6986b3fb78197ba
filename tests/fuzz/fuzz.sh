#!/bin/sh
# fuzz.sh [-s SECONDS] BUILD [TARGET...] -- readers of what may come from strangers,
# under clang's libFuzzer with its address and undefined-behaviour sanitizers. The
# folder BUILD is made if it is not there: the library for that, the program
# fuzz, what each target found of interest (TARGET/), and inputs that it did not
# survive (crash-*, timeout-*, oom-*). Status 1 if there is one.
set -eu
src=$(cd "$(dirname "$0")/../.." && pwd)
seconds=60
while getopts s: option; do
    case $option in
    s) seconds=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] || { sed -n '2,6s/^# //p' "$0" >&2; exit 2; }
mkdir -p "$1"
cd "$1"
shift
sanitize=address,undefined,pointer-overflow
[ -e Makefile ] || CONFIG_SHELL=/bin/sh "$src/configure" --quiet --disable-shared \
    --enable-sanitizers="$sanitize" CC=clang CFLAGS="-O1 -g1 -fsanitize=fuzzer-no-link"
make -s -j"$(getconf _NPROCESSORS_ONLN)"
objects="tests/fuzz/targets.o tests/fuzz/whole.o tests/fuzz/grammar.o"
# shellcheck disable=SC2086
make -s $objects tests/fuzz/libfuzzer.o
# shellcheck disable=SC2046,SC2086
clang -g1 -fsanitize=$sanitize,fuzzer -o fuzz $objects tests/fuzz/libfuzzer.o \
    .libs/libcfx.a $(PKG_CONFIG_PATH=. pkg-config --libs --static cfx |
        sed 's/-lcfx //')
targets=${*:-$(sed -n 's/^    {"\([a-z0-9]*\)", .*/\1/p' \
    "$src/tests/fuzz/targets.c")}
status=0
# Entropic scheduling takes half of the time: an input of `whole` has 40,000 features.
for target in $targets; do
    mkdir -p "$target"
    echo "== $target"
    ./fuzz "--target=$target" -dict="$src/tests/fuzz/model.dict" -max_total_time="$seconds" -timeout=30 \
        -rss_limit_mb=2048 -max_len=8192 -entropic=0 -print_final_stats=1 "$target" \
        "$src/tests/fuzz/seeds/$target" >"$target.log" 2>&1 || status=1
    grep -E '^(stat::number_of_executed_units|SUMMARY|==[0-9]+==)' \
        "$target.log" || :
done
exit $status
