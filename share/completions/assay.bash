# Completion of assay's commands, options, ops and kernels for bash.

_assay_names() { # asks the program that is being completed
    "${COMP_WORDS[0]}" list "$1" --names 2>/dev/null
}

# Completes the last part of a comma-separated list.
_assay_list() {
    local done=
    [[ $cur == *,* ]] && done=${cur%,*},
    COMPREPLY=($(compgen -P "$done" -W "$1" -- "${cur##*,}"))
    compopt -o nospace
}

_assay() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
    # bash splits --option=value at the =
    if [[ $cur == = ]]; then
        cur=
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W "bench list info help --help --version" -- "$cur"))
        return
    fi
    case $prev in
    --dtype) _assay_list "$(_assay_names dtypes)"; return ;;
    --impl) _assay_list "$(_assay_names implementations)"; return ;;
    --baseline) COMPREPLY=($(compgen -W "$(_assay_names implementations)" -- "$cur")); return ;;
    --kernel) _assay_list "all $(_assay_names kernels)"; return ;;
    --format) COMPREPLY=($(compgen -W "$(_assay_names formats)" -- "$cur")); return ;;
    --device) COMPREPLY=($(compgen -W "$(_assay_names devices)" -- "$cur")); return ;;
    --cache) _assay_list "hot cold"; return ;;
    --output | --plugin | --resume) compopt -o default; return ;;
    --batch | --seq | --dim | --threads | --warmup | --iters | --precision | --budget | --seed | \
        --timeout | --max-elements) return ;;
    esac
    case $command in
    bench)
        if [[ $cur == -* ]]; then
            COMPREPLY=($(compgen -W "--batch --seq --dim --dtype --impl --kernel --cache --threads
                --warmup --iters --precision --budget --seed --baseline --timeout --output --format
                --resume --in-process --quiet --verbose --ascii --plugin --max-elements --device
                --strict-device --help" -- "$cur"))
        else
            COMPREPLY=($(compgen -W "$(_assay_names ops)" -- "$cur"))
        fi ;;
    list) COMPREPLY=($(compgen -W "ops kernels implementations dtypes formats devices --names --help" -- "$cur")) ;;
    info) COMPREPLY=($(compgen -W "--calibrate --help" -- "$cur")) ;;
    help) COMPREPLY=($(compgen -W "bench list info" -- "$cur")) ;;
    esac
}
complete -F _assay assay
