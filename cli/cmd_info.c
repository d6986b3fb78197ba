/*
 * cfx info -- tell what a model file holds, without running it.
 */
#include <inttypes.h>
#include <string.h>

#include <cfx/operators.h>
#include <cfx/shape_prop.h>

#include "cli.h"
#include "output.h"

enum { INDENT = 2, NAME_WIDTH = 16, COUNT_WIDTH = 6 };

static void print_title(FILE *to, const cfx_model_file *f, const char *path)
{
    const char *version = cfx_model_file_version(f);

    fprintf(to, "%s: %s%s%s\n", path, cfx_model_file_format(f)->base.name,
            *version ? ", " : "", version);
}

/* ---- Inputs and outputs ---- */

/* Print the shape of a node, or the type that it is declared with. */
static cfx_status print_known(FILE *to, const char *name, const cfx_node *n,
                              cfx_value shape, cfx_error *err)
{
    cfx_status st = CFX_OK;

    fprintf(to, "%*s%-*s ", INDENT, "", NAME_WIDTH, name);
    if (cfx_value_is_absent(shape))
        fputs(n->type ? n->type->text : "not known", to);
    else
        st = cfx_print_shape(cfx_sink_file(to), shape, false, err);
    return cli_printed(st);
}

static cfx_status print_inputs(FILE *to, const cfx_graph *g, cfx_error *err)
{
    cfx_status st = CFX_OK;
    size_t count = 0;

    for (const cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n))
        count += n->op == CFX_PLACEHOLDER;
    fprintf(to, "\ninputs: %zu\n", count);
    for (const cfx_node *n = cfx_graph_first(g); n && !st;
         n = cfx_node_next(n)) {
        if (n->op != CFX_PLACEHOLDER)
            continue;
        st = print_known(to, n->target->text, n, cli_known_shape(n), err);
        if (!st && n->nargs &&
            !cfx_value_equal(n->args[0], cfx_node_declared(n))) {
            fputs(", by default ", to);
            st = cli_printed(cfx_print_value(cfx_sink_file(to), n->args[0],
                                             CFX_STYLE_REPR, err));
        }
        fputc('\n', to);
    }
    return st;
}

/* The outputs, by the names that cfx run gives them. */
struct outputs {
    FILE *to;
    cfx_value args, names; /* of the output node */
};

/* The node of the output that a name begins with: a node may have several
 * results. */
struct wanted {
    const char *name;
    const cfx_node *node;
};

static cfx_status find_node(void *user, const char *name, cfx_value v,
                            cfx_error *err)
{
    struct wanted *w = user;
    const size_t n = strlen(name);

    (void)err;
    if (v.kind == CFX_NODE && !strncmp(w->name, name, n) &&
        (!w->name[n] || w->name[n] == '_'))
        w->node = v.u.node;
    return CFX_OK;
}

/* `v` is a result that propagation found, or a node. */
static cfx_status print_output(void *user, const char *name, cfx_value v,
                               cfx_error *err)
{
    const struct outputs *o = user;
    struct wanted w = {name, NULL};
    const cli_result nodes = {o->args, o->names};
    cfx_status st = cli_visit_result(&nodes, find_node, &w, err);

    if (st || !w.node)
        return st;
    st = print_known(o->to, name, w.node,
                     v.kind == CFX_NODE ? cli_known_shape(v.u.node) : v, err);
    fprintf(o->to, ", %%%s\n", w.node->name);
    return st;
}

/* The shapes of the results, which follow from those of the inputs where the
 * file tells them; else absent. */
static cfx_value find_result(const cli *c, cfx_module *gm, cli_symbols *s)
{
    const cli_list none = {0};
    cfx_value result = CFX_NOTHING;
    cfx_error why = {0};
    cli_inputs in = {0};

    if (!cli_shapes_make(&in, c, gm, NULL, &none, s, &why))
        cfx_propagate_shapes(gm, s->env, in.value, in.n, &result, &why);
    cli_inputs_release(&in);
    return result;
}

/* The ranges of the symbols in shapes. */
static void print_symbols(FILE *to, const cfx_shape_env *env)
{
    size_t n = cfx_shape_env_symbols(env);
    cfx_symbol s;

    if (n)
        fprintf(to, "\nsymbols: %zu\n", n);
    for (size_t i = 0; i < n; i++) {
        cfx_shape_env_symbol(env, i, &s);
        fprintf(to, "%*s%-*s ", INDENT, "", NAME_WIDTH, s.name);
        if (s.min == CFX_DIM_NO_MIN && s.max == CFX_DIM_NO_MAX)
            fputs("any", to);
        else if (s.max == CFX_DIM_NO_MAX)
            fprintf(to, "%" PRId64 " or more", s.min);
        else
            fprintf(to, "%" PRId64 " to %" PRId64, s.min, s.max);
        fputc('\n', to);
    }
}

static cfx_status print_results(FILE *to, const cli *c, cfx_module *gm,
                                cfx_error *err)
{
    const cfx_node *n = cfx_graph_output_node(cfx_graph_module_graph(gm));
    const cli_list none = {0};
    cfx_value result = CFX_NOTHING;
    cli_symbols s;
    cfx_status st = cli_symbols_make(&s, c->ctx, &none, err);

    if (!st)
        result = find_result(c, gm, &s);
    fputs("\noutputs:\n", to);
    if (!st && n && n->nargs) {
        struct outputs all = {to, n->args[0], cli_output_names(gm)};
        const cli_result known = {
            cfx_value_is_absent(result) ? n->args[0] : result, all.names};
        st = cli_visit_result(&known, print_output, &all, err);
    }
    if (!st)
        print_symbols(to, s.env);
    cfx_value_unref(result);
    cli_symbols_release(&s);
    return st;
}

/* ---- Operators ---- */

static void print_operator(FILE *to, const cfx_operator_count *item)
{
    fprintf(to, "%*s%*zu  %s%s", INDENT, "", COUNT_WIDTH, item->count,
            item->op == CFX_CALL_METHOD ? "Tensor." : "", item->name);
    if (!item->known)
        fprintf(to, ", first in %s", item->first);
    if (item->nearest)
        fprintf(to, "; did you mean '%s'?", item->nearest);
    fputc('\n', to);
}

static void print_operators(FILE *to, const cfx_operators *ops, bool known)
{
    for (size_t i = 0; i < ops->n; i++)
        if (ops->item[i].known == known)
            print_operator(to, &ops->item[i]);
}

/* ---- Parameters and buffers ---- */

struct state_sum {
    size_t count, tied;
    uint64_t elements, bytes;
};

/* Has a state before this one in the tree the same numbers? Tied weights
 * begin at one address. */
static bool is_tied(const cfx_module *gm, const cfx_state *s)
{
    const cfx_tensor *t = s->tensor;

    if (!t || cfx_tensor_is_meta(t) || !cfx_tensor_numel(t))
        return false;
    for (const cfx_module *m = gm; m; m = cfx_module_next(m, gm))
        for (size_t i = 0; i < cfx_module_nstate(m); i++) {
            const cfx_state *other = cfx_module_state_at(m, i);
            if (other == s)
                return false;
            if (other->tensor && other->tensor->data == t->data &&
                cfx_tensor_numel(other->tensor) == cfx_tensor_numel(t))
                return true;
        }
    return false;
}

/* A state that is None, as the bias of Conv2d(bias=False), does not count. */
static void add_state(struct state_sum *sum, const cfx_module *gm,
                      const cfx_state *s)
{
    const cfx_tensor *t = s->tensor;

    if (!t)
        return;
    if (is_tied(gm, s)) {
        sum->tied++;
        return;
    }
    sum->count++;
    uint64_t n = (uint64_t)cfx_tensor_numel(t);
    sum->elements += n;
    sum->bytes += n * cfx_dtype_size((cfx_dtype)t->dtype);
}

static void print_sum(FILE *to, const char *name, const struct state_sum *sum)
{
    fprintf(to, "%s: %zu", name, sum->count);
    if (sum->count)
        fprintf(to, ", %" PRIu64 " elements, %" PRIu64 " bytes", sum->elements,
                sum->bytes);
    if (sum->tied)
        fprintf(to, "; %zu more with the same memory", sum->tied);
    fputc('\n', to);
}

/* Count the get_attr nodes of state that neither the module tree nor weights
 * describe. */
static size_t count_undescribed(const cfx_module *gm)
{
    size_t count = 0;

    for (const cfx_node *n = cfx_graph_first(cfx_graph_module_graph(gm)); n;
         n = cfx_node_next(n)) {
        cfx_value v = CFX_NOTHING;
        count += n->op == CFX_GET_ATTR &&
                 cfx_module_fetch_attr(&v, gm, n->target->text, NULL) ==
                     CFX_EATTR;
    }
    return count;
}

static void print_state(FILE *to, const cfx_module *gm)
{
    const size_t undescribed = count_undescribed(gm);
    struct state_sum sum[2] = {{0}};

    for (const cfx_module *m = gm; m; m = cfx_module_next(m, gm))
        for (size_t i = 0; i < cfx_module_nstate(m); i++) {
            const cfx_state *s = cfx_module_state_at(m, i);
            add_state(&sum[s->is_buffer], gm, s);
        }
    fputc('\n', to);
    print_sum(to, "parameters", &sum[0]);
    print_sum(to, "buffers", &sum[1]);
    if (undescribed)
        fprintf(to, "parameters or buffers without a shape: %zu\n",
                undescribed);
}

/* ---- The command ---- */

struct info_options {
    cli_list inputs;
};

static const cli_option options[] = {
    {CLI_LIST, 'i', "input", "NAME=SHAPE",
     "read an ONNX model for an input of that type and shape, if it cannot be read for any",
     offsetof(struct info_options, inputs)},
    {0},
};

static cfx_status print_info(cli *c, cfx_module *gm, const char *path,
                             cfx_error *err)
{
    cfx_operators ops = {0};
    FILE *to = c->out;
    cfx_status st = cfx_operators_init(&ops, gm, err);

    if (!st)
        print_title(to, c->model, path);
    if (!st)
        st = print_inputs(to, cfx_graph_module_graph(gm), err);
    if (!st)
        st = print_results(to, c, gm, err);
    if (!st) {
        fprintf(to, "\noperators: %zu, calls: %zu\n", ops.n - ops.nunknown,
                ops.ncalls - ops.nunknown_calls);
        print_operators(to, &ops, true);
        print_state(to, gm);
        fprintf(to, "\nnot supported: %zu", ops.nunknown);
        if (ops.nunknown)
            fprintf(to, ", calls: %zu", ops.nunknown_calls);
        fputc('\n', to);
        print_operators(to, &ops, false);
    }
    cfx_operators_release(&ops);
    return st;
}

static int run(cli *c, const void *opts, int nargs, char **args)
{
    const struct info_options *o = opts;
    cfx_error err = {0};
    cfx_module *gm = NULL;

    (void)nargs;
    /* Weights have shapes that the text lacks. */
    cfx_status st = cli_load_for(c, &gm, args[0], &o->inputs, false, 0, &err);
    if (!st && (st = print_info(c, gm, args[0], &err)))
        cfx_fail_at(&err, "%s", args[0]);
    cfx_module_unref(gm);
    return st ? cli_fail(&err) : CLI_OK;
}

const cli_command cli_command_info = {
    .name = "info",
    .args = "MODEL",
    .summary = "Tell what a model holds, and what of it is not supported",
    .details =
        "The model is not run. Shapes of outputs follow from those that the file tells of its inputs. Operators and modules that cfx does not know are listed at the end, each with its count, the first node that calls it, and the nearest name that is known.",
    .options = options,
    .size = sizeof(struct info_options),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
