# man_pages.awk -- write DIR/cfx.1, an overview, and DIR/cfx-COMMAND.1 for each
# command, from doc/cfx.1, which describes them all:
#
#     awk -v dir=DIR -f man_pages.awk doc/cfx.1 doc/cfx.1
#
# The overview keeps the title of a command, the first words of its description. Its
# synopsis, its description and its examples go to its own page. The examples, which
# come last, are collected in a first reading.

function begin_page() {
    page = dir "/cfx-" command ".1"
    print date "\n.Dt CFX-" toupper(command) " 1\n.Os\n.Sh NAME" >page
    print ".Nm cfx-" command "\n.Nd " tolower(substr(title, 1, 1)) \
        substr(title, 2) >page
    print ".Sh SYNOPSIS\n" synopsis[command] >page
    print ".Sh DESCRIPTION" >page
}

function end_page() {
    if (page == "")
        return
    if (command in examples)
        printf ".Sh EXAMPLES\n%s", examples[command] >page
    print ".Sh SEE ALSO\n.Xr cfx 1 ,\nfor the options of all commands" >page
    close(page)
    page = ""
}

# An example is some text and commands; a paragraph begins the next one.
function end_example() {
    if (example_of != "")
        examples[example_of] = examples[example_of] \
            (example_of in examples ? ".Pp\n" : "") example
    example = example_of = ""
}

BEGIN { overview = dir "/cfx.1" }
/^\.Dd / { date = $0 }
/^\.Sh / {
    in_synopsis = $2 == "SYNOPSIS"
    in_examples = $2 == "EXAMPLES"
}
NR == FNR {
    if (in_examples && /^\.Pp/ && example_of != "") {
        end_example()
    } else if (in_examples && !/^\.Sh/) {
        example = example $0 "\n"
        if (match($0, /\$ cfx [a-z-]+/))
            example_of = substr($0, RSTART + 6, RLENGTH - 6)
    }
    next
}
FNR == 1 { end_example() }
in_examples { next }

# A paragraph of the synopsis begins with the program's name.
in_synopsis && /^\.Nm/ { command = ""; next }
in_synopsis && /^\.Cm / { command = $2; synopsis[command] = ".Nm cfx\n" $0; next }
in_synopsis && /^\.Fl / {
    print ".Nm\n.Ar command\n.Op Ar option ...\n.Op Ar argument ..." >overview
    print ".Nm\n" $0 >overview
    next
}
in_synopsis && !/^\.Sh/ { synopsis[command] = synopsis[command] "\n" $0; next }

# The commands are the items of the outermost list that has them.
/^\.It Cm / {
    end_page()
    command = $3
    if ((getline) <= 0)
        exit 1
    title = $0
    sub(/[.,:].*/, "", title)
    print ".It Xr cfx-" command " 1\n" title "." >overview
    begin_page()
    depth = 0
}
page != "" && /^\.Bl/ { depth++ }
page != "" && /^\.El/ && !depth-- { end_page() }
page != "" {
    sub(/^\.Nm/, ".Nm cfx")
    print >page
    next
}
{ print >overview }
