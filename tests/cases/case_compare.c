/*
 * case_compare -- results of operator cases against golden text, and against
 * each other.
 */
#include "tests/cases/case.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <cfx/text.h>

#include "base/util.h"

/* ---- Comparing ---- */

struct compare {
    const char *at;
    bool exact;
    char *why;
    size_t why_size;
    size_t items;
};

static double tolerance(cfx_dtype t)
{
    return t == CFX_F64    ? 1e-7
           : t == CFX_C128 ? 1e-7
           : t == CFX_F16  ? 4e-3
           : t == CFX_BF16 ? 3e-2
                           : 3e-5;
}

static void describe(const cfx_tensor *t, char *buf, size_t size)
{
    size_t n = (size_t)snprintf(buf, size, "%s[", cfx_dtypes[t->dtype].abbr);
    if (t->dtype == CFX_BOOL)
        n = (size_t)snprintf(buf, size, "bool[");
    for (int i = 0; i < t->rank && n < size; i++)
        n += (size_t)snprintf(buf + n, size - n, "%s%lld", i ? "," : "",
                              (long long)cfx_tensor_size(t, i));
    n += (size_t)snprintf(buf + n, size - n, "]@(");
    for (int i = 0; i < t->rank && n < size; i++)
        n += (size_t)snprintf(buf + n, size - n, "%s%lld", i ? "," : "",
                              (long long)cfx_tensor_stride(t, i));
    snprintf(buf + n, size - n, ")");
}

static void to_index(const cfx_tensor *t, int64_t flat, int64_t *index)
{
    for (int i = t->rank - 1; i >= 0; i--) {
        index[i] = flat % cfx_tensor_size(t, i);
        flat /= cfx_tensor_size(t, i);
    }
}

/* One number of a golden; of a complex one its two parts. */
static bool read_golden(struct compare *c, const cfx_tensor *t, double want[2])
{
    char *end;
    want[0] = cfx_strtod(c->at, &end);
    want[1] = 0;
    if (end == c->at)
        return false;
    if (cfx_dtype_is_complex((cfx_dtype)t->dtype)) {
        want[1] = cfx_strtod(end, &end);
        end += *end == 'j';
    }
    c->at = end;
    return true;
}

static bool compare_elements(struct compare *c, const cfx_tensor *t)
{
    int64_t n = cfx_tensor_numel(t), shown = n < 24 ? n : 24;
    int parts = cfx_dtype_is_complex((cfx_dtype)t->dtype) ? 2 : 1;
    bool wide = t->dtype == CFX_F64 || t->dtype == CFX_C128;
    bool exact = c->exact && cfx_dtype_size((cfx_dtype)t->dtype) == 2;
    double scale = 0, tol = tolerance((cfx_dtype)t->dtype);
    for (int64_t at = 0; at < parts * shown; at++) {
        int64_t index[CFX_MAX_RANK], k = at / parts;
        double given[2], found[2];
        if (at % parts == 0) {
            to_index(t, n <= 24 ? k : k * (n - 1) / 23, index);
            cfx_element_complex((cfx_dtype)t->dtype, cfx_tensor_at(t, index),
                                found);
            if (!read_golden(c, t, given)) {
                snprintf(c->why, c->why_size, "golden has %lld elements",
                         (long long)k);
                return false;
            }
            scale = fabs(given[1]) > scale && isfinite(given[1])
                        ? fabs(given[1])
                        : scale;
        }
        double want = given[at % parts], have = found[at % parts];
        scale = fabs(want) > scale && isfinite(want) ? fabs(want) : scale;
        bool same = have == want || (exact && (float)have == (float)want) ||
                    (isnan(have) && isnan(want)) ||
                    (!exact &&
                     fabs(have - want) <= tol * (fabs(want) + 0.1 * scale) +
                                              (wide ? 1e-12 : 1e-6));
        if (!same) {
            snprintf(c->why, c->why_size, "element %lld is %.9g, not %.9g",
                     (long long)k, have, want);
            return false;
        }
    }
    return true;
}

static bool compare_tensor(struct compare *c, const cfx_tensor *t)
{
    char have[256];
    describe(t, have, sizeof(have));
    size_t n = strlen(have);
    if (strncmp(c->at, have, n) || (c->at[n] && c->at[n] != ' ')) {
        snprintf(c->why, c->why_size, "is %s, not %.*s", have,
                 (int)strcspn(c->at, " "), c->at);
        return false;
    }
    c->at += n;
    return cfx_tensor_is_meta(t) || compare_elements(c, t);
}

static cfx_status into_buf(void *user, const char *text, size_t len)
{
    cfx_buf_add(user, text, len);
    return CFX_OK;
}

static bool compare_literal(struct compare *c, cfx_context *ctx, cfx_value v)
{
    cfx_buf b;
    cfx_buf_init(&b, ctx);
    cfx_print_value((cfx_sink){into_buf, &b}, v, CFX_STYLE_REPR, NULL);
    bool same = b.len && !strncmp(c->at, b.s, b.len);
    if (!same && v.kind == CFX_FLOAT) {
        char *end;
        double want = cfx_strtod(c->at, &end);
        same = fabs(want - v.u.f) <= 3e-5 * fabs(want);
        b.len = (size_t)(end - c->at);
    }
    if (same)
        c->at += b.len;
    else
        snprintf(c->why, c->why_size, "is %s, not %s", cfx_buf_str(&b), c->at);
    cfx_buf_release(&b);
    return same;
}

static bool holds_tensor(cfx_value v)
{
    if (v.kind == CFX_TENSOR)
        return true;
    if (v.kind < CFX_TUPLE || v.kind > CFX_DICT)
        return false;
    uint32_t n = v.u.seq->len;
    for (uint32_t i = 0; i < n; i++)
        if (holds_tensor(v.u.seq->item[i]))
            return true;
    return false;
}

static bool compare_value(struct compare *c, cfx_context *ctx, cfx_value v)
{
    if (v.kind >= CFX_TUPLE && v.kind <= CFX_DICT && holds_tensor(v)) {
        uint32_t step = v.kind == CFX_DICT ? 2 : 1;
        for (uint32_t i = step - 1; i < v.u.seq->len; i += step)
            if (!compare_value(c, ctx, v.u.seq->item[i]))
                return false;
        return true;
    }
    if (c->items++) {
        if (strncmp(c->at, " ; ", 3)) {
            snprintf(c->why, c->why_size, "more results than %zu",
                     c->items - 1);
            return false;
        }
        c->at += 3;
    }
    return v.kind == CFX_TENSOR ? compare_tensor(c, v.u.tensor)
                                : compare_literal(c, ctx, v);
}

/* The module as it prints; `\n` stands for the ends of lines. */
static bool compare_repr(struct compare *c, const cfx_module *m)
{
    cfx_buf b;
    cfx_buf_init(&b, cfx_module_context(m));
    cfx_print_modules((cfx_sink){into_buf, &b}, m, NULL);
    const char *have = cfx_buf_str(&b), *p = have, *q = c->at;
    while (*p && *q) {
        bool line = *p == '\n' && q[0] == '\\' && q[1] == 'n';
        if (*p != *q && !line)
            break;
        p++;
        q += line ? 2 : 1;
    }
    bool same = !*p && !*q;
    if (!same)
        snprintf(c->why, c->why_size, "prints as %s, not %s", have, c->at);
    cfx_buf_release(&b);
    return same;
}

/* " ; state NAME: TENSOR": a buffer that the call changed. */
static bool compare_state(struct compare *c, const cfx_module *m)
{
    char name[64], inner[256];
    size_t n = strcspn(c->at + 9, ":");
    snprintf(name, sizeof(name), "%.*s", (int)n, c->at + 9);
    const cfx_state *state = cfx_module_state(m, name);
    c->at += 9 + n + 2;
    if (state && state->tensor && compare_tensor(c, state->tensor))
        return true;
    snprintf(inner, sizeof(inner), "%s", c->why);
    snprintf(c->why, c->why_size, "%s %s", name, inner);
    return false;
}

bool case_compare(cfx_scope *s, const op_case *oc, cfx_value result,
                  const char *golden, char *why, size_t size)
{
    struct compare c = {
        .at = golden, .exact = oc->exact, .why = why, .why_size = size};
    *why = '\0';
    if (oc->only_made)
        return compare_repr(&c, oc->module);
    if (!compare_value(&c, s->ctx, result))
        return false;
    while (!strncmp(c.at, " ; arg", 6)) {
        char *end;
        size_t k = strtoul(c.at + 6, &end, 10);
        c.at = end + 2;
        if (k >= oc->ntensors || !compare_tensor(&c, oc->tensor[k])) {
            char inner[256];
            snprintf(inner, sizeof(inner), "%s", why);
            snprintf(why, size, "arg%zu %s", k, inner);
            return false;
        }
    }
    while (!strncmp(c.at, " ; state ", 9) && oc->module) {
        if (!compare_state(&c, oc->module))
            return false;
    }
    if (*c.at)
        snprintf(why, size, "golden goes on: %.60s", c.at);
    return !*c.at;
}

/* ---- Two results ---- */

static bool same_tensor(const cfx_tensor *a, const cfx_tensor *b)
{
    if (a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (!cfx_dim_same(a->shape[i], b->shape[i]) ||
            !cfx_dim_same(a->stride[i], b->stride[i]))
            return false;
    if (cfx_tensor_is_meta(a) || cfx_tensor_is_meta(b))
        return true;
    int64_t index[CFX_MAX_RANK] = {0}, n = cfx_tensor_numel(a);
    for (int64_t i = 0; i < n; i++, case_next_index(a, index))
        if (memcmp(cfx_tensor_at(a, index), cfx_tensor_at(b, index),
                   cfx_dtype_size((cfx_dtype)a->dtype)))
            return false;
    return true;
}

bool case_same(cfx_value a, cfx_value b)
{
    if (a.kind != b.kind)
        return false;
    if (a.kind == CFX_TENSOR)
        return same_tensor(a.u.tensor, b.u.tensor);
    if (!holds_tensor(a) || !holds_tensor(b))
        return cfx_value_equal(a, b);
    bool same = a.u.seq->len == b.u.seq->len;
    for (uint32_t i = 0; same && i < a.u.seq->len; i++)
        same = case_same(a.u.seq->item[i], b.u.seq->item[i]);
    return same;
}
