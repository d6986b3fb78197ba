# Write the examples in the comments of headers to DIR/HEADER.N, a file for each
# paragraph, and list those that are code in DIR/code. An example is indented by
# four more blanks than its comment; an empty line, or three dots, ends a
# paragraph.
function finish() {
    if (out != "") {
        close(out)
        if (code)
            print name "." n >(dir "/code")
    }
    out = ""
}
FNR == 1 { finish(); n = 0; inside = 0; name = FILENAME; sub(/.*\//, "", name) }
{
    indented = $0 ~ /^ \*     /
    if (!indented || $0 ~ /^ \* *\.\.\.$/) {
        finish()
        if (!indented && $0 !~ /^ \*$/)
            inside = 0
        next
    }
    if (!inside && $0 !~ /^ \*     [^ ]/)
        next
    inside = 1
    if (out == "") {
        out = dir "/" name "." ++n
        code = 0
    }
    line = $0
    sub(/^ \*     /, "", line)
    print line >out
    code = code || line ~ /[;{]( *\/\/.*)?$/
}
END { finish() }
