/* implementation.h: what is known of an implementation by its name (implementation_list.h). */
#ifndef ASSAY_KERNEL_IMPLEMENTATION_H
#define ASSAY_KERNEL_IMPLEMENTATION_H

#include <stdbool.h>
#include <stdint.h>

/* How much others are to be compared with it; 0 for one that is not listed. `recipes`: the group
 * compares recipes. */
int32_t assay_implementation_baseline_rank(const char *name, bool recipes);

/* Is it assay's own? */
bool assay_implementation_is_own(const char *name);

/* Is it one of assay's own ways to run whole models, eager or compiled? */
bool assay_implementation_runs_models(const char *name);

/* Two that are the same but for being compiled stand side by side: eager and compiled, torch and
 * torch-compile. The other of such a pair; NULL where the name is not its first, or not its second.
 */
const char *assay_implementation_compiled(const char *name);
const char *assay_implementation_uncompiled(const char *name);

/* Does it fuse a model's nodes? "recomputed" does, too, and has no counterpart that does not. */
bool assay_implementation_compiles(const char *name);

#endif
