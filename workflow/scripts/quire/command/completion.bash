# Without a case of its own a word completes to a file. zsh runs this too, by its bashcompinit.
[[ -n $ZSH_VERSION ]] && autoload -U +X bashcompinit && bashcompinit
_quire() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} words=
    [[ $COMP_CWORD -eq 1 ]] && words="{commands} --help --version"
    case "${{COMP_WORDS[1]}} ${{COMP_WORDS[COMP_CWORD - 1]}} $current" in
{cases}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _quire quire
