#!/bin/sh
# Compare this build with an older one: the programs of both builds measure rows
# of bench-speed, bench-graphs and bench-propagation alternately.
#
#     bench/against.sh [-k TEXT] [-n ROUNDS] [-r RUNS] [-t THREADS] [-s SECONDS]
#                      [-z ZOO] OLD NEW ROWS
#
# OLD and NEW are build folders, ROWS is rows.txt. In each round every build
# measures every row once; the order of the builds alternates. Results are medians
# of the rounds. The ratio is the median of the rounds' ratios, new over old, since
# a machine that is slow for some seconds is slow for both. Above 1 the new build
# is slower. -k selects the rows whose name contains TEXT. Status 1: the geometric
# mean of a run is above 1.01, a row is above 1.05 in two runs (see -r), or the new
# build fails to run a row. The rows `iterate` and `read_op`, which follow the links
# between nodes and do nothing else, count in neither: they have a limit of their
# own, 15 ns a node in two runs.
set -u
only='' rounds=5 runs=1 threads=2 seconds=0.1 zoo=zoo
usage() {
    echo "usage: against.sh [-k TEXT] [-n ROUNDS] [-r RUNS] [-t THREADS]" \
        "[-s SECONDS] [-z ZOO] OLD NEW ROWS" >&2
    exit 2
}
while getopts k:n:r:t:s:z: option; do
    case $option in
    k) only=$OPTARG ;;
    n) rounds=$OPTARG ;;
    r) runs=$OPTARG ;;
    t) threads=$OPTARG ;;
    s) seconds=$OPTARG ;;
    z) zoo=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# = 3 ] || usage
old=$1 new=$2 rows=$3
for build in "$old" "$new"; do
    for program in bench-speed bench-graphs bench-propagation; do
        [ -x "$build/$program" ] && continue
        echo "against.sh: there is no $build/$program: make $program there" >&2
        exit 1
    done
done
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

# ---- Rows: one line KIND<tab>NAME each; rows of speed are in separate files,
# without peers ----

awk -v work="$work" '
    /^#/ { next }
    !NF { inside = 0; next }
    !inside {
        inside = 1
        sub(/ *\|.*/, "")
        name = $0
        sub(/:.*/, "", name)
        print "speed\t" name
        file = work "/row." ++n
    }
    { print > file }' "$rows" >"$work/speed"
{
    awk '{ print $0 "\t" NR }' "$work/speed"
    for size in 1000 100000; do
        "$new/bench-graphs" -n 1 1000 | awk -v size=$size \
            'NR > 1 { print "graphs\t" $1 " " size "\t0" }'
    done
    printf 'propagation\t%s\t0\n' 'x=f32[i,3,224,224]' 'x=f32[N,3,H,W]'
} | awk -F '\t' -v only="$only" 'index($2, only)' >"$work/rows"

# figure BUILD KIND NAME NUMBER: print ms, ns per node, or us; or nothing.
figure() {
    case $2 in
    speed) "$1/bench-speed" -t "$threads" -n 1 -s "$seconds" -z "$zoo" \
        "$work/row.$4" | awk 'NR == 2 { print $NF }' ;;
    graphs) "$1/bench-graphs" -n 5 -k "${3% *}" "${3#* }" |
        awk -v row="${3% *}" '$1 == row { print $3 }' ;;
    propagation) "$1/bench-propagation" -z "$zoo" -n 101 -k "$3" |
        awk -v row="$3" '$1 == row { print $2 }' ;;
    esac 2>>"$work/errors"
}

# Measure one round of a row: a line WHICH<tab>KIND<tab>NAME<tab>FIGURE per build.
measure() {
    order='old new'
    [ $(($1 % 2)) = 0 ] || order='new old'
    for which in $order; do
        build=$new
        [ $which = new ] || build=$old
        printf '%s\t%s\t%s\t%s\n' $which "$2" "$3" \
            "$(figure "$build" "$2" "$3" "$4")"
    done
}

# Print the table of a run from the lines of all rounds, and append the ratio of
# each row to a file, after the number of the run.
table() {
    awk -F '\t' -v run="$1" -v ratios="$work/ratios" '
        function median(list,    n, i, j, x, v) {
            n = split(list, v, " ")
            for (i = 2; i <= n; i++) {
                x = v[i] + 0
                for (j = i - 1; j > 0 && v[j] + 0 > x; j--)
                    v[j + 1] = v[j]
                v[j + 1] = x
            }
            return !n ? 0 : n % 2 ? v[(n + 1) / 2] + 0 \
                          : (v[n / 2] + v[n / 2 + 1]) / 2
        }
        {
            name = $2 "\t" $3
            if (!(name in seen)) {
                seen[name] = 1
                order[++count] = name
            }
            if ($4 > 0)
                all[name, $1] = all[name, $1] " " $4
            last[name, $1] = $4
            if (++lines[name] % 2 == 0 && last[name, "old"] > 0 &&
                last[name, "new"] > 0)
                pairs[name] = pairs[name] " " \
                    last[name, "new"] / last[name, "old"]
        }
        END {
            unit["speed"] = "ms"
            unit["graphs"] = "ns"
            unit["propagation"] = "us"
            printf "%-40s %12s %12s    %7s\n", "run " run, "old", "new",
                "new/old"
            for (i = 1; i <= count; i++) {
                split(order[i], part, "\t")
                o = median(all[order[i], "old"])
                n = median(all[order[i], "new"])
                if (o > 0 && n > 0) {
                    ratio = median(pairs[order[i]])
                    if (part[2] ~ /^(iterate|read_op) /) {
                        printf "%-40s %12.3f %12.3f %s %7.3f%s\n", part[2],
                            o, n, unit[part[1]], ratio,
                            (n > 15 ? "  above 15" : "")
                        print run "\t" (n > 15 ? 2 : 1) "\t" part[2] >>ratios
                        continue
                    }
                    sum += log(ratio)
                    rows++
                    printf "%-40s %12.3f %12.3f %s %7.3f%s\n", part[2], o, n,
                        unit[part[1]], ratio, (ratio > 1.05 ? "  slower" : "")
                    print run "\t" ratio "\t" part[2] >>ratios
                } else {
                    printf "%-40s %12s %12s\n", part[2],
                        (o > 0 ? "runs" : "fails"), (n > 0 ? "runs" : "fails")
                    if (!(n > 0))
                        print run "\tfails\t" part[2] >>ratios
                }
            }
            if (rows) {
                mean = exp(sum / rows)
                printf "geometric mean of %d rows: %.4f\n\n", rows, mean
                print run "\t" mean "\t" >>ratios
            }
        }' "$work/figures"
}

run=1
: >"$work/ratios"
while [ $run -le "$runs" ]; do
    : >"$work/figures"
    round=1
    while [ $round -le "$rounds" ]; do
        while IFS="$(printf '\t')" read -r kind name number; do
            measure $round "$kind" "$name" "$number" </dev/null
        done <"$work/rows" >>"$work/figures"
        round=$((round + 1))
    done
    table $run
    run=$((run + 1))
done
sort -u "$work/errors" 2>/dev/null | head -n 20 >&2

# An empty name is the mean of a run.
awk -F '\t' -v runs="$runs" '
    $2 == "fails" { print $3 ": the new build does not run it"; bad = 1; next }
    { any = 1 }
    $3 == "" && $2 > 1.01 {
        printf "run %s: %.1f %% slower\n", $1, 100 * ($2 - 1)
        bad = 1
    }
    $3 != "" && $2 > 1.05 && ++slower[$3] == 2 {
        print $3 ": slower in two runs"
        bad = 1
    }
    END { exit bad || !any }' "$work/ratios"
