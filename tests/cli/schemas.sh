#!/usr/bin/env bash
# What bench, run, preset and kernel write as JSON, as JSON lines and into journals fits share/schema: rows that
# are right, wrong, crashed, hung, skipped, unsupported; and what does not fit is refused.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
: "${ASSAY_CHECK_SCHEMA:?the program that checks files against schemas}"
runs=$XDG_DATA_HOME/assay/runs
short=(--iters 8 --warmup 1)

# fits CODE COMMAND...: it ends with CODE; its report, its lines and its journal fit. Adds to all.jsonl.
fits() {
    local code=$1
    shift
    rm -rf "$runs" report.json lines.jsonl
    expect_exit "$code" "$@" -o json:report.json -o jsonl:lines.jsonl
    [ "$(ls "$runs" | wc -l)" -eq 1 ] || fail "not one journal"
    expect_exit 0 "$ASSAY_CHECK_SCHEMA" assay_report_v1.schema.json report.json
    expect_exit 0 "$ASSAY_CHECK_SCHEMA" --lines assay_report_line_v1.schema.json lines.jsonl
    expect_exit 0 "$ASSAY_CHECK_SCHEMA" --lines assay_journal_line_v2.schema.json "$runs"/*.jsonl
    expect_count 1 '^  "format": 1,$' report.json
    expect_count 1 '^\{"format":1,"run":' lines.jsonl
    expect_count "$(($(wc -l <lines.jsonl) - 1))" '"record":' "$(echo "$runs"/*.jsonl)"
    cat lines.jsonl >>all.jsonl
}

# refused CHANGE SCHEMA FILE COMPLAINT: the file is refused once sed has changed it.
refused() {
    sed -E "$1" "$3" >changed
    ! cmp -s "$3" changed || fail "sed '$1' changes nothing in $3"
    expect_exit 1 "$ASSAY_CHECK_SCHEMA" ${5:+"$5"} "$2" changed
    expect_out "^changed:[0-9]+: .*$4"
}

say "bench: right and wrong, crashed, hung, unsupported"
fits 1 "$ASSAY" bench relu --batch 2 --seq 3 --dim 5 --cache hot --iters 10 --warmup 1 --timeout 1s \
    --plugin "$ASSAY_PLUGINS/wrong.so" --plugin "$ASSAY_PLUGINS/fatal.so" --plugin "$ASSAY_PLUGINS/good.so" \
    --impl zeros,nan_answer,run_error,setup_nomem,setup_refuses,prints,segfault,hang,good,ref
cp report.json wrong.json

say "bench: hot and cold"
fits 0 "$ASSAY" bench relu --batch 2 --seq 3 --dim 5 --impl native,ref "${short[@]}"

say "bench: recipes, and sizes over the limit"
fits 0 "$ASSAY" bench linear --shape 4x64x32,4x64x64 --dtype bf16 --recipe int8wo --max-elements 4k "${short[@]}" \
    --cache hot

say "run: models, eager and compiled"
cat >c.yml <<'END'
quantization_config_recipe_names: [int8wo, marlin]
model_params:
  - name: small
    enable_profiler: true
    matrix_shapes: [{name: custom, shapes: [[4, 64, 32]]}]
    high_precision_dtype: float32
    device: cpu
    use_torch_compile: true
    model_type: ln_linear_gelu
END
fits 0 "$ASSAY" run c.yml "${short[@]}" --output-dir made
expect_file lines.jsonl '"profilers":"profiler"'

say "preset: counters"
fits 0 "$ASSAY" preset attn --set batch=1 --set seq_len=8 --set embed_dim=16 --set num_heads=2 --device cpu \
    --threads 1 --iters 4 --warmup 1
cp lines.jsonl preset.jsonl
cp "$runs"/*.jsonl journal.jsonl

say "kernel: workloads with an author's reference, and one that is wrong"
mkdir -p repository/benchmarks
cat >repository/benchmarks/benchmark_twice.c <<'C'
#include <assay/assay_kernel.h>

enum { N = 231 };

static void setup(assay_setup *s)
{
    assay_input(s, "x", ASSAY_DTYPE_F32, N);
    assay_output(s, "out", ASSAY_DTYPE_F32, N);
}

static int scale(const assay_call *call, float factor)
{
    for (int i = 0; i < N; i++)
        ((float *)call->out[0])[i] = factor * ((const float *)call->in[0])[i];
    return 0;
}

static int twice(const assay_call *call) { return scale(call, 2); }
static int thrice(const assay_call *call) { return scale(call, 3); }

ASSAY_BENCHMARK(Twice, 7, setup, {"right", twice, twice}, {"wrong", thrice, twice}, {"alone", twice})
C
echo 'name: repository' >repository/assay.yml
fits 1 "$ASSAY" kernel repository --iterations 10 --warmup 1

say "all of this was there"
for pattern in '"status":"ok"' '"status":"mismatch"' '"status":"failed"' '"status":"out_of_memory"' \
    '"status":"unsupported"' '"status":"crashed"' '"status":"timeout"' '"status":"skipped"' '"printed":"garbage' \
    '"recipe":"int8wo"' '"cold":\{' '"eager_ratio":\{' '"macs":[0-9]' \
    '"axes":\{\}' '"author_reference":true'; do
    grep -qE -- "$pattern" all.jsonl || fail "no line of the reports matches: $pattern"
done

say "what does not fit is refused, with the place"
report=assay_report_v1.schema.json lines=assay_report_line_v1.schema.json journal=assay_journal_line_v2.schema.json
refused 's/"format": 1/"format": 2/' $report wrong.json '\$\.format: is none of the allowed values'
refused 's/"status": "crashed"/"status": "dead"/' $report wrong.json '\$\.records\[[0-9]+\]\.status: is none of'
refused 's/"n": 10,/"n": "10",/' $report wrong.json '\$\.records\[[0-9]+\]\.hot\.n: is not of type integer'
refused 's/"is_baseline": (true|false),//' $report wrong.json '\$\.records\[0\]: lacks is_baseline'
refused 's/"is_baseline"/"is_basis"/' $report wrong.json 'does not name: is_basis'
refused '$d' $report wrong.json 'is not JSON'
refused '2s/"kernel":"[a-z_0-9]*"/"kernel":null/' $lines preset.jsonl '\$\.kernel: is not of type string' --lines
refused '1s/"format":1,//' $lines preset.jsonl '\$: lacks format' --lines
refused '1s/"threads":1/"threads":0/g' $journal journal.jsonl '\$\.plan\.settings\.threads: is below' --lines
refused '2s/"crc":"[0-9a-f]*"/"crc":""/' $journal journal.jsonl '\$\.crc: does not match' --lines
expect_exit 1 "$ASSAY_CHECK_SCHEMA" $report lines.jsonl
expect_exit 1 "$ASSAY_CHECK_SCHEMA" --lines $journal lines.jsonl
expect_exit 1 "$ASSAY_CHECK_SCHEMA" no_such.schema.json report.json
