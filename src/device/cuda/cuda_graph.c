#include "device/cuda/cuda_graph.h"

#include "base/alloc.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 4 }; /* graphs within graphs */

/* ---- names ----------------------------------------------------------------------------------- */

/* The identifier at `*at`, a number and so many letters; 0: there is none. */
static size_t identifier(const char **at)
{
    char *end;
    if (!isdigit((unsigned char)**at))
        return 0;
    size_t length = strtoul(*at, &end, 10);
    if (length == 0 || strnlen(end, length) < length)
        return 0;
    *at = end;
    return length;
}

/* Only the names, which lead; templates' arguments and parameters are left out, and so is what no
 * source names. */
void assay_cuda_graph_plain_name(const char *name, char *out, size_t size)
{
    const char *at = name;
    size_t used = 0, length;
    snprintf(out, size, "%s", name);
    if (strncmp(at, "_Z", 2) != 0)
        return;
    at += at[2] == 'N' ? 3 : 2;
    while (*at == 'K' || *at == 'L')
        at++;
    while ((length = identifier(&at)) > 0 && used < size) {
        if (strncmp(at, "_GLOBAL__N_", 11) != 0)
            used += (size_t)snprintf(out + used, size - used, "%s%.*s", used ? "::" : "",
                                     (int)length, at);
        at += length;
    }
}

static const char *name_of(const struct cuda_driver_api *api, cu_graph_node node)
{
    cu_kernel_node params = {0};
    const char *name = NULL;
    if (!api->cuGraphKernelNodeGetParams_v2 ||
        api->cuGraphKernelNodeGetParams_v2(node, &params) != CU_SUCCESS)
        return NULL;
    if (params.function && api->cuFuncGetName &&
        api->cuFuncGetName(&name, params.function) == CU_SUCCESS && name)
        return name;
    if (params.kernel && api->cuKernelGetName &&
        api->cuKernelGetName(&name, params.kernel) == CU_SUCCESS)
        return name;
    return NULL;
}

static void add_name(struct assay_graph_audit *graph, const char *name)
{
    char plain[ASSAY_GRAPH_NAME];
    assay_cuda_graph_plain_name(name, plain, sizeof plain);
    for (int32_t i = 0; i < graph->n_names; i++)
        if (strcmp(graph->names[i], plain) == 0)
            return;
    if (graph->n_names < ASSAY_GRAPH_NAMES)
        memcpy(graph->names[graph->n_names++], plain, sizeof plain);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool count_nodes(const struct cuda_driver_api *api, cu_graph graph, int depth,
                        struct assay_graph_audit *out);

static bool count_graph(const struct cuda_driver_api *api, cu_graph_node node, int depth,
                        struct assay_graph_audit *out)
{
    cu_graph within = NULL;
    if (depth == DEEPEST || !api->cuGraphChildGraphNodeGetGraph ||
        api->cuGraphChildGraphNodeGetGraph(node, &within) != CU_SUCCESS)
        return false;
    return count_nodes(api, within, depth + 1, out);
}

static bool count_node(const struct cuda_driver_api *api, cu_graph_node node, int depth,
                       struct assay_graph_audit *out)
{
    int type;
    if (api->cuGraphNodeGetType(node, &type) != CU_SUCCESS)
        return false;
    switch (type) {
    case CU_NODE_KERNEL: {
        const char *name = name_of(api, node);
        out->kernels++;
        if (name)
            add_name(out, name);
        return true;
    }
    case CU_NODE_COPY:
        out->copies++;
        return true;
    case CU_NODE_MEMSET:
        out->memsets++;
        return true;
    case CU_NODE_GRAPH:
        return count_graph(api, node, depth, out);
    case CU_NODE_EMPTY:
    case CU_NODE_WAIT_EVENT:
    case CU_NODE_RECORD_EVENT: /* the timer's own, too */
        return true;
    default:
        out->others++;
        return true;
    }
}

static bool count_nodes(const struct cuda_driver_api *api, cu_graph graph, int depth,
                        struct assay_graph_audit *out)
{
    size_t n = 0;
    if (api->cuGraphGetNodes(graph, NULL, &n) != CU_SUCCESS)
        return false;
    cu_graph_node *nodes = assay_calloc(n ? n : 1, sizeof *nodes);
    bool known = nodes && (n == 0 || api->cuGraphGetNodes(graph, nodes, &n) == CU_SUCCESS);
    for (size_t i = 0; i < n && known; i++)
        known = count_node(api, nodes[i], depth, out);
    assay_free(nodes);
    return known;
}

bool assay_cuda_graph_audit(const struct cuda_driver_api *api, cu_graph graph,
                            struct assay_graph_audit *out)
{
    *out = (struct assay_graph_audit){0};
    return api->cuGraphGetNodes && api->cuGraphNodeGetType && count_nodes(api, graph, 0, out);
}

int64_t assay_cuda_graph_work(const struct assay_graph_audit *graph)
{
    return graph->kernels + graph->copies + graph->memsets + graph->others;
}

/* ---- errors ---------------------------------------------------------------------------------- */

struct capture_error {
    cu_result result;
    const char *name, *cause;
};

static const struct capture_error *find_error(cu_result result)
{
    static const struct capture_error known[] = {
        {CU_ERROR_CAPTURE_UNSUPPORTED, "cudaErrorStreamCaptureUnsupported",
         "a host synchronisation, an allocation or a query in it"},
        {CU_ERROR_CAPTURE_INVALIDATED, "cudaErrorStreamCaptureInvalidated",
         "a host synchronisation, an allocation or a query in it"},
        {CU_ERROR_CAPTURE_MERGE, "cudaErrorStreamCaptureMerge", "a second capture in it"},
        {CU_ERROR_CAPTURE_UNMATCHED, "cudaErrorStreamCaptureUnmatched",
         "it ended a capture that it did not begin"},
        {CU_ERROR_CAPTURE_UNJOINED, "cudaErrorStreamCaptureUnjoined",
         "work on another stream that is not joined"},
        {CU_ERROR_CAPTURE_ISOLATION, "cudaErrorStreamCaptureIsolation",
         "it waits for earlier work on another stream"},
        {CU_ERROR_CAPTURE_IMPLICIT, "cudaErrorStreamCaptureImplicit",
         "work on the default stream, which waits for all others"},
        {CU_ERROR_CAPTURED_EVENT, "cudaErrorCapturedEvent", "an event query in it"},
        {CU_ERROR_CAPTURE_WRONG_THREAD, "cudaErrorStreamCaptureWrongThread",
         "another thread ended the capture"},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].result == result)
            return &known[i];
    return NULL;
}

const char *assay_cuda_capture_error(cu_result result)
{
    const struct capture_error *error = find_error(result);
    return error ? error->name : NULL;
}

const char *assay_cuda_capture_cause(cu_result result)
{
    const struct capture_error *error = find_error(result);
    return error ? error->cause : "the driver does not capture it";
}
