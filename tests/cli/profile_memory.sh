#!/usr/bin/env bash
# --profile-memory and enable_memory_profiler: pages and snapshots of who holds what, phases of training in them and in
# assay profile, and what is said when something is missing.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
relu=(bench relu "${quick[@]}" --threads 1)
block=(preset transformer --set batch=1 --set seq_len=64 --set embed_dim=128 --set num_heads=4 --device cpu
    --threads 2 --iters 6 --warmup 1 --no-ceiling)
python=$(command -v /usr/bin/python3 || command -v python3 || :)

# A snapshot holds together, and its peak is held by owners that match. Without Python it is looked at from outside.
check_snapshot() {
    local file=$1
    shift
    head -c 2 "$file" | cmp -s - <(printf '\x80\x02') || fail "$file is no pickle of protocol 2"
    [ -n "$python" ] || return 0
    "$python" "$here/profile_memory.py" "$file" >owners || fail "$file does not hold together"
    for owner; do
        grep -Eq -- "$owner" owners || fail "nobody in $file is $owner"
    done
}

# A page is whole, loads nothing and runs nothing.
check_page() {
    expect_file "$1" '^</html>$'
    ! grep -Eq '<script|<link|src=|url\([^#]|@import|javascript:|onload' "$1" || fail "$1 loads or runs something"
    ! sed 's|xmlns="http://www.w3.org/2000/svg"||g' "$1" | grep -q 'https*:' || fail "$1 names another place"
}

say "a page of every variant, the results above it as without"
expect_exit 0 "$ASSAY" "${relu[@]}" --impl ref,native --profile-memory page.html
expect_out '^ *native .*[0-9.]+ [num]?s '
expect_err '^assay: wrote page.html, the memory of 2 variants$'
check_page page.html
expect_count 2 '^<section>$' page.html
expect_file page.html '<p>The peak, [0-9.]+ k?B in use, is reached '
expect_file page.html '>input 0</th>'
expect_file page.html '>output 0</th>'

say "without a file both are named after the run; the word behind may be an op"
expect_exit 0 "$ASSAY" bench --profile-memory relu "${quick[@]}" --threads 1 --impl native -o rows.jsonl
expect_err 'wrote memory_[0-9a-f-]+\.html and memory_[0-9a-f-]+\.pickle, the memory of 1 variant$'
check_page memory_*.html
check_snapshot memory_*.pickle '^input 0 ' '^output 0 '
expect_file rows.jsonl '"memory_stats":"\{\\"peak_memory_allocated\\": [0-9]+, \\"peak_memory_reserved\\": '
rm memory_*

say "a model: its planned buffers by node, and the plan against the least it could take"
expect_exit 0 "$ASSAY" "${block[@]}" --compile --profile-memory block.html
check_page block.html
expect_file block.html 'The plan: where each value between nodes lies'
expect_file block.html '>node 7 gelu: output 0</th>'
expect_file block.html '<title>node 1 linear: output 0, [0-9.]+ kB; from node 1 linear until node 3 linear</title>'
expect_file block.html 'The most that is needed at once is [0-9.]+ kB, in node [0-9]+, and no plan takes less'
expect_file block.html '>[0-9] linear [0-9x]+</th><td>[0-9.]+ MB</td>'
expect_exit 0 "$ASSAY" "${block[@]}" --profile-memory block.pickle
check_snapshot block.pickle 'node 7 gelu: output 0 131072$' 'node 1 linear: prepared weights ' '^input 0 32768$'

say "the most that is held is what the row counts as its peak, by another way"
expect_exit 0 "$ASSAY" "${block[@]}" --compile --profile-memory same.html -o same.jsonl
expect_exit 0 "$ASSAY" bench linear --shape 33x64x48 --recipe int8wo --impl native --cache hot --iters 4 --warmup 1 \
    --no-ceiling --profile-memory same.html -o linear.jsonl
cat linear.jsonl >>same.jsonl
sed -nE 's/.*"peak_bytes":([0-9]+).*/\1/p' same.jsonl >counted
sed -nE 's/.*peak_memory_reserved\\": ([0-9]+).*/\1/p' same.jsonl >held
expect_count 4 . counted
paste counted held | awk '{ if ($2 < $1 - 4096 || $2 > $1 + 4096) exit 1 }' || fail "$(paste counted held)"

say "training: what is saved is told apart, and phases stand above"
for pass in forward backward step; do
    expect_exit 0 "$ASSAY" "${block[@]}" --pass $pass --compile --profile-memory $pass.html --profile $pass.json
    check_page $pass.html
    expect_file $pass.html 'saved for backward'
    valid_json $pass.json
done
expect_file backward.html 'What the forward pass has saved'
expect_file step.html 'gradient'
expect_file step.html '<title>optimizer</title>'
expect_file step.html '<td>optimizer</td>'
expect_exit 0 "$ASSAY" "${block[@]}" --pass backward --profile-memory backward.pickle
check_snapshot backward.pickle 'saved for backward' 'gradient'
for phase in forward loss backward optimizer; do
    expect_file step.json "\"name\":\"$phase\",\"cat\":\"phase\""
done
expect_file step.json '"cat":"node".*"phase":"optimizer"'
expect_exit 0 "$ASSAY" profile step.json --by phase
expect_out '^ optimizer  '
expect_out '; forward [0-9]+ %, loss [0-9]+ %'
expect_no_out '^ 0 '
expect_exit 0 "$ASSAY" profile step.json --format json
valid_json out
expect_out '"phase": "backward"'
expect_exit 0 "$ASSAY" profile step.json --format md --by phase
expect_out '^\| backward \|'
expect_exit 0 "$ASSAY" "${block[@]}" --profile plain.json
expect_usage 'there are no phases' "$ASSAY" profile plain.json --by phase
expect_usage 'takes node, kernel or phase' "$ASSAY" profile plain.json --by x

say "a folder that is not there ends it before anything is measured"
expect_usage 'nosuch/m.html: cannot be written: No such file' "$ASSAY" "${relu[@]}" --profile-memory nosuch/m.html
[ ! -s out ] || fail "something was measured"

say "a full disk costs the profile alone"
expect_exit 1 "$ASSAY" "${relu[@]}" --impl native --profile-memory=/dev/full
expect_out '^ *native .*[0-9.]+ [num]?s '
expect_err '^assay: /dev/full: cannot be written: No space left on device$'
expect_err '^assay: only the profile is missing; all figures are there$'

say "names that are markup stay text"
expect_exit 0 "$ASSAY" "${relu[@]}" --impl native -o '<script>a&b.jsonl' --profile-memory odd.html
check_page odd.html
expect_file odd.html '&lt;script&gt;a&amp;b.jsonl'

say "a stranger: sums"
good=(--plugin "$ASSAY_PLUGINS/good.so")
expect_exit 0 "$ASSAY" "${relu[@]}" "${good[@]}" --impl good --profile-memory good.pickle
expect_err 'of 1 of them something is missing: .*good.*: single allocations: it runs in a process of its own'
check_snapshot good.pickle '^input 0 ' '^output 0 '

say "an interrupted run has whole files of what it measured; a resumed one says what is not in its own"
export XDG_DATA_HOME=$work/interrupted
"$ASSAY" bench relu,gelu,silu,sigmoid --batch 1,2 --seq 3 --dim 5 --cache hot --threads 1 --budget 300ms \
    --precision 0.001% --impl native --profile-memory cut_short.html >out 2>err &
pid=$!
started+=("$pid")
measured() { grep -qs '"done":0,' "$XDG_DATA_HOME"/assay/runs/*.jsonl; }
wait_for measured
kill -INT "$pid"
wait "$pid"
[ $? = 130 ] || fail "the interrupted run ended with $?"
check_page cut_short.html
expect_exit 0 "$ASSAY" bench --resume last --profile-memory rest.html
expect_err 'wrote rest.html, the memory of [0-9] variants?; [0-9] groups? measured before (is|are) not in it'
check_page rest.html

say "enable_memory_profiler: both for each variant, in TorchAO's folders, and in the CSV"
cat >c.yml <<'END'
quantization_config_recipe_names: [int8wo]
output_dir: made
model_params:
  - name: small one
    enable_memory_profiler: true
    matrix_shapes: [{name: custom, shapes: [[4, 64, 32]]}]
    high_precision_dtype: float32
    device: cpu
    use_torch_compile: false
    model_type: ln_linear_gelu
END
expect_exit 0 "$ASSAY" run c.yml --iters 8 --warmup 1 --no-ceiling
expect_no_err 'no memory profile'
name=small_one_4_64_32_quant_int8wo_sparsity_None_eager_0_memory_profile
folder=made/inference/memory_profiler
check_snapshot $folder/pickle/$name.pickle 'node [0-9] linear: prepared weights'
check_page $folder/html/$name.html
[ "$(find $folder -type f | wc -l)" = 4 ] || fail "not two files for each variant"
expect_file made/inference/results_*.csv "$folder/pickle/$name.pickle,$folder/html/$name.html,"
expect_file made/inference/results_*.csv '""peak_memory_allocated"": [0-9]+'
expect_exit 0 "$ASSAY" show last -o again.jsonl
expect_file again.jsonl "\"memory_profile\":\"$folder/pickle/$name.pickle\""
expect_file again.jsonl "\"memory_visualization\":\"$folder/html/$name.html\""

say "of training, too: those of the whole step"
{ echo 'benchmark_mode: training' && sed 's/int8wo/float8dq-row/; s/ln_linear_gelu/linear/' c.yml; } >t.yml
expect_exit 0 "$ASSAY" run t.yml --iters 4 --warmup 1 --no-ceiling
name=small_one_4_64_32_quant_float8dq-row_sparsity_None_eager_2_memory_profile
folder=made/training/memory_profiler
check_snapshot $folder/pickle/$name.pickle '^input 0 '
expect_file made/training/results_*.csv "$folder/pickle/$name.pickle,$folder/html/$name.html,\"\{"
expect_file $folder/html/$name.html '<title>backward</title>'

say "a folder that cannot be made costs the files alone"
mkdir -p blocked/inference
: >blocked/inference/memory_profiler
sed -i 's/output_dir: made/output_dir: blocked/' c.yml
expect_exit 1 "$ASSAY" run c.yml --iters 8 --warmup 1 --no-ceiling
expect_err 'memory_profiler: cannot make this folder'
expect_err '^assay: only the profile is missing; all figures are there$'
expect_file blocked/inference/results_*.csv 'peak_memory_allocated'

say "the plan and what is timed are the same with a profile and without"
for with in "" "--profile-memory same.html"; do
    # shellcheck disable=SC2086
    expect_exit 0 "$ASSAY" "${relu[@]}" --impl ref,native --seed 7 $with -o "same${#with}.jsonl"
    grep -o '"kernel":"[a-z_0-9]*"\|"n":[0-9]*\|"status":"[a-z]*"\|"every":[0-9]*\|"[a-z]*_bytes":[0-9]*' \
        "same${#with}.jsonl" | grep -v system_peak >"same${#with}"
done
cmp same0 same26 || fail "something was measured differently with --profile-memory"
