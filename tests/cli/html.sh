#!/bin/sh
# `make html` makes the reference of the library from the public headers, without a
# warning: their comments are well-formed, and what they name exists.
unset MAKEFLAGS MFLAGS MAKELEVEL
. "$srcdir/tests/cli/said.sh"

if ! grep -q '^DOXYGEN = .' "$build/Makefile"; then
    said 'without doxygen, make html says so' 2 'make html needs doxygen' \
        make -s -C "$build" html
    [ "$failed" = 0 ] && exit 77
    tell
    exit 1
fi
said 'make html' 0 '' make -s -C "$build" html
if [ -s err ]; then not_ok 'it has warnings'; else ok; fi

# The words of a page, without its tags.
words() { tr '\n' ' ' <"$build/html/$1" | sed 's/<[^>]*>/ /g' | tr -s ' '; }

words interp_8h.html >page
said 'a header has its text' 0 'An interpreter that walks a graph node by node' \
    cat page
also 'and its example' 'static cfx_status count_function'
also 'a function has its comment' \
    'Run the graph. Inputs are in the order of the placeholders;'
said 'functions below one comment share it' 0 '^3$' sh -c "grep -o \
    'A step returns the node that it ran' '$build/html/interp_8h.html' | wc -l"
said 'a member has its comment' 0 'scope of the calls; eager unless set' \
    cat "$build/html/structcfx__interp.html"
said 'an operator has its function' 0 'cfx_conv2d' cat "$build/html/ops_8h.html"
for header in "$src"/lib/cfx/*.h "$src"/interp/cfx/*.h "$src"/shapeprop/cfx/*.h \
    "$src"/optimize/cfx/*.h; do
    name=${header##*/}
    page=$(echo "${name%.h}" | sed 's/_/__/g')_8h.html
    said "$name has a page" 0 '' test -s "$build/html/$page"
done
tell
