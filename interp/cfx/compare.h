/*
 * cfx/compare.h -- find where two runs begin to differ.
 *
 * Two interpreters run side by side, and the values of partners are compared:
 * the same model at two CPU levels, or before and after a rewrite. The partner
 * of a node of the second graph is the node whose value it has after rewrites,
 * the last name of its meta `from_node`, or else the node of the same name. The
 * interpreters may have different classes, scopes, contexts, graphs and weights.
 *
 *     cfx_interp a = {0}, b = {0};
 *     cfx_interp_init(&a, &cfx_interp_base, gm, &err);
 *     cfx_interp_init(&b, &cfx_interp_base, fused, &err);
 *     cfx_comparison c = {.size = sizeof(c)};
 *     cfx_compare_runs(&a, &b, inputs, n, inputs, n, &c, &err);
 *     if (c.ndiffer)
 *         puts(c.first_a->name);
 *
 * Each run continues with its own values, so that errors accumulate, unless
 * `same_inputs` is set: then each node shows the error that it makes itself.
 * cfx/minimize.h runs parts on the same inputs, too.
 */
#ifndef CFX_COMPARE_H
#define CFX_COMPARE_H

#include <cfx/interp.h>

/* The allowed difference of elements: |a - b| <= atol + rtol * |a|, as in
 * torch.testing.assert_close, + rmax * the largest finite |a| of the tensor; NaN
 * equals NaN. If zeroed, the defaults of each dtype apply (f32: rtol 1.3e-6,
 * atol 1e-5). Integers are compared exactly unless tolerances are given. */
typedef struct cfx_tolerance {
    bool given;
    double rtol, atol, rmax;
} cfx_tolerance;

typedef struct cfx_difference {
    bool differs;
    int64_t elements, differing; /* of all tensors */
    double max_abs, max_rel;     /* maximum over finite pairs */
    /* Sums of the squares of a and of a - b over floating-point elements. Pairs
     * that are equal and not finite do not count. */
    double signal, noise;
    int64_t floats; /* floating-point elements */
    char text[256]; /* one line about the first, or "" */
} cfx_difference;

typedef struct cfx_comparison {
    size_t size; /* sizeof(cfx_comparison) */
    cfx_tolerance tolerance;
    bool all; /* continue after the first difference */
    /* Called for each difference, in the order of the first run; may be NULL. A
     * status other than CFX_OK ends the comparison. */
    cfx_status (*differs)(void *user, const cfx_node *a, const cfx_node *b,
                          cfx_value va, cfx_value vb, const cfx_difference *d);
    /* Called for nodes that only one graph has; may be NULL. */
    cfx_status (*unmatched)(void *user, const cfx_node *n, bool in_a);
    void *user;

    /* Results. */
    size_t ncompared, ndiffer;
    const cfx_node *first_a, *first_b; /* first difference, or NULL */
    cfx_difference first;
    const cfx_interp *failed; /* the run that failed, or NULL */

    /* After a tensor is compared, the second run gets the elements of the first
     * one's, as if its nodes had computed them. Values that the second run computed
     * before the first, and lists, stay as they are. */
    bool same_inputs;
} cfx_comparison;

CFX_BEGIN_DECLS

/* Compare two values: kinds, lengths, dtypes and shapes, and the elements
 * unless one tensor is a meta. Strides are ignored. Fails with CFX_ENOMEM. */
CFX_API cfx_status cfx_value_compare(cfx_difference *d, cfx_value a,
                                     cfx_value b, const cfx_tolerance *t,
                                     cfx_error *err);

/* Return the signal-to-noise ratio of b in dB, 10 log10(signal / noise), as
 * torch.ao.ns's compute_sqnr: infinity without noise, NaN if elements that
 * differ are not finite. Never fails. */
CFX_API double cfx_difference_snr(const cfx_difference *d);

/*
 * Run both and compare partners; outputs are partners in any case. An image in
 * blocks of channels is compared as rows. If the second graph reaches a node earlier than the first, its value is
 * kept as a copy. The second graph runs on copies of its inputs, so both may be
 * given the same inputs. Stops after the first difference unless `all` is set.
 * Fails as the runs do; c->failed is the run that did.
 */
CFX_API cfx_status cfx_compare_runs(cfx_interp *a, cfx_interp *b,
                                    const cfx_value *inputs_a, size_t na,
                                    const cfx_value *inputs_b, size_t nb,
                                    cfx_comparison *c, cfx_error *err);

CFX_END_DECLS

#endif
