/* version.h: the version, given by the build. */
#ifndef ASSAY_BASE_VERSION_H
#define ASSAY_BASE_VERSION_H

#ifndef ASSAY_VERSION
#define ASSAY_VERSION "0.1.0"
#endif

#endif
