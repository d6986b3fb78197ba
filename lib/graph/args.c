/*
 * args -- validate and copy the arguments of a node.
 */
#include "graph/graph_impl.h"

#include "base/unicode.h"

cfx_status cfx_graph__check_input(const cfx_graph *g, const cfx_node *n,
                                  const char *of, cfx_error *err)
{
    if (n->graph != g)
        return cfx_fail(
            err, CFX_EGRAPH,
            "Argument '%s' of Node '%s' does not belong to this Graph, but was used as an argument! If you are copying nodes from another graph, make sure to use ``arg_transform`` on node_copy() to remap values",
            n->name, of);
    if (n->erased)
        return cfx_fail(
            err, CFX_EGRAPH,
            "Argument '%s' of Node '%s' was erased from this Graph", n->name,
            of);
    return CFX_OK;
}

static cfx_status keep_node(void *user, cfx_node *n, int depth, cfx_value *out,
                            cfx_error *err)
{
    const cfx_args_copy *to = user;
    (void)depth;
    *out = cfx_value_of_node(n);
    return cfx_graph__check_input(to->g, n, to->of, err);
}

static cfx_status translate_arg(void *user, cfx_node *n, int depth,
                                cfx_value *out, cfx_error *err)
{
    cfx_args_copy *to = user;
    const cfx_store_nodes own = {keep_node, to};
    if (!to->map)
        return keep_node(to, n, depth, out, err);
    cfx_value v = to->map(to->user, n);
    if (v.kind == CFX_ABSENT)
        return cfx_fail(
            err, CFX_EGRAPH,
            "Argument '%s' of Node '%s' has no counterpart in the graph that is copied to",
            n->name, to->of);
    return cfx_store_copy_at(&to->g->store, out, v, depth, &own, err);
}

static cfx_status refuse_node(void *user, cfx_node *n, int depth,
                              cfx_value *out, cfx_error *err)
{
    const cfx_args_copy *to = user;
    (void)depth;
    (void)out;
    return cfx_fail(err, CFX_EINVAL, "meta of Node '%s' cannot hold Node '%s'",
                    to->of, n->name);
}

static cfx_status check_count(size_t n, cfx_error *err)
{
    return n < UINT32_MAX / 2
               ? CFX_OK
               : cfx_fail(err, CFX_EINVAL, "%zu arguments are too many", n);
}

/* Copy values without memory of their own; false for any other. */
static bool copy_plain(const cfx_args_copy *to, cfx_value *out,
                       const cfx_value *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cfx_value one = v[i];
        if (one.kind == CFX_NODE && to->map)
            one = to->map(to->user, one.u.node);
        bool plain = one.kind == CFX_NODE
                         ? one.u.node->graph == to->g && !one.u.node->erased
                         : one.kind == CFX_INT || one.kind == CFX_FLOAT ||
                               one.kind == CFX_BOOL_VALUE ||
                               one.kind == CFX_NONE;
        if (!plain)
            return false;
        out[i] = one;
    }
    return true;
}

/* Most arguments are nodes and numbers. */
static cfx_value *copy_all_plain(const cfx_args_copy *to, const cfx_value *v,
                                 size_t n)
{
    enum { FEW = 8 };
    cfx_value few[FEW];
    if (!n || n > FEW || (to->map && !to->map_is_pure) ||
        !copy_plain(to, few, v, n))
        return NULL;
    cfx_value *copy = cfx_store_alloc(&to->g->store, n * sizeof(*copy));
    if (copy)
        memcpy(copy, few, n * sizeof(*copy));
    return copy;
}

cfx_status cfx_graph__copy_args(cfx_args_copy *to, cfx_value **out,
                                const cfx_value *v, size_t n, cfx_error *err)
{
    const cfx_store_nodes nodes = {translate_arg, to};
    cfx_value *plain = copy_all_plain(to, v, n);
    if (plain) {
        *out = plain;
        return CFX_OK;
    }
    cfx_status st = check_count(n, err);
    return st ? st
              : cfx_store_copy_array(&to->g->store, out, v, n, &nodes, err);
}

/* ---- Keywords ---- */

static cfx_status twice(const cfx_args_copy *to, const cfx_value key,
                        cfx_error *err)
{
    return cfx_fail(err, CFX_EINVAL,
                    "keyword '%s' of Node '%s' is given twice",
                    key.u.str->text, to->of);
}

/* Many keys are compared through a map, few by address: a store interns
 * strings. */
static cfx_status check_distinct(const cfx_args_copy *to, const cfx_value *v,
                                 size_t n, cfx_error *err)
{
    enum { FEW = 16 };
    if (n <= FEW) {
        for (size_t i = 1; i < n; i++)
            for (size_t k = 0; k < i; k++)
                if (v[2 * i].u.str == v[2 * k].u.str)
                    return twice(to, v[2 * i], err);
        return CFX_OK;
    }
    cfx_map seen;
    cfx_map_init(&seen, to->g->ctx);
    cfx_status st = CFX_OK;
    for (size_t i = 0; i < n && !st; i++) {
        const cfx_string *key = v[2 * i].u.str;
        bool added = false;
        if (!cfx_map_put(&seen, key->text, key->len, &added))
            st = cfx_no_memory(err);
        else if (!added)
            st = twice(to, v[2 * i], err);
    }
    cfx_map_release(&seen);
    return st;
}

enum { NKWARGS_MAX = UINT16_MAX };

cfx_status cfx_graph__check_nkwargs(size_t n, cfx_error *err)
{
    return n > NKWARGS_MAX
               ? cfx_fail(err, CFX_EINVAL,
                          "a call has at most %d keywords, not %zu",
                          NKWARGS_MAX, n)
               : CFX_OK;
}

cfx_status cfx_graph__copy_kwargs(cfx_args_copy *to, cfx_value **out,
                                  const cfx_value *v, size_t n, cfx_error *err)
{
    const cfx_store_nodes nodes = {translate_arg, to};
    cfx_status st = cfx_graph__check_nkwargs(n, err);
    if (!n) {
        *out = NULL;
        return CFX_OK;
    }
    for (size_t i = 0; i < n && !st; i++)
        st = v[2 * i].kind == CFX_STR
                 ? cfx_check_name(v[2 * i].u.str->text, err)
                 : cfx_fail(err, CFX_EINVAL, "a keyword of Node '%s' is a %s",
                            to->of, cfx_kind_name((cfx_kind)v[2 * i].kind));
    cfx_value *copy = NULL;
    if (!st)
        st = cfx_store_copy_array(&to->g->store, &copy, v, 2 * n, &nodes, err);
    if (st)
        return st;
    st = check_distinct(to, copy, n, err);
    if (st)
        cfx_store_drop_array(&to->g->store, copy, 2 * n);
    else
        *out = copy;
    return st;
}

cfx_status cfx_graph__copy_meta(cfx_args_copy *to, cfx_value *out, cfx_value v,
                                cfx_error *err)
{
    const cfx_store_nodes nodes = {refuse_node, to};
    return cfx_store_copy(&to->g->store, out, v, &nodes, err);
}
