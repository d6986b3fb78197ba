/*
 * store -- the memory of a graph's arguments.
 *
 * Strings are interned and counted in a map, aggregates have one owner. Values
 * are checked on entry to nest at most CFX_MAX_DEPTH deep, which bounds the
 * recursion here.
 */
#include "graph/store.h"

#include <stddef.h>

enum { GRAIN = 16, SMALL_MAX = CFX_STORE_SMALL * GRAIN };

void cfx_store_init(cfx_store *store, cfx_context *ctx)
{
    *store = (cfx_store){.counted = 0};
    cfx_arena_init(&store->arena, ctx);
    cfx_map_init(&store->strings, ctx);
}

void cfx_store_release(cfx_store *store)
{
    cfx_map_release(&store->strings);
    cfx_arena_release(&store->arena);
}

/* ---- Blocks ---- */

/* The size class of a size, and the size of its blocks. */
static int class_of(size_t size, size_t *rounded)
{
    if (size <= SMALL_MAX) {
        *rounded = (size + GRAIN - 1) / GRAIN * GRAIN;
        return (int)(*rounded / GRAIN) - 1;
    }
    int class = CFX_STORE_SMALL;
    for (*rounded = 2 * SMALL_MAX; *rounded < size; *rounded *= 2)
        class ++;
    return class;
}

void *cfx_store_alloc(cfx_store *store, size_t size)
{
    if (!size || size > SIZE_MAX / 4)
        return NULL;
    int class = class_of(size, &size);
    cfx_store_block *block = store->spare[class];
    if (!block)
        return cfx_arena_alloc(&store->arena, size);
    store->spare[class] = block->next;
    return block;
}

void cfx_store_free(cfx_store *store, void *p, size_t size)
{
    if (!p)
        return;
    int class = class_of(size, &size);
    cfx_store_block *block = p;
    block->next = store->spare[class];
    store->spare[class] = block;
}

/* ---- Strings ---- */

/* The reference count before a string. */
static uint64_t *values_of(cfx_string *s)
{
    return (uint64_t *)(void *)s - 1;
}

static cfx_string *string_of(const cfx_map_entry *entry)
{
    return (cfx_string *)(uintptr_t)(entry->key - offsetof(cfx_string, text));
}

static size_t string_size(size_t len)
{
    return sizeof(uint64_t) + offsetof(cfx_string, text) + len + 1;
}

static cfx_string *new_string(cfx_store *store, const char *text, size_t len)
{
    uint64_t *values = cfx_store_alloc(store, string_size(len));
    if (!values)
        return NULL;
    *values = 0;
    cfx_string *s = (cfx_string *)(void *)(values + 1);
    s->refs = 0;
    s->len = (uint32_t)len;
    s->ctx = store->arena.ctx;
    memcpy(s->text, text, len);
    s->text[len] = '\0';
    if (cfx_map_put(&store->strings, s->text, len, NULL))
        return s;
    cfx_store_free(store, values, string_size(len));
    return NULL;
}

/* The cache entry for a string, before the map. */
static cfx_string **recent_place(cfx_store *store, const char *text,
                                 size_t len)
{
    return &store->recent[cfx_text_place(text, len, CFX_STORE_RECENT)];
}

cfx_status cfx_store_string(cfx_store *store, cfx_string **out,
                            const char *text, size_t len, cfx_error *err)
{
    cfx_string **recent = recent_place(store, text, len), *s = *recent;
    if (!s || s->len != len || memcmp(s->text, text, len)) {
        if (len >= UINT32_MAX)
            return cfx_fail(err, CFX_EINVAL,
                            "a string of %zu bytes is too long", len);
        cfx_map_entry *entry = cfx_map_get(&store->strings, text, len);
        s = entry ? string_of(entry) : new_string(store, text, len);
        if (!s)
            return cfx_no_memory(err);
        *recent = s;
    }
    ++*values_of(s);
    *out = s;
    return CFX_OK;
}

cfx_status cfx_store_text(cfx_store *store, cfx_value *out, cfx_kind kind,
                          const char *text, size_t len, cfx_error *err)
{
    cfx_string *s;
    cfx_status st = cfx_store_string(store, &s, text, len, err);
    if (!st)
        *out = (cfx_value){.kind = (uint8_t)kind, .u.str = s};
    return st;
}

void cfx_store_drop_string(cfx_store *store, cfx_string *s)
{
    uint64_t *values = s ? values_of(s) : NULL;
    if (!s || --*values)
        return;
    cfx_string **recent = recent_place(store, s->text, s->len);
    if (*recent == s)
        *recent = NULL;
    cfx_map_remove(&store->strings, s->text, s->len);
    cfx_store_free(store, values, string_size(s->len));
}

/* ---- Values ---- */

/* The parameters of a copy. */
typedef struct copying {
    cfx_store *store;
    const cfx_store_nodes *nodes;
    cfx_error *err;
} copying;

static cfx_status copy_value(const copying *c, cfx_value *out, cfx_value v,
                             int depth);

/* Copy n values into the store, or none on failure. */
static cfx_status copy_items(const copying *c, cfx_value *out,
                             const cfx_value *v, size_t n, int depth)
{
    for (size_t i = 0; i < n; i++) {
        cfx_status st = copy_value(c, &out[i], v[i], depth);
        if (!st)
            continue;
        while (i)
            cfx_store_drop(c->store, out[--i]);
        return st;
    }
    return CFX_OK;
}

static cfx_status refuse_key(void *user, cfx_node *n, int depth,
                             cfx_value *out, cfx_error *err)
{
    (void)user;
    (void)depth;
    (void)out;
    return cfx_fail(
        err, CFX_EINVAL,
        "Keys for dictionaries used as an argument cannot contain a Node. Got key: %s",
        n->name);
}

/* Copy n pairs of keys and values. */
static cfx_status copy_pairs(const copying *c, cfx_value *out,
                             const cfx_value *v, size_t n, int depth)
{
    const cfx_store_nodes none = {refuse_key, NULL};
    const copying keys = {c->store, &none, c->err};
    for (size_t i = 0; i < n; i += 2) {
        cfx_status st = copy_items(&keys, &out[i], &v[i], 1, depth);
        if (!st) {
            st = copy_items(c, &out[i + 1], &v[i + 1], 1, depth);
            if (!st)
                continue;
            cfx_store_drop(c->store, out[i]);
        }
        while (i)
            cfx_store_drop(c->store, out[--i]);
        return st;
    }
    return CFX_OK;
}

static cfx_status copy_aggregate(const copying *c, cfx_value *out, cfx_value v,
                                 int depth)
{
    if (depth >= CFX_MAX_DEPTH)
        return cfx_fail(c->err, CFX_EINVAL,
                        "a value is nested in more than %d levels",
                        CFX_MAX_DEPTH);
    cfx_value *item = NULL;
    size_t n = cfx_store_items(v, &item);
    size_t size = offsetof(cfx_seq, item) + n * sizeof(cfx_value);
    cfx_seq *seq = cfx_store_alloc(c->store, size);
    if (!seq)
        return cfx_no_memory(c->err);
    seq->refs = 0;
    seq->len = v.u.seq->len;
    seq->ctx = c->store->arena.ctx;
    seq->type = v.u.seq->type;
    cfx_status st = v.kind == CFX_DICT
                        ? copy_pairs(c, seq->item, item, n, depth + 1)
                        : copy_items(c, seq->item, item, n, depth + 1);
    if (st) {
        cfx_store_free(c->store, seq, size);
        return st;
    }
    *out = v;
    out->u.seq = seq;
    return CFX_OK;
}

static cfx_status copy_value(const copying *c, cfx_value *out, cfx_value v,
                             int depth)
{
    switch (v.kind) {
    case CFX_ABSENT:
        return cfx_fail(c->err, CFX_EINVAL, "an argument is absent");
    case CFX_STR:
    case CFX_DEVICE:
    case CFX_LAYOUT:
    case CFX_NAME:
        return cfx_store_text(c->store, out, (cfx_kind)v.kind, v.u.str->text,
                              v.u.str->len, c->err);
    case CFX_COMPLEX:
    case CFX_SLICE:
    case CFX_RANGE:
    case CFX_TUPLE:
    case CFX_LIST:
    case CFX_DICT: return copy_aggregate(c, out, v, depth);
    case CFX_TENSOR:
    case CFX_MODULE:
        *out = cfx_value_ref(v);
        c->store->counted++;
        return CFX_OK;
    case CFX_NODE:
        return c->nodes->translate(c->nodes->user, v.u.node, depth, out,
                                   c->err);
    default: *out = v; return CFX_OK;
    }
}

cfx_status cfx_store_copy_at(cfx_store *store, cfx_value *out, cfx_value v,
                             int depth, const cfx_store_nodes *nodes,
                             cfx_error *err)
{
    return copy_value(&(copying){store, nodes, err}, out, v, depth);
}

cfx_status cfx_store_copy(cfx_store *store, cfx_value *out, cfx_value v,
                          const cfx_store_nodes *nodes, cfx_error *err)
{
    return cfx_store_copy_at(store, out, v, 0, nodes, err);
}

cfx_status cfx_store_copy_array(cfx_store *store, cfx_value **out,
                                const cfx_value *v, size_t n,
                                const cfx_store_nodes *nodes, cfx_error *err)
{
    if (!n) {
        *out = NULL;
        return CFX_OK;
    }
    cfx_value *copy = NULL;
    if (n <= SIZE_MAX / sizeof(*copy))
        copy = cfx_store_alloc(store, n * sizeof(*copy));
    if (!copy)
        return cfx_no_memory(err);
    cfx_status st = copy_items(&(copying){store, nodes, err}, copy, v, n, 0);
    if (st)
        cfx_store_free(store, copy, n * sizeof(*copy));
    else
        *out = copy;
    return st;
}

static void drop_items(cfx_store *store, cfx_value *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        cfx_store_drop(store, v[i]);
}

void cfx_store_drop(cfx_store *store, cfx_value v)
{
    cfx_value *item = NULL;
    size_t n;
    switch (v.kind) {
    case CFX_STR:
    case CFX_DEVICE:
    case CFX_LAYOUT:
    case CFX_NAME: cfx_store_drop_string(store, v.u.str); break;
    case CFX_COMPLEX:
    case CFX_SLICE:
    case CFX_RANGE:
    case CFX_TUPLE:
    case CFX_LIST:
    case CFX_DICT:
        n = cfx_store_items(v, &item);
        drop_items(store, item, n);
        cfx_store_free(store, v.u.seq,
                       offsetof(cfx_seq, item) + n * sizeof(cfx_value));
        break;
    case CFX_TENSOR:
    case CFX_MODULE:
        cfx_value_unref(v);
        store->counted--;
        break;
    default: break;
    }
}

void cfx_store_drop_array(cfx_store *store, cfx_value *v, size_t n)
{
    drop_items(store, v, n);
    cfx_store_free(store, v, n * sizeof(*v));
}
