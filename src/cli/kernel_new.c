/* kernel_new.c: the templates of share/templates, filled in. A template is text with @NAME@ in it:
 * one of the values below, or another template, name.in. kernel.c.in and kernel.cu.in are the
 * frames of all ops; @BODY@ in them is the template that the op's skeleton names: softmax.c.in,
 * softmax.cu.in. */
#include "cli/kernel_new.h"

#include "base/folder.h"
#include "kernel/kernel.h"
#include "op/op.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- templates ------------------------------------------------------------------------------- */

static const char *template_text(const char *name)
{
    for (int i = 0; i < assay_n_templates; i++)
        if (strcmp(assay_templates[i].name, name) == 0)
            return assay_templates[i].text;
    return NULL;
}

/* The body of an op's skeleton; NULL: it has none in this language. */
static const char *body_text(const struct assay_op *op, const char *language)
{
    char name[64];
    if (!op->skeleton.body)
        return NULL;
    snprintf(name, sizeof name, "%s.%s.in", op->skeleton.body, language);
    const char *text = template_text(name);
    bool lacks_formula = text && strstr(text, "@FORMULA@") && !op->skeleton.formula;
    return lacks_formula ? NULL : text;
}

static enum assay_status no_skeleton(const char *op, const char *language, struct assay_error *err)
{
    struct assay_text known = {0};
    for (int64_t i = 0; i < assay_op_count(); i++)
        if (body_text(assay_op_at(i), language))
            assay_text_format(&known, "%s%s", known.length ? " " : "", assay_op_at(i)->name);
    assay_error_set(err, ASSAY_ERR_INVALID, "--op",
                    "there is no skeleton of %s in %s yet; there are those of %s", op, language,
                    known.failed ? "other ops" : known.data);
    assay_text_fini(&known);
    return ASSAY_ERR_INVALID;
}

/* ---- what is asked for ----------------------------------------------------------------------- */

struct wanted {
    const char *path;     /* the folder */
    const char *language; /* "c" or "cu" */
    const struct assay_op *op;
    const char *body;
    char id[32], file[48]; /* "my_relu", "my-relu.c"; records hold no longer implementations */
};

static enum assay_status find_op(const char *name, struct wanted *out, struct assay_error *err)
{
    enum { MOST = 4 };
    const struct assay_op *ops[MOST];
    int64_t n = 0;
    enum assay_status status = assay_op_resolve(name, ops, MOST, &n, err);
    if (status != ASSAY_OK)
        return status;
    if (n > 1)
        return assay_error_set(err, ASSAY_ERR_INVALID, "--op", "\"%s\" is %s and %s: which one?",
                               name, ops[0]->name, ops[1]->name);
    out->op = ops[0];
    out->body = body_text(out->op, out->language);
    return out->body ? ASSAY_OK : no_skeleton(out->op->name, out->language, err);
}

/* Letters, digits, _ - and dots inside make a file's name; all else of it becomes _ in the id. */
static enum assay_status find_names(struct wanted *out, struct assay_error *err)
{
    const char *slash = strrchr(out->path, '/'), *base = slash ? slash + 1 : out->path;
    size_t length = strlen(base), good = 0;
    while (isalnum((unsigned char)base[good]) || (base[good] && strchr("_-.", base[good])))
        good++;
    if (length == 0 || good < length || base[0] == '.' || base[0] == '-' ||
        length >= sizeof out->id - 1)
        return assay_error_set(err, ASSAY_ERR_INVALID, "--new",
                               "\"%.100s\" cannot name a kernel: letters, digits, _ and - can, at "
                               "the most %zu of them, behind the path",
                               out->path, sizeof out->id - 2);
    snprintf(out->file, sizeof out->file, "%s.%s", base, out->language);
    snprintf(out->id, sizeof out->id, "%s%s", isdigit((unsigned char)base[0]) ? "_" : "", base);
    for (char *c = out->id; *c; c++)
        *c = isalnum((unsigned char)*c) ? *c : '_';
    return ASSAY_OK;
}

/* A name that a built-in kernel or implementation has would be refused when it is loaded. */
static enum assay_status check_free(const struct wanted *wanted, struct assay_error *err)
{
    assay_kernel_registry *registry = assay_kernel_registry_create();
    if (!registry)
        return assay_error_nomem(err);
    bool taken = false;
    for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        taken |= strcmp(kernel->name, wanted->id) == 0 ||
                 strcmp(kernel->implementation, wanted->id) == 0;
    }
    assay_kernel_registry_destroy(registry);
    if (taken)
        return assay_error_set(err, ASSAY_ERR_INVALID, "--new",
                               "\"%s\" is the name of kernels that are built in; take another",
                               wanted->id);
    return ASSAY_OK;
}

static enum assay_status read_wanted(const char *name, const char *op, const char *language,
                                     struct wanted *out, struct assay_error *err)
{
    *out = (struct wanted){.path = name, .language = language};
    if (strcmp(language, "c") != 0 && strcmp(language, "cu") != 0)
        return assay_error_set(err, ASSAY_ERR_INVALID, "--lang",
                               "unknown language \"%.40s\"; there are c and cu (CUDA)", language);
    enum assay_status status = find_op(op, out, err);
    if (status == ASSAY_OK)
        status = find_names(out, err);
    return status == ASSAY_OK ? check_free(out, err) : status;
}

/* ---- filling in ------------------------------------------------------------------------------ */

static void add_axes(const struct assay_op *op, struct assay_text *out)
{
    for (int32_t i = 0; i < assay_op_axes(op); i++)
        assay_text_format(out, "%s%s", i ? " x " : "", op->axis_names[i]);
}

static void expand(const struct wanted *wanted, const char *text, struct assay_text *out);

/* What @KEY@ stands for. False where that is nothing. */
static bool expand_key(const struct wanted *wanted, const char *key, struct assay_text *out)
{
    const struct {
        const char *key, *value;
    } values[] = {
        {"FILE", wanted->file},
        {"ID", wanted->id},
        {"OP", wanted->op->name},
        {"SUMMARY", wanted->op->summary},
        {"SHAPES", assay_op_skeleton_shapes(wanted->op)},
        {"FORMULA", wanted->op->skeleton.formula},
        {"BODY", wanted->body},
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (strcmp(key, values[i].key) == 0) {
            expand(wanted, values[i].value ? values[i].value : "", out);
            return true;
        }
    if (strcmp(key, "AXES") == 0) {
        add_axes(wanted->op, out);
        return true;
    }
    if (strcmp(key, "CAN_RUN") ==
        0) { /* the body has one only where there is something to refuse */
        if (!out->failed && strstr(out->data, " can_run("))
            assay_text_add(out, "    .can_run = can_run,\n");
        return true;
    }
    char name[64];
    snprintf(name, sizeof name, "%s.in", key);
    for (char *c = name; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    const char *text = template_text(name);
    if (text)
        expand(wanted, text, out);
    return text != NULL;
}

/* Appends `text` with each @KEY@ replaced. */
static void expand(const struct wanted *wanted, const char *text, struct assay_text *out)
{
    char key[32];
    for (const char *at = strchr(text, '@'); at; at = strchr(text, '@')) {
        size_t length = strspn(at + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
        bool closed = length > 0 && length < sizeof key && at[1 + length] == '@';
        assay_text_append(out, text, (size_t)(at - text));
        if (closed) {
            memcpy(key, at + 1, length);
            key[length] = '\0';
        }
        if (closed && expand_key(wanted, key, out)) {
            text = at + length + 2;
        } else {
            assay_text_append(out, "@", 1);
            text = at + 1;
        }
    }
    assay_text_add(out, text);
}

/* ---- writing --------------------------------------------------------------------------------- */

static enum assay_status make_folder(const char *path, struct assay_error *err)
{
    if (mkdir(path, 0777) == 0)
        return ASSAY_OK;
    bool name = errno == EEXIST || errno == ENOENT;
    return assay_error_set(err, name ? ASSAY_ERR_INVALID : ASSAY_ERR_IO, path, "%s",
                           errno == EEXIST   ? "exists already; nothing was written"
                           : errno == ENOENT ? "its parent folder does not exist"
                                             : strerror(errno));
}

/* One file of the folder: `name` below it, from the template `from`. */
static enum assay_status write_file(const struct wanted *wanted, const char *name, const char *from,
                                    struct assay_error *err)
{
    struct assay_text path = {0}, text = {0};
    assay_text_format(&path, "%s/%s", wanted->path, name);
    expand(wanted, template_text(from), &text);
    enum assay_status status =
        path.failed || text.failed
            ? assay_error_nomem(err)
            : assay_folder_write_atomic(path.data, text.data, text.length, err);
    assay_text_fini(&path);
    assay_text_fini(&text);
    return status;
}

static void remove_below(const char *folder, const char *name)
{
    struct assay_text path = {0};
    assay_text_format(&path, "%s/%s", folder, name);
    if (!path.failed)
        (void)remove(path.data);
    assay_text_fini(&path);
}

enum assay_status assay_kernel_new(const char *name, const char *op, const char *language,
                                   struct assay_text *said, struct assay_error *err)
{
    struct wanted wanted;
    enum assay_status status = read_wanted(name, op, language, &wanted, err);
    if (status == ASSAY_OK)
        status = make_folder(name, err);
    if (status != ASSAY_OK)
        return status;
    char file[128], folder[] = "kernels", frame[32];
    snprintf(file, sizeof file, "%s/%s", folder, wanted.file);
    snprintf(frame, sizeof frame, "kernel.%s.in", language);
    struct assay_text kernels = {0};
    assay_text_format(&kernels, "%s/%s", name, folder);
    status = kernels.failed ? assay_error_nomem(err) : make_folder(kernels.data, err);
    assay_text_fini(&kernels);
    if (status == ASSAY_OK)
        status = write_file(&wanted, file, frame, err);
    if (status == ASSAY_OK)
        status = write_file(&wanted, "assay.yml", "assay.yml.in", err);
    if (status == ASSAY_OK)
        status = write_file(&wanted, "README.md", "README.md.in", err);
    if (status == ASSAY_OK) {
        assay_text_format(said,
                          "%s: a kernel of %s that is right, and slow. Make it fast:\n"
                          "  %s/%s\nand see:\n  assay kernel %s%s\n",
                          name, wanted.op->name, name, file, strchr("/.~", name[0]) ? "" : "./",
                          name);
        return ASSAY_OK;
    }
    remove_below(name, "README.md");
    remove_below(name, "assay.yml");
    remove_below(name, file);
    remove_below(name, folder);
    rmdir(name);
    return status;
}
