# doxygen.awk -- Doxygen's form of a public header, for `make html`.
#
# A comment that stands before a declaration becomes its documentation, and so
# does one behind a member of a struct or an enum. Declarations that follow each
# other under one comment all have it. The comment at the top describes the file,
# "---- NAME ----" begins a group, and paragraphs that are indented by four more
# blanks are code.

# The text of a comment line, with Doxygen's special characters quoted, and links to
# functions, types and errors, except in an expression.
function quoted(text,   out) {
    gsub(/[\\@<>#%&"]/, "\\\\&", text)
    gsub(/cfx_[a-z0-9_]+|CFX_E[A-Z]+/, "#&", text)
    while (match(text, /#cfx_[a-z0-9_]+\([^)]/))
        text = substr(text, 1, RSTART - 1) substr(text, RSTART + 1)
    while (match(text, /`[^`]+`/)) {
        out = out substr(text, 1, RSTART - 1) "<tt>" \
            substr(text, RSTART + 1, RLENGTH - 2) "</tt>"
        text = substr(text, RSTART + RLENGTH)
    }
    return out text
}

# The comment in line[1..n] in Doxygen's form; `open` is what it begins with.
function documentation(open,   i, text, code, blanks, out) {
    out = open
    for (i = 1; i <= n; i++) {
        text = line[i]
        sub(/^[ \t]*(\/\*|\*\/|\*)? ?/, "", text)
        sub(/ *\*\/ *$/, "", text)
        if (text == "") {
            blanks = blanks (out == open ? "" : "\n")
            continue
        }
        if (!code && text ~ /^    [^ ]/) {
            out = out blanks "\n\\code{.c}"
            blanks = ""
            code = 1
        } else if (code && text !~ /^    /) {
            out = out "\n\\endcode"
            code = 0
        }
        if (code)
            sub(/^    /, "", text)
        out = out blanks "\n" (code ? text : quoted(text))
        blanks = ""
    }
    return out (code ? "\n\\endcode" : "") "\n*/"
}

function is_section() { return line[1] ~ /^\/\* ---- .* ---- \*\/$/ }

# Print the comment that was read, before the line `next_line`.
function print_comment(next_line,   i, name) {
    doc = ""
    if (heading) {
        heading = 0
        name = line[2]
        sub(/^ \* /, "", name)
        sub(/ -- .*/, "", name)
        sub(/^ \* .* -- /, "", line[2])
        line[2] = " * " toupper(substr(line[2], 1, 1)) substr(line[2], 2)
        print documentation("/** \\file " name "\n\\brief")
    } else if (is_section()) {
        name = line[1]
        gsub(/^\/\* ---- | ---- \*\/$/, "", name)
        print (group ? "/** @} */ " : "") "/** \\name " quoted(name) "\n@{ */"
        group = 1
    } else if (next_line == "" || in_body) {
        for (i = 1; i <= n; i++)
            print line[i]
    } else {
        doc = documentation("/**")
        nth = 0
        print doc
    }
    n = 0
}

FNR == 1 { n = group = in_body = in_decl = in_cxx = 0; doc = "" }

# A comment that stands alone, of one line or several.
n && !closed {
    line[++n] = $0
    closed = /\*\//
    next
}
n { print_comment($0) }
/^[ \t]*\/\*/ && (/\*\/ *$/ || !/\*\//) {
    heading = FNR == 1
    line[n = 1] = $0
    closed = /\*\//
    next
}

/^CFX_END_DECLS/ && group {
    print "/** @} */"
    group = 0
}
/^$/ { doc = "" }
/^#ifdef __cplusplus/ { in_cxx = 1 }
/^#(else|endif)/ { in_cxx = 0 }
in_cxx { print; next }
/^\{/ { in_body = 1 }
/^\}/ && in_body { in_body = 0; doc = "" }

# The second declaration below a comment, and those after it.
/^([A-Za-z]|#define)/ && doc != "" && !in_decl && nth++ { print doc }
{ in_decl = /^#/ ? /\\$/ : in_decl || /^[A-Za-z]/ ? !/;$/ : 0 }

# Behind a member, on one line or several.
behind {
    behind = !/\*\//
    $0 = quoted($0)
}
!in_body && /[^ ].*\/\*[^*]/ && !/^#(if|else|endif)/ {
    at = index($0, "/*")
    behind = substr($0, at) !~ /\*\//
    $0 = substr($0, 1, at - 1) "/**<" quoted(substr($0, at + 2))
}
{ print }
