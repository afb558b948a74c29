/* openblas_threads.c: the library's threads, each on the core of the thread of OpenMP with the same
 * number. */
#include "kernel/openblas/openblas.h"

#include <omp.h>
#include <sched.h>

/* The cores that thread number `thread` of OpenMP may use; *out stays as it is where there is none.
 */
static void cores_of(int thread, int threads, cpu_set_t *out)
{
#pragma omp parallel num_threads(threads)
    if (omp_get_thread_num() == thread)
        sched_getaffinity(0, sizeof *out, out);
}

/* assay pins each thread of OpenMP to a core, this one too, and threads inherit the pinning of who
 * makes them: the library's would all be on this thread's core. So it makes them one at a time,
 * each while this thread is where OpenMP's thread of the same number is. */
void assay_openblas_set_threads(const struct assay_openblas_api *blas, int threads)
{
    cpu_set_t own, other;
    bool pools = blas->get_parallel() == ASSAY_OPENBLAS_THREADS &&
                 sched_getaffinity(0, sizeof own, &own) == 0;
    for (int i = 1; i < threads && pools; i++) {
        other = own;
        cores_of(i, threads, &other);
        sched_setaffinity(0, sizeof other, &other);
        blas->set_num_threads(i + 1);
        sched_setaffinity(0, sizeof own, &own);
    }
    blas->set_num_threads(threads);
}
