/*
 * cfx shapes -- print the shape of each node, without running the model.
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
     "set an input: a type and shape as in f32[N,3,224,224] (N is a symbol), FILE.npy or FILE.safetensors:KEY (its type and shape), or a number; a symbol in two inputs is the same extent; values without NAME= are assigned in order",
     offsetof(struct shapes_options, inputs)},
    {CLI_LIST, 0, "set", "NAME=N",
     "set a symbol to a value or a range: N=4, N=2..64; symbols are at least 1",
     offsetof(struct shapes_options, set)},
    {CLI_LIST, 0, "assert", "NODE=SHAPE",
     "fail unless a node's value has this shape: f32[N,64,56,56], where _ matches any extent; a list (f32[2],i64[2]); a number",
     offsetof(struct shapes_options, asserts)},
    {CLI_TEXT, 'f', "format", "FORMAT",
     "text (default): a table; json, csv; graph: the model with the shapes of its nodes, which are checked when it is read; readable: code; dot: a picture for Graphviz",
     offsetof(struct shapes_options, format)},
    {CLI_COUNT, 0, "depth", "K",
     "text, json, csv: show modules at depth K instead of their nodes",
     offsetof(struct shapes_options, depth)},
    {CLI_FLAG, 0, "memory", NULL,
     "text, json, csv: show the memory plan of a run instead: the lifetime of each block, and its place in one arena",
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
    cfx_status st = cfx_print_readable(to, p->base.module, err);
    return st ? st : to.write(to.user, "\n", 1);
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
    bool meta; /* it prints shapes in the nodes' meta */
} formats[] = {
    {"text", print_text, false},        {"json", print_json, false},
    {"csv", print_csv, false},          {"graph", print_graph, true},
    {"readable", print_readable, true}, {"dot", print_dot, true},
};

/* ---- Assertions ---- */

/* "NODE=SHAPE", or "%NODE=SHAPE". Symbols are parsed in an environment of their
 * own, so that the walk's does not get them. */
static cfx_status check_assert(const cfx_shape_prop *p, cfx_shape_match *match,
                               cli_symbols *s, const char *text,
                               cfx_error *err)
{
    cfx_context *ctx = cfx_graph_context(p->base.graph);
    const char *equals = strchr(text, '=');
    size_t len = equals ? (size_t)(equals - text) : 0;
    cfx_value want = CFX_NOTHING;

    if (!len)
        return cfx_fail(err, CFX_EINVAL,
                        "--assert %s: should be NODE=f32[2,3]", text);
    char *name = malloc(len + 1);
    if (!name)
        return cfx_no_memory(err);
    memcpy(name, text + (*text == '%'), len - (*text == '%'));
    name[len - (*text == '%')] = '\0';
    const cfx_node *n = cfx_graph_find(p->base.graph, name);
    cfx_status st = n ? cli_shape_make(&want, ctx, s, equals + 1, err)
                      : cfx_fail(err, CFX_ENAME,
                                 "--assert: there is no node '%s'", name);
    if (!st)
        st = cfx_shape_match_check(match, n->name, cfx_interp_env(&p->base, n),
                                   want, false, err);
    cfx_value_unref(want);
    free(name);
    return st;
}

static cfx_status check_asserts(const cfx_shape_prop *p, cli_symbols *s,
                                const cli_list *asserts, cfx_error *err)
{
    cfx_context *ctx = cfx_graph_context(p->base.graph);
    cfx_shape_match *match = NULL;
    cli_symbols apart = *s;

    if (!asserts->n)
        return CFX_OK;
    cfx_status st = cfx_shape_env_new(&apart.env, ctx, err);
    if (st)
        return st;
    st = cfx_shape_match_new(&match, ctx, p->env, err);
    for (int i = 0; i < asserts->n && !st; i++)
        st = check_assert(p, match, &apart, asserts->item[i], err);
    cfx_shape_match_free(match);
    cfx_shape_env_free(apart.env);
    return st;
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
    cfx_status st = cli_symbols_make(&symbols, c->ctx, &o->set, err);

    if (!st)
        st = cli_shapes_make(&in, c, gm, NULL, &o->inputs, &symbols, err);
    if (!st && o->memory) {
        st = cli_print_memory(c, gm, &in, &symbols, o->format, err);
        cli_inputs_release(&in);
        cli_symbols_release(&symbols);
        return st;
    }
    if (!st) {
        const cfx_shape_prop_options how = {.size = sizeof(how),
                                            .env = symbols.env,
                                            .keep_values = true,
                                            .no_meta = !format->meta,
                                            .check = true};
        st = cfx_shape_prop_init(&p, NULL, gm, &how, err);
    }
    if (!st)
        st = cfx_interp_run(&p.base, in.value, in.n, &result, err);
    if (!st)
        st = check_asserts(&p, &symbols, &o->asserts, err);
    if (!st)
        st = cli_printed(
            format->print(cfx_sink_file(c->out), &p, o->depth, err));
    cfx_value_unref(result);
    cfx_interp_release(&p.base);
    cli_inputs_release(&in);
    cli_symbols_release(&symbols);
    return st;
}

static int run(cli *c, const void *opts, int nargs, char **args)
{
    const struct shapes_options *o = opts;
    const struct format *format = CLI_FIND(formats, o->format);
    cfx_error err = {0};
    cfx_module *gm = NULL;

    (void)nargs;
    if (!format)
        return cli_usage(c, "'%s' is not a valid FORMAT for --format",
                         o->format);
    if (o->memory && (format->meta || o->depth || o->asserts.n))
        return cli_usage(
            c,
            "--memory goes with --format text, json or csv, and without --depth and --assert");
    /* Weights have shapes that the text lacks, and values of small tensors. */
    cfx_status st = cli_load_for(c, &gm, args[0], &o->inputs, false, 0, &err);
    if (!st) {
        st = propagate(c, gm, o, format, &err);
        if (st)
            cli_fail_model(c, &err, args[0], false);
    }
    cfx_module_unref(gm);
    return st ? cli_fail(&err) : CLI_OK;
}

const cli_command cli_command_shapes = {
    .name = "shapes",
    .args = "MODEL",
    .summary = "Print the shape of each node, for any size of the inputs",
    .details =
        "The model is not run, and weights are only needed for shapes of parameters that its text does not have. Extents may be symbols. The table is followed by their ranges and by guards, conditions that they must meet.",
    .options = options,
    .size = sizeof(struct shapes_options),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
