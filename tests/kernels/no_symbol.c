/* no_symbol.c: a shared object that is no plug-in. */
#include <assay/assay_kernel.h>

ASSAY_API int assay_plugout(void) { return 0; }
