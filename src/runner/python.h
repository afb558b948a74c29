/* python.h: runners that are the user's Python interpreter: which one, and the package `assay` that
 * serves the line there, which the program carries with it. */
#ifndef ASSAY_RUNNER_PYTHON_H
#define ASSAY_RUNNER_PYTHON_H

#include "base/text.h"

/* Objects are known by their names: "python:torch", kernels that come with assay, and files of
 * Python. */
#define ASSAY_PYTHON_PREFIX "python:"
bool assay_python_is(const char *object);
/* The object that an implementation ("torch-compile") or a kernel ("gelu_triton") is in; NULL: none
 * that comes with assay. */
const char *assay_python_object_of(const char *name);

/* Implementations that come with assay and run in Python, with a NULL behind the last. */
extern const char *const assay_python_implementations[];

/* The interpreter that a user means: `wanted` (--python), $ASSAY_PYTHON, that of the active virtual
 * environment, python3. A name without a slash is looked for in PATH. `wanted` may be NULL or
 * empty. ASSAY_UNSUPPORTED where there is none. */
enum assay_status assay_python_find(const char *wanted, struct assay_text *out,
                                    struct assay_error *err);

/* The folder to import `assay` from, appended to `out`: CACHE/python-HASH, by what is in it.
 * Written where it is missing. ASSAY_UNSUPPORTED where the program was built without Python's
 * headers. */
enum assay_status assay_python_package(struct assay_text *out, struct assay_error *err);
/* Before each interpreter that starts: the folder holds these bytes and nothing else, or it is
 * written anew. What ran before may have had the rights to change it. */
enum assay_status assay_python_restore(const char *folder, struct assay_error *err);

/* The error of a program that was built without it. */
enum assay_status assay_python_absent(struct assay_error *err);

/* What the interpreter runs, with the package's folder as its argument: `python3 -c THIS FOLDER`.
 */
extern const char assay_python_program[];

/* The package's files, embedded when the program is built; absent from the library. */
struct assay_python_part {
    const char *name; /* "assay/_runner.py" */
    const unsigned char *bytes;
    const unsigned char *end;
};
struct assay_python_parts {
    const char *hash; /* of all */
    const struct assay_python_part *all;
    int n;
};
extern const struct assay_python_parts assay_python_parts __attribute__((weak));

#endif
