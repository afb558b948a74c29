#include "config/kernel_file.h"

#include "base/alloc.h"
#include "config/run_reading.h"
#include "repo/inside.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST_WORDS = 1000 }; /* of one list */

enum { NOT_CHECKED = -1 }; /* where the words are used */

/* Keys whose values are lists of words. */
static const struct list_key {
    const char *name, *separators; /* of words that are written as one text */
    size_t offset;
    int flags; /* enum assay_flag_list, or NOT_CHECKED */
} list_keys[] = {
    {"cflags", " \t\r\n", offsetof(struct assay_kernel_file, cflags), ASSAY_FLAGS_C},
    {"cxxflags", " \t\r\n", offsetof(struct assay_kernel_file, cxxflags), ASSAY_FLAGS_CXX},
    {"cudaflags", " \t\r\n", offsetof(struct assay_kernel_file, cudaflags), ASSAY_FLAGS_CUDA},
    {"ldflags", " \t\r\n", offsetof(struct assay_kernel_file, ldflags), ASSAY_FLAGS_LINK},
    {"include", " \t\r\n", offsetof(struct assay_kernel_file, include), ASSAY_FLAGS_INCLUDE},
    {"sources", " \t\r\n", offsetof(struct assay_kernel_file, sources), NOT_CHECKED},
    {"shapes", ", \t\r\n", offsetof(struct assay_kernel_file, shapes), NOT_CHECKED},
    {"dtypes", ", \t\r\n", offsetof(struct assay_kernel_file, dtypes), NOT_CHECKED},
};
enum { N_LISTS = sizeof list_keys / sizeof list_keys[0] };

static struct assay_strings *list_of(struct assay_kernel_file *file, const struct list_key *key)
{
    return (struct assay_strings *)(void *)((char *)file + key->offset);
}

static enum assay_status add_word(struct assay_reading *r, const struct assay_yaml *node,
                                  const char *word, size_t length, struct assay_strings *out)
{
    struct assay_text text = {0};
    if (out->n == MOST_WORDS)
        return assay_reading_fail(r, assay_place_of(node), "more than %d words", MOST_WORDS);
    assay_text_append(&text, word, length);
    enum assay_status status = text.failed ? ASSAY_ERR_NOMEM : assay_strings_add(out, text.data);
    assay_text_fini(&text);
    return status == ASSAY_OK ? ASSAY_OK : assay_reading_no_memory(r);
}

static enum assay_status split_words(struct assay_reading *r, const struct list_key *key,
                                     const struct assay_yaml *node, struct assay_strings *out)
{
    enum assay_status status = ASSAY_OK;
    for (const char *at = node->text; status == ASSAY_OK;) {
        at += strspn(at, key->separators);
        size_t length = strcspn(at, key->separators);
        if (length == 0)
            break;
        status = add_word(r, node, at, length, out);
        at += length;
    }
    return status;
}

static enum assay_status read_list(struct assay_reading *r, const struct list_key *key,
                                   const struct assay_yaml *node, struct assay_strings *out)
{
    static const char wanted[] = "a list of words, or a text of words with blanks between them";
    enum assay_status status = ASSAY_OK;
    if (node->kind == ASSAY_YAML_SCALAR)
        return split_words(r, key, node, out);
    if (node->kind == ASSAY_YAML_MAP)
        return assay_reading_wrong_type(r, key->name, node, wanted);
    for (const struct assay_yaml *at = node->first; at && status == ASSAY_OK; at = at->next)
        status = at->kind == ASSAY_YAML_SCALAR && at->text[0]
                     ? add_word(r, at, at->text, strlen(at->text), out)
                     : assay_reading_wrong_type(r, key->name, at, wanted);
    return status;
}

/* A word that is refused stands at its own item of a list; of words in one text, at the text. */
static enum assay_status check_words(struct assay_reading *r, const struct list_key *key,
                                     const struct assay_yaml *node,
                                     const struct assay_strings *words, const char *root)
{
    struct assay_error why = {0};
    int64_t at = 0;
    if (key->flags == NOT_CHECKED ||
        assay_compile_flags_check_list((enum assay_flag_list)key->flags,
                                       (const char *const *)words->items, root, &at,
                                       &why) == ASSAY_OK)
        return ASSAY_OK;
    const struct assay_yaml *item = node->kind == ASSAY_YAML_LIST ? node->first : NULL;
    for (int64_t i = 0; item && i < at; i++)
        item = item->next;
    return assay_reading_fail(r, assay_place_of(item ? item : node), "%s", why.message);
}

static enum assay_status read_name(struct assay_reading *r, const struct assay_yaml *node,
                                   struct assay_kernel_file *out)
{
    struct assay_text shown = {0};
    if (node->kind != ASSAY_YAML_SCALAR || !node->text[0])
        return assay_reading_wrong_type(r, "name", node, "a name");
    assay_text_add_shown(&shown, node->text);
    enum assay_status status = ASSAY_OK;
    if (shown.failed)
        status = assay_reading_no_memory(r);
    else if (shown.length >= sizeof out->name)
        status = assay_reading_fail(r, assay_place_of(node), "a name has at most %d letters",
                                    (int)sizeof out->name - 1);
    else
        memcpy(out->name, shown.data, shown.length + 1);
    assay_text_fini(&shown);
    return status;
}

static enum assay_status read_root(struct assay_reading *r, const struct assay_yaml *root,
                                   const char *folder, struct assay_kernel_file *out)
{
    const char *known[N_LISTS + 2] = {"name"};
    for (int i = 0; i < N_LISTS; i++)
        known[i + 1] = list_keys[i].name;
    if (!root || assay_yaml_is_null(root)) /* nothing but comments */
        return ASSAY_OK;
    if (root->kind != ASSAY_YAML_MAP)
        return assay_reading_fail(r, assay_place_of(root),
                                  "assay.yml is a mapping: cflags: [-O3] and so on");
    enum assay_status status = assay_reading_keys(r, root, "assay.yml", known);
    const struct assay_yaml *name = assay_yaml_get(root, "name");
    if (status == ASSAY_OK && name)
        status = read_name(r, name, out);
    for (int i = 0; i < N_LISTS && status == ASSAY_OK; i++) {
        const struct assay_yaml *node = assay_yaml_get(root, list_keys[i].name);
        struct assay_strings *words = list_of(out, &list_keys[i]);
        if (node)
            status = read_list(r, &list_keys[i], node, words);
        if (node && status == ASSAY_OK)
            status = check_words(r, &list_keys[i], node, words, folder);
    }
    return status;
}

enum assay_status assay_kernel_file_parse(const char *bytes, size_t length, const char *file,
                                          const char *root, struct assay_kernel_file *out,
                                          struct assay_error *err)
{
    struct assay_run_config config = {0}; /* of it only the file's name */
    struct assay_reading reading = {.config = &config, .err = err};
    struct assay_yaml *tree;
    *out = (struct assay_kernel_file){0};
    assay_run_config_name(&config, file);
    enum assay_status status = assay_yaml_parse(bytes, length, config.file, &tree, err);
    if (status == ASSAY_OK)
        status = read_root(&reading, tree, root, out);
    assay_yaml_destroy(tree);
    return status;
}

enum assay_status assay_kernel_file_read(const char *root, struct assay_kernel_file *out,
                                         struct assay_error *err)
{
    struct assay_text path = {0};
    char *bytes = NULL;
    size_t length = 0;
    *out = (struct assay_kernel_file){0};
    assay_text_format(&path, "%s/assay.yml", root);
    if (path.failed)
        return assay_error_nomem(err);
    enum assay_status status = assay_inside_check(root, path.data, "assay.yml", err);
    if (status == ASSAY_OK && access(path.data, F_OK) == 0)
        status = assay_yaml_read_file(path.data, "file", &bytes, &length, err);
    if (status == ASSAY_OK && bytes)
        status = assay_kernel_file_parse(bytes, length, path.data, root, out, err);
    assay_free(bytes);
    assay_text_fini(&path);
    return status;
}

void assay_kernel_file_fini(struct assay_kernel_file *file)
{
    for (int i = 0; i < N_LISTS; i++)
        assay_strings_fini(list_of(file, &list_keys[i]));
    *file = (struct assay_kernel_file){0};
}

struct assay_compile_flags assay_kernel_file_flags(const struct assay_kernel_file *file)
{
    return (struct assay_compile_flags){
        .c = (const char *const *)file->cflags.items,
        .cxx = (const char *const *)file->cxxflags.items,
        .cuda = (const char *const *)file->cudaflags.items,
        .link = (const char *const *)file->ldflags.items,
        .include = (const char *const *)file->include.items,
        .sources = (const char *const *)file->sources.items,
    };
}
