/* no_symbol.c: a shared object that is not a plug-in. */
#include <assay/assay_kernel.h>

ASSAY_API int assay_plugout(void) { return 0; }
