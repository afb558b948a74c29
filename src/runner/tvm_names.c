/* tvm_names.c: see tvm_names.h. Names are looked for as texts anywhere in the file: whether one is
 * a function is known when it is opened (tvm_ffi.c). */
#include "runner/tvm_names.h"

#include "base/folder.h"
#include "base/text.h"
#include <assay/assay_benchmark.h>

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the object's file ---- */

struct file {
    const char *bytes;
    size_t size;
};

static bool open_file(const char *path, struct file *out)
{
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *out = (struct file){0};
    if (fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED)
            *out = (struct file){bytes, (size_t)about.st_size};
    }
    if (fd >= 0)
        close(fd);
    return out->bytes && out->size > 4 && memcmp(out->bytes, "\177ELF", 4) == 0;
}

static void close_file(struct file *file)
{
    if (file->bytes)
        munmap((void *)(uintptr_t)file->bytes, file->size);
}

/* The next text that begins so, behind a zero; NULL: there is none. */
static const char *next_text(const struct file *file, const char *from, const char *beginning)
{
    size_t length = strlen(beginning);
    const char *end = file->bytes + file->size;
    while (from < end) {
        const char *found = memmem(from, (size_t)(end - from), beginning, length);
        if (!found || (found > file->bytes && found[-1] == '\0'))
            return found;
        from = found + 1;
    }
    return NULL;
}

static bool has_text(const struct file *file, const char *text)
{
    char whole[64];
    snprintf(whole, sizeof whole, "%s", text);
    const char *end = file->bytes + file->size;
    for (const char *at = next_text(file, file->bytes, whole); at;
         at = next_text(file, at + 1, whole))
        if (at + strlen(whole) < end && at[strlen(whole)] == '\0')
            return true;
    return false;
}

/* Behind the prefix; false where it is no name of a function: TVM's own begin with a line. */
static bool name_at(const struct file *file, const char *at, char *out, size_t size)
{
    const char *end = file->bytes + file->size;
    size_t n = 0;
    at += strlen(TVM_PREFIX);
    while (at + n < end && n + 1 < size && (isalnum((unsigned char)at[n]) || at[n] == '_'))
        n++;
    snprintf(out, size, "%.*s", (int)n, at);
    return n > 0 && at[0] != '_' && at + n < end && at[n] == '\0';
}

bool assay_tvm_is(const char *path)
{
    struct file file;
    bool is = open_file(path, &file) && next_text(&file, file.bytes, TVM_PREFIX) &&
              !has_text(&file, ASSAY_PLUGIN_SYMBOL) && !has_text(&file, ASSAY_BENCHMARK_SYMBOL);
    close_file(&file);
    return is;
}

/* ---- names of ops ---- */

/* Does `name` begin with this one, as a whole word? */
static size_t match(const char *name, const char *op)
{
    size_t length = strlen(op);
    return strncmp(name, op, length) == 0 && (name[length] == '\0' || name[length] == '_') ? length
                                                                                           : 0;
}

static size_t match_op(const char *name, const struct assay_op *op)
{
    const struct assay_op *meant[2];
    int64_t n = 0;
    size_t best = match(name, op->name);
    for (const char *const *alias = op->aliases; alias && *alias; alias++) {
        size_t length = match(name, *alias);
        if (length > best && assay_op_resolve(*alias, meant, 2, &n, NULL) == ASSAY_OK && n == 1)
            best = length;
    }
    return best;
}

/* The longest: layernorm_gelu_fast is no layernorm. */
static const struct assay_op *op_of(const char *name)
{
    const struct assay_op *found = NULL;
    size_t best = 0;
    for (int64_t i = 0; i < assay_op_count(); i++) {
        size_t length = match_op(name, assay_op_at(i));
        if (length > best) {
            best = length;
            found = assay_op_at(i);
        }
    }
    return found;
}

static struct tvm_named *find(struct tvm_names *names, const char *name)
{
    for (int32_t i = 0; i < names->n; i++)
        if (strcmp(names->items[i].name, name) == 0)
            return &names->items[i];
    return NULL;
}

static enum assay_status add(struct tvm_names *names, const char *name, const struct assay_op *op,
                             const char *path, struct assay_error *err)
{
    if (names->n == TVM_FUNCTIONS)
        return assay_error_set(err, ASSAY_ERR_INVALID, path,
                               "more than %d functions of TVM-FFI; name those that are meant in "
                               "%s.args",
                               TVM_FUNCTIONS, path);
    struct tvm_named *one = &names->items[names->n++];
    *one = (struct tvm_named){.op = op, .n_arguments = 2};
    snprintf(one->name, sizeof one->name, "%s", name);
    one->arguments[0] = (struct tvm_argument){.source = TVM_IS_INPUT, .index = -1};
    one->arguments[1] = (struct tvm_argument){.source = TVM_IS_OUTPUT, .index = -1};
    return ASSAY_OK;
}

/* Notes a name that is no op's, once: a file has its names twice where it was not stripped. */
static void note_other(char *others, size_t size, const char *name)
{
    size_t used = strlen(others), length = strlen(name);
    for (const char *at = strstr(others, name); at; at = strstr(at + 1, name))
        if ((at == others || at[-1] == ' ') && (at[length] == ',' || at[length] == '\0'))
            return;
    snprintf(others + used, size - used, "%s%s", used ? ", " : "", name);
}

static enum assay_status add_by_name(const struct file *file, const char *path,
                                     struct tvm_names *names, struct assay_error *err)
{
    char name[64], others[128] = "";
    enum assay_status status = ASSAY_OK;
    for (const char *at = next_text(file, file->bytes, TVM_PREFIX); at && status == ASSAY_OK;
         at = next_text(file, at + 1, TVM_PREFIX)) {
        if (!name_at(file, at, name, sizeof name) || find(names, name))
            continue;
        const struct assay_op *op = op_of(name);
        if (op)
            status = add(names, name, op, path, err);
        else
            note_other(others, sizeof others, name);
    }
    if (status == ASSAY_OK && names->n == 0)
        return assay_error_set(err, ASSAY_ERR_INVALID, path,
                               "none of its functions of TVM-FFI is called as an op of assay is "
                               "(%s); say in %s.args what they compute: FUNCTION: OP in out",
                               others, path);
    return status;
}

/* ---- FILE.so.args ---- */

static int32_t index_of(const char *word, const char *const *list, int32_t n)
{
    for (int32_t i = 0; i < n && list[i]; i++)
        if (strcmp(list[i], word) == 0)
            return i;
    return -1;
}

/* "in", "in2": the number behind it. -2: it is something else. */
static int32_t number_behind(const char *word, const char *beginning, int32_t most)
{
    size_t length = strlen(beginning);
    int64_t number;
    if (strncmp(word, beginning, length) != 0)
        return -2;
    if (word[length] == '\0')
        return -1;
    return assay_text_int64(word + length, &number) == ASSAY_OK && number >= 0 && number < most
               ? (int32_t)number
               : -2;
}

static bool read_value(const char *word, struct tvm_any *out)
{
    bool is_true = strcmp(word, "true") == 0;
    *out = (struct tvm_any){.type = TVM_NONE};
    if (strcmp(word, "none") == 0)
        return true;
    if (is_true || strcmp(word, "false") == 0) {
        out->type = TVM_BOOL;
        out->v.integer = is_true;
        return true;
    }
    out->type = TVM_INT;
    if (assay_text_int64(word, &out->v.integer) == ASSAY_OK)
        return true;
    out->type = TVM_FLOAT;
    return assay_text_double(word, &out->v.real) == ASSAY_OK;
}

static bool read_argument(const char *word, const struct assay_op *op, struct tvm_argument *out)
{
    *out = (struct tvm_argument){.source = TVM_IS_INPUT};
    out->index = number_behind(word, "in", ASSAY_MAX_INPUTS);
    if (out->index > -2)
        return true;
    out->source = TVM_IS_OUTPUT;
    out->index = number_behind(word, "out", ASSAY_MAX_OUTPUTS);
    if (out->index > -2)
        return true;
    out->source = TVM_IS_PARAM;
    out->index = index_of(word, op->param_names, ASSAY_MAX_PARAMS);
    if (out->index >= 0)
        return true;
    out->source = TVM_IS_AXIS;
    out->index = index_of(word, op->axis_names, ASSAY_MAX_AXES);
    if (out->index >= 0)
        return true;
    out->source = TVM_IS_VALUE;
    return read_value(word, &out->value);
}

static void list_words(const struct assay_op *op, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "in, out, in0, out0");
    for (int32_t i = 0; i < ASSAY_MAX_PARAMS && op->param_names[i] && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, ", %s", op->param_names[i]);
    for (int32_t i = 0; i < ASSAY_MAX_AXES && op->axis_names[i] && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, ", %s", op->axis_names[i]);
}

/* The rest of a line, behind the op. */
static enum assay_status read_arguments(char *rest, struct tvm_named *out, const char *where,
                                        struct assay_error *err)
{
    char *state = NULL, known[160];
    out->n_arguments = 0;
    for (char *word = strtok_r(rest, " \t\r", &state); word;
         word = strtok_r(NULL, " \t\r", &state)) {
        if (out->n_arguments == TVM_ARGUMENTS)
            return assay_error_set(err, ASSAY_ERR_INVALID, where, "more than %d arguments",
                                   TVM_ARGUMENTS);
        if (read_argument(word, out->op, &out->arguments[out->n_arguments++]))
            continue;
        list_words(out->op, known, sizeof known);
        return assay_error_set(err, ASSAY_ERR_INVALID, where,
                               "unknown argument \"%.40s\" of %s; known are %s, numbers, true, "
                               "false and none",
                               word, out->op->name, known);
    }
    return out->n_arguments > 0
               ? ASSAY_OK
               : assay_error_set(err, ASSAY_ERR_INVALID, where, "%s has no arguments", out->name);
}

/* "FUNCTION: OP ARGUMENT..." */
static enum assay_status read_line(char *line, const char *where, struct tvm_names *names,
                                   struct assay_error *err)
{
    const struct assay_op *op = NULL;
    char *state = NULL;
    int64_t n = 0;
    struct assay_error why = {0};
    line[strcspn(line, "#")] = '\0';
    char *name = strtok_r(line, ": \t\r", &state);
    if (!name)
        return ASSAY_OK;
    char *called = strtok_r(NULL, ": \t\r", &state),
         *rest = called ? strtok_r(NULL, "", &state) : NULL;
    if (!called || !rest)
        return assay_error_set(err, ASSAY_ERR_INVALID, where,
                               "write it as FUNCTION: OP ARGUMENT...");
    if (assay_op_resolve(called, &op, 1, &n, &why) != ASSAY_OK)
        return assay_error_set(err, ASSAY_ERR_INVALID, where, "%s", why.message);
    if (find(names, name))
        return assay_error_set(err, ASSAY_ERR_INVALID, where, "%s was there already", name);
    enum assay_status status = add(names, name, op, where, err);
    return status == ASSAY_OK ? read_arguments(rest, &names->items[names->n - 1], where, err)
                              : status;
}

static enum assay_status read_sidecar(const char *path, struct tvm_names *names,
                                      struct assay_error *err)
{
    enum { MOST = 1 << 16 };
    struct assay_text text = {0};
    char where[1100], *next;
    enum assay_status status = assay_folder_read_file(path, MOST, &text, err);
    int number = 1;
    for (char *line = text.data; line && status == ASSAY_OK; line = next, number++) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        snprintf(where, sizeof where, "%.1000s:%d", path, number);
        status = read_line(line, where, names, err);
    }
    if (status == ASSAY_OK && names->n == 0)
        status = assay_error_set(err, ASSAY_ERR_INVALID, path, "names no functions");
    assay_text_fini(&text);
    return status;
}

enum assay_status assay_tvm_names_read(const char *path, struct tvm_names *out,
                                       struct assay_error *err)
{
    char sidecar[1100];
    struct file file;
    enum assay_status status;
    *out = (struct tvm_names){0};
    snprintf(sidecar, sizeof sidecar, "%.1024s.args", path);
    if (!open_file(path, &file))
        status = assay_error_set(err, ASSAY_ERR_INVALID, path, "cannot be read");
    else if (access(sidecar, F_OK) == 0)
        status = read_sidecar(sidecar, out, err);
    else
        status = add_by_name(&file, path, out, err);
    if (file.bytes)
        out->needs_library = next_text(&file, file.bytes, "TVMFFI") != NULL;
    close_file(&file);
    return status;
}
