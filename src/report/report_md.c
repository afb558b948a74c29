#include "report/report_md.h"

#include "report/report_sink.h"

#include <string.h>

enum { ANY_WIDTH = 2048 };

void assay_md_init(struct assay_md *md, const struct assay_sink *sink,
                   const struct assay_report_style *style)
{
    md->sink = *sink;
    md->style = *style;
    md->style.colour = false;
    assay_line_init(&md->line, &md->style);
}

void assay_md_plain(struct assay_md *md, const char *text)
{
    assay_line_put(&md->line, text, ANY_WIDTH, ASSAY_INK_PLAIN);
    if (md->line.length)
        md->sink.write(md->sink.user, md->line.bytes, md->line.length);
    assay_line_init(&md->line, &md->style);
}

void assay_md_text(struct assay_md *md, const char *text)
{
    static const char special[] = "|\\`*_<>[]#~";
    char escaped[1024];
    size_t length = 0;
    for (; *text && length + 2 < sizeof escaped; text++) {
        if (strchr(special, *text))
            escaped[length++] = '\\';
        escaped[length++] = *text;
    }
    escaped[length] = '\0';
    assay_md_plain(md, escaped);
}

void assay_md_cell(struct assay_md *md, const char *text)
{
    assay_sink_put(&md->sink, " ");
    assay_md_plain(md, text);
    assay_sink_put(&md->sink, " |");
}

void assay_md_machine(struct assay_md *md, const struct assay_run_info *run)
{
    const struct assay_sink *sink = &md->sink;
    assay_sink_put(sink, "assay ");
    assay_md_text(md, run->version);
    assay_sink_put(sink, " on ");
    assay_md_text(md, run->device_name[0] ? run->device_name : run->device);
    if (run->threads > 0 && assay_run_on_host(run))
        assay_sink_format(sink, ", %d thread%s", run->threads, run->threads == 1 ? "" : "s");
    if (run->copy_bytes_per_s > 0)
        assay_sink_format(sink, ", memory ceiling %.1f GB/s", run->copy_bytes_per_s / 1e9);
    assay_sink_put(sink, "\n");
}
