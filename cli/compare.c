/*
 * compare -- two results, number by number.
 */
#include "compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- The parts of a result, in order ---- */

struct parts {
    cfx_value *item;
    size_t n, cap;
};

static cfx_status add_part(void *user, cfx_value v)
{
    struct parts *p = user;

    if (p->n == p->cap) {
        size_t cap = p->cap ? 2 * p->cap : 16;
        void *more = realloc(p->item, cap * sizeof(*p->item));
        if (!more)
            return CFX_ENOMEM;
        p->item = more;
        p->cap = cap;
    }
    p->item[p->n++] = v;
    return CFX_OK;
}

/* ---- Numbers ---- */

/* All numbers of a tensor as doubles, row by row; a new reference. */
static cfx_status as_doubles(cfx_tensor **out, const cfx_tensor *t,
                             cfx_error *err)
{
    cfx_status rc = cfx_tensor_meta(out, t->ctx, CFX_F64, t->rank, t->shape,
                                    NULL, err);

    if (rc)
        return rc;
    rc = cfx_tensor_alloc(*out, err);
    if (!rc)
        rc = cfx_tensor_copy(*out, t, err);
    if (rc) {
        cfx_tensor_unref(*out);
        *out = NULL;
    }
    return rc;
}

static double distance(double a, double b)
{
    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    double d = fabs(a - b) / (1 + fabs(a));
    return isnan(d) ? INFINITY : d;
}

static cfx_status compare_numbers(const cfx_tensor *a, const cfx_tensor *b,
                                  size_t part, double tolerance,
                                  double *worst, cfx_error *err)
{
    const double *x = a->data, *y = b->data;
    int64_t n = cfx_tensor_numel(a), at = -1;
    double most = 0;

    for (int64_t i = 0; i < n; i++) {
        double d = distance(x[i], y[i]);
        if (d > most) {
            most = d;
            at = i;
        }
    }
    if (most > *worst)
        *worst = most;
    if (most <= tolerance)
        return CFX_OK;
    return cfx_fail(err, CFX_ENUMERIC,
                    "output %zu differs: element %lld is %.9g, it was %.9g "
                    "(tolerance %g)", part, (long long)at, y[at], x[at],
                    tolerance);
}

static cfx_status compare_tensors(const cfx_tensor *a, const cfx_tensor *b,
                                  size_t part, double tolerance,
                                  double *worst, cfx_error *err)
{
    char was[128], is[128];
    cfx_tensor *x = NULL, *y = NULL;

    cfx_tensor_format_type(a, was, sizeof(was));
    cfx_tensor_format_type(b, is, sizeof(is));
    if (strcmp(was, is))
        return cfx_fail(err, CFX_ENUMERIC, "output %zu is %s, it was %s", part,
                        is, was);
    cfx_status rc = as_doubles(&x, a, err);
    if (!rc)
        rc = as_doubles(&y, b, err);
    if (!rc)
        rc = compare_numbers(x, y, part, tolerance, worst, err);
    cfx_tensor_unref(x);
    cfx_tensor_unref(y);
    return rc;
}

static cfx_status compare_parts(const struct parts *a, const struct parts *b,
                                double tolerance, double *worst,
                                cfx_error *err)
{
    cfx_status rc = CFX_OK;

    if (a->n != b->n)
        return cfx_fail(err, CFX_ENUMERIC, "there are %zu outputs, there were "
                        "%zu", b->n, a->n);
    for (size_t i = 0; i < a->n && !rc; i++) {
        cfx_value x = a->item[i], y = b->item[i];
        if (x.kind != y.kind)
            rc = cfx_fail(err, CFX_ENUMERIC, "output %zu is a %s, it was a %s",
                          i, cfx_kind_name((cfx_kind)y.kind),
                          cfx_kind_name((cfx_kind)x.kind));
        else if (x.kind == CFX_TENSOR)
            rc = compare_tensors(x.u.tensor, y.u.tensor, i, tolerance, worst,
                                 err);
        else if (x.kind == CFX_FLOAT
                     ? !(distance(x.u.f, y.u.f) <= tolerance)
                     : !cfx_value_equal(x, y))
            rc = cfx_fail(err, CFX_ENUMERIC, "output %zu is not what it was",
                          i);
    }
    return rc;
}

cfx_status cli_compare(cfx_value a, cfx_value b, double tolerance,
                       double *worst, cfx_error *err)
{
    struct parts x = {0}, y = {0};

    *worst = 0;
    cfx_status rc = cfx_value_visit(a, add_part, &x);
    if (!rc)
        rc = cfx_value_visit(b, add_part, &y);
    if (rc)
        rc = cfx_fail(err, rc, "out of memory");
    else
        rc = compare_parts(&x, &y, tolerance, worst, err);
    free(x.item);
    free(y.item);
    return rc;
}
