# ceilings.sh: read by scripts that measure with $ASSAY and are not about ceilings: measuring those takes all
# cores for seconds.
#
#   make_ceilings    puts ceilings that nothing reaches into $XDG_CACHE_HOME
#   seal FILE        gives a hand-written file of ceilings its checksum
# shellcheck shell=bash

# seal FILE: gives a JSON object, whose last line ends with its brace, the checksum that assay asks for
# (src/base/sealed.h).
seal() {
    local body
    body="$(sed '$s/}[[:space:]]*$/,/' "$1")"
    printf '%s\n  "sha256": "%s"\n}\n' "$body" "$(printf '%s\n' "$body" | sha256sum | cut -d' ' -f1)" >"$1.new"
    mv "$1.new" "$1"
}

# Ceilings far above anything, so that nothing is called impossible on a busy machine, for one thread
# and for all, under this machine's name.
make_ceilings() {
    local info model cores threads file
    info=$("$ASSAY" info)
    model=$(sed -n 's/^cpu  *//; s/ ([^()]* family .*//p' <<<"$info")
    cores=$(sed -n 's/^cores  *\([0-9]*\).*/\1/p' <<<"$info")
    file=$(echo "$model" | tr 'A-Z' 'a-z' | tr -cs 'a-z0-9' '-' | sed 's/^-//; s/-$//')
    mkdir -p "$XDG_CACHE_HOME/assay"
    for threads in 1 "$cores"; do
        cat >"$XDG_CACHE_HOME/assay/ceilings-$file-${threads}t.json" <<END
{"format": "assay-ceilings", "version": 5, "device": "$model", "threads": $threads,
 "measured_at": 1700000000, "flops_f32": 1e18, "flops_f16": 1e18, "flops_bf16": 1e18,
 "flops_s8": 1e18, "flops_f8": 1e18, "clock_hz": 3e9, "timer_ns": 20, "floor_ns": 20,
 "levels": [{"name": "L1", "bytes": 100000}, {"name": "memory", "bytes": null}],
 "points": [{"bytes": 1, "read": 1e15, "write": 1e15, "copy": 1e15, "triad": 1e15}]}
END
        seal "$XDG_CACHE_HOME/assay/ceilings-$file-${threads}t.json"
    done
    "$ASSAY" info | grep -q '^ceilings with' || { echo "the ceilings made for the tests are not read"; exit 1; }
}
