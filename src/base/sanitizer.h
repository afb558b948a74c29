/* sanitizer.h: is this built with a sanitizer? They reserve terabytes of address space, place
 * things in it as they like, and cannot live under a limit. */
#ifndef ASSAY_BASE_SANITIZER_H
#define ASSAY_BASE_SANITIZER_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ASSAY_UNDER_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ASSAY_UNDER_SANITIZER 1
#endif
#endif
#ifndef ASSAY_UNDER_SANITIZER
#define ASSAY_UNDER_SANITIZER 0
#endif

#endif
