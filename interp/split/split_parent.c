/*
 * split_parent -- build the graph that calls the parts: a new one, or the old
 * one edited.
 */
#include "interp/split/split_impl.h"

#include "nn/module_impl.h"

static const cfx_extract_options as_it_is = {0};

/* Copy a placeholder or get_attr of the parent. */
static cfx_status copy_source(splitter *s, cfx_extraction *c,
                              const cfx_node *n)
{
    cfx_extract_options how = as_it_is;
    if (s->env[n->id])
        return CFX_OK;
    if (n->op == CFX_PLACEHOLDER && s->o.keep_original_node_name)
        how.target = n->name;
    return cfx_extract__node(c, n, &how);
}

static cfx_status copy_sources(splitter *s, cfx_extraction *c, bool attrs)
{
    cfx_status st = CFX_OK;
    for (const cfx_node *n = cfx_graph_first(s->g); n && !st;
         n = cfx_node_next(n))
        if (n->op == CFX_PLACEHOLDER || (attrs && n->op == CFX_GET_ATTR))
            st = copy_source(s, c, n);
    return st;
}

/* Call part p. Its inputs are in env; its results are added to it. */
static cfx_status call_part(splitter *s, cfx_extraction *c, uint32_t p)
{
    uint32_t first = s->outputs.start[p];
    uint32_t n = s->outputs.start[p + 1] - first;
    cfx_status st = CFX_OK;
    for (uint32_t i = 0; i < s->ninputs[p] && !st; i++) {
        const cfx_node *in = s->inputs[p][i];
        if (in->op == CFX_GET_ATTR)
            st = copy_source(s, c, in);
        else if (!s->env[in->id])
            st = cfx_fail(
                s->err, CFX_EGRAPH,
                "%s takes '%s' of %s, which comes after it in the original order",
                s->name[p], in->name, s->name[s->part_of[in->id]]);
    }
    if (st)
        return st;
    cfx_node *call = cfx_extract__call(c, s->name[p], s->inputs[p],
                                       s->ninputs[p]);
    if (!call)
        return s->err->code;
    return cfx_extract__results(c, call, s->outputs.item + first, n,
                                s->o.tuple_return);
}

static cfx_status call_parts(splitter *s, cfx_extraction *c)
{
    cfx_status st = CFX_OK;
    for (uint32_t i = 0; i < s->nparts && !st; i++)
        st = call_part(s, c, s->order[i]);
    return st;
}

/* ---- A new parent ---- */

/* Copy nodes that only the output uses. */
static cfx_status copy_outputs(splitter *s, cfx_extraction *c)
{
    cfx_status st = CFX_OK;
    for (const cfx_node *n = cfx_graph_first(s->g); n && !st;
         n = cfx_node_next(n)) {
        if (n->op != CFX_OUTPUT)
            continue;
        for (uint32_t i = 0; i < n->ninputs && !st; i++)
            if (!s->env[cfx_node_input(n, i)->id])
                st = copy_source(s, c, cfx_node_input(n, i));
        if (!st)
            st = cfx_extract__node(c, n,
                                   &(cfx_extract_options){.plain = true});
    }
    return st;
}

static cfx_status make_graph(splitter *s, cfx_extraction *c)
{
    memset(s->env, 0, s->nids * sizeof(*s->env));
    bool lazily = s->o.keep_original_order && s->nparts;
    cfx_status st = copy_sources(s, c, !lazily);
    if (!st)
        st = call_parts(s, c);
    return st ? st : copy_outputs(s, c);
}

/* Add the children in the order in which the graph names them, shortest paths
 * first. */
static cfx_status give_children(splitter *s, cfx_module *to)
{
    cfx_graph *g = cfx_graph_module_graph(to);
    cfx_status st = CFX_OK;
    size_t deepest = 0, calls = 0;
    for (size_t dots = 0; dots <= deepest && !st; dots++)
        for (const cfx_node *n = cfx_graph_first(g); n && !st;
             n = cfx_node_next(n)) {
            const char *path = n->target->text;
            if (n->op == CFX_CALL_MODULE && !dots) {
                uint32_t p = s->order[calls++];
                cfx_module *child = s->child[p];
                s->child[p] = NULL;
                st = cfx_module_add_take(to, path, child, s->err);
            } else if (n->op == CFX_GET_ATTR) {
                size_t d = cfx_path__dots(path);
                deepest = d > deepest ? d : deepest;
                if (d == dots)
                    st = cfx_lift__one(to, path, s->gm, path, s->err);
            }
        }
    return st;
}

cfx_status cfx_split__new_parent(
    splitter *s, cfx_status (*make)(splitter *s, cfx_extraction *c),
    cfx_status (*give)(splitter *s, cfx_module *to), cfx_module **out)
{
    cfx_extraction c = {.env = s->env, .err = s->err};
    cfx_module *gm = NULL;
    cfx_status st = cfx_graph_new(&c.to, s->ctx, s->err);
    if (st)
        return st;
    st = make(s, &c);
    if (st) {
        cfx_graph_free(c.to);
        return st;
    }
    st = cfx_extract__module_take(&gm, s->gm, c.to, "GraphModule", s->err);
    if (!st)
        st = give(s, gm);
    if (st)
        cfx_module_unref(gm);
    else
        *out = gm;
    return st;
}

cfx_status cfx_split__parent(splitter *s, cfx_module **out)
{
    return cfx_split__new_parent(s, make_graph, give_children, out);
}

/* ---- In place ---- */

static cfx_status check_names(splitter *s)
{
    for (uint32_t p = 0; p < s->nparts; p++)
        if (cfx_module_child(s->gm, s->name[p]) ||
            cfx_module_state(s->gm, s->name[p]))
            return cfx_fail(s->err, CFX_EINVAL, "the module has a %s already",
                            s->name[p]);
    return CFX_OK;
}

static cfx_status add_children(splitter *s)
{
    cfx_status st = CFX_OK;
    for (uint32_t i = 0; i < s->nparts && !st; i++) {
        uint32_t p = s->order[i];
        cfx_module *child = s->child[p];
        s->child[p] = NULL;
        st = cfx_module_add_take((cfx_module *)s->gm, s->name[p], child,
                                 s->err);
    }
    return st;
}

/* Let the output use the results of the calls instead of the parts' nodes. All
 * uses are replaced in one step, since there may be many. */
static cfx_status use_results(splitter *s)
{
    cfx_node *output = cfx_graph_output_node(s->g);
    cfx_node_map map;
    cfx_value v = CFX_NOTHING;
    cfx_status st = CFX_OK;
    if (!output || !output->nargs)
        return CFX_OK;
    cfx_node_map_init(&map, s->g);
    for (uint32_t i = 0; i < output->ninputs && !st; i++) {
        cfx_node *old = cfx_node_input(output, i);
        st = cfx_node_map_set(&map, old, cfx_value_of_node(s->env[old->id]),
                              s->err);
    }
    if (!st)
        st = cfx_node_map_value(&v, &map, output->args[0], s->err);
    if (!st)
        st = cfx_node_set_args(output, &v, 1, s->err);
    cfx_value_unref(v);
    cfx_node_map_release(&map);
    return st;
}

/* Children are added first, so that after a later failure the graph still finds
 * all that it names. */
cfx_status cfx_split__in_place(splitter *s)
{
    cfx_extraction c = {.to = s->g, .env = s->env, .err = s->err};
    cfx_module *gm = (cfx_module *)s->gm;
    cfx_node *output = cfx_graph_output_node(s->g);
    cfx_status st = check_names(s);
    if (!st)
        st = add_children(s);
    if (st)
        return st;
    for (cfx_node *n = cfx_graph_first(s->g); n; n = cfx_node_next(n))
        s->env[n->id] = s->part_of[n->id] == NO_PART ? n : NULL;
    cfx_insert_point at = output ? cfx_graph_inserting_before(s->g, output)
                                 : cfx_graph_inserting_after(
                                       s->g, cfx_graph_last(s->g));
    st = call_parts(s, &c);
    cfx_graph_restore(s->g, at);
    if (!st)
        st = use_results(s);
    for (uint32_t i = s->nparts; i-- > 0 && !st;) {
        uint32_t p = s->order[i];
        for (uint32_t k = s->nodes.start[p + 1];
             k-- > s->nodes.start[p] && !st;)
            st = cfx_graph_erase_node(s->g, s->nodes.item[k], s->err);
    }
    if (!st)
        cfx_graph_module_delete_all_unused_submodules(gm);
    return st;
}
