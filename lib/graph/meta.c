/*
 * meta -- annotations of a node, by key.
 */
#include "graph/graph_impl.h"

#include <stddef.h>

cfx_value cfx_node_meta(const cfx_node *n, const char *key)
{
    return n->meta.kind == CFX_DICT ? cfx_dict_get(n->meta, key) : CFX_NOTHING;
}

static size_t dict_size(size_t len)
{
    return offsetof(cfx_seq, item) + 2 * len * sizeof(cfx_value);
}

/* The number of keys. */
static uint32_t meta_len(const cfx_node *n)
{
    return n->meta.kind == CFX_DICT ? n->meta.u.seq->len / 2 : 0;
}

/* The index of a key; the length if it is missing. */
static uint32_t place_of(const cfx_node *n, const char *key)
{
    uint32_t i = 0, len = meta_len(n);
    while (i < len && strcmp(n->meta.u.seq->item[2 * i].u.str->text, key))
        i++;
    return i;
}

/* Resize the dict to at least one pair; if it shrinks, pair `i` is removed.
 * New pairs are not initialized. */
static cfx_status resize(cfx_node *n, uint32_t len, uint32_t i, cfx_error *err)
{
    cfx_store *store = &n->graph->store;
    uint32_t nold = meta_len(n);
    cfx_seq *old = nold ? n->meta.u.seq : NULL;
    cfx_seq *dict = cfx_store_alloc(store, dict_size(len));
    if (!dict)
        return cfx_no_memory(err);
    *dict = (cfx_seq){.len = 2 * len, .ctx = n->graph->ctx};
    for (uint32_t from = 0, to = 0; from < nold; from++)
        if (len >= nold || from != i)
            memcpy(&dict->item[2 * to++], &old->item[2 * from],
                   2 * sizeof(cfx_value));
    cfx_store_free(store, old, dict_size(nold));
    n->meta = (cfx_value){.kind = CFX_DICT, .u.seq = dict};
    return CFX_OK;
}

static cfx_status remove_key(cfx_node *n, uint32_t i, cfx_error *err)
{
    cfx_store *store = &n->graph->store;
    if (i == meta_len(n))
        return CFX_OK;
    cfx_value key = n->meta.u.seq->item[2 * i];
    cfx_value v = n->meta.u.seq->item[2 * i + 1];
    if (meta_len(n) == 1) {
        cfx_store_drop(store, n->meta);
        n->meta = CFX_NOTHING;
        return CFX_OK;
    }
    cfx_status st = resize(n, meta_len(n) - 1, i, err);
    if (!st) {
        cfx_store_drop(store, v);
        cfx_store_drop(store, key);
    }
    return st;
}

/* Append a key. */
static cfx_status add_key(cfx_node *n, const char *key, cfx_value v,
                          cfx_error *err)
{
    cfx_store *store = &n->graph->store;
    uint32_t len = meta_len(n);
    cfx_value name;
    cfx_status st = cfx_store_text(store, &name, CFX_STR, key, strlen(key),
                                   err);
    if (st)
        return st;
    st = resize(n, len + 1, len, err);
    if (st) {
        cfx_store_drop(store, name);
        return st;
    }
    n->meta.u.seq->item[2 * len] = name;
    n->meta.u.seq->item[2 * len + 1] = v;
    return CFX_OK;
}

cfx_status cfx_node_set_meta(cfx_node *n, const char *key, cfx_value v,
                             cfx_error *err)
{
    cfx_store *store = &n->graph->store;
    cfx_args_copy to = {.g = n->graph, .of = n->name};
    cfx_value fresh;
    uint32_t i = place_of(n, key);
    if (cfx_value_is_absent(v))
        return remove_key(n, i, err);
    cfx_status st = cfx_graph__copy_meta(&to, &fresh, v, err);
    if (st)
        return st;
    if (i < meta_len(n)) {
        cfx_value *place = &n->meta.u.seq->item[2 * i + 1];
        cfx_store_drop(store, *place);
        *place = fresh;
        return CFX_OK;
    }
    st = add_key(n, key, fresh, err);
    if (st)
        cfx_store_drop(store, fresh);
    return st;
}

cfx_value cfx_node_declared(const cfx_node *n)
{
    return n->op == CFX_PLACEHOLDER ? cfx_node_meta(n, "val") : CFX_NOTHING;
}
