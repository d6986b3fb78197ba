#!/bin/sh
# The manual page and the program know the same commands, options and formats.
set -u
page=$srcdir/doc/cfx.1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

run()
{
    # shellcheck disable=SC2086
    ${CFX_EMULATOR:-} "$CFX" "$@"
}

same() # same NAME: $work/page and $work/program hold the same words
{
    sort -u "$work/page" >"$work/a"
    sort -u "$work/program" >"$work/b"
    if [ -s "$work/b" ] && diff "$work/a" "$work/b" >"$work/diff"; then
        passed=$((passed + 1))
        return
    fi
    failed=$((failed + 1))
    echo "not ok: $1 (< the page alone, > the program alone)"
    grep '^[<>]' "$work/diff"
}

# Lines "COMMAND -o" and "COMMAND --output" of the options after --help's line
# "$2:", for the command $1.
options_of_help()
{
    awk -v command="$1" -v title="$2:" '
        $0 == title { inside = 1; next }
        /^[^ ]/ { inside = 0 }
        inside && /^ +-/ {
            for (i = 1; i <= NF && $i ~ /^-/; i++) {
                sub(/,$/, "", $i)
                print command, $i
            }
        }'
}

# The same of the page: items begin with Fl, and a comma, Fl or nothing stands
# between the spellings of one option.
options_of_page()
{
    awk '
        /^\.It Cm / { command = $3 }
        /^All commands take/ { command = "all" }
        /^\.Sh ENVIRONMENT/ { exit }
        /^\.It Fl / {
            for (i = 2; i <= NF; i++) {
                if ($i == "Fl" || $i == "Ar" || $i == "Oo")
                    word = $i
                else if (word == "Fl" && $i != ",")
                    print command, "-" $i
            }
        }' "$page"
}

run --help | awk '/^Commands:/ { inside = 1; next } /^[^ ]/ { inside = 0 }
    inside && /^  [a-z]/ { print $1 }' >"$work/commands"

cp "$work/commands" "$work/program"
awk '/^\.It Cm / { print $3 }' "$page" >"$work/page"
same 'commands of the description'

cp "$work/commands" "$work/program"
awk '/^\.Sh SYNOPSIS/ { inside = 1 } /^\.Sh DESC/ { exit }
    inside && /^\.Cm/ { print $2 }' "$page" >"$work/page"
same 'commands of the synopsis'

run --help | options_of_help all 'Options that all commands take' \
    >"$work/program"
while read -r command; do
    run "$command" --help | options_of_help "$command" Options
done <"$work/commands" >>"$work/program"
options_of_page >"$work/page"
same 'options'

formats_of_help() # The names of the rows after --help's line "Formats:".
{
    run "$1" --help | awk '/^Formats:/ { inside = 1; next }
        /^[^ ]/ { inside = 0 }
        inside && /^  [^ ]/ { print $1 }'
}

awk '/^\.It Cm / { command = $3 }
    command == "print" && /^\.Cm/ && !done { sub(/[,;.:]$/, "", $2); print $2 }
    /^\.It Fl -stride/ { exit }' "$page" >"$work/page"
formats_of_help print >"$work/program"
same 'formats of print'

formats_of_help convert | sed 's/^OUT//' >"$work/program"
awk '/^\.It Cm / { command = $3 }
    command == "convert" && /^\.It Pa out/ { print substr($3, 4) }' \
    "$page" >"$work/page"
run convert --help | grep -q onnx || sed -i '/^\.onnx$/d' "$work/page"
same 'formats of convert'

# What the examples show is what happens: "$ ", a command that may go on over
# lines that end in a backslash, and its output.
awk -v dir="$work" '
    /^\.Bd -literal/ { n++; inside = 1; command = 1; next }
    /^\.Ed/ { inside = 0 }
    !inside { next }
    { gsub(/\\-/, "-"); gsub(/\\e/, "\\"); sub(/^\$ cfx/, "run") }
    { print > (dir "/" n (command ? ".command" : ".shown")) }
    !/\\$/ { command = 0 }' "$page"
CFX=$(cd "$(dirname "$CFX")" && pwd)/${CFX##*/}
for command in "$work"/*.command; do
    (cd "$srcdir" && . "$command") >"$work/have" 2>/dev/null
    if diff "${command%.command}.shown" "$work/have"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "not as the page shows: $(cat "$command")"
    fi
done

# Each command has a page, to which the overview refers, with its options.
mkdir "$work/man"
awk -v dir="$work/man" -f "$srcdir/doc/man_pages.awk" "$page" "$page"
sed 's/^/cfx-/' "$work/commands" >"$work/program"
sed -n 's/^\.It Xr \(cfx-[a-z-]*\) 1$/\1/p' "$work/man/cfx.1" >"$work/page"
same 'commands of the overview'
(cd "$work/man" && ls cfx-*.1) | sed 's/\.1$//' >"$work/page"
same 'pages of commands'
(cd "$work/man" && grep '^\.It Fl' -- *.1) | sed 's/.*://' >"$work/page"
grep '^\.It Fl' "$page" >"$work/program"
same 'options of the pages'
examples() { sed -n '/^\.Sh EXAMPLES/,/^\.Sh SEE/p' "$@" | grep '\$ cfx'; }
for f in "$work"/man/*.1; do examples "$f"; done >"$work/page"
examples "$page" >"$work/program"
same 'examples of the pages'

# What reads them has nothing to say about them.
if command -v groff >/dev/null; then
    for f in "$page" "$work"/man/*.1; do
        groff -mdoc -ww -z "$f"
    done >"$work/said" 2>&1
    if [ ! -s "$work/said" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "not ok: the pages are well-formed"
        cat "$work/said"
    fi
fi

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
