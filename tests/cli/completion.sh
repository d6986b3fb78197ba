#!/bin/sh
#
# completion.sh -- what the shells offer behind cfx: the program's own answers,
# and the scripts for bash, zsh and fish, those of shells that are here.

srcdir=${srcdir:-.} builddir=${builddir:-.} CFX=${CFX:-./cfx}
. "$srcdir/tests/cli/said.sh"
scripts=$src/cli/completion

# offers NAME WORDS WORD...: exactly these, of a line's words.
offers()
{
    name=$1 want=$2
    shift 2
    # shellcheck disable=SC2086
    ${CFX_EMULATOR:-} "$cfx" __complete "$@" >out 2>err
    if [ "$(sort out | tr '\n' ' ')" = "$want" ] && [ ! -s err ]; then ok
    else not_ok "$name: not '$want'"; fi
}

offers 'commands' 'roofline run ' r
offers 'the rest of a command' 'transform ' tr
offers 'files' '' run m
offers 'options of a command' '--random-weights --repeat --rmax --rtol ' run --re --r
offers 'options of all' '--threads --timeout ' passes --t
offers 'behind a global option' 'shapes ' -t 4 sh
offers 'an option'\''s value' '' transform m.fx -o d
offers 'a model' '' transform d
offers 'passes' 'dead_code decompose ' transform m.fx de
offers 'more passes' 'dead_code,dead_code dead_code,decompose ' \
    transform m.fx -q dead_code,de
offers 'a pass to be told of' 'div_to_mul ' passes div
offers 'operators' 'conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d ' \
    ops conv_t
offers 'nothing of what is unknown' '' lisp x

# All that --help lists is offered.
"$cfx" --help | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p' | sort >want
"$cfx" __complete '' | sort >have
if [ -s want ] && cmp want have >out 2>err; then ok
else not_ok 'all commands'; fi
for command in $(cat want); do
    { "$cfx" "$command" --help && "$cfx" --help; } | sed -n 's/^ *\(-.,\)* *\(--[a-z0-9-]*\).*/\2/p' |
        sort -u >want
    "$cfx" __complete "$command" -- | sort -u >have
    if cmp want have >out 2>err; then ok; else
        diff want have >out
        not_ok "options of $command"
    fi
done

PATH=$(dirname "$cfx"):$PATH
export PATH
if command -v bash >/dev/null; then
    cat >line.bash <<'END'
. "$1"
# completes LINE WORD...: as bash calls it at the line's end.
completes()
{
    COMP_LINE=$1 COMP_POINT=${#1}
    shift
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _cfx
    printf '%s\n' "${COMPREPLY[@]}"
}
completes 'cfx transform m.fx div' cfx transform m.fx div
completes 'cfx ' cfx ''
echo split
completes 'cfx transform -i x=f32[2] m.fx dead' \
    cfx transform -i x = 'f32[2]' m.fx dead
completes 'cfx transform -i x=f32[2] --seed=3 m.fx  ' \
    cfx transform -i x = 'f32[2]' --seed = 3 m.fx '' | grep -x decompose
complete -p cfx
END
    said 'bash' 0 '^div_to_mul$' bash line.bash "$scripts/cfx"
    also 'bash: commands' '^run$'
    also 'bash: words that are split at =' '^dead_code$'
    also 'bash: nothing after them' '^decompose$'
    also 'bash: files otherwise' '^complete -o default -F _cfx cfx'
fi
if command -v zsh >/dev/null; then
    cat >line.zsh <<'END'
compadd() { shift 2; print -l -- $*; }
_files() { print files; }
words=(cfx transform m.fx div) CURRENT=4
. $1
words=(cfx run m) CURRENT=3
_cfx
END
    said 'zsh' 0 '^div_to_mul$' zsh -f line.zsh "$scripts/_cfx"
    also 'zsh: files otherwise' '^files$'
fi
if command -v fish >/dev/null; then
    said 'fish' 0 '^div_to_mul$' fish -N -c \
        "source $scripts/cfx.fish; complete -C 'cfx transform m.fx div'"
    said 'fish: commands' 0 '^roofline' fish -N -c \
        "source $scripts/cfx.fish; complete -C 'cfx roof'"
fi

tell
