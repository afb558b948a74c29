# Completion of assay's commands, options, ops and kernels for fish.

function __assay_names # asks the program that is being completed
    set -l words (commandline -opc)
    $words[1] list $argv[1] --names 2>/dev/null
end

function __assay_implementations # the second column of the kernels
    set -l words (commandline -opc)
    $words[1] list kernels 2>/dev/null | awk '{ print $2 }' | sort -u
end

complete -c assay -f
complete -c assay -n __fish_use_subcommand -a bench -d 'Measure kernels'
complete -c assay -n __fish_use_subcommand -a list -d 'What there is'
complete -c assay -n __fish_use_subcommand -a info -d 'This machine'
complete -c assay -n __fish_use_subcommand -a help -d 'Help of a command'
complete -c assay -n __fish_use_subcommand -l version -d 'Which assay this is'
complete -c assay -l help -d 'How to use it'
complete -c assay -n '__fish_seen_subcommand_from list' -a 'ops kernels recipes shapes devices dtypes formats'
complete -c assay -n '__fish_seen_subcommand_from list' -l names -d 'Names only, one on each line'
complete -c assay -n '__fish_seen_subcommand_from info' -l calibrate -d 'Measure the ceilings again'
complete -c assay -n '__fish_seen_subcommand_from info' -l device -x -a '(__assay_names devices)' -d 'Whose ceilings'
complete -c assay -n '__fish_seen_subcommand_from info' -l threads -x -d 'Ceilings for so many threads'
complete -c assay -n '__fish_seen_subcommand_from help' -a 'bench list info'

complete -c assay -n '__fish_seen_subcommand_from bench' -a '(__assay_names ops)' -d Op
complete -c assay -n '__fish_seen_subcommand_from bench' -l batch -x -d 'Batch sizes'
complete -c assay -n '__fish_seen_subcommand_from bench' -l seq -x -d 'Sequence lengths'
complete -c assay -n '__fish_seen_subcommand_from bench' -l dim -x -d Widths
complete -c assay -n '__fish_seen_subcommand_from bench' -l shape -x -d 'Whole shapes'
complete -c assay -n '__fish_seen_subcommand_from bench' -l shapes -x -a '(__assay_names shapes)' -d 'Sets of shapes'
complete -c assay -n '__fish_seen_subcommand_from bench' -l mode -x -d 'Modes of the op'
complete -c assay -n '__fish_seen_subcommand_from bench' -l recipe -x -a 'all (__assay_names recipes)' -d 'How weights are stored'
complete -c assay -n '__fish_seen_subcommand_from bench' -l dtype -x -a '(__assay_names dtypes)' -d 'Element types'
complete -c assay -n '__fish_seen_subcommand_from bench' -l impl -x -a '(__assay_implementations)' -d Implementations
complete -c assay -n '__fish_seen_subcommand_from bench' -l kernel -x -a 'all (__assay_names kernels)' -d 'Exactly these kernels'
complete -c assay -n '__fish_seen_subcommand_from bench' -l cache -x -a 'hot cold both' -d 'Cache states'
complete -c assay -n '__fish_seen_subcommand_from bench' -l threads -x -d 'How many threads'
complete -c assay -n '__fish_seen_subcommand_from bench' -l warmup -x -d 'How often to warm up'
complete -c assay -n '__fish_seen_subcommand_from bench' -l iters -x -d 'How many samples'
complete -c assay -n '__fish_seen_subcommand_from bench' -l precision -x -d 'The goal, in percent'
complete -c assay -n '__fish_seen_subcommand_from bench' -l budget -x -d 'Seconds for each group'
complete -c assay -n '__fish_seen_subcommand_from bench' -l seed -x -d 'Of the inputs'
complete -c assay -n '__fish_seen_subcommand_from bench' -l baseline -x -a '(__assay_implementations)' -d 'What to compare with'
complete -c assay -n '__fish_seen_subcommand_from bench' -l timeout -x -d 'Seconds for each kernel'
complete -c assay -n '__fish_seen_subcommand_from bench' -l output -r -F -d 'Where results go'
complete -c assay -n '__fish_seen_subcommand_from bench' -l format -x -a '(__assay_names formats)' -d 'Of the results'
complete -c assay -n '__fish_seen_subcommand_from bench' -l resume -r -F -a last -d 'Finish an earlier run'
complete -c assay -n '__fish_seen_subcommand_from bench' -l in-process -d 'No worker process'
complete -c assay -n '__fish_seen_subcommand_from bench' -l quiet -d 'Results only'
complete -c assay -n '__fish_seen_subcommand_from bench' -l verbose -d 'More detail'
complete -c assay -n '__fish_seen_subcommand_from bench' -l ascii -d 'No other characters in the table'
complete -c assay -n '__fish_seen_subcommand_from bench' -l plugin -r -F -d 'Kernels of your own'
complete -c assay -n '__fish_seen_subcommand_from bench' -l max-elements -x -d 'Skip what is larger'
complete -c assay -n '__fish_seen_subcommand_from bench' -l device -x -a '(__assay_names devices)' -d 'Where to run'
complete -c assay -n '__fish_seen_subcommand_from bench' -l strict-device -d 'Fail where the device is missing'
complete -c assay -n '__fish_seen_subcommand_from bench' -l memory-limit -x -d 'Memory to use'
complete -c assay -n '__fish_seen_subcommand_from bench' -l autotune -d 'Have libraries choose by timing'
complete -c assay -n '__fish_seen_subcommand_from bench' -l energy -d 'Measure the energy of a call'
complete -c assay -n '__fish_seen_subcommand_from bench' -l wait -d 'For another run to end'
