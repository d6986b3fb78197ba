/*
 * cfx shapes -- what comes out of each node, without numbers.
 */
#include <stdlib.h>
#include <string.h>

#include <cfx/picture.h>
#include <cfx/shape_prop.h>

#include "cli.h"

struct shapes_options {
    cli_list inputs, set, asserts;
    const char *format;
    int depth;
    bool memory;
};

static const cli_option options[] = {
    {CLI_LIST, 'i', "input", "NAME=VALUE",
     "an input: a type and shape as in f32[N,3,224,224], where N is a symbol, "
     "FILE.npy or FILE.safetensors:KEY (its type and shape), or a number; the "
     "same symbol twice is the same extent; without NAME= the inputs are taken "
     "in order",
     offsetof(struct shapes_options, inputs)},
    {CLI_LIST, 0, "set", "NAME=N",
     "a symbol's value, or its range: N=4, N=2..64; symbols are at least 1",
     offsetof(struct shapes_options, set)},
    {CLI_LIST, 0, "assert", "NODE=SHAPE",
     "fail unless this comes out of a node: f32[N,64,56,56], where _ stands "
     "for any extent; a list (f32[2],i64[2]); a number",
     offsetof(struct shapes_options, asserts)},
    {CLI_TEXT, 'f', "format", "FORMAT",
     "text (default): a table; json, csv; graph: the model with the shapes of "
     "its nodes, which are checked where it is read; readable: as code; dot: a "
     "picture for Graphviz",
     offsetof(struct shapes_options, format)},
    {CLI_COUNT, 0, "depth", "K",
     "text, json, csv: show modules that lie K deep, not what is in them",
     offsetof(struct shapes_options, depth)},
    {CLI_FLAG, 0, "memory", NULL,
     "text, json, csv: show the blocks of memory that a run takes instead: how "
     "long each lives, and its place in one arena",
     offsetof(struct shapes_options, memory)},
    {0},
};

/* ---- Formats ---- */

typedef cfx_status format_fn(cfx_sink to, const cfx_shape_prop *p, int depth,
                             cfx_error *err);

static cfx_status print_text(cfx_sink to, const cfx_shape_prop *p, int depth,
                             cfx_error *err)
{
    return cfx_print_shapes(to, p, CFX_SHAPES_TEXT, depth, err);
}

static cfx_status print_csv(cfx_sink to, const cfx_shape_prop *p, int depth,
                            cfx_error *err)
{
    return cfx_print_shapes(to, p, CFX_SHAPES_CSV, depth, err);
}

static cfx_status print_json(cfx_sink to, const cfx_shape_prop *p, int depth,
                             cfx_error *err)
{
    return cfx_print_shapes(to, p, CFX_SHAPES_JSON, depth, err);
}

static cfx_status print_graph(cfx_sink to, const cfx_shape_prop *p, int depth,
                              cfx_error *err)
{
    (void)depth;
    return cfx_print_annotated(to, p->base.module, err);
}

static cfx_status print_readable(cfx_sink to, const cfx_shape_prop *p,
                                 int depth, cfx_error *err)
{
    (void)depth;
    cfx_status rc = cfx_print_readable(to, p->base.module, err);
    return rc ? rc : to.write(to.user, "\n", 1);
}

static cfx_status print_dot(cfx_sink to, const cfx_shape_prop *p, int depth,
                            cfx_error *err)
{
    cfx_picture_options how = {.size = sizeof(how),
                               .ignore_parameters_and_buffers = true};

    (void)depth;
    return cfx_print_dot(to, p->base.module, &how, err);
}

static const struct format {
    const char *name;
    format_fn *print;
    bool meta; /* it shows what the nodes have in meta */
} formats[] = {
    {"text", print_text, false},         {"json", print_json, false},
    {"csv", print_csv, false},           {"graph", print_graph, true},
    {"readable", print_readable, true},  {"dot", print_dot, true},
};

/* ---- Assertions ---- */

/* "NODE=SHAPE"; the node may be given as %NODE. Its symbols are read in an
 * environment of their own: the walk's does not come to know them. */
static cfx_status check_assert(const cfx_shape_prop *p, cfx_shape_match *match,
                               cli_symbols *s, const char *text,
                               cfx_error *err)
{
    cfx_context *ctx = cfx_graph_context(p->base.graph);
    const char *equals = strchr(text, '=');
    size_t len = equals ? (size_t)(equals - text) : 0;
    cfx_value want = CFX_NOTHING;

    if (!len)
        return cfx_fail(err, CFX_EINVAL, "--assert %s: should be "
                        "NODE=f32[2,3]", text);
    char *name = malloc(len + 1);
    if (!name)
        return cfx_no_memory(err);
    memcpy(name, text + (*text == '%'), len - (*text == '%'));
    name[len - (*text == '%')] = '\0';
    const cfx_node *n = cfx_graph_find(p->base.graph, name);
    cfx_status rc = n ? cli_shape_make(&want, ctx, s, equals + 1, err)
                      : cfx_fail(err, CFX_ENAME, "--assert: there is no node "
                                 "'%s'", name);
    if (!rc)
        rc = cfx_shape_match_check(match, n->name,
                                   cfx_interp_env(&p->base, n), want, false,
                                   err);
    cfx_value_unref(want);
    free(name);
    return rc;
}

static cfx_status check_asserts(const cfx_shape_prop *p, cli_symbols *s,
                                const cli_list *asserts, cfx_error *err)
{
    cfx_context *ctx = cfx_graph_context(p->base.graph);
    cfx_shape_match *match = NULL;
    cli_symbols apart = *s;

    if (!asserts->n)
        return CFX_OK;
    cfx_status rc = cfx_shape_env_new(&apart.env, ctx, err);
    if (rc)
        return rc;
    rc = cfx_shape_match_new(&match, ctx, p->env, err);
    for (int i = 0; i < asserts->n && !rc; i++)
        rc = check_assert(p, match, &apart, asserts->item[i], err);
    cfx_shape_match_free(match);
    cfx_shape_env_free(apart.env);
    return rc;
}

/* ---- The command ---- */

static cfx_status propagate(cli *c, cfx_module *gm,
                            const struct shapes_options *o,
                            const struct format *format, cfx_error *err)
{
    cli_symbols symbols;
    cli_inputs in = {0};
    cfx_shape_prop p = {.env = NULL};
    cfx_value result = CFX_NOTHING;
    cfx_status rc = cli_symbols_make(&symbols, c->ctx, &o->set, err);

    if (!rc)
        rc = cli_shapes_make(&in, c, gm, &o->inputs, &symbols, err);
    if (!rc && o->memory) {
        rc = cli_print_memory(c, gm, &in, &symbols, o->format, err);
        cli_inputs_release(&in);
        cli_symbols_release(&symbols);
        return rc;
    }
    if (!rc) {
        const cfx_shape_prop_options how = {
            .size = sizeof(how), .env = symbols.env, .keep_values = true,
            .no_meta = !format->meta, .check = true};
        rc = cfx_shape_prop_init(&p, NULL, gm, &how, err);
    }
    if (!rc)
        rc = cfx_interp_run(&p.base, in.value, in.n, &result, err);
    if (!rc)
        rc = check_asserts(&p, &symbols, &o->asserts, err);
    if (!rc)
        rc = cli_printed(format->print(cfx_sink_file(c->out), &p, o->depth,
                                       err));
    cfx_value_unref(result);
    cfx_interp_release(&p.base);
    cli_inputs_release(&in);
    cli_symbols_release(&symbols);
    return rc;
}

static int run(cli *c, const void *opts, int nargs, char **args)
{
    const struct shapes_options *o = opts;
    const struct format *format = CLI_FIND(formats, o->format);
    cfx_error err = {0};
    cfx_module *gm = NULL;

    (void)nargs;
    if (!format)
        return cli_usage(c, "'%s' is no FORMAT for --format", o->format);
    if (o->memory && (format->meta || o->depth || o->asserts.n))
        return cli_usage(c, "--memory goes with --format text, json or csv, "
                         "and without --depth and --assert");
    /* Where there are weights, they tell the shapes of what the text only
     * names, and small tables their numbers. */
    cfx_status rc = cli_load(c, &gm, args[0], true, &err);
    if (!rc) {
        rc = propagate(c, gm, o, format, &err);
        if (rc)
            cli_fail_model(c, &err, args[0], false);
    }
    cfx_module_unref(gm);
    return rc ? cli_fail(&err) : CLI_OK;
}

const cli_command cli_command_shapes = {
    .name = "shapes",
    .args = "MODEL",
    .summary = "Tell what comes out of each node, for any size of the inputs",
    .details = "Nothing is computed, and no weights are needed, but where a "
               "parameter's shape stands nowhere else. Extents may be "
               "symbols. Behind the table stand the ranges of the symbols, and "
               "guards: facts that the model needs of them.",
    .options = options,
    .size = sizeof(struct shapes_options),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
