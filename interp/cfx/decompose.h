/*
 * cfx/decompose.h -- calls as several simpler ones.
 *
 * A decomposition is code over values that computes what an operator does by
 * other operators. The table that comes with the library leads to the Core ATen
 * set, which exported programs consist of; a program gives its own.
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

/* `in` is one value a parameter of the operator's schema, with defaults. None:
 * it cannot be done here (some need a rank or an extent that is not known), and
 * the call stays. */
typedef cfx_value cfx_decompose_fn(cfx_scope *s, const cfx_value *in);

typedef struct cfx_decomposition {
    const char *op;          /* a name of the operator: "aten.silu.default" */
    cfx_decompose_fn *fn;
} cfx_decomposition;

/* Zeroed members take the defaults. */
typedef struct cfx_decompose_options {
    size_t size;             /* sizeof(cfx_decompose_options) */
    const cfx_decomposition *table; /* looked at before the library's */
    size_t n;
    bool only_table;         /* not the library's */
    /* Calls of an operator for which it is true stay. */
    bool (*skip)(void *user, const cfx_node *n);
    void *user;
} cfx_decompose_options;

CFX_BEGIN_DECLS

/*
 * Decompose each call of a function or method that has an entry, and what comes
 * of it, until nothing has one. A call of one tensor that writes to it (relu_)
 * gives a new result instead, where only its own users see the difference;
 * other calls that write, views of memory that something writes to, and calls
 * that may be of several operators stay. New nodes inherit the provenance of
 * those they replace; where nodes have meta `tensor_meta`, so do the new ones.
 * *changed (which may be NULL) is the number of nodes made, removed or
 * rewritten. Fails with CFX_ENAME for a table's operator that is unknown,
 * CFX_ENOMEM.
 */
CFX_API cfx_status cfx_decompose(cfx_module *gm,
                                 const cfx_decompose_options *options,
                                 size_t *changed, cfx_error *err);

/* The library's table; ends with an entry without an operator. */
CFX_API extern const cfx_decomposition cfx_core_decompositions[];

CFX_END_DECLS

#endif
