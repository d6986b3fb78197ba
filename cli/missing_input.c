/*
 * missing_input -- values for inputs that the command line does not give: the
 * sample inputs of the model's file, or the options to type.
 */
#include "cli.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- Sample inputs ---- */

static bool is_missing(const cli_inputs *in, const cfx_module *gm, bool needed)
{
    const cfx_node *n = cfx_graph_first(cfx_graph_module_graph(gm));

    for (size_t i = 0; i < in->n; n = cfx_node_next(n)) {
        if (n->op != CFX_PLACEHOLDER)
            continue;
        if (cfx_value_is_absent(in->value[i++]) && !(needed && n->nargs))
            return true;
    }
    return false;
}

cfx_status cli_add_samples(cli_inputs *in, const cfx_module *gm,
                           cfx_model_file *file, cfx_error *err)
{
    cfx_error why = {0};

    if (!file || !is_missing(in, gm, false))
        return CFX_OK;
    const cfx_model_format *f = cfx_model_file_format(file);
    cfx_value *sample = calloc(in->n + 1, sizeof(*sample));
    if (!sample)
        return cfx_no_memory(err);
    cfx_status st = f->read_inputs ? f->read_inputs(sample, gm, file, &why)
                                   : CFX_OK;
    for (size_t i = 0; i < in->n; i++) {
        if (cfx_value_is_absent(in->value[i]))
            in->value[i] = sample[i];
        else
            cfx_value_unref(sample[i]);
    }
    free(sample);
    return st && is_missing(in, gm, true) ? cfx_fail_from(err, &why) : CFX_OK;
}

/* ---- What to type ---- */

const char *cli_input_name(const cfx_node *n)
{
    return n->target->text + strspn(n->target->text, "*");
}

int64_t cli_example_extent(int64_t min, int64_t max)
{
    int64_t v = min > 2 ? min : 2;

    return v < max ? v : max;
}

static bool example_of(void *user, const char *name, int64_t *v)
{
    const cfx_graph *g = user;
    int64_t min = 2, max = INT64_MAX;

    for (const cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n)) {
        cfx_value ranges = cfx_node_meta(n, "range_constraints");
        cfx_value r = ranges.kind == CFX_DICT ? cfx_dict_get(ranges, name)
                                              : CFX_NOTHING;
        if (r.kind != CFX_TUPLE || r.u.seq->len != 2)
            continue;
        if (r.u.seq->item[0].kind == CFX_INT)
            min = r.u.seq->item[0].u.i;
        if (r.u.seq->item[1].kind == CFX_INT)
            max = r.u.seq->item[1].u.i;
    }
    *v = cli_example_extent(min, max);
    return true;
}

static int64_t example_extent(const cfx_graph *g, cfx_dim d)
{
    cfx_error why = {0};
    int64_t v;

    return cfx_dim_eval(&v, d, example_of, (void *)(uintptr_t)g, &why) ? 1 : v;
}

struct text {
    char s[1024];
    size_t len;
};

static void add(struct text *t, const char *fmt, ...) CFX_PRINTF(2, 3);
static void add(struct text *t, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(t->s + t->len, sizeof(t->s) - t->len, fmt, ap);
    va_end(ap);
    t->len += n > 0 ? (size_t)n : 0;
    if (t->len >= sizeof(t->s))
        t->len = sizeof(t->s) - 1;
}

/* Add " -i 'x=f32[2,3]'", or a file where the type is not known. */
static void add_example(struct text *t, const cfx_node *n)
{
    cfx_value v = cfx_node_declared(n);
    const char *name = cli_input_name(n);

    if (v.kind == CFX_SYMINT) {
        add(t, " -i %s=%" PRId64, name, example_extent(n->graph, v.u.dim));
        return;
    }
    if (v.kind != CFX_TENSOR) {
        add(t, " -i %s=FILE.npy", name);
        return;
    }
    add(t, " -i '%s=%s[", name, cfx_dtypes[v.u.tensor->dtype].abbr);
    for (int i = 0; i < v.u.tensor->rank; i++)
        add(t, "%s%" PRId64, i ? "," : "",
            example_extent(n->graph, v.u.tensor->shape[i]));
    add(t, "]'");
}

cfx_status cli_fail_missing(const cli_inputs *in, const cfx_node **list,
                            cfx_error *err)
{
    const cfx_node *first = NULL;
    struct text t = {.len = 0};
    bool known = true;

    for (size_t i = 0; i < in->n; i++) {
        if (!cfx_value_is_absent(in->value[i]) || list[i]->nargs ||
            list[i]->target->text[0] == '*')
            continue;
        first = first ? first : list[i];
        known = known && cfx_node_declared(list[i]).kind;
        add_example(&t, list[i]);
    }
    return cfx_fail(err, CFX_EINVAL, "the input '%s' is missing: add%s%s%s%s",
                    cli_input_name(first), t.s,
                    known ? "" : ", or a type and shape as in -i '",
                    known ? "" : cli_input_name(first),
                    known ? "" : "=f32[2,3]'");
}
