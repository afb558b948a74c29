// measure.js: what is wrong with the charts of a page, as a list of [figure, what, …]. For charts.py.
//
// A text's box is as wide as the browser draws it and as high as its letters reach, not as its line:
// from 0.8 of its size above the baseline to 0.22 below. What lies behind a text is looked up at
// points of that box, in the order of painting.
(() => {
"use strict";
const ALLOWED = 0.5; // pixels
const LEAST_CONTRAST = 4.5;

// ---- colours -------------------------------------------------------------------------------------

function colour(text) {
    const parts = text.match(/^rgba?\(([\d.]+),\s*([\d.]+),\s*([\d.]+)(?:,\s*([\d.]+))?\)$/);
    return parts && { rgb: parts.slice(1, 4).map(Number), alpha: parts[4] === undefined ? 1 : +parts[4] };
}

function over(front, alpha, behind) {
    return front.map((c, i) => c * alpha + behind[i] * (1 - alpha));
}

function luminance(rgb) {
    const [r, g, b] = rgb.map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a, b) {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
}

// ---- boxes ---------------------------------------------------------------------------------------

const overlap = (a, b) => Math.min(Math.min(a.right, b.right) - Math.max(a.left, b.left),
                                   Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top));
const holds = (box, x, y) => x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
const shown = box => [box.left, box.top, box.right, box.bottom].map(v => Math.round(v * 10) / 10);

function textBox(text) {
    const line = text.getBBox(), size = +text.getAttribute("font-size");
    const x = +text.getAttribute("x"), y = +text.getAttribute("y");
    const left = line.x, right = line.x + line.width, top = y - 0.8 * size, bottom = y + 0.22 * size;
    if (!text.hasAttribute("transform"))
        return { left, right, top, bottom };
    return { left: x + top - y, right: x + bottom - y, top: y - (right - x), bottom: y - (left - x) }; // upwards
}

function markBox(mark) {
    const box = mark.getBBox(), style = getComputedStyle(mark);
    const rim = style.stroke === "none" ? 0 : parseFloat(style.strokeWidth) / 2;
    return { left: box.x - rim, right: box.x + box.width + rim, top: box.y - rim, bottom: box.y + box.height + rim };
}

// ---- what a chart consists of --------------------------------------------------------------------

const PAINTED = "rect, path, line, circle, ellipse, polygon, polyline";

function readMark(element, order) {
    const style = getComputedStyle(element);
    const mark = { element, order, box: markBox(element), opacity: +style.opacity };
    if (style.fill !== "none") {
        const fill = colour(style.fill);
        mark.striped = !fill; // a pattern
        mark.fill = fill && fill.rgb;
        mark.alpha = (fill ? fill.alpha : 1) * style.fillOpacity * mark.opacity;
    }
    mark.stroke = style.stroke === "none" ? 0 : parseFloat(style.strokeWidth);
    return mark;
}

function readText(element, order) {
    const style = getComputedStyle(element);
    return { element, order, box: textBox(element), words: element.textContent,
             ink: colour(style.fill).rgb, halo: style.stroke === "none" ? null : colour(style.stroke).rgb };
}

function readChart(svg) {
    const marks = [], texts = [];
    svg.querySelectorAll(PAINTED + ", text").forEach((element, order) => {
        if (element.closest("defs"))
            return;
        if (element.tagName === "text")
            texts.push(readText(element, order));
        else
            marks.push(readMark(element, order));
    });
    return { svg, marks, texts, width: svg.viewBox.baseVal.width, height: svg.viewBox.baseVal.height };
}

// ---- what can be wrong ---------------------------------------------------------------------------

function* overlaps(chart) {
    const texts = [...chart.texts].sort((a, b) => a.box.top - b.box.top);
    for (let i = 0; i < texts.length; i++)
        for (let j = i + 1; j < texts.length && texts[j].box.top < texts[i].box.bottom; j++)
            if (overlap(texts[i].box, texts[j].box) > ALLOWED)
                yield ["texts overlap", texts[i].words, shown(texts[i].box), texts[j].words, shown(texts[j].box)];
}

function* leavers(chart) {
    const all = { left: -ALLOWED, top: -ALLOWED, right: chart.width + ALLOWED, bottom: chart.height + ALLOWED };
    const leaves = box => box.left < all.left || box.top < all.top || box.right > all.right || box.bottom > all.bottom;
    for (const text of chart.texts)
        if (leaves(text.box))
            yield ["a text leaves the drawing", text.words, shown(text.box), [chart.width, chart.height]];
    for (const mark of chart.marks)
        if (leaves(mark.box))
            yield ["a mark leaves the drawing", mark.element.outerHTML.slice(0, 120), shown(mark.box), [chart.width, chart.height]];
}

// Where a text is looked at: inside its small letters, so that a mark may touch it.
function* points(text) {
    const b = text.box, columns = Math.min(9, 2 + Math.floor(Math.max(b.right - b.left, b.bottom - b.top) / 6));
    const upwards = b.bottom - b.top > b.right - b.left && text.element.hasAttribute("transform");
    for (let i = 0; i < columns; i++)
        for (const part of [0.35, 0.55, 0.75]) {
            const along = (i + 0.5) / columns, x = upwards ? part : along, y = upwards ? along : part;
            yield [b.left + (b.right - b.left) * x, b.top + (b.bottom - b.top) * y];
        }
}

function fills(mark, x, y, point) {
    if (!holds(mark.box, x, y))
        return false;
    if (mark.element.tagName === "rect")
        return true;
    point.x = x;
    point.y = y;
    return mark.element.isPointInFill(point);
}

// Does its line come into the box? Looked up along the line.
function crosses(mark, box) {
    const length = mark.element.getTotalLength(), step = 1.5;
    for (let at = 0; at <= length; at += step) {
        const p = mark.element.getPointAtLength(at);
        if (holds(box, p.x, p.y))
            return true;
    }
    return false;
}

// Without the parts above small letters and below the baseline.
function core(text) {
    const b = text.box, upwards = text.element.hasAttribute("transform");
    const size = upwards ? b.right - b.left : b.bottom - b.top;
    const cut = { left: b.left + 1, right: b.right - 1, top: b.top + 1, bottom: b.bottom - 1 };
    if (upwards)
        return { ...cut, left: b.left + 0.3 * size, right: b.right - 0.25 * size };
    return { ...cut, top: b.top + 0.3 * size, bottom: b.bottom - 0.25 * size };
}

function* unreadable(chart, page) {
    const point = chart.svg.createSVGPoint();
    for (const text of chart.texts) {
        const inside = core(text);
        const near = chart.marks.filter(mark => overlap(mark.box, text.box) > 0);
        const above = near.filter(mark => mark.order > text.order), below = near.filter(mark => mark.order < text.order);
        for (const mark of above) {
            const covers = mark.fill || mark.striped ? [...points(text)].some(([x, y]) => fills(mark, x, y, point)) : false;
            if (covers || mark.stroke && crosses(mark, inside))
                yield ["a text is covered", text.words, shown(text.box), mark.element.outerHTML.slice(0, 120)];
        }
        if (text.halo) {
            const c = contrast(text.ink, text.halo);
            if (c < LEAST_CONTRAST)
                yield ["a text has too little contrast with its halo", text.words, c.toFixed(2)];
            continue;
        }
        const crossed = below.find(mark => mark.stroke && !hidden(mark, below, inside) && crosses(mark, inside));
        if (crossed)
            yield ["a line crosses a text without halo", text.words, shown(text.box), crossed.element.outerHTML.slice(0, 120)];
        let least = Infinity;
        for (const [x, y] of points(text)) {
            let behind = page, striped = false;
            for (const mark of below)
                if ((mark.fill || mark.striped) && fills(mark, x, y, point)) {
                    striped = mark.striped;
                    behind = mark.striped ? behind : over(mark.fill, mark.alpha, behind);
                }
            if (striped) {
                yield ["a text without halo on stripes", text.words, shown(text.box)];
                break;
            }
            least = Math.min(least, contrast(text.ink, behind));
        }
        if (least < LEAST_CONTRAST)
            yield ["a text has too little contrast", text.words, shown(text.box), least.toFixed(2)];
    }
}

// Is something opaque painted over it, where the text is?
function hidden(mark, others, box) {
    return others.some(o => o.order > mark.order && o.element.tagName === "rect" && o.fill && o.alpha === 1 &&
        o.box.left <= box.left && o.box.right >= box.right && o.box.top <= box.top && o.box.bottom >= box.bottom);
}

function* badTips(chart, rows) {
    for (const group of chart.svg.querySelectorAll("g[data-row]")) {
        const row = +group.dataset.row, tip = group.querySelector(":scope > title");
        if (!(row >= 1 && row <= rows && Number.isInteger(row)))
            yield ["a mark names a row that is not there", group.dataset.row];
        if (!tip || !tip.textContent.trim())
            yield ["a mark of a row has no tip", group.dataset.row];
    }
}

// The browser has drawn it as it was written: nothing is missing that the HTML parser did not take.
function* unnamed(chart) {
    const named = which => (chart.svg.getAttribute(which) || "").split(" ").map(id => document.getElementById(id))
        .some(e => e && chart.svg.contains(e) && e.textContent.trim());
    if (!named("aria-labelledby"))
        yield ["the chart has no title"];
    if (!named("aria-describedby"))
        yield ["the chart has no description"];
    for (const mark of chart.svg.querySelectorAll("[fill^='url(']")) {
        const id = mark.getAttribute("fill").slice(5, -1);
        if (!document.getElementById(id))
            yield ["a pattern is missing", id];
    }
}

function paper() {
    const [own, root] = [document.body, document.documentElement].map(e => colour(getComputedStyle(e).backgroundColor));
    return over(own.rgb, own.alpha, over(root.rgb, root.alpha, [255, 255, 255]));
}

// `what`: "boxes" or "colours".
window.measure = (what, most) => {
    const found = [], page = paper();
    let texts = 0;
    for (const figure of document.querySelectorAll("figure")) {
        const chart = readChart(figure.querySelector("svg"));
        const all = what === "boxes" ? [overlaps(chart), leavers(chart), badTips(chart, +figure.dataset.rows), unnamed(chart)]
                                     : [unreadable(chart, page)];
        texts += chart.texts.length;
        for (const findings of all) {
            let n = 0;
            for (const finding of findings)
                if (++n <= most)
                    found.push([figure.dataset.name, ...finding]);
            if (n > most)
                found.push([figure.dataset.name, "… and " + (n - most) + " more of these"]);
        }
    }
    return { found, texts };
};
})();
