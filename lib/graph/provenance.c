/*
 * provenance -- copy the origin of a node to its replacement.
 */
#include "graph/provenance.h"

#include "base/unicode.h"
#include "graph/graph_impl.h"

static const char *const inherited[] = {
    "stack_trace",   "nn_module_stack",  "source_fn_stack", "torch_fn",
    "original_aten", "recompute",        "ac_graph_id",     "seq_nr",
    "custom",        "quantization_tag", "partitioner_tag",
};

bool cfx_meta__is_provenance(const char *key)
{
    for (size_t i = 0; i < sizeof(inherited) / sizeof(*inherited); i++)
        if (!strcmp(key, inherited[i]))
            return true;
    return !strcmp(key, "from_node");
}

/* The origins of a node: its `from_node`, or else its own name. */
static size_t origins(const cfx_node *n, cfx_value *name,
                      const cfx_value **items)
{
    cfx_value v = cfx_node_meta(n, "from_node");
    if (cfx_value_is_seq(v)) {
        *items = v.u.seq->item;
        return v.u.seq->len;
    }
    *items = name;
    return 1;
}

/* Append the names that are not in the list. */
static bool add_new(cfx_map *seen, cfx_value *list, size_t *len,
                    const cfx_value *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool added = true;
        if (items[i].kind == CFX_STR &&
            !cfx_map_put(seen, items[i].u.str->text, items[i].u.str->len,
                         &added))
            return false;
        if (added)
            list[(*len)++] = items[i];
    }
    return true;
}

static cfx_status add_origins(cfx_node *n, const cfx_node *from,
                              cfx_error *err)
{
    cfx_context *ctx = n->graph->ctx;
    cfx_value mine = cfx_node_meta(n, "from_node"), list = CFX_NOTHING;
    cfx_value name = cfx_str_new(ctx, from->name, strlen(from->name));
    const cfx_value *items;
    size_t have = cfx_value_is_seq(mine) ? mine.u.seq->len : 0, len = 0;
    size_t more = origins(from, &name, &items);
    cfx_value *all = cfx_calloc(ctx, have + more, sizeof(*all));
    cfx_map seen;
    cfx_map_init(&seen, ctx);
    if (name.kind && all &&
        (!have || add_new(&seen, all, &len, mine.u.seq->item, have)) &&
        add_new(&seen, all, &len, items, more))
        list = cfx_list_new(ctx, len, all);
    cfx_status st = list.kind ? cfx_node_set_meta(n, "from_node", list, err)
                              : cfx_no_memory(err);
    cfx_map_release(&seen);
    cfx_free(ctx, all, (have + more) * sizeof(*all));
    cfx_value_unref(list);
    cfx_value_unref(name);
    return st;
}

cfx_status cfx_node_inherit(cfx_node *n, const cfx_node *from, cfx_error *err)
{
    if (n == from)
        return CFX_OK;
    cfx_status st = CFX_OK;
    for (size_t i = 0; i < sizeof(inherited) / sizeof(*inherited) && !st;
         i++) {
        cfx_value v = cfx_node_meta(from, inherited[i]);
        if (v.kind != CFX_ABSENT &&
            cfx_node_meta(n, inherited[i]).kind == CFX_ABSENT)
            st = cfx_node_set_meta(n, inherited[i], v, err);
    }
    return st ? st : add_origins(n, from, err);
}

const cfx_string *cfx_node__innermost_module(const cfx_node *n)
{
    cfx_value stack = cfx_node_meta(n, "nn_module_stack");
    if (stack.kind != CFX_DICT || stack.u.seq->len < 2)
        return NULL;
    cfx_value last = stack.u.seq->item[stack.u.seq->len - 1];
    if (cfx_value_is_seq(last) && last.u.seq->len)
        last = last.u.seq->item[0];
    return last.kind == CFX_STR &&
                   cfx_utf8_is_visible(last.u.str->text, last.u.str->len)
               ? last.u.str
               : NULL;
}

const char *cfx_node__module_class(const cfx_node *n, const char *path,
                                   size_t len)
{
    cfx_value stack = cfx_node_meta(n, "nn_module_stack");
    uint32_t items = stack.kind == CFX_DICT ? stack.u.seq->len : 0;
    for (uint32_t i = 1; i < items; i += 2) {
        cfx_value pair = stack.u.seq->item[i];
        if (!cfx_value_is_seq(pair) || pair.u.seq->len != 2 ||
            pair.u.seq->item[0].kind != CFX_STR ||
            pair.u.seq->item[1].kind != CFX_STR)
            continue;
        const cfx_string *at = pair.u.seq->item[0].u.str;
        const char *class_name = pair.u.seq->item[1].u.str->text;
        const char *dot = strrchr(class_name, '.');
        if (at->len == len && !memcmp(at->text, path, len) &&
            cfx_utf8_is_visible(class_name, strlen(class_name)))
            return dot ? dot + 1 : class_name;
    }
    return NULL;
}

/* ---- What is known of values ---- */

static const char *const value_keys[] = {"val", "tensor_meta",
                                         "example_value"};
enum { NVALUE_KEYS = sizeof(value_keys) / sizeof(*value_keys) };

cfx_value cfx_node__known(const cfx_node *n)
{
    cfx_value v = CFX_NOTHING;
    for (size_t i = 0; i < NVALUE_KEYS && !v.kind; i++)
        v = cfx_node_meta(n, value_keys[i]);
    return v;
}

const cfx_tensor *cfx_node__known_tensor(const cfx_node *n)
{
    cfx_value v = cfx_node__known(n);
    return v.kind == CFX_TENSOR ? v.u.tensor : NULL;
}

cfx_status cfx_node__forget_known(cfx_node *n, cfx_error *err)
{
    cfx_status st = CFX_OK;
    for (size_t i = 0; i < NVALUE_KEYS && !st; i++)
        st = cfx_node_set_meta(n, value_keys[i], CFX_NOTHING, err);
    return st;
}

cfx_status cfx_node__keep_meta(cfx_node *to, const cfx_node *from,
                               cfx_error *err)
{
    cfx_status st = cfx_node_inherit(to, from, err);
    for (size_t i = 0; i < NVALUE_KEYS && !st; i++) {
        cfx_value v = cfx_node_meta(from, value_keys[i]);
        if (v.kind)
            st = cfx_node_set_meta(to, value_keys[i], v, err);
    }
    if (!st && from->type && !to->type)
        st = cfx_node_set_type(to, from->type->text, err);
    return st;
}
