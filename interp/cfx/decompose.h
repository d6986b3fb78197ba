/*
 * cfx/decompose.h -- replace calls by several simpler ones.
 *
 * A decomposition is code over values that computes an operator by means of
 * others. The library's table decomposes into the Core ATen set, the operators
 * of exported programs; a program may pass its own table.
 *
 *     static cfx_value silu(cfx_scope *s, const cfx_value *in)
 *     {
 *         return cfx_mul(s, in[0], cfx_sigmoid(s, in[0]));
 *     }
 *
 *     static const cfx_decomposition mine[] = {{"aten.silu.default", silu}};
 *     ...
 *     cfx_decompose_options o = {.size = sizeof(o), .table = mine, .n = 1};
 *     cfx_decompose(gm, &o, &changed, &err);
 */
#ifndef CFX_DECOMPOSE_H
#define CFX_DECOMPOSE_H

#include <cfx/graph_module.h>
#include <cfx/scope.h>

/* `in` has one value per parameter of the operator's schema, with defaults.
 * Returning None keeps the call: some decompositions need a known rank or
 * extent. */
typedef cfx_value cfx_decompose_fn(cfx_scope *s, const cfx_value *in);

typedef struct cfx_decomposition {
    const char *op; /* a name of the operator: "aten.silu.default" */
    cfx_decompose_fn *fn;
} cfx_decomposition;

/* Zeroed members take the defaults. */
typedef struct cfx_decompose_options {
    size_t size;                    /* sizeof(cfx_decompose_options) */
    const cfx_decomposition *table; /* searched before the library's */
    size_t n;
    bool only_table; /* do not use the library's */
    /* Calls of operators for which it returns true stay. */
    bool (*skip)(void *user, const cfx_node *n);
    void *user;
} cfx_decompose_options;

CFX_BEGIN_DECLS

/*
 * Decompose each call of a function or method that has an entry, and the new
 * calls, until none has one. A call that writes to its only tensor (relu_) is
 * replaced by one with a new result if only its own users see the difference.
 * Other calls that write, views of memory that something writes to, and calls
 * that may resolve to several operators stay. New nodes inherit the provenance
 * of those they replace; if those have meta `tensor_meta`, so do the new ones.
 * *changed (which may be NULL) is the number of nodes made, removed or
 * rewritten. Fails with CFX_ENAME for an unknown operator in a table,
 * CFX_ENOMEM.
 */
CFX_API cfx_status cfx_decompose(cfx_module *gm,
                                 const cfx_decompose_options *options,
                                 size_t *changed, cfx_error *err);

/* The library's table; the last entry has no operator. */
CFX_API extern const cfx_decomposition cfx_core_decompositions[];

CFX_END_DECLS

#endif
