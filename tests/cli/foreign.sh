#!/bin/sh
# Names and strings of a model are not trusted: none becomes code in Python, and
# none reaches a terminal as control characters, in any command's words.
set -u
# shellcheck source=tests/cli/said.sh
. "$(dirname "$0")/said.sh"

escape=$(printf '\033') bell=$(printf '\007') delete=$(printf '\177')
csi=$(printf '\302\233') bidi=$(printf '\342\200\256')
iso=$(printf '\342\201\246') line=$(printf '\342\200\250')
evil="$escape]0;title$bell$delete$csi$bidi$iso$line"

# What a terminal acts on: controls but newline and tab, those of Latin-1, marks
# of direction, and separators of lines.
controls=$(printf '[\001-\010\013-\037\177]')
latin=$(printf '\302[\200-\237]')
marks=$(printf '\342\200[\216\217\250-\256]')
more=$(printf '\342\201[\246-\251]')

# quiet NAME COMMAND...: whatever it says, it says without controls.
quiet()
{
    name=$1
    shift
    "$@" >out 2>err </dev/null
    if cat out err | LC_ALL=C grep -q -e "$controls" -e "$latin" -e "$marks" \
        -e "$more"; then
        LC_ALL=C cat -v out err >shown
        not_ok "$name"
        sed 's/^/    /;20q' shown
    else
        ok
    fi
}

# everywhere NAME FILE SHAPE: each command, in each of its formats.
everywhere()
{
    name=$1 model=$2 input=$3
    for format in graph tabular python readable modules model cfx dot c; do
        quiet "$name: print -f $format" "$cfx" print "$model" -f $format
    done
    quiet "$name: run" "$cfx" run "$model" -i "$input"
    quiet "$name: run --save-dir" "$cfx" run "$model" -i "$input" \
        --save-dir saved
    quiet "$name: info" "$cfx" info "$model"
    for format in text json; do
        quiet "$name: shapes -f $format" "$cfx" shapes "$model" -i "$input" \
            -f $format
        quiet "$name: shapes --memory" "$cfx" shapes "$model" -i "$input" \
            --memory -f $format
        quiet "$name: diff" "$cfx" diff "$model" "$model" -i "$input" \
            -f $format
    done
    for format in text json html dot svg trace; do
        quiet "$name: roofline -f $format" "$cfx" roofline "$model" \
            -i "$input" -f $format --machine epyc-9654
    done
    quiet "$name: optimize" "$cfx" optimize "$model" -i "$input"
    quiet "$name: transform" "$cfx" transform "$model" dead_code
    quiet "$name: quantize" "$cfx" quantize "$model" --calibrate "$input"
    for to in made.fx made.pt2 made.onnx made.py made.c made/; do
        quiet "$name: convert to $to" "$cfx" convert "$model" $to
        rm -rf made*
    done
}

x='%x : [num_users=1] = placeholder[target=x]'

# graph FILE LINE...
graph()
{
    model=$1
    shift
    {
        echo 'graph():'
        for one; do printf '    %s\n' "$one"; done
    } >"$model"
}

# ---- A terminal ----

graph key.fx "$x" "return {'a$evil': %x, 'b\\nforged': %x}"
everywhere 'a key' key.fx x='f32[2]'
said 'a key is shown' 0 '^output_a.x1b.*x9b.u202e.u2066.u2028 f32' \
    "$cfx" run key.fx -i x='f32[2]'
graph string.fx "$x" "%e : [num_users=1] = call_function[target=torch.einsum]\
(args = (ij$evil->ij, %x), kwargs = {})" 'return e'
everywhere 'a string' string.fx x='f32[2,2]'
graph default.fx "%x : [num_users=1] = placeholder[target=x](default=a$evil)" \
    'return x'
everywhere 'a default' default.fx x='f32[2]'
graph meta.fx
{
    echo '# cfx 1'
    echo 'graph():'
    echo "    %x : [num_users=1] = placeholder[target=x]"
    echo "    %y : [num_users=1] = call_function[target=torch.relu]\
(args = (%x,), kwargs = {}) meta = {'stack_trace': \
'File \"a$evil\", line 3, in f\\n    y = 1$evil', \
'nn_module_stack': {'m': ('a$evil.b', 'C$evil')}, 'k$evil': 'v$evil'}"
    echo '    return %y'
} >meta.fx
everywhere 'meta' meta.fx x='f32[2]'

# odd NAME LINE...: a name with controls is refused, and its message is clean.
odd()
{
    name=$1
    shift
    graph odd.fx "$@"
    said "$name is refused" 1 'odd\.fx' "$cfx" print odd.fx
    quiet "$name: its message" "$cfx" print odd.fx
    quiet "$name: info" "$cfx" info odd.fx
}

odd 'a target' "$x" "%y : [num_users=1] = call_function[target=a$evil]\
(args = (%x,), kwargs = {})" 'return y'
odd 'a module' "$x" "%y : [num_users=1] = call_module[target=a$evil]\
(args = (%x,), kwargs = {})" 'return y'
odd 'a type' "%x : T$evil [num_users=1] = placeholder[target=x]" 'return x'
odd 'a parameter' "%x : [num_users=1] = placeholder[target=x$evil]" 'return x'
odd 'an attribute' "%x : [num_users=1] = get_attr[target=x$evil]" 'return x'
odd 'a node' "%x$evil : [num_users=1] = placeholder[target=x]" 'return x'
quiet 'a command that there is not' "$cfx" "a$evil"
quiet 'an option that there is not' "$cfx" run "--a$evil"
quiet 'a file that there is not' "$cfx" run "a$evil"

# ---- Code ----

# no_code NAME PATTERN: m.fx is refused by the reader or as Python, and nothing
# is written.
no_code()
{
    rm -rf made
    said "$1: print" 1 "$2" "$cfx" print -f python m.fx
    said "$1: convert" 1 "$2" "$cfx" convert m.fx made/
    said "$1: nothing is left" 1 '' test -e made
}

# no_folder NAME PATTERN: of m.fx, code with a made name may be shown, but its
# function cannot be imported.
no_folder()
{
    rm -rf made
    said "$1: print" 0 "$2" "$cfx" print -f python m.fx
    said "$1: convert" 1 'the function .* has no name in Python' \
        "$cfx" convert m.fx made/
    said "$1: nothing is left" 1 '' test -e made
}

code='__import__("os").system("echo")'
graph m.fx "%x : [num_users=1] = placeholder[target=x=$code]" 'return x'
no_code 'a parameter with a default' "^cfx: m.fx:2:[0-9]+: '.*' cannot name"
graph m.fx "%x : [num_users=1] = placeholder[target=*$code]" 'return x'
no_code 'a parameter that is a call' "^cfx: m.fx:2:[0-9]+: '.*' cannot name"
graph m.fx "$x" "%y : [num_users=1] = call_function[target=my.f]\
(args = (%x,), kwargs = {a=$code: 1})" 'return y'
no_code 'a keyword that is a call' '^cfx: m.fx:3:'
graph m.fx "$x" "%y : [num_users=1] = call_function[target=os.f; $code]\
(args = (%x,), kwargs = {})" 'return y'
no_folder 'a function with a statement' 'os_f___import___os_system_echo_\('
graph m.fx "$x" "%y : [num_users=1] = call_function[target=torch.$code.x]\
(args = (%x,), kwargs = {})" 'return y'
no_folder 'a function that is a call' 'torch___import___os_system_echo_x\('

# superset LINE...: m.fx in the text that quotes names.
superset()
{
    graph m.fx "$@"
    { echo '# cfx 1'; cat m.fx; } >quoted.fx
    mv quoted.fx m.fx
}

superset "%x : [num_users=1] = placeholder[target='x=$code']" 'return %x'
no_code 'a quoted parameter' "x: '.*' is not a name in Python"
superset "$x" "%y : [num_users=1] = call_function[target=my.f]\
(args = (%x,), kwargs = {'a=$code, b': 1})" 'return %y'
no_code 'a quoted keyword' "y: '.*' is not a name in Python"

# What stands in quotes does no harm.
graph m.fx "%x : int = $code [num_users=1] = placeholder[target=x]" \
    "%y : [num_users=1] = call_module[target=a\"),$code,(\"]\
(args = (%x,), kwargs = {})" 'return y'
said 'a type with a default' 0 "x : 'int = __import__" \
    "$cfx" print -f python m.fx
also 'a path with a call' 'getattr\(self, .a"\),__import__'
graph m.fx "%x : typing.List[os.getpid()] [num_users=1] = \
placeholder[target=x]" 'return x'
said 'a type with a call' 0 "x : 'typing" "$cfx" print -f python m.fx
graph m.fx "%x : typing.Tuple[()] | typing.Literal['a', -1] [num_users=1] = \
placeholder[target=x]" 'return x'
said 'types that are types' 0 \
    "x : typing_Tuple\[\(\)\]\|typing_Literal\['a',-1\]" \
    "$cfx" print -f python m.fx
graph m.fx '%x : [num_users=1] = placeholder[target=input.1]' 'return x'
said 'a name of ONNX becomes an identifier' 0 'def forward\(self, x\)' \
    "$cfx" print -f python m.fx

tell
