# Fish completion for cfx, which prints the words itself (cfx __complete).
function __cfx_complete
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    command $words[1] __complete $words[2..-1] "$last" 2>/dev/null
end
complete -c cfx -a '(__cfx_complete)'
