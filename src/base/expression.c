/* expression.c: a recursive-descent parser that evaluates while it parses. */
#include "base/expression.h"

#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAME = 48 };

struct parser {
    const char *text, *at;
    const struct assay_variable *variables;
    int64_t n;
    int depth;
    struct assay_error *err;
    bool failed;
};

static double sum(struct parser *p);

static double fail_at(struct parser *p, const char *at, const char *message)
{
    if (!p->failed)
        assay_error_set(p->err, ASSAY_ERR_INVALID, NULL, "column %d: %s", (int)(at - p->text) + 1,
                        message);
    p->failed = true;
    return 0;
}

static void skip_blanks(struct parser *p)
{
    while (*p->at == ' ' || *p->at == '\t')
        p->at++;
}

/* Consumes this character if it comes next. */
static bool take(struct parser *p, char c)
{
    skip_blanks(p);
    if (*p->at != c)
        return false;
    p->at++;
    return true;
}

static bool begins_name(char c) { return isalpha((unsigned char)c) || c == '_'; }

static size_t name_length(const char *at)
{
    size_t length = 0;
    while (begins_name(at[length]) || (length && isdigit((unsigned char)at[length])))
        length++;
    return length;
}

static double number(struct parser *p)
{
    const char *start = p->at;
    char digits[64];
    size_t length = strspn(start, "0123456789.");
    if ((start[length] == 'e' || start[length] == 'E') &&
        strspn(start + length + 1, "+-0123456789") > 0) {
        length++;
        length += start[length] == '+' || start[length] == '-';
        length += strspn(start + length, "0123456789");
    }
    p->at += length;
    double value;
    if (length >= sizeof digits)
        return fail_at(p, start, "a number that is too long");
    snprintf(digits, sizeof digits, "%.*s", (int)length, start);
    if (assay_text_double(digits, &value) != ASSAY_OK || !isfinite(value))
        return fail_at(p, start, "not a number");
    return value;
}

static double unknown_name(struct parser *p, const char *at, const char *name)
{
    const char *names[64] = {0};
    int64_t n = 0;
    char message[400];
    for (; n < p->n && n < 64; n++)
        names[n] = p->variables[n].name;
    const char *nearest = assay_text_nearest(name, names, n);
    int used = snprintf(message, sizeof message, "unknown name \"%s\"", name);
    if (nearest)
        used += snprintf(message + used, sizeof message - (size_t)used, "; did you mean \"%s\"?",
                         nearest);
    for (int64_t i = 0; i < n && used < (int)sizeof message - 64; i++)
        used += snprintf(message + used, sizeof message - (size_t)used, "%s%.40s",
                         i         ? ", "
                         : nearest ? " There are "
                                   : "; there are ",
                         names[i]);
    return fail_at(p, at, message);
}

/* min(a, b, …) and max(a, b, …), behind the name. */
static double extreme(struct parser *p, bool most)
{
    take(p, '(');
    double value = sum(p);
    while (!p->failed && take(p, ',')) {
        double other = sum(p);
        value = (most ? other > value : other < value) ? other : value;
    }
    if (!p->failed && !take(p, ')'))
        return fail_at(p, p->at, "a \")\" is missing here");
    return value;
}

static double named(struct parser *p)
{
    char name[MOST_NAME];
    const char *start = p->at;
    size_t length = name_length(start);
    p->at += length;
    if (length >= sizeof name)
        return fail_at(p, start, "a name that is too long");
    snprintf(name, sizeof name, "%.*s", (int)length, start);
    skip_blanks(p);
    bool call = *p->at == '(';
    if (call && (strcmp(name, "min") == 0 || strcmp(name, "max") == 0))
        return extreme(p, name[1] == 'a');
    if (call)
        return fail_at(p, start, "the only functions are min and max");
    for (int64_t i = 0; i < p->n; i++)
        if (strcmp(p->variables[i].name, name) == 0)
            return p->variables[i].value;
    return unknown_name(p, start, name);
}

/* A number, a name, a call, something in parentheses, or one of these with a sign. */
static double operand(struct parser *p)
{
    if (p->failed)
        return 0;
    skip_blanks(p);
    if (++p->depth > ASSAY_EXPRESSION_DEPTH)
        return fail_at(p, p->at, "parentheses and signs too deep");
    double value;
    if (take(p, '-')) {
        value = -operand(p);
    } else if (take(p, '(')) {
        value = sum(p);
        if (!p->failed && !take(p, ')'))
            fail_at(p, p->at, "a \")\" is missing here");
    } else if (begins_name(*p->at)) {
        value = named(p);
    } else if (isdigit((unsigned char)*p->at) || *p->at == '.') {
        value = number(p);
    } else {
        value = fail_at(p, p->at, "a number, a name or \"(\" is missing here");
    }
    p->depth--;
    return value;
}

static double product(struct parser *p)
{
    double value = operand(p);
    while (!p->failed) {
        skip_blanks(p);
        const char *at = p->at;
        if (take(p, '*')) {
            value *= operand(p);
        } else if (take(p, '/') || take(p, '%')) {
            double by = operand(p);
            if (!p->failed && by == 0)
                return fail_at(p, at, "divides by zero");
            value = *at == '/' ? value / by : fmod(value, by);
        } else {
            break;
        }
    }
    return value;
}

static double sum(struct parser *p)
{
    double value = product(p);
    while (!p->failed) {
        if (take(p, '+'))
            value += product(p);
        else if (take(p, '-'))
            value -= product(p);
        else
            break;
    }
    return value;
}

enum assay_status assay_expression_value(const char *text, const struct assay_variable *variables,
                                         int64_t n, double *out, struct assay_error *err)
{
    struct parser p = {.text = text, .at = text, .variables = variables, .n = n, .err = err};
    *out = 0;
    if (strlen(text) > ASSAY_EXPRESSION_LENGTH)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "an expression of more than %d letters", ASSAY_EXPRESSION_LENGTH);
    double value = sum(&p);
    skip_blanks(&p);
    if (!p.failed && *p.at)
        fail_at(&p, p.at, "an operator is missing here");
    if (!p.failed && !isfinite(value))
        fail_at(&p, text, "too large to be a number");
    if (p.failed)
        return ASSAY_ERR_INVALID;
    *out = value;
    return ASSAY_OK;
}

enum assay_status assay_expression_size(const char *text, const struct assay_variable *variables,
                                        int64_t n, int64_t least, int64_t *out,
                                        struct assay_error *err)
{
    double value;
    enum assay_status status = assay_expression_value(text, variables, n, &value, err);
    *out = least;
    if (status != ASSAY_OK)
        return status;
    if (!(value >= (double)least && value <= 0x1p53) || value != floor(value))
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "\"%.100s\" is %.15g; a size is a whole number of at least %lld",
                               text, value, (long long)least);
    *out = (int64_t)value;
    return ASSAY_OK;
}

bool assay_expression_names(const char *text, const char *name)
{
    size_t wanted = strlen(name);
    while (*text) {
        size_t length = name_length(text);
        if (length == wanted && strncmp(text, name, length) == 0)
            return true;
        if (!length) /* 1e9 holds no name */
            length = strspn(text, "0123456789.");
        if (length && isdigit((unsigned char)*text))
            length += (text[length] == 'e' || text[length] == 'E');
        text += length ? length : 1;
    }
    return false;
}

bool assay_expression_is_name(const char *text)
{
    size_t length = name_length(text);
    return length > 0 && length < MOST_NAME && !text[length] && strcmp(text, "min") != 0 &&
           strcmp(text, "max") != 0;
}
