/*
 * pt2_outputs -- the names of what a call gives, with a getitem node for each of
 * several results.
 *
 * The file folds getitem nodes away: a call lists the names of its results, and
 * ExportedProgram.module() has the nodes again.
 */
#include "format/pt2/pt2.h"

/* The name of one result; NULL: it is None. */
static cfx_status result_name(const char **out, const cfx_pt2_union *u,
                              cfx_error *err)
{
    cfx_status st = cfx_pt2__value_name(out, u, err);

    return st || *out || !strcmp(u->key, "as_none")
               ? st
               : cfx_fail(err, CFX_EUNSUPPORTED,
                          "a result of the kind '%.64s' is not supported",
                          u->key);
}

const char *cfx_pt2__call_name(const json_t *node)
{
    const char *name = json_string_value(json_object_get(node, "name"));
    const json_t *outputs = json_object_get(node, "outputs");
    cfx_pt2_union u;

    if (name || json_array_size(outputs) != 1)
        return name;
    bool named = !cfx_pt2__read_union(&u, json_array_get(outputs, 0),
                                      "a result", NULL) &&
                 !json_is_false(
                     json_object_get(node, "is_hop_single_tensor_return")) &&
                 !result_name(&name, &u, NULL);
    return named ? name : NULL;
}

/* Add a getitem node for the value `name`; NULL: of one that is not used, for
 * which `hint` is a name, or NULL. */
static cfx_status add_getitem(cfx_node **out, cfx_pt2_graph *g, cfx_node *n,
                              size_t i, const char *name, const char *hint,
                              const json_t *node, cfx_error *err)
{
    *out = cfx_graph_create_node(
        g->graph, CFX_CALL_FUNCTION, "operator.getitem",
        CFX_ARGS(cfx_value_of_node(n), cfx_int((int64_t)i)),
        name ? name : hint, NULL, err);
    cfx_status st = *out ? CFX_OK : err->code;
    if (!st && name)
        st = cfx_pt2__name(g, *out, name, err);
    return st ? st : cfx_pt2__metadata(*out, node, err);
}

/* Has a result no user? torch names it after its call, NODE_unused_0. */
static bool is_unused(const cfx_node *n, const char *name)
{
    size_t len = strlen(n->name);

    return !strncmp(name, n->name, len) && !strncmp(name + len, "_unused_", 8);
}

/* The i-th result is a list of tensors: [{"name": ...}, ...]. */
static cfx_status add_list(cfx_pt2_graph *g, cfx_node *n, const json_t *list,
                           const json_t *node, cfx_error *err)
{
    cfx_status st = CFX_OK;
    const char *name;
    cfx_node *item;

    for (size_t i = 0; i < json_array_size(list) && !st; i++) {
        st = cfx_pt2__text(&name, json_array_get(list, i), "name", err);
        if (!st && !is_unused(n, name))
            st = add_getitem(&item, g, n, i, name, NULL, node, err);
    }
    return st;
}

static cfx_status add_result(cfx_pt2_graph *g, cfx_node *n, size_t i,
                             const json_t *output, const json_t *node,
                             cfx_error *err)
{
    cfx_pt2_union u;
    const char *name = NULL;
    cfx_node *item;
    cfx_status st = cfx_pt2__read_union(&u, output, "a result", err);
    bool list = !st && !strcmp(u.key, "as_tensors");

    if (!st && !list)
        st = result_name(&name, &u, err);
    if (st || (name && is_unused(n, name)))
        return st;
    st = add_getitem(&item, g, n, i, name, list ? NULL : "as_none", node, err);
    return !st && list ? add_list(g, item, u.value, node, err) : st;
}

/* Name the call itself: newer files tell its name; else torch.fx has named
 * it. */
static cfx_status name_call(cfx_pt2_graph *g, cfx_node *n, const json_t *node,
                            cfx_error *err)
{
    const char *name = json_string_value(json_object_get(node, "name"));

    return name ? cfx_pt2__name(g, n, name, err) : CFX_OK;
}

/* A call that gives nothing is renamed by torch's reader: after the operator and
 * its overload, or after a function. */
static cfx_status name_unused(cfx_node *n, cfx_error *err)
{
    const char *target = n->target->text, *at = strrchr(target, '.');
    bool overload = !strncmp(target, "torch.ops.", 10);
    char name[256];

    at = at && !overload ? at + 1 : at;
    while (at && overload && at > target && at[-1] != '.')
        at--;
    snprintf(name, sizeof(name), "%s_unused", at ? at : target);
    return cfx_node_rename(n, name, err);
}

/* One result, which is a tensor, a number, None or a list. */
static cfx_status name_single(cfx_pt2_graph *g, cfx_node *n,
                              const cfx_pt2_union *u, const json_t *node,
                              cfx_error *err)
{
    const json_t *single = json_object_get(node,
                                           "is_hop_single_tensor_return");
    const char *name;
    cfx_node *item;

    if (!strcmp(u->key, "as_tensors")) {
        cfx_status st = name_call(g, n, node, err);
        return st ? st : add_list(g, n, u->value, node, err);
    }
    cfx_status st = result_name(&name, u, err);
    if (st)
        return st;
    if (!name)
        return name_unused(n, err);
    /* Operators with graphs among their arguments give a tuple of one. */
    if (json_is_false(single)) {
        st = name_call(g, n, node, err);
        return st ? st : add_getitem(&item, g, n, 0, name, NULL, node, err);
    }
    return cfx_pt2__name(g, n, name, err);
}

cfx_status cfx_pt2__outputs(cfx_pt2_graph *g, cfx_node *n, const json_t *node,
                            cfx_error *err)
{
    const json_t *outputs;
    cfx_pt2_union u;
    cfx_status st = cfx_pt2__member(&outputs, node, "outputs", JSON_ARRAY,
                                    err);

    if (st)
        return st;
    size_t many = json_array_size(outputs);
    if (many == 1) {
        st = cfx_pt2__read_union(&u, json_array_get(outputs, 0), "a result",
                                 err);
        return st ? st : name_single(g, n, &u, node, err);
    }
    st = name_call(g, n, node, err);
    for (size_t i = 0; i < many && !st; i++)
        st = add_result(g, n, i, json_array_get(outputs, i), node, err);
    return st;
}
