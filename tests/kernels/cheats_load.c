/* cheats_load.c: a plug-in that misbehaves when it is loaded, asked for its kernels, or unloaded.
 * How, its own file name says: tests/cli/judge.sh copies it to WHEN_HOW.so, where WHEN is load, ask
 * or unload and HOW is hangs, crashes, exits, kills, prints or many. Under its own name it does
 * nothing. */
#include "cheat.h"

#include <dlfcn.h>

/* The name of this file, without its folder. */
static const char *own_name(void)
{
    static const char here;
    Dl_info info;
    const char *slash = dladdr(&here, &info) ? strrchr(info.dli_fname, '/') : NULL;
    return slash ? slash + 1 : "";
}

static bool is_called(const char *when, const char *how)
{
    const char *name = own_name();
    return strncmp(name, when, strlen(when)) == 0 &&
           strncmp(name + strlen(when), how, strlen(how)) == 0;
}

static void act(const char *when)
{
    while (is_called(when, "hangs"))
        pause();
    if (is_called(when, "crashes"))
        raise(SIGSEGV);
    if (is_called(when, "exits"))
        exit(0);
    if (is_called(when, "kills"))
        raise(SIGKILL);
    if (is_called(when, "prints"))
        printf("\033[2Jloaded\n");
}

__attribute__((constructor)) static void load(void) { act("load_"); }
__attribute__((destructor)) static void unload(void) { act("unload_"); }

static void honest(struct call *c) { compute(c); }
CHEAT(gelu, honest)

ASSAY_API const struct assay_kernel *const *assay_plugin(uint32_t abi, int32_t *n_kernels)
{
    static struct assay_kernel named; /* after its file */
    static const struct assay_kernel *const list[] = {&named};
    static char name[64];
    act("ask_");
    snprintf(name, sizeof name, "%s", own_name());
    name[strcspn(name, ".")] = '\0';
    named = kernel_honest;
    named.name = named.implementation = name;
    *n_kernels = is_called("ask_", "many") ? INT32_MAX : 1;
    return abi == ASSAY_KERNEL_ABI ? list : NULL;
}
