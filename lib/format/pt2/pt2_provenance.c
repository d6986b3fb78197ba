/*
 * pt2_provenance -- the lines of Python and the modules that nodes come from.
 *
 * The file holds the stack of modules as text, "key,path,type;key,path,type",
 * outermost first. It becomes what torch.fx keeps in meta nn_module_stack: a
 * dict of key to (path, type).
 */
#include "format/pt2/pt2.h"

/* torch writes this for nodes of which it does not know the modules. */
static const char unknown[] = "_empty_nn_module_stack";

/* The end of a field: a comma or semicolon outside of brackets. */
static const char *field_end(const char *s, char stop)
{
    int depth = 0;

    for (; *s && (depth > 0 || *s != stop); s++)
        depth += (*s == '[' || *s == '(') - (*s == ']' || *s == ')');
    return s;
}

/* Add the entry "key,path,type", if it is one. */
static cfx_status add_entry(cfx_pt2_values *to, const char *s, const char *end,
                            cfx_error *err)
{
    const char *key = field_end(s, ',');
    const char *path = key < end ? field_end(key + 1, ',') : NULL;
    cfx_pt2_values pair = {.ctx = to->ctx};
    cfx_value v;

    if (!path || path >= end || !strncmp(s, unknown, sizeof(unknown) - 1))
        return CFX_OK;
    cfx_status st = cfx_pt2__add_str(to, s, (size_t)(key - s), err);
    if (!st)
        st = cfx_pt2__add_str(&pair, key + 1, (size_t)(path - key) - 1, err);
    if (!st)
        st = cfx_pt2__add_str(&pair, path + 1, (size_t)(end - path) - 1, err);
    st = cfx_pt2__values_end(&v, &pair, CFX_TUPLE, st, err);
    return st ? st : cfx_pt2__add_take(to, v, err);
}

static cfx_status set_stack(cfx_node *n, cfx_context *ctx, const char *text,
                            cfx_error *err)
{
    cfx_pt2_values l = {.ctx = ctx};
    cfx_value stack;
    cfx_status st = CFX_OK;

    for (const char *s = text; *s && !st && l.n < 2 * CFX_MAX_DEPTH;) {
        const char *end = field_end(s, ';');
        st = add_entry(&l, s, end, err);
        s = *end ? end + 1 : end;
    }
    if (!l.n)
        return st;
    st = cfx_pt2__values_end(&stack, &l, CFX_DICT, st, err);
    if (!st)
        st = cfx_node_set_meta(n, "nn_module_stack", stack, err);
    cfx_value_unref(stack);
    return st;
}

cfx_status cfx_pt2__metadata(cfx_node *n, const json_t *node, cfx_error *err)
{
    const json_t *meta = json_object_get(node, "metadata");
    cfx_context *ctx = cfx_graph_context(n->graph);
    const char *stack = json_string_value(
        json_object_get(meta, "nn_module_stack"));
    const json_t *trace = json_object_get(meta, "stack_trace");
    cfx_status st = stack ? set_stack(n, ctx, stack, err) : CFX_OK;

    if (st || !json_is_string(trace))
        return st;
    cfx_value text = cfx_str_new(ctx, json_string_value(trace),
                                 json_string_length(trace));
    st = text.kind ? cfx_node_set_meta(n, "stack_trace", text, err)
                   : cfx_no_memory(err);
    cfx_value_unref(text);
    return st;
}
