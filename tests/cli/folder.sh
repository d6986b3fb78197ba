#!/bin/sh
# The folder of Python that `cfx convert MODEL OUT/` writes: its text is the
# golden's, and it appears whole or not at all. (That PyTorch runs it is asked by
# oracle/folder.py.)
set -u
src=$(cd "$srcdir" && pwd)
case $CFX in */*) CFX=$(cd "$(dirname "$CFX")" && pwd)/${CFX##*/} ;; esac
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work" || exit 99
passed=0 failed=0
golden=$src/tests/golden/folder
model=$src/models/mymodule.fx
digits=$src/models/digits.fx

run()
{
    # shellcheck disable=SC2086
    ${CFX_EMULATOR:-} "$CFX" "$@"
}

claim() # claim NAME COMMAND...: it succeeds
{
    name=$1
    shift
    if "$@" >out 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "not ok: $name"
        sed 's/^/    /;20q' out
    fi
}

# refuses NAME STATUS PATTERN ARGUMENT...: one line, and nothing is left.
refuses()
{
    name=$1 want=$2 pattern=$3
    shift 3
    run convert "$@" >said 2>&1
    claim "$name: status" test $? = "$want"
    claim "$name: says $pattern" grep -Eq -e "$pattern" said
    claim "$name: leaves nothing" sh -c '! ls -d new* *.tmp 2>/dev/null'
}

# ---- What is written ----

claim 'a model becomes a folder' run convert "$model" one/
claim 'of three files' sh -c 'test "$(ls -A one | tr "\n" " ")" = \
    "__init__.py module.py state.safetensors "'
claim 'its state is that of the model' \
    cmp one/state.safetensors "${model%.fx}.safetensors"
claim 'the class bears the name of the module' \
    grep -qx 'from .module import MyModule' one/__init__.py
for name in children functions; do
    claim "the text of $name is known" sh -c \
        "'$CFX' convert '$golden/$name.fx' $name/ --name Made &&
         diff -u '$golden/$name.py' $name/module.py"
    claim "$name has no numbers, so there is no file of them" \
        test ! -e "$name/state.safetensors"
done
claim 'a slash more is no name' run convert "$model" two//
claim 'and the folder is there' test -f two/module.py

# ---- A folder that is there ----

mkdir there
echo mine >there/mine
echo old >there/module.py
claim 'a folder that is there is used' run convert "$model" there/
claim 'its other files stay' grep -qx mine there/mine
claim 'a module of the name is replaced' cmp one/module.py there/module.py
claim 'nothing else is in it' sh -c 'test "$(ls -A there | wc -l)" = 4'
cp -R there before
refuses 'a model that is bad' 1 'no.fx' no.fx there/
claim 'a failure changes nothing' diff -r before there

# ---- What is refused ----

refuses 'an odd name' 2 "'new' has no known suffix; known are OUT.fx, OUT/" \
    "$model" new
refuses 'a name that is none' 1 "'1st' cannot name a class" \
    "$model" new/ --name 1st
refuses 'a keyword' 1 "'class' cannot name a class" \
    "$model" new/ --name class
refuses 'a name for a file' 2 '--name needs OUT/' "$model" new.fx --name A
refuses 'the superset for a folder' 2 '--lossless needs OUT.fx' "$model" \
    new/ --lossless
refuses '-o' 2 'OUT is the output' "$model" new/ -o new.fx
sed 's/operator.add/my_own/' "$model" >own.fx
refuses 'a function without a module' 1 'my_own has no module' own.fx new/
touch file
refuses 'a file in the way' 1 'file: is not a folder' "$model" file/
refuses 'a path that leads nowhere' 1 'No such file' "$model" not/there/
if [ -e /dev/full ] && [ "$(id -u)" != 0 ]; then
    mkdir shut
    chmod a-w shut
    refuses 'a folder that is shut' 1 'Permission' "$model" shut/
fi

# ---- Folders that are read ----

# What torch.fx's to_folder wrote, and PyTorch's results as it prints them.
if run info "$src/tests/golden/pt2/mlp.pt2" >/dev/null 2>&1; then
    net=$src/tests/golden/to_folder
    for name in net net/; do
        run run "$net/$name" -i "x=$net/x.npy" >said 2>&1
        claim "$name gives what PyTorch does" diff said "$net/net.txt"
    done
    claim 'the weights that torch.save wrote are a file of tensors' \
        run run "$net/net/module.py" -w "$net/net/state_dict.pt" \
        -i "x=$net/x.npy"
    claim 'one of them is an input' \
        run run "$model" -i "x=$net/net/state_dict.pt:body.0.bias"
    mkdir empty
    run run empty -i 1 >said 2>&1
    claim 'a folder without a class' grep -q 'empty/module.py: No such' said
fi
for name in children functions; do
    run convert "$name/" again/
    claim "$name, read and written, is the same" diff -r "$name" again
    rm -r again
done
run convert one/ again/
claim 'its weights are read' diff -r one again

# ---- Model files ----

claim 'a model becomes a model' run convert "$digits" copy.fx
claim 'its text is the same' cmp copy.fx "$digits"
claim 'its weights are' cmp copy.safetensors "${digits%.fx}.safetensors"
claim 'or the superset' run convert "$digits" full.fx --lossless
claim 'which says so' sh -c 'head -1 full.fx | grep -qx "# cfx 1"'
claim 'and back' run convert full.fx back.fx
claim 'is what it was' cmp back.fx "$digits"
claim 'a model whose text tells too little' run convert "$model" more.fx
claim 'becomes the superset' sh -c 'head -1 more.fx | grep -qx "# cfx 1"'

echo "$passed passed, $failed failed"
[ $failed = 0 ]
