/*
 * store.h -- the memory of a graph's arguments. Not installed.
 *
 * Values are copied in, deeply: aggregates and strings become objects of the
 * store that are not counted, equal strings are one object, and tensors are
 * counted. What is dropped is used again for what comes next, by size class,
 * so that a graph which is edited for ever does not grow.
 */
#ifndef CFX_STORE_H
#define CFX_STORE_H

#include <cfx/graph.h>

#include "base/util.h"

/* Blocks of up to 32 * 16 bytes by the 16, then by powers of two. */
enum {
    CFX_STORE_SMALL = 32,
    CFX_STORE_CLASSES = CFX_STORE_SMALL + 64,
    CFX_STORE_RECENT = 6  /* as a power of two */
};

typedef struct cfx_store_block {
    struct cfx_store_block *next;
} cfx_store_block;

typedef struct cfx_store {
    cfx_arena arena;
    cfx_map strings;      /* the texts */
    cfx_string *recent[1 << CFX_STORE_RECENT]; /* some of them, or NULL */
    size_t counted;       /* references to objects of others */
    cfx_store_block *spare[CFX_STORE_CLASSES];
} cfx_store;

void cfx_store_init(cfx_store *store, cfx_context *ctx);
/* Gives back the memory; values must have been dropped if any is counted. */
void cfx_store_release(cfx_store *store);

/* Aligned to 16 bytes. Size 0 gives NULL; else NULL is lack of memory. */
void *cfx_store_alloc(cfx_store *store, size_t size);
void cfx_store_free(cfx_store *store, void *p, size_t size);

/* A string of that kind. Fails with CFX_ENOMEM. */
cfx_status cfx_store_text(cfx_store *store, cfx_value *out, cfx_kind kind,
                          const char *text, size_t len, cfx_error *err);

/* The same alone; NULL may be dropped. */
cfx_status cfx_store_string(cfx_store *store, cfx_string **out,
                            const char *text, size_t len, cfx_error *err);
void cfx_store_drop_string(cfx_store *store, cfx_string *s);

/* What copying asks about nodes: the value, in the store, that takes the place
 * of n, which stands in `depth` aggregates. */
typedef struct cfx_store_nodes {
    cfx_status (*translate)(void *user, cfx_node *n, int depth,
                            cfx_value *out, cfx_error *err);
    void *user;
} cfx_store_nodes;

/* Copy a value, or n of them into a new array. On failure *out is as before.
 * Fails with CFX_EINVAL, CFX_ENOMEM, and as `translate` does. */
cfx_status cfx_store_copy(cfx_store *store, cfx_value *out, cfx_value v,
                          const cfx_store_nodes *nodes, cfx_error *err);
/* The same inside of `depth` aggregates. */
cfx_status cfx_store_copy_at(cfx_store *store, cfx_value *out, cfx_value v,
                             int depth, const cfx_store_nodes *nodes,
                             cfx_error *err);
cfx_status cfx_store_copy_array(cfx_store *store, cfx_value **out,
                                const cfx_value *v, size_t n,
                                const cfx_store_nodes *nodes, cfx_error *err);

/* Give back what copying made. Absent values and NULL are allowed. */
void cfx_store_drop(cfx_store *store, cfx_value v);
void cfx_store_drop_array(cfx_store *store, cfx_value *v, size_t n);

/* The items of an aggregate, and their number (of a dict: keys and values); 0
 * for anything else. */
CFX_INLINE size_t cfx_store_items(cfx_value v, cfx_value **items)
{
    switch (v.kind) {
    case CFX_COMPLEX:
    case CFX_SLICE:
    case CFX_RANGE:
    case CFX_TUPLE:
    case CFX_LIST:
    case CFX_DICT:
        *items = v.u.seq->item;
        return v.u.seq->len;
    default:
        return 0;
    }
}

#endif
