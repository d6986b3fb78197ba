# The page of the report as lines of C. Its first file is the template: a line
# `%%include FILE` in it stands for that file, which is looked for in the
# variable `dir`, and other lines that begin with %% are left to the program.

function put(line) {
    gsub(/[\\"?]/, "\\\\&", line) # ? too: two could begin a trigraph
    gsub(/\t/, "\\t", line)
    printf "    \"%s\\n\",\n", line
}

function fail(text) {
    print "page.awk: " text > "/dev/stderr"
    failed = 1
    exit 1
}

function include(file,   line, n, got) {
    while ((got = (getline line < file)) > 0) {
        if (line ~ /^%%/)
            fail(file ": a line begins with %%")
        put(line)
        n++
    }
    if (got < 0 || !n)
        fail(file ": cannot be read")
    close(file)
}

BEGIN {
    print "/* Made by report/page.awk from the files in report/. */"
    print "#include \"shapeprop/report/report_impl.h\"\n"
    print "const char *const cfx_report__page[] = {"
}

/^%%include / {
    include(dir "/" $2)
    next
}

{ put($0) }

END {
    if (!failed)
        print "    NULL,\n};"
}
