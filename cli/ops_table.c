/*
 * ops_table.c -- cfx ops --table: for each operator the names that code calls
 * it by, and the types in which it is tested.
 */
#include "ops_table.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

/* The build copies it from tests/golden, where the tests keep it. */
static const struct tested {
    const char *name, *types;
} tested[] = {
#define TESTED(name, types) {#name, types},
#include "cli/tested.def"
#undef TESTED
};

/* The name of an operator is that of its schema without overload. */
static const struct tested *find_tested(const char *schema)
{
    size_t n = strcspn(schema, "(.");

    for (size_t i = 0; i < sizeof(tested) / sizeof(*tested); i++) {
        if (strlen(tested[i].name) == n && !memcmp(tested[i].name, schema, n))
            return &tested[i];
    }
    return NULL;
}

/* ---- Names ---- */

static cfx_status add_name(void *user, const char *name, size_t len,
                           bool inplace, const cfx_variant *how)
{
    json_t *all = user, *one = json_stringn(name, len);
    size_t i;
    json_t *known;

    (void)inplace;
    (void)how;
    json_array_foreach(all, i, known)
    {
        if (one && json_equal(known, one)) {
            json_decref(one);
            return CFX_OK;
        }
    }
    return json_array_append_new(all, one) ? CFX_ENOMEM : CFX_OK;
}

/* The names of all overloads, each once; NULL when out of memory. */
static json_t *names_of(const cfx_op *op)
{
    json_t *all = json_array();

    for (; all && op; op = op->next) {
        if (cfx_op_names(op, add_name, all)) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

/* ---- Text ---- */

enum { NAME = 24, TYPES = 24 };

static cfx_status print_row(FILE *to, const cfx_op *op, cfx_error *err)
{
    const struct tested *t = find_tested(op->schema);
    json_t *names = names_of(op), *one;
    size_t i;

    if (!names)
        return cfx_no_memory(err);
    fprintf(to, "%-*.*s  %-7s  %-*s ", NAME, (int)strcspn(op->schema, "(."),
            op->schema, t ? "PyTorch" : "-", TYPES,
            t && *t->types ? t->types : "-");
    json_array_foreach(names, i, one)
        fprintf(to, " %s", json_string_value(one));
    fputc('\n', to);
    json_decref(names);
    return CFX_OK;
}

static cfx_status print_text(FILE *to, cfx_context *ctx, const cfx_op *only,
                             cfx_error *err)
{
    cfx_status st = CFX_OK;

    fprintf(to, "%-*s  %-7s  %-*s  %s\n", NAME, "operator", "against", TYPES,
            "types", "called");
    for (size_t i = 0; !st && cfx_op_at(ctx, i); i++) {
        if (!only || only == cfx_op_at(ctx, i))
            st = print_row(to, cfx_op_at(ctx, i), err);
    }
    return st;
}

/* ---- JSON ---- */

static json_t *signatures_of(const cfx_op *op)
{
    json_t *all = json_array();

    for (; all && op; op = op->next) {
        json_array_append_new(all, json_string(op->schema));
        for (const cfx_variant *v = op->variants; v && v->schema; v++)
            json_array_append_new(all, json_string(v->schema));
    }
    return all;
}

/* The words of a text. */
static json_t *words_of(const char *text)
{
    json_t *all = json_array();

    for (; all && *text; text += strspn(text, " ")) {
        size_t n = strcspn(text, " ");
        json_array_append_new(all, json_stringn(text, n));
        text += n;
    }
    return all;
}

static json_t *row_of(const cfx_op *op)
{
    const struct tested *t = find_tested(op->schema);

    return json_pack("{s:s#, s:s?, s:s?, s:o, s:o, s:o}", "name", op->schema,
                     (int)strcspn(op->schema, "(."), "doc", op->doc, "against",
                     t ? "PyTorch" : NULL, "types",
                     words_of(t ? t->types : ""), "called", names_of(op),
                     "signatures", signatures_of(op));
}

static cfx_status print_json(FILE *to, cfx_context *ctx, const cfx_op *only,
                             cfx_error *err)
{
    json_t *list = json_array();
    cfx_status st = CFX_OK;

    for (size_t i = 0; !st && cfx_op_at(ctx, i); i++) {
        if ((!only || only == cfx_op_at(ctx, i)) &&
            json_array_append_new(list, row_of(cfx_op_at(ctx, i))))
            st = cfx_no_memory(err);
    }
    if (!st)
        st = cli_print_document(
            to,
            json_pack("{s:s, s:O}", "schema", "cfx-ops-1", "operators", list),
            err);
    json_decref(list);
    return st;
}

int cli_print_ops_table(cli *c, const cfx_op *only, bool json)
{
    cfx_error err = {0};
    cfx_status st = json ? print_json(c->out, c->ctx, only, &err)
                         : print_text(c->out, c->ctx, only, &err);

    return st ? cli_fail(&err) : CLI_OK;
}
