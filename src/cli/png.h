/* png.h: PNGs, which librsvg's rsvg-convert makes of SVGs where it is installed. */
#ifndef ASSAY_CLI_PNG_H
#define ASSAY_CLI_PNG_H

#include "base/text.h"

/* By its extension. */
bool assay_png_is(const char *path);
bool assay_png_possible(void);

/* Where PNGs cannot be made an SVG is written beside the name: its path, appended to `out`. */
void assay_png_instead(const char *path, struct assay_text *out);
/* … and the line that says so. */
void assay_png_tell(const char *path, const char *svg);

/* Makes the file `png` of the file `svg`, twice as wide, so that it is sharp on dense screens. What
 * was there stays until all of the new is. */
enum assay_status assay_png_make(const char *svg, const char *png, struct assay_error *err);

#endif
