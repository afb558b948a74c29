/* page.js: what a page can do besides being read: sort, filter, open rows, save charts, follow a
 * run that is still measured. Without it everything can be read.
 *
 * What others may rely on:
 *   #filter, input[name=kind], input[name=state], #sort, #direction, #count   filters and sorting
 *   #theme                         light and dark
 *   section.op > .g > .scroll > table    a group; tr#r12 is row 12 of the records, from 1
 *   th > button.by                 sorts all tables by the column of this name; th has aria-sort
 *   tr#r12 > th > button.open      opens the row: tr#d12.detail follows it; the row is .opened
 *   figure.chart[data-chart=NAME]  a chart; [data-row=12] in it are the marks of row 12
 *   button.save                    saves a chart as a file
 *   #live[data-version]            a live page: what is asked for news
 *   #assay-data                    the records; html_data.c has their form
 * <html> has the class js once all of this works. */
"use strict";

(() => {

const $ = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

/* An element with attributes and children; texts are children, too. */
function make(name, attributes = {}, ...children) {
    const svg = /^(svg|g|rect|line|path|circle|text|title)$/.test(name);
    const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", name)
                        : document.createElement(name);
    for (const [key, value] of Object.entries(attributes))
        element.setAttribute(key, value);
    element.append(...children);
    return element;
}

const ALL_AT_ONCE = 1000; /* so many rows, or tables, are no work to speak of */

/* ---- the records -------------------------------------------------------------------------- */

let store = null; /* what #assay-data holds, ready to be asked for a row */

/* Texts are numbered in the order of the document. */
function collectTexts(value, texts) {
    if (typeof value === "string")
        texts.push(value);
    else if (Array.isArray(value))
        for (const item of value)
            if (typeof item !== "number")
                collectTexts(item, texts);
}

function columnsOf(keys) {
    return keys.map(text => {
        const [key, near] = text.split("@");
        return {key, near: near ? key.replace(/[^.]*$/, near) : null, relative: near !== undefined};
    });
}

function readStore() {
    const data = JSON.parse($("#assay-data").textContent);
    const texts = [], rows = [];
    collectTexts(data.values, texts);
    for (const group of data.groups) {
        collectTexts(group[1], texts);
        for (const row of group[2]) {
            collectTexts(row, texts);
            rows.push([group, row]);
        }
    }
    const columns = {page: columnsOf(data.page), group: columnsOf(data.group), row: columnsOf(data.row)};
    return {data, texts, rows, columns};
}

const TEXTS = new Set(("op title implementation kernel device dtype mode label entry compile profilers profile " +
    "memory_profile memory_visualization memory_stats pass recipe note isolation printed status reason baseline " +
    "caller timed timed_why bound").split(" "));

/* Millionths of what it is near, or [FIGURE]. */
function absolute(value, near) {
    if (Array.isArray(value))
        return value.length === 1 ? value[0] : value.map(end => absolute(end, near));
    return value === null ? null : near + Math.abs(near) * value * 1e-6;
}

/* A record as an object: {"hot.median_ns": 2310.5, …}. Number from 1. */
function recordOf(number) {
    store = store || readStore();
    const found = store.rows[number - 1], record = {};
    if (!found)
        return null;
    const missing = key => {
        for (let dot = key.lastIndexOf("."); dot > 0; dot = key.lastIndexOf(".", dot - 1))
            if (record[key.slice(0, dot)] === 0)
                return true;
        return false;
    };
    const take = (columns, values, leaveOut) => {
        let at = 0;
        for (const {key, near, relative} of columns) {
            if (leaveOut && missing(key))
                continue;
            const value = values[at++];
            if (TEXTS.has(key.replace(/^.*\./, "")) && typeof value === "number")
                record[key] = store.texts[value];
            else if (relative && near)
                record[key] = absolute(value, record[near]);
            else if (!relative)
                record[key] = value;
        }
    };
    take(store.columns.page, store.data.values, false);
    take(store.columns.group, found[0][1], false);
    take(store.columns.row, found[1], true);
    record.run = found[0][0] + 1;
    return record;
}

/* Times in ns, and which of them were disturbed. */
function samplesOf(record, state) {
    const packed = record[state + ".samples"], median = record[state + ".median_ns"];
    if (!Array.isArray(packed))
        return null;
    const base = median > 0 ? median : 1;
    return {
        every: packed[0],
        ns: packed[2].map(n => base * (1 + n * packed[1] * 1e-6)),
        disturbed: new Set(packed[3]),
    };
}

/* ---- words and numbers -------------------------------------------------------------------- */

/* "0.0123", "4.4e-8" */
function digits(value, n) {
    const small = value !== 0 && Math.abs(value) < 1e-3;
    return small ? value.toExponential(n - 1).replace(/\.?0*e/, "e") : String(Number(value.toPrecision(n)));
}

function timeText(ns, n = 3) {
    if (!(ns >= 0))
        return "-";
    const unit = ns < 999.5 ? [1, "ns"] : ns < 999.5e3 ? [1e3, "us"] : ns < 999.5e6 ? [1e6, "ms"] : [1e9, "s"];
    return digits(ns / unit[0], n) + " " + unit[1];
}

function bytesText(bytes) {
    const units = ["B", "kB", "MB", "GB", "TB"];
    let i = 0;
    for (; i < 4 && bytes >= 999.5; i++)
        bytes /= 1000;
    return digits(bytes, 3) + " " + units[i];
}

const counted = (n, one, many = one + "s") => n + " " + (n === 1 ? one : many);

/* ---- drawings of samples ------------------------------------------------------------------ */

const WIDTH = 520, HEIGHT = 150, LEFT = 58, RIGHT = 8, TOP = 8, BOTTOM = 24;

/* From the values that are shown: far outliers would make one line of all others. */
function spanOf(ns) {
    const sorted = [...ns].sort((a, b) => a - b), n = sorted.length;
    const q1 = sorted[Math.floor(n / 4)], q3 = sorted[Math.floor(3 * (n - 1) / 4)];
    const reach = 6 * (q3 - q1) || sorted[0] * 0.01 || 1;
    const lo = Math.max(sorted[0], q1 - reach), hi = Math.min(sorted[n - 1], q3 + reach);
    const outside = sorted.filter(v => v < lo || v > hi).length;
    return lo < hi ? {lo, hi, outside, q1, q3} : {lo: lo * 0.995, hi: hi * 1.005 || 1, outside, q1, q3};
}

const line = (x1, y1, x2, y2, ink, width = 1) =>
    make("line", {x1, y1, x2, y2, stroke: `var(--ink-${ink})`, "stroke-width": width});

const label = (x, y, anchor, text) =>
    make("text", {x, y, "text-anchor": anchor, "font-size": 11, fill: "var(--ink-muted)"}, text);

function frame(name) {
    return make("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": name},
                make("title", {}, name));
}

/* How often which time: a histogram by the rule of Freedman and Diaconis; disturbed samples hollow. */
function drawHistogram(samples, record, state) {
    const {ns, disturbed} = samples, span = spanOf(ns), svg = frame(`${state}: distribution of the samples`);
    const width = 2 * (span.q3 - span.q1) / Math.cbrt(ns.length);
    const n = Math.max(8, Math.min(48, Math.ceil((span.hi - span.lo) / width) || 8));
    const bins = Array.from({length: n}, () => [0, 0]);
    ns.forEach((value, i) => {
        const at = Math.floor((value - span.lo) / (span.hi - span.lo) * n);
        if (value >= span.lo && value <= span.hi)
            bins[Math.min(at, n - 1)][disturbed.has(i) ? 1 : 0]++;
    });
    const most = Math.max(1, ...bins.map(([a, b]) => a + b));
    const x = value => LEFT + (value - span.lo) / (span.hi - span.lo) * (WIDTH - LEFT - RIGHT);
    const floor = HEIGHT - BOTTOM, scale = (floor - TOP) / most, step = (WIDTH - LEFT - RIGHT) / n;
    const ci = record[state + ".median_ci_ns"], median = record[state + ".median_ns"];
    if (ci && x(ci[0]) < WIDTH && x(ci[1]) > LEFT) {
        const from = Math.max(LEFT, x(ci[0])), to = Math.min(WIDTH - RIGHT, x(ci[1]));
        svg.append(make("rect", {x: from, y: TOP, width: Math.max(1, to - from), height: floor - TOP,
                                 fill: "var(--ink-grid)"}));
    }
    bins.forEach(([calm, hit], i) => {
        const box = (from, count, more) => svg.append(make("rect", {
            x: LEFT + i * step + 0.5, width: Math.max(0.5, step - 1),
            y: floor - (from + count) * scale, height: count * scale, ...more}));
        if (calm)
            box(0, calm, {fill: "var(--ink-series-1)"});
        if (hit)
            box(calm, hit, {fill: "none", stroke: "var(--ink-slower)"});
    });
    svg.append(line(LEFT, floor, WIDTH - RIGHT, floor, "border"));
    if (median >= span.lo && median <= span.hi)
        svg.append(line(x(median), TOP, x(median), floor, "text", 1.5));
    svg.append(label(LEFT, HEIGHT - 8, "start", timeText(span.lo, 4)),
               label(WIDTH - RIGHT, HEIGHT - 8, "end", timeText(span.hi, 4)),
               label((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, "middle", "median " + timeText(median, 4)),
               label(WIDTH - RIGHT, TOP + 10, "end", span.outside ? counted(span.outside, "sample") + " beyond" : ""),
               label(LEFT - 6, TOP + 10, "end", most), label(LEFT - 6, floor, "end", "0"));
    return svg;
}

/* In the order in which they were taken. */
function drawSeries(samples, record, state) {
    const {ns, disturbed} = samples, span = spanOf(ns), svg = frame(`${state}: samples in order`);
    const floor = HEIGHT - BOTTOM, median = record[state + ".median_ns"];
    const x = i => LEFT + 4 + i / Math.max(1, ns.length - 1) * (WIDTH - LEFT - RIGHT - 8);
    const y = v => floor - 4 - (Math.min(span.hi, Math.max(span.lo, v)) - span.lo) / (span.hi - span.lo) * (floor - TOP - 8);
    svg.append(line(LEFT, floor, WIDTH - RIGHT, floor, "border"), line(LEFT, TOP, LEFT, floor, "border"));
    if (median >= span.lo && median <= span.hi)
        svg.append(line(LEFT, y(median), WIDTH - RIGHT, y(median), "even"));
    ns.forEach((value, i) => svg.append(make("circle", disturbed.has(i)
        ? {cx: x(i), cy: y(value), r: 2.5, fill: "none", stroke: "var(--ink-slower)"}
        : {cx: x(i), cy: y(value), r: 2, fill: "var(--ink-series-1)"})));
    svg.append(label(LEFT - 6, TOP + 10, "end", timeText(span.hi, 4)),
               label(LEFT - 6, floor, "end", timeText(span.lo, 4)),
               label((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, "middle", "samples in the order they were taken"));
    return svg;
}

/* ---- what a row holds --------------------------------------------------------------------- */

/* Pairs of a word and a text; those without a text are left out. */
function list(pairs) {
    const dl = make("dl");
    for (const [term, text] of pairs)
        if (text)
            dl.append(make("dt", {}, term), make("dd", {}, text));
    return dl;
}

function disturbancesText(of) {
    return [
        [of("outliers"), "outlier"],
        [of("context_switches"), "context switch", "context switches"],
        [of("waited"), "sample waited for a core", "samples waited for a core"],
        [of("stolen"), "sample beside stolen time", "samples beside stolen time"],
        [of("clock_changes"), "clock change"],
        [of("near_floor"), "sample near the floor", "samples near the floor"],
        [of("slow_unit"), "sample on a slow matrix unit", "samples on a slow matrix unit"],
        [of("throttled"), "sample with the clock held down", "samples with the clock held down"],
    ].filter(([n]) => n > 0).map(([n, one, many]) => counted(n, one, many)).join(", ");
}

function statePart(record, state) {
    const of = key => record[`${state}.${key}`];
    const samples = samplesOf(record, state);
    const ci = of("median_ci_ns"), efficiency = of("efficiency_ci");
    const part = make("div", {}, make("h4", {}, state));
    if (samples)
        part.append(drawHistogram(samples, record, state), drawSeries(samples, record, state));
    part.append(list([
        ["median", ci ? `${timeText(of("median_ns"), 4)}, 95% interval ${timeText(ci[0], 4)} to ${timeText(ci[1], 4)}` : ""],
        ["samples", `${of("n")} of ${counted(of("calls_per_sample"), "call")} each` +
                    (samples && samples.every > 1 ? `; one of each ${samples.every} is drawn` : samples ? "" : "; not in this page")],
        ["mean", `${timeText(of("mean_ns"), 4)}, quartiles ${timeText(of("q1_ns"), 4)} to ${timeText(of("q3_ns"), 4)}`],
        ["range", `${timeText(of("min_ns"), 4)} to ${timeText(of("max_ns"), 4)}, 99% below ${timeText(of("p99_ns"), 4)}`],
        ["precision", of("precise") ? "" : "not as precise as asked"],
        ["resolves", of("ratio.smallest_visible") > 0 ? `differences of ${digits(100 * of("ratio.smallest_visible"), 2)}% from the baseline` : ""],
        ["disturbed", disturbancesText(of)],
        ["clock", of("clock_hz") > 0 ? `${(of("clock_hz") / 1e9).toFixed(2)} GHz` : ""],
        ["ceiling", of("ceiling_ns") > 0 ? `${timeText(of("ceiling_ns"))} (${of("bound")})` +
            (efficiency ? `, ${digits(100 * efficiency[0], 3)}% to ${digits(100 * efficiency[1], 3)}% of it reached` : "") : ""],
        ["machine", of("machine_frac") > 0 ? `at ${Math.round(100 * of("machine_frac"))}% of its best` : ""],
    ]));
    return part;
}

function checkText(record) {
    const of = key => record["verification." + key];
    if (!of("done"))
        return "not verified";
    return [
        `${of("compared")} of ${counted(of("of"), "element")} compared, ${counted(of("times"), "time")}`,
        of("mismatches") ? `${of("mismatches")} wrong` : "",
        `greatest error ${digits(of("max_abs") || 0, 2)} absolute, ${digits(of("max_rel") || 0, 2)} relative`,
        of("max_abs") === 0 ? "exact" : of("sqnr_db") !== null ? `SQNR ${digits(of("sqnr_db"), 4)} dB` : "",
        `allowed ${digits(of("tolerance_relative") || 0, 2)} relative + ${digits(of("tolerance_absolute") || 0, 2)} absolute` +
            (of("author_tolerance") ? " by its author" : ""),
        of("exact") ? "bit for bit on integers" : "",
        of("author_reference") ? "against its author's own reference" : "",
    ].filter(text => text).join("; ");
}

function graphText(record) {
    const of = key => record["graph." + key];
    if (!record.timed)
        return "";
    return [
        record.timed + (record.timed_why ? ": " + record.timed_why : ""),
        record.graph ? `${counted(of("kernels"), "kernel")} in ${counted(of("calls"), "call")}` : "",
        ...(record.graph ? of("names").map(name => typeof name === "number" ? store.texts[name] : name) : []),
    ].filter(text => text).join("; ");
}

function recordPart(record) {
    const bytes = (name, value) => value >= 0 && value !== null ? `${name} ${bytesText(value)}` : "";
    return make("div", {}, make("h4", {}, record.implementation), list([
        ["outcome", record.status === "ok" ? "" : record.status.replace(/_/g, " ") + (record.reason ? ": " + record.reason : "")],
        ["kernel", record.kernel],
        ["device", record.device + (record.threads > 0 && record.device === "cpu" ? `, ${counted(record.threads, "thread")}` : "")],
        ["baseline", record.is_baseline ? "this one" : record.baseline],
        ["recipe", record.recipe],
        ["weights", record.weight_bytes > 0 ? bytesText(record.weight_bytes) : ""],
        ["prepared in", record.prepare_ns > 0 ? timeText(record.prepare_ns) : ""],
        ["accuracy", record.accuracy_db === true ? "exact" : record.accuracy_db === null ? "" : `SQNR ${digits(record.accuracy_db, 4)} dB`],
        ["note", record.note],
        ["check", checkText(record)],
        ["memory", [bytes("idle", record.idle_bytes), bytes("peak", record.peak_bytes),
                    bytes("workspace", record.workspace_bytes), bytes("system's peak", record.system_peak_bytes)]
                   .filter(text => text).join(", ")],
        ["set up in", record.setup_ns > 0 ? timeText(record.setup_ns) : ""],
        ["energy", record.energy_j > 0 ? `${digits(record.energy_j * 1e3, 3)} mJ a call` : ""],
        ["timed", graphText(record)],
        ["isolation", record.isolation],
        ["calls", record.not_asked ? "not checked whether it computes every call" : ""],
        ["printed", record.printed],
        ["seed", String(record.seed)],
    ]));
}

function detailsOf(number) {
    const record = recordOf(number), parts = make("div", {class: "parts"});
    if (!record)
        return make("p", {}, "The page has no data of this row.");
    for (const state of ["hot", "cold"])
        if (record[state])
            parts.append(statePart(record, state));
    parts.append(recordPart(record));
    return parts;
}

/* ---- rows --------------------------------------------------------------------------------- */

const opened = new Set(); /* numbers of rows */
const numberOf = row => Number(row.id.slice(1));
const rowOf = number => document.getElementById("r" + number);

/* Buttons in a table's heads and rows: not before they are about to be seen, there may be ten
 * thousand. Only the first table of an op has its heads in the order of the Tab key. */
function equip(group) {
    if (group.dataset.ready)
        return;
    group.dataset.ready = "1";
    const first = !group.previousElementSibling || !group.previousElementSibling.matches(".g");
    for (const head of group.querySelectorAll("thead th")) {
        const button = make("button", {type: "button", class: "by"}, ...head.childNodes);
        if (!first)
            button.tabIndex = -1;
        head.append(button);
    }
    for (const head of group.querySelectorAll("tr[id] > th"))
        head.append(make("button", {type: "button", class: "open",
                                    "aria-expanded": opened.has(numberOf(head.parentNode))}, ...head.childNodes));
}

function light(number, on) {
    for (const mark of all(`.chart [data-row="${number}"]`))
        mark.classList.toggle("lit", on);
}

function openRow(number, focus) {
    const row = rowOf(number);
    if (!row)
        return;
    equip(row.closest(".g"));
    const button = $(".open", row);
    if (!opened.has(number)) {
        opened.add(number);
        button.setAttribute("aria-expanded", "true");
        button.setAttribute("aria-controls", "d" + number);
        row.classList.add("opened");
        const columns = row.closest("table").tHead.rows[0].cells.length;
        row.after(make("tr", {class: "detail", id: "d" + number},
                       make("td", {colspan: columns}, detailsOf(number))));
        light(number, true);
    }
    if (focus) {
        row.hidden = row.closest(".g").hidden = row.closest(".op").hidden = false;
        row.scrollIntoView({block: "center"});
        button.focus({preventScroll: true});
    }
}

function closeRow(number) {
    const row = rowOf(number), details = document.getElementById("d" + number);
    opened.delete(number);
    light(number, false);
    if (details)
        details.remove();
    if (!row)
        return;
    row.classList.remove("opened");
    $(".open", row).setAttribute("aria-expanded", "false");
    $(".open", row).removeAttribute("aria-controls");
}

const toggleRow = number => opened.has(number) ? closeRow(number) : openRow(number, false);

/* ---- all rows ----------------------------------------------------------------------------- */

let index = null; /* by section and group: rows in the order of the run, what they say, their kinds */

function buildIndex() {
    index = index || all("section.op").map(section => ({
        section,
        groups: [...section.getElementsByClassName("g")].map(group => {
            const table = group.getElementsByTagName("table")[0], body = table.tBodies[0];
            const about = (section.firstElementChild.textContent + " " + table.caption.textContent).toLowerCase();
            return {group, table, body, rows: [...body.rows].filter(row => row.id[0] === "r").map(row => ({
                row,
                text: about + " " + row.textContent.toLowerCase(),
                kinds: [...row.cells].map(cell => cell.className).filter(kind => /^[fseubyz]$/.test(kind)),
            }))};
        }),
    }));
    return index;
}

const detailsRow = row => opened.size && opened.has(numberOf(row)) && document.getElementById("d" + numberOf(row));

/* ---- sorting ------------------------------------------------------------------------------ */

const UNITS = {ns: 1, us: 1e3, ms: 1e6, s: 1e9, "GB/s": 1, "GFLOP/s": 1, "TFLOP/s": 1e3, "PFLOP/s": 1e6,
               "GF/s": 1, "TF/s": 1e3, "PF/s": 1e6};
const AT_ONCE_MS = 30; /* tables that are not reached in this time are sorted after the next frame */
let sorted = {name: "", descending: false};
let sortedHeads = [], sorting = 0;

/* What a cell counts as: a number where it begins with one, else its text; null: nothing. */
function sortKey(cell) {
    const text = cell ? cell.textContent.trim() : "";
    if (!text || cell.colSpan > 1)
        return null;
    if (/^(same|unclear|baseline)/.test(text))
        return 1;
    if (text === "exact")
        return Infinity;
    const found = /^[▸><]?\s*(\d*\.?\d+(?:e[+-]?\d+)?)\s*([A-Za-z/]*)/.exec(text);
    if (!found)
        return text;
    const value = Number(found[1]) * (UNITS[found[2]] || 1);
    return / slower/.test(text) ? 1 / value : value;
}

function compareKeys(a, b) {
    if (a === null || b === null)
        return (a === null) - (b === null);
    const sign = sorted.descending ? -1 : 1;
    return sign * (typeof a === "string" || typeof b === "string" ? String(a).localeCompare(String(b)) : a - b);
}

const nameOf = head => head.textContent.trim();

function sortTable({table, body, rows}, column) {
    let order = rows.map(({row}) => row);
    if (column >= 0) {
        const keys = new Map(order.map(row => [row, sortKey(row.cells[column])]));
        const head = table.tHead.rows[0].cells[column];
        order.sort((a, b) => compareKeys(keys.get(a), keys.get(b)));
        head.setAttribute("aria-sort", sorted.descending ? "descending" : "ascending");
        sortedHeads.push(head);
    }
    body.append(...order.flatMap(row => detailsRow(row) ? [row, detailsRow(row)] : [row]));
}

/* The tables that can be seen first. */
function sortJobs(name) {
    const jobs = buildIndex().flatMap(({groups}) => {
        const heads = [...groups[0].table.tHead.rows[0].cells];
        const column = name ? heads.findIndex(head => nameOf(head) === name) : -1;
        return groups.map(group => ({group, column}));
    });
    const middle = document.elementFromPoint(innerWidth / 2, innerHeight / 4);
    const seen = middle && middle.closest(".g") ? jobs.findIndex(({group}) => group.group === middle.closest(".g")) : 0;
    return [...jobs.slice(seen), ...jobs.slice(0, seen)];
}

/* All tables that have the column; none: back to the order of the run. */
function sortBy(name, descending) {
    const focused = document.activeElement, job = ++sorting;
    for (const head of sortedHeads)
        head.removeAttribute("aria-sort");
    sortedHeads = [];
    sorted = {name, descending};
    const jobs = sortJobs(name);
    const step = () => {
        const end = jobs.length <= ALL_AT_ONCE ? Infinity : performance.now() + AT_ONCE_MS;
        while (jobs.length && job === sorting && performance.now() < end) {
            const {group, column} = jobs.shift();
            sortTable(group, column);
        }
        if (jobs.length && job === sorting)
            setTimeout(step);
    };
    step();
    $("#sort").value = name;
    $("#direction").setAttribute("aria-pressed", String(descending));
    if (focused && focused !== document.activeElement)
        focused.focus({preventScroll: true});
}

function listColumns() {
    const names = new Set(all("section.op .g:first-of-type thead th").map(nameOf));
    for (const name of names)
        $("#sort").append(make("option", {value: name}, name));
}

/* ---- filtering ---------------------------------------------------------------------------- */

function filter() {
    const words = $("#filter").value.toLowerCase().split(/\s+/).filter(word => word);
    const kinds = new Set(all("input[name=kind]").filter(box => box.checked).map(box => box.value));
    let shown = 0, of = 0;
    for (const {section, groups} of buildIndex()) {
        let any = false;
        for (const {group, rows} of groups) {
            let here = 0;
            for (const {row, text, kinds: has} of rows) {
                const fits = (!has.length || has.some(kind => kinds.has(kind))) && words.every(word => text.includes(word));
                if (row.hidden === fits)
                    row.hidden = !fits;
                if (detailsRow(row))
                    detailsRow(row).hidden = !fits;
                here += fits;
            }
            of += rows.length;
            shown += here;
            any = any || here > 0;
            if (group.hidden === (here > 0))
                group.hidden = here === 0;
        }
        section.hidden = !any;
    }
    $("#count").textContent = shown === of ? counted(of, "row") : `${shown} of ${counted(of, "row")}`;
}

/* Columns of a cache state are hidden by rules for each op, whose tables are all alike. */
function hideStates() {
    const boxes = all("input[name=state]");
    for (const box of boxes)
        $("#assay").classList.toggle("no-" + box.value, !box.checked);
    for (const cell of all("td[colspan].y, td[colspan].z")) {
        const table = cell.closest("table"), full = table.tHead.rows[0].cells;
        const hidden = [...full].filter(head => boxes.some(box => !box.checked && nameOf(head).startsWith(box.value))).length;
        cell.dataset.span = cell.dataset.span || cell.colSpan;
        cell.colSpan = Math.max(1, cell.dataset.span - hidden);
    }
}

function addStateRules() {
    const sheet = document.styleSheets[0];
    let both = false;
    for (const section of all("section.op")) {
        const heads = [...section.getElementsByTagName("table")[0].tHead.rows[0].cells];
        for (const state of ["hot", "cold"])
            heads.forEach((head, i) => {
                if (!nameOf(head).startsWith(state))
                    return;
                both = true;
                sheet.insertRule(`.no-${state} #${section.id} tr>:nth-child(${i + 1}):not([colspan]){display:none}`, sheet.cssRules.length);
            });
    }
    $("#states").hidden = !both;
}

/* ---- charts ------------------------------------------------------------------------------- */

/* The image with its colours as they are, for a file of its own. */
function standalone(svg) {
    const copy = svg.cloneNode(true), style = getComputedStyle(document.documentElement);
    for (const element of [copy, ...copy.querySelectorAll("*")])
        for (const attribute of [...element.attributes]) {
            if (/^(tabindex|role|class|aria-)/.test(attribute.name) && element !== copy)
                element.removeAttribute(attribute.name);
            else
                attribute.value = attribute.value.replace(/var\((--[\w-]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
        }
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("role", "img");
    return new XMLSerializer().serializeToString(copy);
}

function save(figure) {
    const url = URL.createObjectURL(new Blob([standalone($("svg", figure))], {type: "image/svg+xml"}));
    make("a", {href: url, download: figure.dataset.chart + ".svg"}).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/* Each chart is one stop of the Tab key; arrows go from mark to mark. */
function equipCharts() {
    for (const figure of all(".chart")) {
        const marks = all("[data-row]", figure).filter(mark => rowOf(mark.dataset.row));
        if (marks.length)
            $("svg", figure).setAttribute("role", "group");
        marks.forEach((mark, i) => {
            const title = $("title", mark);
            mark.setAttribute("role", "button");
            mark.setAttribute("aria-label", (title ? title.textContent : "row " + mark.dataset.row));
            mark.setAttribute("tabindex", i ? -1 : 0);
            mark.classList.toggle("lit", opened.has(Number(mark.dataset.row)));
        });
        $("figcaption", figure).append(" ", make("button", {type: "button", class: "save control"}, "Save as SVG"));
    }
}

function moveMark(mark, step) {
    const marks = all("[data-row][tabindex]", mark.closest(".chart"));
    const next = marks[(marks.indexOf(mark) + step + marks.length) % marks.length];
    mark.setAttribute("tabindex", -1);
    next.setAttribute("tabindex", 0);
    next.focus();
}

/* ---- light and dark ----------------------------------------------------------------------- */

function isDark() {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/* A page opened from a file may have no storage. */
function remember(theme) {
    try {
        if (theme)
            localStorage.setItem("assay-theme", theme);
        return localStorage.getItem("assay-theme");
    } catch {
        return null;
    }
}

function showTheme() {
    $("#theme").textContent = isDark() ? "Light" : "Dark";
    $("#theme").hidden = false;
}

/* ---- a run that is still measured --------------------------------------------------------- */

const INTERVAL_MS = 1000;
let version = null;

/* What the reader has done, to do it again on a newer page. */
function remembered() {
    const focus = document.activeElement;
    return {
        filter: $("#filter") && $("#filter").value,
        boxes: all("#filters input[type=checkbox]").map(box => box.checked),
        sorted, rows: [...opened], legend: $(".legend") && $(".legend").open,
        focus: focus && (focus.id || (focus.closest("tr[id]") && focus.closest("tr[id]").id)),
        scroll: [scrollX, scrollY],
    };
}

function restore(state) {
    if ($("#filter")) {
        $("#filter").value = state.filter || "";
        all("#filters input[type=checkbox]").forEach((box, i) => { box.checked = state.boxes[i] !== false; });
        if (state.sorted.name)
            sortBy(state.sorted.name, state.sorted.descending);
        hideStates();
        filter();
        $(".legend").open = state.legend;
    }
    for (const number of state.rows)
        openRow(number, false);
    const focus = state.focus && document.getElementById(state.focus);
    if (focus)
        (focus.matches("tr") ? $(".open", focus) : focus).focus({preventScroll: true});
    scrollTo(...state.scroll);
}

function swap(page) {
    const state = remembered(), live = $("#live");
    store = index = null;
    opened.clear();
    for (const what of ["header", "#assay", "#assay-data"])
        if ($(what) && $(what, page))
            $(what).replaceWith(document.adoptNode($(what, page)));
    if (!$("#live")) /* the page of a run that has ended */
        $("h1").after(live);
    document.title = page.title;
    start();
    showTheme();
    restore(state);
}

async function ask(name) {
    const answer = await fetch(name, {cache: "no-store"});
    if (!answer.ok)
        throw new Error(answer.statusText);
    return answer.text();
}

/* The version is "COUNT STATE"; a new one means a new page. */
async function follow() {
    const say = text => {
        if ($("#live").textContent !== text)
            $("#live").textContent = text;
    };
    try {
        const news = (await ask($("#live").dataset.version)).trim();
        if (news !== version) /* the first: it may be newer than the page */
            swap(new DOMParser().parseFromString(await ask(""), "text/html"));
        version = news;
        const {groups, planned} = $("#live").dataset, done = /\bdone\b/.test(news);
        say(done ? `Done: ${counted(all("section.op > .g").length, "group")}` : `Measuring: ${groups} of ${planned} groups`);
        if (!done)
            setTimeout(follow, INTERVAL_MS);
    } catch {
        say("No answer from assay: this page shows what was known last");
        setTimeout(follow, 5 * INTERVAL_MS);
    }
}

/* ---- events ------------------------------------------------------------------------------- */

function onClick(event) {
    const at = event.target;
    const mark = at.closest(".chart [data-row][tabindex]"), head = at.closest("section.op thead th");
    const row = at.closest("section.op tr[id]");
    if (at.closest("a, select, input, label, summary"))
        return;
    if (at.id === "theme") {
        document.documentElement.dataset.theme = isDark() ? "light" : "dark";
        remember(document.documentElement.dataset.theme);
        showTheme();
    } else if (at.id === "direction" && sorted.name) {
        sortBy(sorted.name, !sorted.descending);
    } else if (at.matches(".save")) {
        save(at.closest("figure"));
    } else if (mark) {
        openRow(Number(mark.dataset.row), true);
    } else if (head) {
        sortBy(nameOf(head), sorted.name === nameOf(head) && !sorted.descending);
    } else if (row && /^r\d/.test(row.id) && !String(getSelection())) {
        toggleRow(numberOf(row));
    }
}

/* Arrows go through the rows that are shown, of all tables. */
function moveRow(button, step) {
    const buttons = all("button.open").filter(other => other.offsetParent);
    const next = buttons[buttons.indexOf(button) + step];
    if (next)
        next.focus();
}

function onKey(event) {
    const at = event.target, mark = at.closest(".chart [data-row]"), row = at.closest("tr.opened, tr.detail");
    const step = {ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1}[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey)
        return;
    if (event.key === "/" && !at.matches("input, select") && $("#filter")) {
        $("#filter").focus();
    } else if (mark && (event.key === "Enter" || event.key === " ")) {
        openRow(Number(mark.dataset.row), true);
    } else if (mark && step) {
        moveMark(mark, step);
    } else if (at.matches("button.open") && /^Arrow(Up|Down)$/.test(event.key)) {
        moveRow(at, step);
    } else if (event.key === "Escape" && row) {
        closeRow(numberOf(row));
        $(".open", rowOf(numberOf(row))).focus();
    } else if (event.key === "Escape" && at.id === "filter") {
        at.value = "";
        filter();
    } else {
        return;
    }
    event.preventDefault();
}

function onHover(event) {
    const row = event.target.closest && event.target.closest("section.op tr[id]");
    if (!row || opened.has(numberOf(row)))
        return;
    light(numberOf(row), event.type === "mouseover" || event.type === "focusin");
}

/* ---- start -------------------------------------------------------------------------------- */


/* For the parts that a newer page replaces. */
function start() {
    const groups = all("section.op > .g");
    for (const control of all(".control"))
        control.hidden = false;
    if (document.getElementsByTagName("tr").length <= ALL_AT_ONCE) {
        groups.forEach(equip);
    } else {
        const watcher = new IntersectionObserver(entries => entries.forEach(entry => {
            if (entry.isIntersecting)
                equip(entry.target);
        }), {rootMargin: "100%"});
        groups.forEach(group => watcher.observe(group));
    }
    equipCharts();
    if (!$("#filters"))
        return;
    (window.requestIdleCallback || setTimeout)(buildIndex);
    listColumns();
    addStateRules();
    $("#count").textContent = counted(all("section.op tr[id]").length, "row");
    $("#filters").addEventListener("submit", event => event.preventDefault());
    $("#filters").addEventListener("input", event => {
        if (event.target.id === "sort")
            sortBy(event.target.value, sorted.descending);
        else if (event.target.name === "state")
            hideStates();
        else
            filter();
    });
}

if (["light", "dark"].includes(remember()))
    document.documentElement.dataset.theme = remember();
document.documentElement.classList.add("js");
document.addEventListener("click", onClick);
document.addEventListener("keydown", onKey);
for (const type of ["mouseover", "mouseout", "focusin", "focusout"])
    document.addEventListener(type, onHover);
start();
showTheme();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);
if (/^#r\d+$/.test(location.hash))
    openRow(Number(location.hash.slice(2)), true);
if ($("#live"))
    follow();

})();
