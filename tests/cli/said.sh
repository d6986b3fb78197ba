# Read by tests that look at what programs say: a folder to work in, `src`,
# `build`, `cfx` and the counts.
src=$(cd "$srcdir" && pwd)
build=$(cd "$builddir" && pwd)
cfx=$(cd "$(dirname "$CFX")" && pwd)/$(basename "$CFX")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99
passed=0 failed=0

ok()
{
    passed=$((passed + 1))
}

not_ok()
{
    failed=$((failed + 1))
    echo "not ok: $*"
    sed 's/^/    /;20q' out err
}

# said NAME STATUS PATTERN COMMAND...: it ends with the status and says a line
# that has the pattern. out and err keep its words.
said()
{
    name=$1 status=$2 pattern=$3
    shift 3
    "$@" >out 2>err </dev/null
    got=$?
    if [ $got = "$status" ] && { [ -z "$pattern" ] ||
        cat out err | grep -Eq -e "$pattern"; }
    then
        ok
    else
        not_ok "$name: status $got, no '$pattern'"
    fi
}

# also NAME PATTERN: the words of the last command have this too.
also()
{
    if cat out err | grep -Eq -e "$2"; then ok; else
        not_ok "$1: no '$2'"
    fi
}

# The levels of instructions that the processor has and CFX_CPU allows.
levels()
{
    for level in plain neon avx2 avx512; do
        ! "$cfx" --cpu $level ops relu >/dev/null 2>&1 || echo $level
    done
}

# What a test ends with.
tell()
{
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
}
