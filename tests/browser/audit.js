// audit.js: what makes a page hard to use for some people, as a list of [what, where]. For page.py.
//
// Names of controls and images are the browser's own business (its accessibility tree); here is what
// can be read off the document and its styles.
(() => {
"use strict";

const LEAST = 4.5, LEAST_LARGE = 3; // contrast, WCAG 2.2 1.4.3
const FOCUSABLE = "a[href], button, input, select, textarea, summary, [tabindex], audio[controls], video[controls]";

function visible(element) {
    return element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) && element.getClientRects().length > 0;
}

function place(element) {
    const id = element.id ? "#" + element.id : "";
    const names = typeof element.className === "string" && element.className ? "." + element.className.trim().replace(/\s+/g, ".") : "";
    return element.tagName.toLowerCase() + id + names + " " + JSON.stringify((element.textContent || "").trim().slice(0, 40));
}

// ---- structure -----------------------------------------------------------------------------------

function* structure() {
    if (!document.documentElement.lang)
        yield ["no language", "html"];
    if (!document.title.trim())
        yield ["no title", "html"];
    if (document.querySelectorAll("main").length !== 1)
        yield ["not one main part", "html"];
    const ids = new Set();
    for (const element of document.querySelectorAll("[id]")) {
        if (ids.has(element.id))
            yield ["an id twice", element.id];
        ids.add(element.id);
    }
    for (const attribute of ["aria-labelledby", "aria-describedby", "aria-controls", "for"])
        for (const element of document.querySelectorAll("[" + attribute + "]"))
            for (const id of element.getAttribute(attribute).split(/\s+/))
                if (id && !ids.has(id))
                    yield [attribute + " names an id that is not there: " + id, place(element)];
}

function* headings() {
    let level = 0;
    const all = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].filter(visible);
    if (all.filter(h => h.tagName === "H1").length !== 1)
        yield ["not one h1", "html"];
    for (const heading of all) {
        const next = +heading.tagName[1];
        if (next > level + 1)
            yield ["a heading leaves a level out", place(heading)];
        if (!heading.textContent.trim())
            yield ["an empty heading", place(heading)];
        level = next;
    }
}

function* tables() {
    for (const table of document.querySelectorAll("table")) {
        if (!table.caption && !table.hasAttribute("aria-label") && !table.hasAttribute("aria-labelledby"))
            yield ["a table without a name", place(table)];
        for (const head of table.querySelectorAll("th"))
            if (!["col", "row", "colgroup", "rowgroup"].includes(head.scope))
                yield ["a th without scope", place(head)];
        for (const row of table.querySelectorAll("thead tr"))
            if (!row.querySelector("th"))
                yield ["a head of a table without th", place(row)];
    }
}

// What scrolls must be reached with the keyboard: itself, or something in it.
function* scrolling() {
    for (const element of document.querySelectorAll("body *")) {
        const style = getComputedStyle(element);
        const scrolls = /auto|scroll/.test(style.overflowX + style.overflowY) && visible(element) &&
            (element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 1);
        if (scrolls && element.tabIndex < 0 && ![...element.querySelectorAll(FOCUSABLE)].some(e => e.tabIndex >= 0 && visible(e)))
            yield ["scrolls, but not with the keyboard", place(element)];
    }
    const page = document.scrollingElement;
    if (page.scrollWidth > page.clientWidth + 1)
        yield ["the page is wider than the window: " + page.scrollWidth + " > " + page.clientWidth, "html"];
}

function* order() {
    for (const element of document.querySelectorAll("[tabindex]"))
        if (element.tabIndex > 0)
            yield ["an order of its own", place(element)];
    for (const element of document.querySelectorAll("[aria-hidden=true]"))
        if ([element, ...element.querySelectorAll(FOCUSABLE)].some(e => e.tabIndex >= 0 && e.matches(FOCUSABLE) && visible(e)))
            yield ["hidden, but focusable", place(element)];
}

// ---- contrast ------------------------------------------------------------------------------------

// "rgb(1, 2, 3)", "rgba(1, 2, 3, 0.4)", and what mixing gives: "color(srgb 0.1 0.2 0.3 / 0.4)".
function colour(text) {
    const scale = text.startsWith("color(srgb ") ? 255 : 1;
    const [r, g, b, alpha = 1] = text.replace(/^\w+\((srgb )?/, "").match(/[\d.e+-]+/g).map(Number);
    return [r * scale, g * scale, b * scale, alpha];
}

const over = (front, behind) => [0, 1, 2].map(i => front[i] * front[3] + behind[i] * (1 - front[3])).concat(1);

function luminance(c) {
    const [r, g, b] = c.slice(0, 3).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a, b) {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
}

function background(element, known) {
    if (!element)
        return colour(matchMedia("(prefers-color-scheme: dark)").matches &&
            getComputedStyle(document.documentElement).colorScheme.includes("dark") ? "rgb(18, 18, 18)" : "rgb(255, 255, 255)");
    if (!known.has(element))
        known.set(element, over(colour(getComputedStyle(element).backgroundColor), background(element.parentElement, known)));
    return known.get(element);
}

function opacity(element) {
    let all = 1;
    for (let e = element; e; e = e.parentElement)
        all *= +getComputedStyle(e).opacity;
    return all;
}

function* faint() {
    const known = new Map(), walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
        const element = node.parentElement;
        if (!node.data.trim() || element.closest("svg, script, style, noscript, template, :disabled") || !visible(element))
            continue;
        const style = getComputedStyle(element), behind = background(element, known), ink = colour(style.color);
        ink[3] *= opacity(element);
        const size = parseFloat(style.fontSize), large = size >= 24 || size >= 18.66 && +style.fontWeight >= 700;
        const c = contrast(over(ink, behind), behind);
        if (c < (large ? LEAST_LARGE : LEAST))
            yield ["contrast " + c.toFixed(2), place(element)];
    }
}

// ---- text that is cut off, or lies on other text -------------------------------------------------

function* cut() {
    for (const element of document.querySelectorAll("th, td, dt, dd, p, li, h1, h2, h3, h4, button, label, summary, figcaption")) {
        const style = getComputedStyle(element);
        if (!visible(element) || style.textOverflow === "ellipsis" || style.overflowX === "visible")
            continue;
        if (element.scrollWidth > element.clientWidth + 1 && style.overflowX !== "auto" && style.overflowX !== "scroll")
            yield ["text is cut off", place(element)];
    }
}

window.audit = most => {
    const found = [];
    for (const part of [structure, headings, tables, scrolling, order, faint, cut]) {
        let n = 0;
        for (const finding of part())
            if (++n <= most)
                found.push(finding);
        if (n > most)
            found.push(["… and " + (n - most) + " more", part.name]);
    }
    return found;
};

// What Tab goes to, in the order of the document.
window.focusable = () => [...document.querySelectorAll(FOCUSABLE)]
    .filter(e => e.tabIndex >= 0 && !e.disabled && visible(e)
        && !(e.type === "radio" && !e.checked && document.querySelector("input[type=radio]:checked[name='" + CSS.escape(e.name) + "']"))
        && !(e.tagName === "SUMMARY" && e !== e.parentElement.querySelector(":scope > summary")));
window.look = element => {
    const s = getComputedStyle(element);
    return [s.outlineStyle === "none" || parseFloat(s.outlineWidth) === 0 ? "" : s.outline, s.boxShadow, s.backgroundColor, s.borderColor, s.textDecoration].join("|");
};
window.placeOf = place;
})();
