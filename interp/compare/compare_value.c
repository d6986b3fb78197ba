/*
 * compare_value -- describe how two values differ.
 */
#include <cfx/compare.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Return torch.testing's tolerances; other types are compared exactly. */
static cfx_tolerance tolerance_of(cfx_dtype type, const cfx_tolerance *t)
{
    if (t && t->given)
        return *t;
    switch (type) {
    case CFX_F64: return (cfx_tolerance){true, 1e-7, 1e-7, 0};
    case CFX_F32: return (cfx_tolerance){true, 1.3e-6, 1e-5, 0};
    case CFX_F16: return (cfx_tolerance){true, 1e-3, 1e-5, 0};
    case CFX_BF16: return (cfx_tolerance){true, 1.6e-2, 1e-5, 0};
    default: return (cfx_tolerance){true, 0, 0, 0};
    }
}

/* Elements in row-major order; of complex ones the parts. */
typedef struct elements {
    cfx_tensor *flat;
    cfx_dtype type;
    size_t size;
    int64_t n, parts;
} elements;

static cfx_status flatten(elements *e, const cfx_tensor *t, cfx_error *err)
{
    cfx_status st = cfx_tensor_contiguous(&e->flat, t, err);
    e->type = cfx_dtype_real((cfx_dtype)t->dtype);
    e->parts = e->type == t->dtype ? 1 : 2;
    e->n = cfx_tensor_numel(t) * e->parts;
    e->size = cfx_dtype_size(e->type);
    return st;
}

static const void *element(const elements *e, int64_t i)
{
    return (const char *)e->flat->data + (size_t)i * e->size;
}

/* Format the index of element i of a row-major tensor: "[0, 3]". */
static void format_place(const cfx_tensor *t, int64_t i, char *buf,
                         size_t size)
{
    int64_t index[CFX_MAX_RANK];
    size_t n = (size_t)snprintf(buf, size, "[");
    for (int k = t->rank - 1; k >= 0; k--) {
        index[k] = i % cfx_tensor_size(t, k);
        i /= cfx_tensor_size(t, k);
    }
    for (int k = 0; k < t->rank && n < size; k++)
        n += (size_t)snprintf(buf + n, size - n, "%s%lld", k ? ", " : "",
                              (long long)index[k]);
    if (n < size)
        snprintf(buf + n, size - n, "]");
}

/* Are they close? Integers are compared exactly before they become doubles. */
static bool is_close(const elements *a, const elements *b, int64_t i,
                     const cfx_tolerance *t, double *x, double *y)
{
    *x = cfx_element_double(a->type, element(a, i));
    *y = cfx_element_double(b->type, element(b, i));
    if (!cfx_dtype_is_float(a->type) && t->rtol == 0 && t->atol == 0)
        return cfx_element_int(a->type, element(a, i)) ==
               cfx_element_int(b->type, element(b, i));
    if (isnan(*x) || isnan(*y))
        return isnan(*x) && isnan(*y);
    if (*x == *y)
        return true;
    return isfinite(*x) && isfinite(*y) &&
           fabs(*x - *y) <= t->atol + t->rtol * fabs(*x);
}

/* The largest finite magnitude. */
static double largest(const elements *e)
{
    double most = 0;
    for (int64_t i = 0; i < e->n; i++) {
        double x = fabs(cfx_element_double(e->type, element(e, i)));
        if (x < INFINITY)
            most = fmax(most, x);
    }
    return most;
}

static void note(cfx_difference *d, double x, double y)
{
    double by = fabs(x - y);
    if (!isfinite(by))
        return;
    d->max_abs = fmax(d->max_abs, by);
    if (x != 0)
        d->max_rel = fmax(d->max_rel, by / fabs(x));
}

/* Elements that are equal and not finite, as in masks, have no noise. */
static void note_noise(cfx_difference *d, double x, double y)
{
    if (!isfinite(x) && (x == y || (isnan(x) && isnan(y))))
        return;
    d->signal += x * x;
    d->noise += (x - y) * (x - y);
}

double cfx_difference_snr(const cfx_difference *d)
{
    if (!isfinite(d->noise))
        return NAN;
    return d->noise == 0 ? INFINITY : 10 * log10(d->signal / d->noise);
}

static void compare_elements(cfx_difference *d, const elements *a,
                             const elements *b, const cfx_tolerance *t)
{
    const bool is_float = cfx_dtype_is_float(a->type);
    int64_t worst = -1, differing = 0;
    double far = -1, at[2] = {0, 0};
    for (int64_t i = 0; i < a->n; i++) {
        double x, y;
        bool close = is_close(a, b, i, t, &x, &y);
        note(d, x, y);
        if (is_float)
            note_noise(d, x, y);
        if (close)
            continue;
        differing++;
        /* A difference that is not finite is the largest. */
        double by = isfinite(x - y) ? fabs(x - y) : INFINITY;
        if (by > far) {
            far = by;
            worst = i;
            at[0] = x;
            at[1] = y;
        }
    }
    d->elements += a->n;
    d->floats += is_float ? a->n : 0;
    d->differing += differing;
    if (worst >= 0 && !d->differs) {
        char place[128];
        format_place(a->flat, worst / a->parts, place, sizeof(place));
        snprintf(d->text, sizeof(d->text),
                 "%lld of %lld elements differ, most %s: %.9g and %.9g",
                 (long long)differing, (long long)a->n, place, at[0], at[1]);
    }
    d->differs = d->differs || differing;
}

static bool same_type(const cfx_tensor *a, const cfx_tensor *b)
{
    bool same = a->dtype == b->dtype && a->rank == b->rank;
    char x[256], y[256];
    if (!same)
        return false;
    /* Symbols of two environments are equal if their names are. */
    cfx_tensor_format_type(a, x, sizeof(x));
    cfx_tensor_format_type(b, y, sizeof(y));
    return !strcmp(x, y);
}

static void differ(cfx_difference *d, const char *a, const char *b)
{
    if (!d->differs)
        snprintf(d->text, sizeof(d->text), "%.120s and %.120s", a, b);
    d->differs = true;
}

static cfx_status compare_tensors(cfx_difference *d, const cfx_tensor *a,
                                  const cfx_tensor *b, const cfx_tolerance *t,
                                  cfx_error *err)
{
    elements x = {.n = 0}, y = {.n = 0};
    cfx_tolerance near = tolerance_of(cfx_dtype_real((cfx_dtype)a->dtype), t);
    if (!same_type(a, b)) {
        char have[128], want[128];
        cfx_tensor_format_type(a, have, sizeof(have));
        cfx_tensor_format_type(b, want, sizeof(want));
        differ(d, have, want);
        return CFX_OK;
    }
    if (cfx_tensor_is_meta(a) || cfx_tensor_is_meta(b))
        return CFX_OK;
    cfx_status st = flatten(&x, a, err);
    if (!st)
        st = flatten(&y, b, err);
    if (!st && near.rmax > 0)
        near.atol += near.rmax * largest(&x);
    if (!st)
        compare_elements(d, &x, &y, &near);
    cfx_tensor_unref(x.flat);
    cfx_tensor_unref(y.flat);
    return st;
}

static void compare_floats(cfx_difference *d, double a, double b,
                           const cfx_tolerance *t)
{
    cfx_tolerance near = tolerance_of(CFX_F64, t);
    char x[32], y[32];
    note(d, a, b);
    if (a == b || (isnan(a) && isnan(b)) ||
        fabs(a - b) <= near.atol + near.rtol * fabs(a))
        return;
    cfx_float_repr(x, a);
    cfx_float_repr(y, b);
    differ(d, x, y);
}

/* Compare values without tensors. Modules are equal; their runs may differ. */
static void compare_leaves(cfx_difference *d, cfx_value a, cfx_value b,
                           const cfx_tolerance *t)
{
    char x[32], y[32];
    if (a.kind == CFX_FLOAT && b.kind == CFX_FLOAT) {
        compare_floats(d, a.u.f, b.u.f, t);
    } else if (a.kind == CFX_INT && b.kind == CFX_INT) {
        snprintf(x, sizeof(x), "%lld", (long long)a.u.i);
        snprintf(y, sizeof(y), "%lld", (long long)b.u.i);
        if (a.u.i != b.u.i)
            differ(d, x, y);
    } else if (a.kind == CFX_STR && b.kind == CFX_STR) {
        snprintf(x, sizeof(x), "'%.28s'", a.u.str->text);
        snprintf(y, sizeof(y), "'%.28s'", b.u.str->text);
        if (!cfx_value_equal(a, b))
            differ(d, x, y);
    } else if (a.kind != b.kind ||
               (a.kind != CFX_MODULE && !cfx_value_equal(a, b))) {
        differ(d, cfx_kind_name((cfx_kind)a.kind),
               cfx_kind_name((cfx_kind)b.kind));
    }
}

static bool holds_items(cfx_value v)
{
    return cfx_value_is_seq(v) || v.kind == CFX_DICT;
}

/* The depth is bounded by CFX_MAX_DEPTH. */
static cfx_status compare(cfx_difference *d, cfx_value a, cfx_value b,
                          const cfx_tolerance *t, cfx_error *err)
{
    cfx_status st = CFX_OK;
    if (a.kind == CFX_TENSOR && b.kind == CFX_TENSOR)
        return compare_tensors(d, a.u.tensor, b.u.tensor, t, err);
    if (!holds_items(a) || !holds_items(b)) {
        compare_leaves(d, a, b, t);
    } else if (a.u.seq->len != b.u.seq->len) {
        char x[64], y[64];
        snprintf(x, sizeof(x), "a %s of %u", cfx_kind_name((cfx_kind)a.kind),
                 a.u.seq->len);
        snprintf(y, sizeof(y), "a %s of %u", cfx_kind_name((cfx_kind)b.kind),
                 b.u.seq->len);
        differ(d, x, y);
    } else {
        for (uint32_t i = 0; !st && i < a.u.seq->len; i++)
            st = compare(d, a.u.seq->item[i], b.u.seq->item[i], t, err);
    }
    return st;
}

cfx_status cfx_value_compare(cfx_difference *d, cfx_value a, cfx_value b,
                             const cfx_tolerance *t, cfx_error *err)
{
    *d = (cfx_difference){.differs = false};
    return compare(d, a, b, t, err);
}
