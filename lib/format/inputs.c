/*
 * inputs -- the inputs of a model: names, types, samples.
 */
#include "format/io.h"

static cfx_value declared(const cfx_node *n)
{
    cfx_value v = cfx_node_meta(n, "tensor_meta");
    return v.kind == CFX_TENSOR ? v : cfx_node_meta(n, "val");
}

static cfx_model_input describe(const cfx_node *n)
{
    const char *name = n->target->text;
    return (cfx_model_input){
        .name = name + strspn(name, "*"),
        .node = n,
        .type = declared(n),
        .fallback = n->nargs ? n->args[0] : CFX_NOTHING,
    };
}

/* The samples of the file, if its format has some. */
static cfx_status read_samples(cfx_model_inputs *to, const cfx_module *gm,
                               cfx_model_file *f, cfx_error *err)
{
    if (!f->format->read_inputs || !to->n)
        return CFX_OK;
    cfx_error own = {0};
    err = err ? err : &own;
    cfx_value *sample = cfx_calloc(to->ctx, to->n, sizeof(*sample));
    if (!sample)
        return cfx_no_memory(err);
    cfx_status st = f->format->read_inputs(sample, gm, f, err);
    if (st)
        cfx_fail_at(err, "%s", f->path);
    for (size_t i = 0; i < to->n; i++)
        to->item[i].sample = sample[i];
    cfx_free(to->ctx, sample, to->n * sizeof(*sample));
    return st;
}

cfx_status cfx_model_inputs_list(cfx_model_inputs *out, const cfx_module *gm,
                                 cfx_model_file *f, cfx_error *err)
{
    const cfx_graph *g = cfx_graph_module_graph(gm);
    const cfx_node *n = NULL;
    size_t count = 0;
    *out = (cfx_model_inputs){.ctx = cfx_module_context(gm)};
    if (!g)
        return cfx_fail(err, CFX_EGRAPH, "%s has no graph",
                        cfx_module_class_name(gm));
    while ((n = cfx_graph_find_nodes(g, CFX_PLACEHOLDER, NULL, n)))
        count++;
    out->item = cfx_calloc(out->ctx, count + 1, sizeof(*out->item));
    if (!out->item)
        return cfx_no_memory(err);
    while ((n = cfx_graph_find_nodes(g, CFX_PLACEHOLDER, NULL, n)))
        out->item[out->n++] = describe(n);
    return f ? read_samples(out, gm, f, err) : CFX_OK;
}

void cfx_model_inputs_release(cfx_model_inputs *in)
{
    for (size_t i = 0; i < in->n; i++)
        cfx_value_unref(in->item[i].sample);
    if (in->item)
        cfx_free(in->ctx, in->item, (in->n + 1) * sizeof(*in->item));
    *in = (cfx_model_inputs){0};
}
