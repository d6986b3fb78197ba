/*
 * store.h -- the memory of a graph's arguments. Not installed.
 *
 * Values are copied deeply: aggregates and strings become uncounted objects of
 * the store, strings are interned, and tensors are counted. Freed memory is
 * reused by size class, so that edits do not make a graph grow for ever.
 */
#ifndef CFX_STORE_H
#define CFX_STORE_H

#include <cfx/graph.h>

#include "base/util.h"

/* Size classes: multiples of 16 bytes up to 512, then powers of two. */
enum {
    CFX_STORE_SMALL = 32,
    CFX_STORE_CLASSES = CFX_STORE_SMALL + 64,
    CFX_STORE_RECENT = 6 /* as a power of two */
};

typedef struct cfx_store_block {
    struct cfx_store_block *next;
} cfx_store_block;

typedef struct cfx_store {
    cfx_arena arena;
    cfx_map strings;                           /* interned strings */
    cfx_string *recent[1 << CFX_STORE_RECENT]; /* a cache */
    size_t counted; /* references to counted objects */
    cfx_store_block *spare[CFX_STORE_CLASSES];
} cfx_store;

void cfx_store_init(cfx_store *store, cfx_context *ctx);
/* Free the memory; counted values must have been dropped. */
void cfx_store_release(cfx_store *store);

/* Aligned to 16 bytes. NULL for size 0, or when out of memory. */
void *cfx_store_alloc(cfx_store *store, size_t size);
void cfx_store_free(cfx_store *store, void *p, size_t size);

/* A string of that kind. Fails with CFX_ENOMEM. */
cfx_status cfx_store_text(cfx_store *store, cfx_value *out, cfx_kind kind,
                          const char *text, size_t len, cfx_error *err);

/* Intern a string; dropping NULL is allowed. */
cfx_status cfx_store_string(cfx_store *store, cfx_string **out,
                            const char *text, size_t len, cfx_error *err);
void cfx_store_drop_string(cfx_store *store, cfx_string *s);

/* Translates the nodes of a copy: n, nested in `depth` aggregates, becomes a
 * value in the store. */
typedef struct cfx_store_nodes {
    cfx_status (*translate)(void *user, cfx_node *n, int depth, cfx_value *out,
                            cfx_error *err);
    void *user;
} cfx_store_nodes;

/* Copy a value, or n of them into a new array. On failure *out is as before.
 * Fails with CFX_EINVAL, CFX_ENOMEM, and as `translate` does. */
cfx_status cfx_store_copy(cfx_store *store, cfx_value *out, cfx_value v,
                          const cfx_store_nodes *nodes, cfx_error *err);
/* Like cfx_store_copy, inside of `depth` aggregates. */
cfx_status cfx_store_copy_at(cfx_store *store, cfx_value *out, cfx_value v,
                             int depth, const cfx_store_nodes *nodes,
                             cfx_error *err);
cfx_status cfx_store_copy_array(cfx_store *store, cfx_value **out,
                                const cfx_value *v, size_t n,
                                const cfx_store_nodes *nodes, cfx_error *err);

/* Release a copy. Absent values and NULL are allowed. */
void cfx_store_drop(cfx_store *store, cfx_value v);
void cfx_store_drop_array(cfx_store *store, cfx_value *v, size_t n);

/* The items of an aggregate (of a dict: keys and values), and their number;
 * else 0. */
CFX_INLINE size_t cfx_store_items(cfx_value v, cfx_value **items)
{
    switch (v.kind) {
    case CFX_COMPLEX:
    case CFX_SLICE:
    case CFX_RANGE:
    case CFX_TUPLE:
    case CFX_LIST:
    case CFX_DICT: *items = v.u.seq->item; return v.u.seq->len;
    default: return 0;
    }
}

#endif
