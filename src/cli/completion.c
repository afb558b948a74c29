/* completion.c: three shells' ways to say the same: the commands, the options of each, and what may
 * stand as an option's value or as a command's word. The last follows from the word that stands for
 * the value in the help: "DTYPES" are names of `assay list dtypes`. */
#include "cli/completion.h"

#include "cli/command.h"
#include "config/options.h"

#include <string.h>

/* ---- values --------------------------------------------------------------------------------- */

static void add_list_names(struct assay_text *out)
{
    for (int64_t i = 0; assay_list_name(i); i++)
        assay_text_format(out, "%s%s", i ? " " : "", assay_list_name(i));
}

static void add_command_names(struct assay_text *out)
{
    for (int64_t i = 0; i < assay_command_count(); i++)
        assay_text_format(out, "%s ", assay_command_at(i)->name);
    assay_text_add(out, "config");
}

struct values {
    const char *name;  /* as it stands in an option's row */
    const char *list;  /* `assay list LIST --names` has them; NULL: no list */
    const char *words; /* beside them; NULL: none */
    void (*more_words)(struct assay_text *out);
    const char *files; /* a pattern as zsh has it, "/" for folders; NULL: no files */
};

/* clang-format off */
static const struct values all_values[] = {
    {.name = "OP", .list = "ops"},
    {.name = "IMPL", .list = "implementations"},
    {.name = "IMPLS", .list = "implementations"},
    {.name = "KERNELS", .list = "kernels", .words = "all"},
    {.name = "RECIPES", .list = "recipes", .words = "all"},
    {.name = "DTYPES", .list = "dtypes"},
    {.name = "SETS", .list = "shapes"},
    {.name = "DEVICE", .list = "devices"},
    {.name = "FORMAT", .list = "formats"},
    {.name = "CHART", .list = "charts"},
    {.name = "MODEL", .list = "models"},
    {.name = "PRESETS", .list = "presets", .words = "all"},
    {.name = "PRESET", .list = "presets", .words = "all", .files = "*.(yml|yaml|so)"},
    {.name = "STATE", .words = "hot cold both"},
    {.name = "PASS", .words = "forward backward both"},
    {.name = "PASSES", .words = "forward backward both step"},
    {.name = "OPTIMIZER", .words = "adamw sgd"},
    {.name = "MODE", .words = "default max-autotune reduce-overhead max-autotune-no-cudagraphs false"},
    {.name = "LANGUAGE", .words = "c cu"},
    {.name = "SHELL", .words = "bash zsh fish"},
    {.name = "WHAT", .more_words = add_list_names},
    {.name = "COMMAND", .more_words = add_command_names},
    {.name = "RUN", .list = "runs", .words = "last", .files = "*"},
    {.name = "PORT", .list = "runs", .words = "last", .files = "*"}, /* left out, and a RUN follows */
    {.name = "OLD", .list = "runs", .words = "last last~1", .files = "*"}, /* and NEW */
    {.name = "table", .words = "table json csv md"},
    {.name = "PART", .words = "node kernel"},
    {.name = "AS", .words = "table md json"},
    {.name = "FILE", .files = "*"},
    {.name = "FILE.so", .files = "*.so"},
    {.name = "FILE.yml", .files = "*.(yml|yaml)"},
    {.name = "CONFIG.yml", .files = "*.(yml|yaml)"},
    {.name = "PATH", .files = "*"},
    {.name = "FOLDER", .files = "/"},
    /* numbers and what has no list */
    {.name = "N"}, {.name = "P"}, {.name = "TIME"}, {.name = "SIZE"}, {.name = "LIST"},
    {.name = "NAME"}, {.name = "URL"}, {.name = "P=VALUES"},
};
/* clang-format on */

/* By the word of the help, "[OP...]" or "PATH | REPO[@REVISION]"; NULL: it is not known. */
static const struct values *find_values(const char *text)
{
    text += text[0] == '[';
    size_t length = strcspn(text, " |]");
    while (length && text[length - 1] == '.')
        length--;
    for (size_t i = 0; i < sizeof all_values / sizeof all_values[0]; i++)
        if (strlen(all_values[i].name) == length && strncmp(all_values[i].name, text, length) == 0)
            return &all_values[i];
    return NULL;
}

static bool has_words(const struct values *v) { return v->words || v->more_words; }

static void add_words(struct assay_text *out, const struct values *v)
{
    assay_text_add(out, v->words ? v->words : "");
    if (v->more_words)
        v->more_words(out);
}

static bool takes_many(const struct assay_option *o) { return o->type == ASSAY_OPTION_LIST; }

#define EACH_COMMAND(command)                                                                      \
    int64_t i = 0;                                                                                 \
    i < assay_command_count() && (command = assay_command_at(i), true);                            \
    i++

#define EACH_OPTION(table, o)                                                                      \
    const struct assay_option *o = assay_options_next(table, NULL);                                \
    o;                                                                                             \
    o = assay_options_next(table, o)

static enum assay_status check_values(struct assay_error *err)
{
    const struct assay_command *command;
    for (EACH_COMMAND(command)) {
        if (command->options->words && !find_values(command->options->words))
            return assay_error_set(err, ASSAY_ERR_FAILED, NULL,
                                   "completion.c does not know the words of %s: %s", command->name,
                                   command->options->words);
        for (EACH_OPTION(command->options, o))
            if (o->value && !find_values(o->value))
                return assay_error_set(err, ASSAY_ERR_FAILED, NULL,
                                       "completion.c does not know the values of %s --%s: %s",
                                       command->name, o->name, o->value);
    }
    return ASSAY_OK;
}

/* ---- text ----------------------------------------------------------------------------------- */

/* In single quotes that are open already; zsh has no way to say ' between them. */
static void add_escaped(struct assay_text *out, const char *text, size_t length, bool zsh)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\'' && zsh)
            assay_text_add(out, "'\\'");
        else if (strchr(zsh ? "[]:\\" : "'\\", text[i]))
            assay_text_add(out, "\\");
        assay_text_append(out, &text[i], 1);
    }
}

/* What an option does, without the details: up to a colon or semicolon, less what is in brackets.
 */
static void add_brief(struct assay_text *out, const char *help, bool zsh)
{
    while (*help) {
        size_t length = strcspn(help, " :;");
        add_escaped(out, help, length, zsh);
        help += length;
        if (*help == ';' || strncmp(help, ": ", 2) == 0)
            return;
        if (strncmp(help, " (", 2) == 0 && strchr(help, ')')) {
            help = strchr(help, ')') + 1;
        } else if (*help) {
            add_escaped(out, help, 1, zsh);
            help++;
        }
    }
}

/* ---- bash ----------------------------------------------------------------------------------- */

static const char bash_head[] =
    "# Completion of assay for bash, made by `assay help --completion bash`.\n\n"
    "_assay_names() { # asks the program that is being completed\n"
    "    \"${COMP_WORDS[0]}\" list \"$1\" --names 2>/dev/null\n"
    "}\n\n"
    "_assay_one() { COMPREPLY=($(compgen -W \"$1\" -- \"$cur\")); }\n\n"
    "# Completes the last part of a comma-separated list.\n"
    "_assay_many() {\n"
    "    local done=\n"
    "    [[ $cur == *,* ]] && done=${cur%,*},\n"
    "    COMPREPLY=($(compgen -P \"$done\" -W \"$1\" -- \"${cur##*,}\"))\n"
    "    compopt -o nospace\n"
    "}\n\n"
    "_assay() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    # bash splits --option=value at the =\n"
    "    if [[ $cur == = ]]; then\n"
    "        cur=\n"
    "    elif [[ $prev == = ]]; then\n"
    "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n"
    "    COMPREPLY=()\n"
    "    if ((COMP_CWORD == 1)); then\n"
    "        _assay_one \"";

static void bash_values(struct assay_text *out, const struct values *v, bool many)
{
    if (v->list || has_words(v)) {
        assay_text_format(out, "%s \"", many ? "_assay_many" : "_assay_one");
        add_words(out, v);
        if (v->list)
            assay_text_format(out, "%s$(_assay_names %s)", has_words(v) ? " " : "", v->list);
        assay_text_add(out, "\"; ");
    }
    if (v->files)
        assay_text_format(out, "compopt -o %s; ", v->files[0] == '/' ? "dirnames" : "default");
}

static bool is_completed(const struct values *v) { return v->list || has_words(v) || v->files; }

/* "-o | --output" */
static void bash_name(struct assay_text *out, const struct assay_option *o)
{
    if (o->letter)
        assay_text_format(out, "-%c | ", o->letter);
    assay_text_format(out, "--%s", o->name);
}

/* The cases of `prev`: options whose values can be completed, and in one line those that cannot. */
static void bash_options(struct assay_text *out, const struct assay_option_table *table)
{
    const char *separator = "        ";
    for (EACH_OPTION(table, o)) {
        if (!o->value || !is_completed(find_values(o->value)))
            continue;
        assay_text_add(out, "        ");
        bash_name(out, o);
        assay_text_add(out, ") ");
        bash_values(out, find_values(o->value), takes_many(o));
        assay_text_add(out, "return ;;\n");
    }
    for (EACH_OPTION(table, o)) {
        if (!o->value || is_completed(find_values(o->value)))
            continue;
        assay_text_add(out, separator);
        bash_name(out, o);
        separator = " | ";
    }
    assay_text_add(out, separator[1] == '|' ? ") return ;;\n" : "");
}

static void bash_command(struct assay_text *out, const struct assay_command *command)
{
    const struct assay_option_table *table = command->options;
    assay_text_format(out, "    %s)\n        case $prev in\n", command->name);
    bash_options(out, table);
    assay_text_add(out,
                   "        esac\n        if [[ $cur == -* ]]; then\n            _assay_one \"");
    for (EACH_OPTION(table, o))
        assay_text_format(out, "%s--%s", o == table->options ? "" : " ", o->name);
    assay_text_add(out, "\"\n");
    if (table->words && is_completed(find_values(table->words))) {
        assay_text_add(out, "        else\n            ");
        bash_values(out, find_values(table->words), false);
        assay_text_add(out, "return\n");
    }
    assay_text_add(out, "        fi ;;\n");
}

static void write_bash(struct assay_text *out)
{
    const struct assay_command *command;
    assay_text_add(out, bash_head);
    for (EACH_COMMAND(command))
        assay_text_format(out, "%s ", command->name);
    assay_text_add(out, "--help --version\"\n        return\n    fi\n"
                        "    case ${COMP_WORDS[1]} in\n");
    for (EACH_COMMAND(command))
        bash_command(out, command);
    assay_text_add(out, "    esac\n}\ncomplete -F _assay assay\n");
}

/* ---- zsh ------------------------------------------------------------------------------------ */

static const char zsh_head[] =
    "#compdef assay\n"
    "# Completion of assay for zsh, made by `assay help --completion zsh`.\n\n"
    "__assay_one() { # what to list, how to call it, words beside the list\n"
    "    local -a names=(${(f)\"$($assay_program list $1 --names 2>/dev/null)\"} ${@:3})\n"
    "    _wanted $1 expl $2 compadd -a names\n"
    "}\n\n"
    "__assay_many() { # the same, for a list with commas\n"
    "    local -a names=(${(f)\"$($assay_program list $1 --names 2>/dev/null)\"} ${@:3})\n"
    "    (( $#names )) && _values -s , $2 $names\n"
    "}\n";

static void zsh_files(struct assay_text *out, const char *files)
{
    if (strcmp(files, "/") == 0)
        assay_text_add(out, "_files -/");
    else if (strcmp(files, "*") == 0)
        assay_text_add(out, "_files");
    else
        assay_text_format(out, "_files -g \"%s\"", files);
}

/* ":DTYPES:{__assay_many dtypes DTYPES}" */
static void zsh_values(struct assay_text *out, const struct values *v, bool many)
{
    assay_text_format(out, ":%s", v->name);
    if (is_completed(v))
        assay_text_add(out, ":");
    bool several = v->files && (v->list || has_words(v));
    if (v->list) {
        assay_text_format(out, "{__assay_%s %s %s%s", many ? "many" : "one", v->list, v->name,
                          has_words(v) ? " " : "");
        add_words(out, v);
    } else if (has_words(v)) {
        assay_text_add(out, several ? "{compadd " : "(");
        add_words(out, v);
    }
    if (several)
        assay_text_add(out, "; ");
    if (v->files)
        zsh_files(out, v->files);
    if (v->list || several)
        assay_text_add(out, "}");
    else if (has_words(v))
        assay_text_add(out, ")");
}

/* "'*--dtype=[element types]:DTYPES:{…}'", and the same for the letter. */
static void zsh_option(struct assay_text *out, const struct assay_option *o, bool letter)
{
    bool again = o->type == ASSAY_OPTION_LIST || o->type == ASSAY_OPTION_REPEAT;
    bool flag = o->type == ASSAY_OPTION_FLAG;
    assay_text_format(out, "        '%s", again ? "*" : "");
    if (letter)
        assay_text_format(out, "-%c%s[", o->letter, flag ? "" : "+");
    else
        assay_text_format(out, "--%s%s[", o->name, flag ? "" : "=");
    add_brief(out, o->help, true);
    assay_text_add(out, "]");
    if (!flag)
        zsh_values(out, find_values(o->value), takes_many(o));
    assay_text_add(out, "' \\\n");
}

static void zsh_command(struct assay_text *out, const struct assay_command *command)
{
    const struct assay_option_table *table = command->options;
    assay_text_format(out, "\n_assay_%s() {\n    _arguments -s \\\n", command->name);
    for (EACH_OPTION(table, o)) {
        zsh_option(out, o, false);
        if (o->letter)
            zsh_option(out, o, true);
    }
    assay_text_add(out, "        '*");
    if (table->words)
        zsh_values(out, find_values(table->words), false);
    else
        assay_text_add(out, ": :");
    assay_text_add(out, "'\n}\n");
}

static void write_zsh(struct assay_text *out)
{
    const struct assay_command *command;
    assay_text_add(out, zsh_head);
    for (EACH_COMMAND(command))
        zsh_command(out, command);
    assay_text_add(out, "\n_assay() {\n"
                        "    local assay_program=${(Q)words[1]}\n"
                        "    if (( CURRENT == 2 )); then\n"
                        "        _values command \\\n");
    for (EACH_COMMAND(command)) {
        assay_text_format(out, "            '%s[", command->name);
        add_escaped(out, command->summary, strlen(command->summary), true);
        assay_text_add(out, "]' \\\n");
    }
    assay_text_add(out,
                   "            '--help[how to use assay]' '--version[which assay this is]'\n"
                   "        return\n"
                   "    fi\n"
                   "    local command=$words[2]\n"
                   "    shift words\n"
                   "    (( CURRENT-- ))\n"
                   "    (( $+functions[_assay_$command] )) && _assay_$command\n"
                   "}\n\n"
                   "if [[ $funcstack[1] == _assay ]]; then # loaded from a folder of functions\n"
                   "    _assay \"$@\"\n"
                   "else # read by `source`\n"
                   "    compdef _assay assay\n"
                   "fi\n");
}

/* ---- fish ----------------------------------------------------------------------------------- */

static const char fish_head[] =
    "# Completion of assay for fish, made by `assay help --completion fish`.\n\n"
    "function __assay_names # asks the program that is being completed\n"
    "    set -l words (commandline -opc)\n"
    "    $words[1] list $argv[1] --names 2>/dev/null\n"
    "end\n\n"
    "complete -c assay -f\n"
    "complete -c assay -n __fish_use_subcommand -l help -d 'How to use assay'\n"
    "complete -c assay -n __fish_use_subcommand -l version -d 'Which assay this is'\n";

/* Of an option `-x` keeps files out; of a command's words they are out already. */
static void fish_values(struct assay_text *out, const struct values *v, bool option)
{
    assay_text_add(out, v->files ? option ? " -r -F" : " -F" : option ? " -x" : "");
    if (!v->list && !has_words(v))
        return;
    assay_text_add(out, " -a '");
    add_words(out, v);
    if (v->list)
        assay_text_format(out, "%s(__assay_names %s)", has_words(v) ? " " : "", v->list);
    assay_text_add(out, "'");
}

static void fish_command(struct assay_text *out, const struct assay_command *command)
{
    const struct assay_option_table *table = command->options;
    const char *seen = "-n '__fish_seen_subcommand_from";
    assay_text_format(out, "\ncomplete -c assay -n __fish_use_subcommand -a %s -d '",
                      command->name);
    add_escaped(out, command->summary, strlen(command->summary), false);
    assay_text_add(out, "'\n");
    if (table->words) {
        const struct values *v = find_values(table->words);
        assay_text_format(out, "complete -c assay %s %s'", seen, command->name);
        fish_values(out, v, false);
        assay_text_format(out, " -d %s\n", v->name);
    }
    for (EACH_OPTION(table, o)) {
        assay_text_format(out, "complete -c assay %s %s' -l %s", seen, command->name, o->name);
        if (o->letter)
            assay_text_format(out, " -s %c", o->letter);
        if (o->type != ASSAY_OPTION_FLAG)
            fish_values(out, find_values(o->value), true);
        assay_text_add(out, " -d '");
        add_brief(out, o->help, false);
        assay_text_add(out, "'\n");
    }
}

static void write_fish(struct assay_text *out)
{
    const struct assay_command *command;
    assay_text_add(out, fish_head);
    for (EACH_COMMAND(command))
        fish_command(out, command);
}

enum assay_status assay_completion_write(const char *shell, struct assay_text *out,
                                         struct assay_error *err)
{
    static const struct {
        const char *name;
        void (*write)(struct assay_text *out);
    } shells[] = {{"bash", write_bash}, {"zsh", write_zsh}, {"fish", write_fish}};
    enum assay_status status = check_values(err);
    for (size_t i = 0; i < sizeof shells / sizeof shells[0] && status == ASSAY_OK; i++)
        if (strcmp(shells[i].name, shell) == 0) {
            shells[i].write(out);
            return ASSAY_OK;
        }
    return status != ASSAY_OK
               ? status
               : assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                                 "no completion for \"%s\"; bash, zsh or fish", shell);
}
