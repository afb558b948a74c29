/* strange.h: names that users give and nobody thinks of, for every text of a record and of a run.
 */
#ifndef ASSAY_TESTS_STRANGE_H
#define ASSAY_TESTS_STRANGE_H

#include "record/record.h"

#include <string.h>

/* Each is repeated up to the length that a field has; cut there, in the middle of a character or
 * not. All that could run where it is not escaped calls `strange_ran`. */
static const char *const strange_hostile[] = {
    "</script><script>strange_ran()</script>",
    "<img src=x onerror=strange_ran()>",
    "\"onmouseover=\"strange_ran()",
    "' onfocus='strange_ran()' autofocus '",
    "--><svg onload=strange_ran()>",
    "<!--<script>",
    "]]></style></title></textarea>",
    "&lt;b&gt;&#x3c;&amp",
    "javascript:strange_ran()",
    "\x01\x1b[31m\x7f\n\t\r\b",
    "\xff\xc0\x80\xed\xa0\x80\xf4\x90\x80\x80",
    "\\u003c/script\\u003e\\",
};
static const char *const strange_wide[] = {"漢字仮名交じり文", "한국어커널", "ＦＵＬＬＷＩＤＴＨ"};
static const char *const strange_emoji[] = {"👩‍🔬🏎️", "🇩🇪🇯🇵", "⚡️🔥"};
static const char *const strange_combining[] = {"e\u0301\u0302\u0303z\u0327",
                                                "Z\u0351\u036b\u0343A", "a\u20d0b\u20dd"};
static const char *const strange_right[] = {"שלום", "مرحبا", "\u202eabc\u202c", "\u2067x"};

/* "<b>", repeated until `length` bytes are full. */
static inline void strange_put(char *field, size_t size, const char *text, size_t length)
{
    size_t n = 0;
    while (n < length && n + 1 < size)
        for (const char *c = text; *c && n < length && n + 1 < size; c++)
            field[n++] = *c;
    field[n] = '\0';
}

#define STRANGE_PUT(field, text, length) strange_put(field, sizeof field, text, length)

/* What tells variants apart stays different: the list has another text for each. */
static inline void strange_names(struct assay_record *r, const char *const *texts, int64_t n,
                                 size_t length)
{
    const char *name = texts[r->variant % n], *group = texts[r->group % n];
    STRANGE_PUT(r->implementation, name, length);
    size_t end = strlen(r->implementation);
    if (r->variant >= n && end + 1 < sizeof r->implementation) {
        r->implementation[end] = (char)('A' + r->variant % 26);
        r->implementation[end + 1] = '\0';
    }
    STRANGE_PUT(r->kernel, name, length);
    STRANGE_PUT(r->title, group, length);
    if (r->recipe[0])
        STRANGE_PUT(r->recipe, name, length);
}

/* All texts that come from outside. */
static inline void strange_record(struct assay_record *r, const char *const *texts, int64_t n)
{
    strange_names(r, texts, n, sizeof r->title);
    STRANGE_PUT(r->op, texts[r->group % n], sizeof r->op);
    STRANGE_PUT(r->entry, texts[(r->group + 1) % n], sizeof r->entry);
    STRANGE_PUT(r->compile, texts[(r->group + 2) % n], sizeof r->compile);
    STRANGE_PUT(r->mode, texts[(r->group + 3) % n], sizeof r->mode);
    STRANGE_PUT(r->label, texts[(r->group + 4) % n], sizeof r->label);
    STRANGE_PUT(r->note, texts[(r->variant + 5) % n], sizeof r->note);
    STRANGE_PUT(r->printed, texts[(r->variant + 6) % n], sizeof r->printed);
    STRANGE_PUT(r->reason, texts[(r->variant + 7) % n], sizeof r->reason);
    STRANGE_PUT(r->confined, texts[(r->variant + 8) % n], sizeof r->confined);
    STRANGE_PUT(r->axis_names[1], texts[r->group % n], sizeof r->axis_names[1]);
}

static inline void strange_run(struct assay_run_info *run, const char *const *texts, int64_t n)
{
    STRANGE_PUT(run->id, texts[0 % n], sizeof run->id);
    STRANGE_PUT(run->version, texts[1 % n], sizeof run->version);
    STRANGE_PUT(run->command, texts[2 % n], sizeof run->command);
    STRANGE_PUT(run->host_os, texts[3 % n], sizeof run->host_os);
    STRANGE_PUT(run->device_name, texts[4 % n], sizeof run->device_name);
    STRANGE_PUT(run->cpu_name, texts[4 % n], sizeof run->cpu_name);
    STRANGE_PUT(run->isa, texts[5 % n], sizeof run->isa);
    STRANGE_PUT(run->project, texts[6 % n], sizeof run->project);
    STRANGE_PUT(run->project_branch, texts[7 % n], sizeof run->project_branch);
    STRANGE_PUT(run->repository, texts[0 % n], sizeof run->repository);
    STRANGE_PUT(run->benchmark_path, texts[1 % n], sizeof run->benchmark_path);
}

#endif
