/*
 * pt2_graph -- the nodes of an exported program, as torch's own reader makes them.
 *
 * Each value has a name in the file, which its node gets where torch.fx's rules
 * for names allow it, so that the graph prints as torch prints it.
 */
#include "format/pt2/pt2.h"

#include "op/op_impl.h"

/* ---- Names ---- */

cfx_status cfx_pt2__node(cfx_node **out, const cfx_pt2_graph *g,
                         const char *name, cfx_error *err)
{
    const cfx_map_entry *e = cfx_map_get(&g->names, name, strlen(name));

    *out = e ? e->v.p : NULL;
    return e ? CFX_OK
             : cfx_fail(err, CFX_EGRAPH, "%%%.200s is used, but not defined",
                        name);
}

cfx_status cfx_pt2__name(cfx_pt2_graph *g, cfx_node *n, const char *name,
                         cfx_error *err)
{
    bool added = false;
    cfx_map_entry *e = cfx_map_put(&g->names, name, strlen(name), &added);

    if (!e)
        return cfx_no_memory(err);
    if (!added)
        return cfx_fail(err, CFX_EGRAPH, "%%%.200s is defined twice", name);
    e->v.p = n;
    return CFX_OK;
}

/* ---- Inputs ---- */

/* An input that is a constant gets it as its default; its name stands in the
 * signature, which renames it. */
static cfx_status read_input(cfx_pt2_graph *g, size_t i, cfx_error *err)
{
    const json_t *v = json_array_get(json_object_get(g->json, "inputs"), i);
    cfx_value constant = CFX_NOTHING;
    cfx_pt2_union u;
    const char *name;
    char numbered[32];
    cfx_status st = cfx_pt2__read_union(&u, v, "an input", err);

    if (!st)
        st = !strcmp(u.key, "as_custom_obj")
                 ? cfx_pt2__text(&name, u.value, "name", err)
                 : cfx_pt2__value_name(&name, &u, err);
    if (!st && !name)
        st = cfx_pt2__argument(&constant, g, v, err);
    if (st)
        return st;
    snprintf(numbered, sizeof(numbered), "arg%zu", i);
    cfx_node *n = cfx_graph_create_node(
        g->graph, CFX_PLACEHOLDER, name ? name : numbered,
        cfx_args_of(&constant, !name), name, NULL, err);
    cfx_value_unref(constant);
    if (!n)
        return err->code;
    return name ? cfx_pt2__name(g, n, name, err) : CFX_OK;
}

/* ---- Calls ---- */

/* The target as torch.fx prints it. */
static cfx_status read_target(cfx_buf *out, const json_t *node, cfx_error *err)
{
    static const char python[] = "_operator.";
    const char *text;
    cfx_status st = cfx_pt2__text(&text, node, "target", err);

    if (st)
        return st;
    cfx_buf_clear(out);
    cfx_buf_puts(out, text + !strncmp(text, python, sizeof(python) - 1));
    return out->failed ? cfx_no_memory(err) : CFX_OK;
}

/*
 * Is an argument positional? Files of torch 2.8 and later say so; else those
 * are that the schema requires. Operators of Python and higher-order ones have
 * no schema: their arguments are positional unless they have names.
 */
static bool is_positional(const cfx_target *target, const char *name,
                          const json_t *kind)
{
    json_int_t given = json_is_integer(kind) ? json_integer_value(kind) : 0;

    if (given == 1 || given == 2)
        return given == 1;
    int at = target && target->variant
                 ? cfx_param_find(target->variant, name, strlen(name))
                 : -1;
    if (at < 0)
        return !*name || !target;
    return target->variant->params[at].required &&
           !target->variant->params[at].kwarg_only;
}

static cfx_status read_args(cfx_pt2_values *args, cfx_pt2_values *kwargs,
                            cfx_pt2_graph *g, const json_t *node,
                            const char *target_name, cfx_error *err)
{
    const cfx_target *target = NULL;
    const json_t *inputs;
    const char *name;
    cfx_value v;
    cfx_status st = cfx_pt2__member(&inputs, node, "inputs", JSON_ARRAY, err);

    if (!strncmp(target_name, "torch.ops.", 10))
        cfx_target__find(&target, g->ctx, target_name, false, NULL);
    for (size_t i = 0; !st && i < json_array_size(inputs); i++) {
        const json_t *input = json_array_get(inputs, i);
        st = cfx_pt2__text(&name, input, "name", err);
        bool positional = !st && is_positional(target, name,
                                               json_object_get(input, "kind"));
        if (!st && !positional)
            st = cfx_pt2__add_str(kwargs, name, strlen(name), err);
        if (!st)
            st = cfx_pt2__argument(&v, g, json_object_get(input, "arg"), err);
        if (!st)
            st = cfx_pt2__add_take(positional ? args : kwargs, v, err);
        if (st)
            cfx_fail_at(err, "argument %zu", i);
    }
    return st;
}

/* Read one node; `target` is scratch. */
static cfx_status read_node(cfx_pt2_graph *g, const json_t *node,
                            cfx_buf *target, cfx_error *err)
{
    cfx_pt2_values args = {.ctx = g->ctx}, kwargs = {.ctx = g->ctx};
    cfx_node *n = NULL;
    cfx_status st = read_target(target, node, err);

    if (!st)
        st = read_args(&args, &kwargs, g, node, cfx_buf_str(target), err);
    if (!st) {
        n = cfx_graph_create_node(
            g->graph, CFX_CALL_FUNCTION, cfx_buf_str(target),
            (cfx_args){args.item, args.n, kwargs.item, kwargs.n / 2},
            cfx_pt2__call_name(node), NULL, err);
        st = n ? CFX_OK : err->code;
    }
    cfx_pt2__values_release(&args);
    cfx_pt2__values_release(&kwargs);
    if (!st)
        st = cfx_pt2__outputs(g, n, node, err);
    if (!st)
        st = cfx_pt2__metadata(n, node, err);
    if (st)
        cfx_fail_at(err, "%s", cfx_buf_str(target));
    return st;
}

/* ---- The output ---- */

static cfx_status read_output(cfx_pt2_graph *g, cfx_error *err)
{
    const json_t *list = json_object_get(g->json, "outputs");
    bool single = json_is_true(
        json_object_get(g->json, "is_single_tensor_return"));
    cfx_value result = CFX_NOTHING;
    cfx_status st = CFX_OK;

    if (single && json_array_size(list) != 1)
        st = cfx_fail(err, CFX_EPARSE, "a single tensor is returned, and %zu",
                      json_array_size(list));
    else if (single)
        st = cfx_pt2__argument(&result, g, json_array_get(list, 0), err);
    else
        st = cfx_pt2__arguments(&result, g, list, err);
    if (!st && !cfx_graph_output(g->graph, result, err))
        st = err->code;
    cfx_value_unref(result);
    if (st)
        cfx_fail_at(err, "output");
    return st;
}

/* ---- Graphs ---- */

static cfx_status read_nodes(cfx_pt2_graph *g, cfx_error *err)
{
    const json_t *inputs, *nodes, *outputs;
    cfx_buf target;
    cfx_status st = cfx_pt2__member(&inputs, g->json, "inputs", JSON_ARRAY,
                                    err);

    if (!st)
        st = cfx_pt2__member(&nodes, g->json, "nodes", JSON_ARRAY, err);
    if (!st)
        st = cfx_pt2__member(&outputs, g->json, "outputs", JSON_ARRAY, err);
    if (st)
        return st;
    cfx_buf_init(&target, g->ctx);
    for (size_t i = 0; i < json_array_size(inputs) && !st; i++) {
        st = read_input(g, i, err);
        if (st)
            cfx_fail_at(err, "input %zu", i);
    }
    for (size_t i = 0; i < json_array_size(nodes) && !st; i++) {
        st = read_node(g, json_array_get(nodes, i), &target, err);
        if (!st && i % 256 == 255)
            st = cfx_context_check(g->ctx, err);
        if (st)
            cfx_fail_at(err, "node %zu", i);
    }
    cfx_buf_release(&target);
    return st ? st : read_output(g, err);
}

cfx_status cfx_pt2__read_graph(cfx_pt2_graph *g, cfx_error *err)
{
    static const cfx_dce_options options = {.size = sizeof(options),
                                            .keep_children = true};

    cfx_map_init(&g->names, g->ctx);
    cfx_status st = cfx_graph_new(&g->graph, g->ctx, err);
    if (!st)
        st = read_nodes(g, err);
    return st || !g->decomposed
               ? st
               : cfx_graph_eliminate_dead_code(g->graph, &options, NULL, err);
}

void cfx_pt2__graph_release(cfx_pt2_graph *g)
{
    cfx_map_release(&g->names);
    cfx_graph_free(g->graph);
    g->graph = NULL;
}

cfx_status cfx_pt2__nested(cfx_node **out, cfx_pt2_graph *g,
                           const json_t *argument, cfx_error *err)
{
    cfx_pt2_graph inner = {
        .ctx = g->ctx, .depth = g->depth + 1, .decomposed = g->decomposed};
    cfx_module *m = NULL;
    const char *name;
    cfx_status st = cfx_pt2__text(&name, argument, "name", err);

    inner.json = json_object_get(argument, "graph");
    if (!st && inner.depth > CFX_MAX_DEPTH)
        st = cfx_fail(err, CFX_ELIMIT, "graphs nest deeper than %d",
                      CFX_MAX_DEPTH);
    if (!st)
        st = cfx_module_new_container(&inner.owner, g->ctx, "GraphModule",
                                      err);
    if (!st)
        st = cfx_pt2__read_graph(&inner, err);
    if (!st) {
        m = inner.owner;
        st = cfx_graph_module_new_take_both(&m, g->ctx, inner.owner,
                                            inner.graph, "GraphModule", err);
        inner.owner = NULL;
        inner.graph = NULL;
    }
    if (!st && cfx_module_child(g->owner, name)) {
        st = cfx_fail(err, CFX_EGRAPH, "two graphs are called '%.200s'", name);
        cfx_module_unref(m);
    } else if (!st) {
        st = cfx_module_add_take(g->owner, name, m, err);
    }
    if (st)
        cfx_fail_at(err, "graph %.200s", name ? name : "");
    cfx_module_unref(inner.owner);
    cfx_pt2__graph_release(&inner);
    if (st)
        return st;
    *out = cfx_graph_create_node(g->graph, CFX_GET_ATTR, name, CFX_NO_ARGS,
                                 name, NULL, err);
    return *out ? CFX_OK : err->code;
}
