#compdef assay
# Completion of assay's commands, options, ops and kernels for zsh.

_assay_names() { # what to list; asks the program that is being completed
    if [[ $1 == implementations ]]; then # the second column of the kernels
        $assay_program list kernels 2>/dev/null | awk '{ print $2 }' | sort -u
    else
        $assay_program list $1 --names 2>/dev/null
    fi
}

_assay_one() { # what to list, how to call it
    local -a names=(${(f)"$(_assay_names $1)"})
    _wanted $1 expl $2 compadd -a names
}

_assay_some() { # the same, for a list with commas
    local -a names=(${(f)"$(_assay_names $1)"})
    (( $#names )) && _values -s , $2 $names
}

_assay_bench() {
    _arguments -s \
        '*--batch=[batch sizes]:sizes' \
        '*--seq=[sequence lengths]:sizes' \
        '*--dim=[widths]:sizes' \
        '*--shape=[whole shapes]:shapes' \
        '*--shapes=[sets of shapes]:set:{_assay_some shapes set}' \
        '*--mode=[modes of the op]:mode' \
        '*--recipe=[how weights are stored]:recipe:{_assay_some recipes recipe}' \
        '*--dtype=[element types]:dtype:{_assay_some dtypes dtype}' \
        '*--impl=[implementations]:implementation:{_assay_some implementations implementation}' \
        '*--kernel=[exactly these kernels]:kernel:{_assay_some kernels kernel}' \
        '--cache=[cache states]:state:(hot cold both)' \
        '--threads=[how many threads]:number' \
        '--warmup=[how often to warm up]:number' \
        '--iters=[how many samples]:number' \
        '--precision=[the goal]:percent' \
        '--budget=[time for each group]:seconds' \
        '--seed=[of the inputs]:number' \
        '--baseline=[what to compare with]:implementation:{_assay_one implementations implementation}' \
        '--timeout=[time for each kernel]:seconds' \
        '--output=[where results go]:file:_files' \
        '--format=[of the results]:format:{_assay_one formats format}' \
        '--resume=[finish an earlier run]:run:{compadd last; _files}' \
        '--in-process[no worker process]' \
        '--quiet[results only]' \
        '--verbose[more detail]' \
        '--ascii[no other characters in the table]' \
        '*--plugin=[kernels of your own]:file:_files -g "*.so"' \
        '--max-elements=[skip what is larger]:number' \
        '--device=[where to run]:device:{_assay_one devices device}' \
        '--strict-device[fail where the device is missing]' \
        '--memory-limit=[memory to use]:size' \
        '--autotune[have libraries choose by timing]' \
        '--no-ceiling[do not probe the machine]' \
        '--energy[measure the energy of a call]' \
        '--wait[for another run to end]' \
        '--help[all options]' \
        '*:op:{_assay_one ops op}'
}

_assay_run() {
    _arguments -s \
        '--config=[the configuration]:file:_files -g "*.(yml|yaml)"' \
        '--device=[where to run]:device:{_assay_one devices device}' \
        '*--dtype=[element types]:dtype:{_assay_some dtypes dtype}' \
        '*--recipe=[how weights are stored]:recipe:{_assay_some recipes recipe}' \
        '*--shapes=[sets of shapes]:set:{_assay_some shapes set}' \
        '--model=[the model]:model:{_assay_one models model}' \
        '--compile=[how models are compiled]:mode:(default max-autotune false)' \
        '--limit=[only so many groups]:number' \
        '--dry-run[only show what would be measured]' \
        '--cache=[cache states]:state:(hot cold both)' \
        '--output-dir=[where the CSV goes]:folder:_files -/' \
        '--output=[where results go]:file:_files' \
        '--format=[of the results]:format:{_assay_one formats format}' \
        '--help-config[every key of a configuration]' \
        '--threads=[how many threads]:number' \
        '--precision=[the goal]:percent' \
        '--budget=[time for each group]:seconds' \
        '--warmup=[how often to warm up]:number' \
        '--iters=[how many samples]:number' \
        '--seed=[of the inputs]:number' \
        '--timeout=[time for each kernel]:seconds' \
        '--memory-limit=[memory to use]:size' \
        '--resume=[finish an earlier run]:run:{compadd last; _files}' \
        '*--plugin=[kernels of your own]:file:_files -g "*.so"' \
        '--strict-device[fail where the device is missing]' \
        '--autotune[have libraries choose by timing]' \
        '--no-ceiling[do not probe the machine]' \
        '--energy[measure the energy of a call]' \
        '--in-process[no worker process]' \
        '--wait[for another run to end]' \
        '--quiet[results only]' \
        '--verbose[more detail]' \
        '--ascii[no other characters in the table]' \
        '--help[all options]' \
        '*:configuration:_files -g "*.(yml|yaml)"'
}

_assay_ci() {
    _arguments -s \
        '--config=[the configuration]:file:_files -g "*.(yml|yaml)"' \
        '--output=[where results go]:file:_files' \
        '--repeat=[how often each group]:number' \
        '--github-summary=[a summary for people]:file:_files' \
        '--device=[where to run]:device:{_assay_one devices device}' \
        '*--dtype=[element types]:dtype:{_assay_some dtypes dtype}' \
        '*--recipe=[how weights are stored]:recipe:{_assay_some recipes recipe}' \
        '*--shapes=[sets of shapes]:set:{_assay_some shapes set}' \
        '--model=[the model]:model:{_assay_one models model}' \
        '--compile=[how models are compiled]:mode:(default max-autotune false)' \
        '--limit=[only so many groups]:number' \
        '--dry-run[only show what would be measured]' \
        '--cache=[cache states]:state:(hot cold both)' \
        '--format=[of the results]:format:{_assay_one formats format}' \
        '--threads=[how many threads]:number' \
        '--precision=[the goal]:percent' \
        '--budget=[time for each group]:seconds' \
        '--warmup=[how often to warm up]:number' \
        '--iters=[how many samples]:number' \
        '--seed=[of the inputs]:number' \
        '--timeout=[time for each kernel]:seconds' \
        '--memory-limit=[memory to use]:size' \
        '--resume=[finish an earlier run]:run:{compadd last; _files}' \
        '*--plugin=[kernels of your own]:file:_files -g "*.so"' \
        '--strict-device[fail where the device is missing]' \
        '--autotune[have libraries choose by timing]' \
        '--no-ceiling[do not probe the machine]' \
        '--energy[measure the energy of a call]' \
        '--in-process[no worker process]' \
        '--wait[for another run to end]' \
        '--quiet[results only]' \
        '--verbose[more detail]' \
        '--ascii[no other characters in the table]' \
        '--help[all options]'
}

_assay_preset() {
    _arguments -s \
        '*--preset=[presets]:preset:(attn mlp conv norm transformer sdres all)' \
        '--list[the presets and their parameters]' \
        '*--set=[a parameter]:parameter=values' \
        '--device=[where to run]:device:{_assay_one devices device}' \
        '*--dtype=[element types]:dtype:{_assay_some dtypes dtype}' \
        '--compile[also measure compiled]' \
        '--cache=[cache states]:state:(hot cold both)' \
        '*--output=[where results go]:file:_files' \
        '--format=[of the results]:format:{_assay_one formats format}' \
        '--threads=[how many threads]:number' \
        '--precision=[the goal]:percent' \
        '--budget=[time for each group]:seconds' \
        '--warmup=[how often to warm up]:number' \
        '--iters=[how many samples]:number' \
        '--seed=[of the inputs]:number' \
        '--timeout=[time for each kernel]:seconds' \
        '--memory-limit=[memory to use]:size' \
        '--resume=[finish an earlier run]:run:{compadd last; _files}' \
        '*--plugin=[kernels of your own]:file:_files -g "*.so"' \
        '--strict-device[fail where the device is missing]' \
        '--autotune[have libraries choose by timing]' \
        '--no-ceiling[do not probe the machine]' \
        '--energy[measure the energy of a call]' \
        '--in-process[no worker process]' \
        '--wait[for another run to end]' \
        '--quiet[results only]' \
        '--verbose[more detail]' \
        '--ascii[no other characters in the table]' \
        '--help[all options]' \
        '*:preset:{compadd attn mlp conv norm transformer sdres all; _files -g "*.(yml|yaml)"}'
}

_assay_kernel() {
    _arguments -s \
        '--version=[of a remote repository]:number' \
        '--branch=[of a remote repository]:branch' \
        '--hub=[where remote repositories are]:address:_urls' \
        '--offline[only what was downloaded before]' \
        '--list[what would run]' \
        '--build[only compile]' \
        '*--workload=[only these]:names or patterns' \
        '--iterations=[how many samples]:number' \
        '*--shape=[whole shapes]:shapes' \
        '*--dtype=[element types]:dtype:{_assay_some dtypes dtype}' \
        '*--mode=[modes of the op]:mode' \
        '*--recipe=[how weights are stored]:recipe:{_assay_some recipes recipe}' \
        '--device=[only what is for this one]:device:{_assay_one devices device}' \
        '--cache=[cache states]:state:(hot cold both)' \
        '*--output=[where results go]:file:_files' \
        '--format=[of the results]:format:{_assay_one formats format}' \
        '--visual=[charts, light and dark]:name:_files' \
        '--new=[write a new repository]:folder:_files -/' \
        '--op=[what its kernel computes]:op:{_assay_one ops op}' \
        '--lang=[what it is written in]:language:(c cu)' \
        '--threads=[how many threads]:number' \
        '--precision=[the goal]:percent' \
        '--budget=[time for each group]:seconds' \
        '--warmup=[how often to warm up]:number' \
        '--iters=[how many samples]:number' \
        '--seed=[of the inputs]:number' \
        '--timeout=[time for each kernel]:seconds' \
        '--memory-limit=[memory to use]:size' \
        '--resume=[finish an earlier run]:run:{compadd last; _files}' \
        '*--plugin=[kernels of your own]:file:_files -g "*.so"' \
        '--strict-device[fail where the device is missing]' \
        '--autotune[have libraries choose by timing]' \
        '--no-ceiling[do not probe the machine]' \
        '--energy[measure the energy of a call]' \
        '--in-process[no worker process]' \
        '--wait[for another run to end]' \
        '--quiet[results only]' \
        '--verbose[more detail]' \
        '--ascii[no other characters in the table]' \
        '--help[all options]' \
        '*:repository:_files'
}

_assay() {
    local assay_program=${(Q)words[1]}
    if (( CURRENT == 2 )); then
        _values command 'bench[measure kernels]' 'run[what a configuration says]' \
            'ci[the same, as records]' 'preset[named cases]' \
            'kernel[the benchmarks of a repository]' 'list[what there is]' 'info[this machine]' \
            'help[of a command]' '--help[how to use assay]' '--version[which assay this is]'
        return
    fi
    local command=$words[2]
    shift words
    (( CURRENT-- ))
    case $command in
    bench) _assay_bench ;;
    run) _assay_run ;;
    ci) _assay_ci ;;
    preset) _assay_preset ;;
    kernel) _assay_kernel ;;
    list) _values what ops kernels models recipes shapes devices dtypes formats --names --plugin --help ;;
    info) _values option --calibrate --device --threads --help ;;
    help) _values command bench run ci preset kernel list info config ;;
    esac
}

_assay "$@"
