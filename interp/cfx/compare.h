/*
 * cfx/compare.h -- where two runs begin to differ.
 *
 * Two interpreters run side by side, a node of the first and then the node of
 * the same name of the second, and what they give is compared: the same model
 * under two CPU levels, or before and after a rewrite. The interpreters may
 * have different classes, scopes, contexts, graphs and weights.
 *
 *     cfx_interp a = {0}, b = {0};
 *     cfx_interp_init(&a, &cfx_interp_base, gm, &err);
 *     cfx_interp_init(&b, &cfx_interp_base, fused, &err);
 *     cfx_comparison c = {.size = sizeof(c)};
 *     cfx_compare_runs(&a, &b, inputs, n, inputs, n, &c, &err);
 *     if (c.ndiffer)
 *         puts(c.first_a->name);
 *
 * Each run goes on with its own values, so that errors grow as they do in real
 * life; cfx/minimize.h runs parts on the same inputs.
 */
#ifndef CFX_COMPARE_H
#define CFX_COMPARE_H

#include <cfx/interp.h>

/* How much elements may differ: |a - b| <= atol + rtol * |a|, as
 * torch.testing.assert_close has it; NaN is equal to NaN. Zeroed: its defaults
 * for each dtype (f32: rtol 1.3e-6, atol 1e-5). Integers are compared exactly
 * unless the tolerances are given. */
typedef struct cfx_tolerance {
    bool given;
    double rtol, atol;
} cfx_tolerance;

typedef struct cfx_difference {
    bool differs;
    int64_t elements, differing; /* of all tensors together */
    double max_abs, max_rel;     /* the largest, where both are finite */
    char text[256];              /* one line about the first, or "" */
} cfx_difference;

typedef struct cfx_comparison {
    size_t size;                 /* sizeof(cfx_comparison) */
    cfx_tolerance tolerance;
    bool all;                    /* go on behind the first difference */
    /* Told of each, in the order of the first run; may be NULL. What it
     * returns other than CFX_OK ends the comparison. */
    cfx_status (*differs)(void *user, const cfx_node *a, const cfx_node *b,
                          cfx_value va, cfx_value vb,
                          const cfx_difference *d);
    /* Told of nodes that only one of the graphs has; may be NULL. */
    cfx_status (*unmatched)(void *user, const cfx_node *n, bool in_a);
    void *user;

    /* Results. */
    size_t ncompared, ndiffer;
    const cfx_node *first_a, *first_b; /* where they differ first, or NULL */
    cfx_difference first;
    const cfx_interp *failed;    /* the run that failed, or NULL */
} cfx_comparison;

CFX_BEGIN_DECLS

/* Compare two values: kinds, lengths, and of tensors dtype, shape and, unless
 * one is a meta, the elements. Strides do not count. Fails with CFX_ENOMEM. */
CFX_API cfx_status cfx_value_compare(cfx_difference *d, cfx_value a,
                                     cfx_value b, const cfx_tolerance *t,
                                     cfx_error *err);

/*
 * Run both and compare. Nodes are matched by name; the outputs are, whatever
 * they are called. A node that the second graph has in another place is kept
 * as a copy until its turn comes. The second graph runs on copies of its
 * inputs, which may thus be the first one's. Stops behind the first difference
 * unless `all` is set. Fails as the runs do, and c->failed is the one that did.
 */
CFX_API cfx_status cfx_compare_runs(cfx_interp *a, cfx_interp *b,
                                    const cfx_value *inputs_a, size_t na,
                                    const cfx_value *inputs_b, size_t nb,
                                    cfx_comparison *c, cfx_error *err);

CFX_END_DECLS

#endif
