/* intact.h: is assay's own Python, and what it stands on, as it was before a stranger's code came?
 *
 * What judges is in another process and runs no Python. But what a stranger returned is looked at
 * by functions that live beside the stranger, and who puts others in their place computes when it
 * is looked at, untimed. So what they are made of is taken down before, and compared with what is
 * there now, by address and in C. assay._held says what there is to take down. */
#ifndef ASSAY_PYTHON_INTACT_H
#define ASSAY_PYTHON_INTACT_H

#include "module.h"

struct assay_py_intact;

/* Before any code of a stranger; NULL with an exception. It lives as long as the process. */
struct assay_py_intact *assay_py_intact_hold(void);

/* What looks at results is asked for each time, all of it where `all`. False: `words` says what was
 * changed. */
bool assay_py_intact_check(const struct assay_py_intact *intact, bool all, char *words,
                           size_t size);

#endif
