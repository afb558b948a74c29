# Completion of assay's commands, options, ops and kernels for bash.

_assay_names() { # asks the program that is being completed
    "${COMP_WORDS[0]}" list "$1" --names 2>/dev/null
}

_assay_implementations() { # the second column of the kernels
    "${COMP_WORDS[0]}" list kernels 2>/dev/null | awk '{ print $2 }' | sort -u
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
        COMPREPLY=($(compgen -W "bench run ci preset kernel list info help --help --version" -- "$cur"))
        return
    fi
    case $prev in
    --dtype) _assay_list "$(_assay_names dtypes)"; return ;;
    --impl) _assay_list "$(_assay_implementations)"; return ;;
    --baseline) COMPREPLY=($(compgen -W "$(_assay_implementations)" -- "$cur")); return ;;
    --shapes) _assay_list "$(_assay_names shapes)"; return ;;
    --recipe) _assay_list "all $(_assay_names recipes)"; return ;;
    --kernel) _assay_list "all $(_assay_names kernels)"; return ;;
    -f | --format) COMPREPLY=($(compgen -W "$(_assay_names formats)" -- "$cur")); return ;;
    --device) COMPREPLY=($(compgen -W "$(_assay_names devices)" -- "$cur")); return ;;
    --cache) COMPREPLY=($(compgen -W "hot cold both" -- "$cur")); return ;;
    --resume) COMPREPLY=($(compgen -W last -- "$cur")); compopt -o default; return ;;
    --model) COMPREPLY=($(compgen -W "$(_assay_names models)" -- "$cur")); return ;;
    --compile)
        if [[ $command != preset ]]; then
            COMPREPLY=($(compgen -W "default max-autotune false" -- "$cur"))
            return
        fi ;;
    --op) COMPREPLY=($(compgen -W "$(_assay_names ops)" -- "$cur")); return ;;
    --lang) COMPREPLY=($(compgen -W "c cu" -- "$cur")); return ;;
    --preset) _assay_list "attn mlp conv norm transformer sdres all"; return ;;
    -o | --output | --plugin | --config | --output-dir | --github-summary | --visual | --new) compopt -o default; return ;;
    -t | --batch | --seq | --dim | --shape | --mode | --threads | --warmup | --iters | --precision | --budget | --seed | \
        --timeout | --max-elements | --memory-limit | --limit | --repeat | --set | --version | --branch | --hub | \
        --workload | --iterations) return ;;
    esac
    case $command in
    bench)
        if [[ $cur == -* ]]; then
            COMPREPLY=($(compgen -W "--batch --seq --dim --shape --shapes --mode --recipe --dtype --impl --kernel --cache --threads
                --warmup --iters --precision --budget --seed --baseline --timeout --output --format
                --resume --in-process --quiet --verbose --ascii --plugin --max-elements --device
                --strict-device --memory-limit --no-ceiling --autotune --energy --wait --help" -- "$cur"))
        else
            COMPREPLY=($(compgen -W "$(_assay_names ops)" -- "$cur"))
        fi ;;
    run)
        compopt -o default
        if [[ $cur == -* ]]; then
            COMPREPLY=($(compgen -W "--config --device --dtype --recipe --shapes --model --compile --limit --dry-run
                --cache --output-dir --output --format --help-config --threads --precision --budget
                --warmup --iters --seed --timeout --memory-limit --resume --plugin --strict-device
                --no-ceiling --autotune --energy --in-process --wait --quiet --verbose --ascii --help" -- "$cur"))
        fi ;;
    ci)
        COMPREPLY=($(compgen -W "--config --output --repeat --github-summary --device --dtype --recipe --shapes
                --model --compile --limit --dry-run --cache --format --threads --precision --budget
                --warmup --iters --seed --timeout --memory-limit --resume --plugin --strict-device
                --no-ceiling --autotune --energy --in-process --wait --quiet --verbose --ascii --help" -- "$cur")) ;;
    preset)
        if [[ $cur == -* ]]; then
            COMPREPLY=($(compgen -W "--preset --list --set --device --dtype --compile --cache --output --format
                --threads --precision --budget --warmup --iters --seed --timeout --memory-limit --resume
                --plugin --strict-device --no-ceiling --autotune --energy --in-process --wait --quiet --verbose
                --ascii --help" -- "$cur"))
        else
            compopt -o default
            COMPREPLY=($(compgen -W "attn mlp conv norm transformer sdres all" -- "$cur"))
        fi ;;
    kernel)
        compopt -o default
        if [[ $cur == -* ]]; then
            COMPREPLY=($(compgen -W "--version --branch --hub --offline --list --build --workload --iterations --shape
                --dtype --mode --recipe --device --cache --output --format --visual --new --op
                --lang --threads --precision --budget --warmup --iters --seed --timeout
                --memory-limit --resume --plugin --strict-device --no-ceiling --autotune --energy --in-process
                --wait --quiet --verbose --ascii --help" -- "$cur"))
        fi ;;
    list) COMPREPLY=($(compgen -W "ops kernels models recipes shapes devices dtypes formats --names --plugin --help" -- "$cur")) ;;
    info) COMPREPLY=($(compgen -W "--calibrate --device --threads --help" -- "$cur")) ;;
    help) COMPREPLY=($(compgen -W "bench run ci preset kernel list info config" -- "$cur")) ;;
    esac
}
complete -F _assay assay
