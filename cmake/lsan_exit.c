/* lsan_exit.c: part of sanitized programs. What dlerror() said last is kept in thread-local storage,
 * where the leak sanitizer does not look (lsan.supp): asked again, dlerror() gives it back. */
#include <dlfcn.h>

__attribute__((destructor)) static void give_back(void)
{
    dlerror();
    dlerror();
}
