/*
 * cfx passes -- list the passes.
 */
#include <cfx/pass.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "output.h"

struct passes_options {
    bool json;
};

static const cli_option options[] = {
    {CLI_JSON, 'f', "format", "FORMAT", "text (default) or json",
     offsetof(struct passes_options, json)},
    {0},
};

enum { INDENT = 4 };

static const struct flag {
    uint32_t flag;
    const char *key, *words;
} flags[] = {
    {CFX_PASS_ROUNDS, "rounds", "may change the rounding of results"},
    {CFX_PASS_NARROWS, "narrows", "rounds numbers to a narrower type"},
    {CFX_PASS_WEIGHTS, "needs_weights", "needs the numbers of weights"},
    {CFX_PASS_REVERSIBLE, "reversible", "can be undone (--reverse)"},
};

enum { NFLAGS = sizeof(flags) / sizeof(*flags) };

/* ---- Text ---- */

/* Without options, parentheses are left out. */
static void print_pass(FILE *to, const cfx_pass *p, bool all)
{
    size_t n = strlen(p->schema);

    if (n > 2 && !strcmp(p->schema + n - 2, "()"))
        fprintf(to, "%.*s\n", (int)n - 2, p->schema);
    else
        cli_wrap(to, p->schema, 0, 2 * INDENT);
    if (p->doc) {
        fprintf(to, "%*s", INDENT, "");
        cli_wrap(to, p->doc, INDENT, INDENT);
    }
    for (size_t i = 0; i < NFLAGS && all; i++) {
        if (p->flags & flags[i].flag)
            fprintf(to, "%*s%s\n", INDENT, "", flags[i].words);
    }
}

/* ---- JSON ---- */

/* Find a parameter, its type and name, in the text of its schema. */
static json_t *type_of(const char *schema, const char *name)
{
    const char *at = strchr(schema, '(');
    size_t n = strlen(name);

    for (; at && (at = strstr(at + 1, name));) {
        if (at[-1] != ' ' || !strchr("=,)", at[n]))
            continue;
        const char *begin = at - 1;
        while (begin[-1] != ' ' && begin[-1] != '(')
            begin--;
        return json_stringn(begin, (size_t)(at - 1 - begin));
    }
    return json_null();
}

static cfx_status print_default(cfx_value v, json_t **out, cfx_error *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);

    if (!f)
        return cfx_no_memory(err);
    cfx_status st = cfx_print_value(cfx_sink_file(f), v, CFX_STYLE_REPR, err);
    if (fclose(f) && !st)
        st = cfx_no_memory(err);
    *out = st ? NULL : json_string(text);
    free(text);
    return st;
}

static cfx_status option_json(json_t *list, const cfx_pass *p,
                              const cfx_param *param, cfx_error *err)
{
    json_t *init = NULL;
    cfx_status st = CFX_OK;

    if (param->required)
        init = json_null();
    else
        st = print_default(param->init, &init, err);
    if (st)
        return st;
    json_t *one = json_pack("{s:s, s:o, s:o}", "name", param->name, "type",
                            type_of(p->schema, param->name), "default", init);
    return json_array_append_new(list, one) ? cfx_no_memory(err) : CFX_OK;
}

static cfx_status pass_json(json_t *list, cfx_context *ctx, const cfx_pass *p,
                            cfx_error *err)
{
    const cfx_schema *s = cfx_pass_schema(ctx, p);
    json_t *args = json_array();
    cfx_status st = s && args ? CFX_OK : cfx_no_memory(err);

    for (int k = 0; !st && k < s->nparams; k++)
        st = option_json(args, p, &s->params[k], err);
    if (st) {
        json_decref(args);
        return st;
    }
    json_t *one = json_pack("{s:s, s:s, s:s, s:o}", "name", s->name, "call",
                            p->schema, "doc", p->doc ? p->doc : "", "options",
                            args);
    for (size_t i = 0; i < NFLAGS && one; i++)
        json_object_set_new(one, flags[i].key,
                            json_boolean(p->flags & flags[i].flag));
    return json_array_append_new(list, one) ? cfx_no_memory(err) : CFX_OK;
}

/* Print all passes, or one. */
static cfx_status print_json(FILE *to, cfx_context *ctx, const cfx_pass *only,
                             cfx_error *err)
{
    json_t *list = json_array();
    cfx_status st = CFX_OK;

    for (size_t i = 0; !st && cfx_pass_at(ctx, i); i++) {
        if (!only || only == cfx_pass_at(ctx, i))
            st = pass_json(list, ctx, cfx_pass_at(ctx, i), err);
    }
    if (!st)
        st = cli_print_document(
            to,
            json_pack("{s:s, s:O}", "schema", "cfx-passes-1", "passes", list),
            err);
    json_decref(list);
    return st;
}

/* ---- The command ---- */

static int unknown(const cli *c, const char *name)
{
    cfx_error err = {0};
    cfx_nearest near;

    cfx_nearest_init(&near, name, strlen(name));
    for (size_t i = 0; cfx_pass_at(c->ctx, i); i++) {
        const char *known = cfx_pass_at(c->ctx, i)->schema;
        cfx_nearest_try(&near, known, strcspn(known, "("));
    }
    cfx_fail(&err, CFX_ENAME, "there is no pass '%s'%s", name,
             cfx_nearest_text(&near));
    return cli_fail(&err);
}

static int run(cli *c, const void *opts, int nargs, char **args)
{
    const struct passes_options *o = opts;
    cfx_error err = {0};
    const cfx_pass *only = NULL;

    if (nargs && !(only = cfx_find_pass(c->ctx, args[0])))
        return unknown(c, args[0]);
    if (o->json)
        return print_json(c->out, c->ctx, only, &err) ? cli_fail(&err)
                                                      : CLI_OK;
    if (only)
        print_pass(c->out, only, true);
    for (size_t i = 0; !only && cfx_pass_at(c->ctx, i); i++)
        print_pass(c->out, cfx_pass_at(c->ctx, i), false);
    return CLI_OK;
}

const cli_command cli_command_passes = {
    .name = "passes",
    .args = "[NAME]",
    .summary = "List the passes, or describe one",
    .options = options,
    .size = sizeof(struct passes_options),
    .min_args = 0,
    .max_args = 1,
    .run = run,
    .complete = cli_complete_pass,
};
