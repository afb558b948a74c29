/* live.h: the page of runs, shown to this machine's browser while they are measured. */
#ifndef ASSAY_CLI_LIVE_H
#define ASSAY_CLI_LIVE_H

#include "record/plan.h"

/* Serves the page of these runs, journals and files at 127.0.0.1 until Ctrl-C, SIGTERM or SIGHUP;
 * `port` 0 is any that is free. Prints the address, says what goes wrong, and gives the exit code.
 * "last" may be a run that has yet to begin. */
int assay_live_serve(const struct assay_strings *names, int port);

#endif
