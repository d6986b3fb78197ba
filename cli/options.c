/*
 * options -- parse command lines by tables.
 */
#include "options.h"

#include <cfx/nearest.h>

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPTIONS = 64, FIRST = 256, COLUMN = 26, WIDTH = 79 };

/* ---- Values ---- */

static bool set_count(void *at, const char *text)
{
    char *end;

    errno = 0;
    long v = strtol(text, &end, 10);
    *(int *)at = (int)v;
    return end != text && !*end && !errno && v >= 1 && v <= INT_MAX;
}

static bool parse_unsigned(uint64_t *out, const char *text, char **end)
{
    errno = 0;
    *end = (char *)(uintptr_t)text;
    if (*text < '0' || *text > '9') /* strtoull accepts blanks and signs */
        return false;
    *out = strtoull(text, end, 0);
    return !errno;
}

static bool set_size(void *at, const char *text)
{
    static const char units[] = "KMGT";
    char *end;
    uint64_t v;

    if (!parse_unsigned(&v, text, &end))
        return false;
    const char *unit = *end ? strchr(units, *end) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (unit)
        end++;
    if (*end || v == 0 || v > SIZE_MAX >> shift)
        return false;
    *(size_t *)at = (size_t)v << shift;
    return true;
}

/* Parse digits with a decimal point; strtod would depend on the locale and
 * accept "inf" or "0x1p3". */
static bool set_seconds(void *at, const char *text)
{
    double v = 0, unit = 1;
    bool point = false, digits = false;

    for (; *text; text++) {
        if (*text == '.' && !point) {
            point = true;
            continue;
        }
        if (*text < '0' || *text > '9')
            return false;
        digits = true;
        v = v * 10 + (*text - '0');
        if (point)
            unit *= 10;
    }
    *(double *)at = v / unit;
    return digits && v > 0 && v < 1e15 && unit < 1e15;
}

static bool set_seed(void *at, const char *text)
{
    cli_seed *seed = at;
    char *end;

    seed->given = parse_unsigned(&seed->value, text, &end) && !*end;
    return seed->given;
}

static bool set_json(void *at, const char *text)
{
    bool json = !strcmp(text, "json");

    *(bool *)at = json;
    return json || !strcmp(text, "text");
}

static bool add_item(void *at, const char *text)
{
    cli_list *list = at;
    const char **item = realloc(list->item,
                                (size_t)(list->n + 1) * sizeof(*item));

    if (!item)
        return false;
    list->item = item;
    list->item[list->n++] = text;
    return true;
}

static bool set_value(const cli_option *o, void *into, const char *text)
{
    void *at = (char *)into + o->at;

    switch (o->kind) {
    case CLI_FLAG: *(bool *)at = true; return true;
    case CLI_TEXT: *(const char **)at = text; return true;
    case CLI_COUNT: return set_count(at, text);
    case CLI_SIZE: return set_size(at, text);
    case CLI_SECONDS: return set_seconds(at, text);
    case CLI_SEED: return set_seed(at, text);
    case CLI_JSON: return set_json(at, text);
    case CLI_LIST: return add_item(at, text);
    case CLI_END: break;
    }
    return false;
}

/* ---- Parsing ---- */

/* The tables in the form that getopt_long needs. */
struct parser {
    struct option longs[MAX_OPTIONS + 1];
    char shorts[2 * MAX_OPTIONS + 3];
    const cli_option *option[MAX_OPTIONS];
    void *into[MAX_OPTIONS];
    int n;
};

static void add_table(struct parser *p, const cli_table *table)
{
    char *s = p->shorts + strlen(p->shorts);

    for (const cli_option *o = table->option; o && o->kind != CLI_END; o++) {
        if (p->n == MAX_OPTIONS)
            return;
        p->longs[p->n] = (struct option){
            .name = o->name,
            .has_arg = o->value ? required_argument : no_argument,
            .val = FIRST + p->n,
        };
        if (o->letter) {
            *s++ = o->letter;
            if (o->value)
                *s++ = ':';
        }
        p->option[p->n] = o;
        p->into[p->n++] = table->into;
    }
}

static int find(const struct parser *p, int c)
{
    if (c >= FIRST)
        return c - FIRST;
    for (int i = 0; i < p->n; i++) {
        if (p->option[i]->letter == c)
            return i;
    }
    return -1;
}

/* Format "; did you mean '--threads'?" for a long option. */
static const char *nearest(cfx_nearest *near, const struct parser *p,
                           const char *option)
{
    char name[sizeof(near->best)];

    cfx_nearest_init(near, option, strcspn(option, "="));
    for (int i = 0; i < p->n; i++) {
        int n = snprintf(name, sizeof(name), "--%s", p->option[i]->name);
        cfx_nearest_try(near, name, (size_t)n);
    }
    return cfx_nearest_text(near);
}

/* Describe an error of getopt. */
static void explain(char *why, size_t size, int c, char **argv,
                    const struct parser *p)
{
    const char *verb = c == ':' ? "needs a value" : "is unknown";
    cfx_nearest near;

    if (optopt && optopt < FIRST)
        snprintf(why, size, "option -%c %s", optopt, verb);
    else if (c == '?' && optopt >= FIRST)
        snprintf(why, size, "option %s takes no value", argv[optind - 1]);
    else
        snprintf(why, size, "option %s %s%s", argv[optind - 1], verb,
                 c == '?' ? nearest(&near, p, argv[optind - 1]) : "");
}

bool cli_parse(int argc, char **argv, bool stop, const cli_table table[2],
               int *first, char *why, size_t size)
{
    struct parser p = {.n = 0};
    int c;

    strcpy(p.shorts, stop ? "+:" : ":");
    add_table(&p, &table[0]);
    add_table(&p, &table[1]);
    opterr = 0;
    optind = 0; /* 0 resets getopt after an earlier command line */
    while ((c = getopt_long(argc, argv, p.shorts, p.longs, NULL)) != -1) {
        int i = find(&p, c);
        if (i < 0) {
            explain(why, size, c, argv, &p);
            return false;
        }
        const cli_option *o = p.option[i];
        if (!set_value(o, p.into[i], optarg)) {
            snprintf(why, size, "'%s' is not a valid %s for --%s", optarg,
                     o->value, o->name);
            return false;
        }
    }
    *first = optind;
    return true;
}

void cli_parse_release(const cli_table *table)
{
    for (const cli_option *o = table->option; o && o->kind != CLI_END; o++) {
        cli_list *list = (void *)((char *)table->into + o->at);
        if (o->kind != CLI_LIST)
            continue;
        free(list->item);
        *list = (cli_list){0};
    }
}

/* ---- Help ---- */

void cli_wrap(FILE *to, const char *text, int column, int indent)
{
    bool start = true;

    while (*text) {
        int n = (int)strcspn(text, " \n");
        if (!start && column + 1 + n > WIDTH) {
            fprintf(to, "\n%*s", indent, "");
            column = indent;
            start = true;
        }
        column += fprintf(to, "%s%.*s", start ? "" : " ", n, text);
        start = false;
        text += n;
        if (*text == '\n') {
            fprintf(to, "\n%*s", indent, "");
            column = indent;
            start = true;
        }
        text += *text != '\0';
    }
    fputc('\n', to);
}

void cli_describe_row(FILE *to, const char *name, const char *doc)
{
    const int column = 16;

    fprintf(to, "  %-*s ", column - 3, name);
    cli_wrap(to, doc, column, column);
}

void cli_describe(FILE *to, const cli_option *options)
{
    for (const cli_option *o = options; o && o->kind != CLI_END; o++) {
        char letter[] = {'-', o->letter, ',', '\0'};
        int n = fprintf(to, "  %3s --%s%s%s", o->letter ? letter : "", o->name,
                        o->value ? " " : "", o->value ? o->value : "");
        if (n > COLUMN - 2)
            n = fprintf(to, "\n") - 1;
        fprintf(to, "%*s", COLUMN - n, "");
        cli_wrap(to, o->help, COLUMN, COLUMN);
    }
}

bool cli_read_decibels(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && !*end && isfinite(*out);
}
