/*
 * cfx ops -- list operators and module types.
 */
#include <cfx/module.h>
#include <cfx/op.h>

#include <string.h>

#include "cli.h"
#include "ops_table.h"

struct ops_options {
    bool modules, table, json;
};

static const cli_option options[] = {
    {CLI_FLAG, 'm', "modules", NULL, "list module types instead of operators",
     offsetof(struct ops_options, modules)},
    {CLI_FLAG, 0, "table", NULL,
     "print a line for each operator: what its results are compared with in the tests, in which types, and the names that code calls it by",
     offsetof(struct ops_options, table)},
    {CLI_JSON, 'f', "format", "FORMAT",
     "print the table as text (default) or json",
     offsetof(struct ops_options, json)},
    {0},
};

enum { INDENT = 4 };

static void print_doc(FILE *to, const char *doc)
{
    if (!doc)
        return;
    fprintf(to, "%*s", INDENT, "");
    cli_wrap(to, doc, INDENT, INDENT);
}

/* Print "label: text", wrapped; nothing without text. */
static void print_field(FILE *to, const char *label, const char *text)
{
    if (!text || !*text)
        return;
    int n = fprintf(to, "%*s%s: ", INDENT, "", label);
    cli_wrap(to, text, n, 2 * INDENT);
}

/* True if the schema, "name.overload(...)", has that name. */
static bool is_named(const char *schema, const char *name)
{
    size_t n = strlen(name);

    return !strncmp(schema, name, n) && (schema[n] == '(' || schema[n] == '.');
}

/* ---- Operators ---- */

static void describe_flags(FILE *to, uint32_t flags)
{
    static const struct {
        uint32_t flag;
        const char *words;
    } all[] = {
        {CFX_OP_POINTWISE, "works elementwise"},
        {CFX_OP_RANDOM, "is random"},
        {CFX_OP_EFFECT, "has an effect besides its result"},
        {CFX_OP_OWN_RESULT, "has a shape or value that depends on data"},
        {CFX_OP_COMMUTES, "commutes"},
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        if (flags & all[i].flag)
            fprintf(to, "%*s%s\n", INDENT, "", all[i].words);
    }
}

/* Names of an overload, without those of its variants. */
struct names {
    bool inplace;
    char text[2048];
    size_t len;
};

static cfx_status add_word(void *user, const char *name, size_t len,
                           bool inplace, const cfx_variant *how)
{
    struct names *all = user;

    if (how || inplace != all->inplace ||
        len + 2 > sizeof(all->text) - all->len)
        return CFX_OK;
    all->len += (size_t)snprintf(all->text + all->len,
                                 sizeof(all->text) - all->len, "%s%.*s",
                                 all->len ? " " : "", (int)len, name);
    return CFX_OK;
}

static void print_names(FILE *to, const char *label, const cfx_op *op,
                        bool inplace)
{
    struct names all = {.inplace = inplace};

    (void)cfx_op_names(op, add_word, &all);
    print_field(to, label, all.text);
}

static void print_op(FILE *to, const cfx_op *op)
{
    for (; op; op = op->next) {
        cli_wrap(to, op->schema, 0, INDENT);
        print_doc(to, op->doc);
        print_names(to, "called", op, false);
        print_names(to, "called, in place", op, true);
        for (const cfx_variant *v = op->variants; v && v->schema; v++)
            print_field(to, "also", v->schema);
        describe_flags(to, op->flags);
        if (op->next)
            fputc('\n', to);
    }
}

static bool op_has_name(const cfx_op *op, const char *name)
{
    while (op && !is_named(op->schema, name))
        op = op->next;
    return op;
}

/* Find the first overload of an operator by the name of its schema or a
 * call. */
static const cfx_op *find_op(cfx_context *ctx, const char *name)
{
    const cfx_target *t = cfx_find_function(ctx, name);

    if (!t)
        t = cfx_find_method(ctx, name);
    for (size_t i = 0; cfx_op_at(ctx, i); i++) {
        const cfx_op *op = cfx_op_at(ctx, i);
        if (op_has_name(op, name))
            return op;
        for (const cfx_op *o = op; t && o; o = o->next) {
            if (o == t->op)
                return op;
        }
    }
    return NULL;
}

static void list_ops(FILE *to, cfx_context *ctx)
{
    for (size_t i = 0; cfx_op_at(ctx, i); i++) {
        const cfx_op *op = cfx_op_at(ctx, i);
        for (const cfx_op *o = op; o; o = o->next)
            fprintf(to, "%s\n", o->schema);
        print_doc(to, op->doc);
    }
}

/* ---- Module types ---- */

static void print_type(FILE *to, const cfx_module_type *type)
{
    cli_wrap(to, type->schema, 0, INDENT);
    print_doc(to, type->doc);
    print_field(to, "also printed as", type->aliases);
    print_field(to, "forward", type->forward_schema);
    print_field(to, "required, though not printed", type->must_give);
}

static void list_types(FILE *to, cfx_context *ctx)
{
    for (size_t i = 0; cfx_module_type_at(ctx, i); i++) {
        const cfx_module_type *type = cfx_module_type_at(ctx, i);
        fprintf(to, "%s\n", type->schema);
        print_doc(to, type->doc);
    }
}

/* ---- The command ---- */

static void try_schema(cfx_nearest *near, const char *schema, const char *stop)
{
    cfx_nearest_try(near, schema, strcspn(schema, stop));
}

static cfx_status try_name(void *user, const char *name, size_t len,
                           bool inplace, const cfx_variant *how)
{
    (void)inplace;
    (void)how;
    cfx_nearest_try(user, name, len);
    return CFX_OK;
}

static int unknown(const cli *c, bool modules, const char *name)
{
    cfx_error err = {0};
    cfx_nearest near;

    cfx_nearest_init(&near, name, strlen(name));
    for (size_t i = 0; modules && cfx_module_type_at(c->ctx, i); i++)
        try_schema(&near, cfx_module_type_at(c->ctx, i)->schema, "(");
    for (size_t i = 0; !modules && cfx_op_at(c->ctx, i); i++) {
        for (const cfx_op *op = cfx_op_at(c->ctx, i); op; op = op->next) {
            try_schema(&near, op->schema, "(.");
            (void)cfx_op_names(op, try_name, &near);
        }
    }
    cfx_fail(&err, CFX_ENAME, "there is no %s '%s'%s",
             modules ? "module type" : "operator", name,
             cfx_nearest_text(&near));
    return cli_fail(&err);
}

static int show_one(cli *c, bool modules, const char *name)
{
    const cfx_op *op = modules ? NULL : find_op(c->ctx, name);
    const cfx_module_type *type = modules ? cfx_find_module_type(c->ctx, name)
                                          : NULL;

    if (op)
        print_op(c->out, op);
    else if (type)
        print_type(c->out, type);
    else
        return unknown(c, modules, name);
    return CLI_OK;
}

static int print_table(cli *c, const char *name, bool json)
{
    const cfx_op *only = name ? find_op(c->ctx, name) : NULL;

    return name && !only ? unknown(c, false, name)
                         : cli_print_ops_table(c, only, json);
}

static int run(cli *c, const void *opts, int nargs, char **args)
{
    const struct ops_options *o = opts;

    if (o->table && o->modules)
        return cli_usage(c, "--table has operators, not modules");
    if (o->json && !o->table)
        return cli_usage(c, "--format is for --table");
    if (o->table)
        return print_table(c, nargs ? args[0] : NULL, o->json);
    if (nargs)
        return show_one(c, o->modules, args[0]);
    if (o->modules)
        list_types(c->out, c->ctx);
    else
        list_ops(c->out, c->ctx);
    return CLI_OK;
}

static void complete(cli_completing *at, int arg)
{
    (void)arg;
    for (size_t i = 0; cfx_op_at(at->ctx, i); i++) {
        const char *name = cfx_op_at(at->ctx, i)->schema;
        cli_offer(at, name, strcspn(name, "(."));
    }
}

const cli_command cli_command_ops = {
    .name = "ops",
    .args = "[NAME]",
    .summary = "List the operators, or describe one",
    .details =
        "NAME is an operator (conv2d), a function (torch.nn.functional.relu), a method (view), or, with --modules, a module type (Conv2d).  In the table, an operator without types has none or takes no tensors, and one that is compared with nothing is tested in models only.",
    .options = options,
    .size = sizeof(struct ops_options),
    .min_args = 0,
    .max_args = 1,
    .run = run,
    .complete = complete,
};
