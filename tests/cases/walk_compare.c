/*
 * walk_compare -- compare the results of two runs of an operator case.
 */
#include "tests/cases/walk_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool value_with(void *user, const char *name, int64_t *v)
{
    const walk_unbacked *u = user;
    if (*name == 'n')
        return walk_value_of(NULL, name, v);
    long k = strtol(name + 1, NULL, 10);
    if (k < 0 || k >= WALK_UNBACKED || !u->set[k])
        return false;
    *v = u->v[k];
    return true;
}

bool walk_stands_for(walk_unbacked *u, cfx_dim d, int64_t v)
{
    char text[200];
    int64_t have;
    cfx_dim_format(d, text, sizeof(text));
    if (text[0] == 'u' && !strpbrk(text, " +-*/")) {
        long k = strtol(text + 1, NULL, 10);
        if (k < WALK_UNBACKED && !u->set[k]) {
            u->set[k] = true;
            u->v[k] = v;
        }
    }
    return !cfx_dim_eval(&have, d, value_with, u, NULL) && have == v;
}

static void type_of(const cfx_tensor *t, char *buf, size_t size)
{
    size_t n = cfx_tensor_format_type(t, buf, size);
    for (int i = 0; i < t->rank && n < size; i++) {
        n += (size_t)snprintf(buf + n, size - n, i ? ", " : "@(");
        if (n < size)
            n += cfx_dim_format(t->stride[i], buf + n, size - n);
    }
    if (n < size)
        snprintf(buf + n, size - n, "%s", t->rank ? ")" : "");
}

/* Whether roll moves something, which decides about its strides, depends on a
 * remainder that symbols do not tell. */
static bool is_rolled(const walk_run *r)
{
    return r->w->op && !strncmp(r->w->op->schema, "roll(", 5) && r->w->bent &&
           r->how == SYMBOLS;
}

/*
 * With symbols, strides may differ on axes of extent 1, and where a computed
 * extent becomes 0. Arguments and results that have an extent of 1 or are
 * empty are row-major in several orders of their axes: they are not compared.
 */
static bool same_strides(const walk_run *r, walk_unbacked *u,
                         const cfx_tensor *have, const cfx_tensor *want)
{
    if (r->w->bent && r->w->zero && r->how == SYMBOLS)
        return true;
    if (is_rolled(r) ||
        (r->ones && r->w->one && !cfx_tensor_is_contiguous(have)))
        return true;
    for (int i = 0; i < want->rank; i++)
        if (!cfx_dim_is_int(have->shape[i]) &&
            (cfx_dim_is(want->shape[i], 0) ||
             (r->w->bent && cfx_dim_is(want->shape[i], 1))))
            return true;
    for (int i = 0; i < want->rank; i++) {
        bool one = cfx_dim_is(want->shape[i], 1) && r->how == SYMBOLS;
        if (!one &&
            !walk_stands_for(u, have->stride[i], cfx_tensor_stride(want, i)))
            return false;
    }
    return true;
}

/* Has a meta, which stands for a run that fails, extents that data decide? */
static bool is_undecided(const cfx_tensor *t)
{
    for (int i = 0; i < t->rank; i++)
        if (!cfx_dim_is_int(t->shape[i]))
            return true;
    return false;
}

static bool same_tensor(const walk_run *r, walk_unbacked *u,
                        const cfx_tensor *have, const cfx_tensor *want)
{
    if (have->dtype != want->dtype || have->rank != want->rank)
        return false;
    if (is_undecided(want))
        return is_undecided(have);
    for (int i = 0; i < want->rank; i++)
        if (!walk_stands_for(u, have->shape[i], cfx_tensor_size(want, i)))
            return false;
    return same_strides(r, u, have, want);
}

static bool same(const walk_run *r, walk_unbacked *u, cfx_value have,
                 cfx_value want)
{
    if (have.kind == CFX_SYMINT)
        return want.kind == CFX_INT &&
               walk_stands_for(u, have.u.dim, want.u.i);
    if (have.kind != want.kind)
        return false;
    /* NaN stands for a number that only a run tells. */
    if (have.kind == CFX_FLOAT && isnan(have.u.f))
        return true;
    if (have.kind == CFX_TENSOR)
        return same_tensor(r, u, have.u.tensor, want.u.tensor);
    if (have.kind < CFX_SLICE || have.kind > CFX_DICT)
        return cfx_value_equal(have, want);
    if (have.u.seq->len != want.u.seq->len ||
        have.u.seq->type != want.u.seq->type)
        return false;
    for (uint32_t i = 0; i < have.u.seq->len; i++)
        if (!same(r, u, have.u.seq->item[i], want.u.seq->item[i]))
            return false;
    return true;
}

void walk_show(cfx_value v, char *buf, size_t size)
{
    size_t n = 0;
    if (v.kind == CFX_TENSOR) {
        type_of(v.u.tensor, buf, size);
    } else if (v.kind == CFX_SYMINT) {
        cfx_dim_format(v.u.dim, buf, size);
    } else if (v.kind == CFX_INT) {
        snprintf(buf, size, "%lld", (long long)v.u.i);
    } else if (v.kind == CFX_FLOAT) {
        snprintf(buf, size, "%g", v.u.f);
    } else if (v.kind >= CFX_SLICE && v.kind <= CFX_DICT) {
        n += (size_t)snprintf(buf, size, "(");
        for (uint32_t i = 0; i < v.u.seq->len && n + 2 < size; i++) {
            walk_show(v.u.seq->item[i], buf + n, size - n - 2);
            n += strlen(buf + n);
            n += (size_t)snprintf(buf + n, size - n, ", ");
        }
        if (n + 2 < size)
            snprintf(buf + n, size - n, ")");
    } else {
        snprintf(buf, size, "kind %d, %lld", v.kind, (long long)v.u.i);
    }
}

static bool holds_tensor(cfx_value v)
{
    bool held = v.kind == CFX_TENSOR;
    if (v.kind >= CFX_TUPLE && v.kind <= CFX_DICT)
        for (uint32_t i = 0; !held && i < v.u.seq->len; i++)
            held = holds_tensor(v.u.seq->item[i]);
    return held;
}

/* Append a value to the result in the form of goldens, without elements. */
void walk_add_got(walk_case *w, cfx_value v)
{
    size_t n = strlen(w->got), room = sizeof(w->got) - n;
    if (v.kind != CFX_TENSOR && holds_tensor(v)) {
        bool dict = v.kind == CFX_DICT;
        for (uint32_t i = dict; i < v.u.seq->len; i += dict ? 2 : 1)
            walk_add_got(w, v.u.seq->item[i]);
        return;
    }
    char text[400] = "-", *to = text;
    if (v.kind == CFX_TENSOR)
        type_of(v.u.tensor, text, sizeof(text));
    for (const char *from = text; *from; from++)
        if (*from != ' ')
            *to++ = *from;
    *to = '\0';
    snprintf(w->got + n, room, "%s%s", n ? " ; " : "", text);
}

void walk_compare(walk_case *w, const walk_run *have, const walk_run *want,
                  const char *what)
{
    walk_unbacked u = {0};
    char a[1000], b[1000];
    if (same(have, &u, have->out, want->out))
        return;
    walk_show(have->out, a, sizeof(a));
    walk_show(want->out, b, sizeof(b));
    walk_disagree(w, "%s give %s, a run %s", what, a, b);
}

/* ---- Aliases ---- */

/* Are its extents and offset numbers? If the elements of another tensor decide
 * them, a view of memory is a meta. */
static bool is_placed(const cfx_tensor *t)
{
    bool placed = cfx_dim_is_int(t->offset);
    for (int i = 0; i < t->rank; i++)
        placed = placed && cfx_dim_is_int(t->shape[i]);
    return placed;
}

void walk_compare_places(walk_case *w, const op_case *c, cfx_value promised,
                         cfx_value got)
{
    if (got.kind >= CFX_TUPLE && got.kind <= CFX_DICT) {
        for (uint32_t i = 0; i < got.u.seq->len; i++)
            walk_compare_places(w, c, promised.u.seq->item[i],
                                got.u.seq->item[i]);
        return;
    }
    for (size_t i = 0; got.kind == CFX_TENSOR && i < c->ntensors; i++) {
        const cfx_tensor *p = promised.u.tensor, *g = got.u.tensor;
        bool shares = cfx_tensor_shares(g, c->tensor[i]);
        if (!is_placed(p))
            continue;
        if (shares != cfx_tensor_shares(p, c->tensor[i]))
            walk_disagree(w, "metas %s the memory of arg%zu, a run %s",
                          shares ? "do not share" : "share", i,
                          shares ? "does" : "does not");
    }
}

void walk_compare_offsets(walk_case *w, const op_case *c, cfx_value have,
                          cfx_value got)
{
    walk_unbacked u = {0};
    if (got.kind >= CFX_TUPLE && got.kind <= CFX_DICT) {
        for (uint32_t i = 0; i < got.u.seq->len; i++)
            walk_compare_offsets(w, c, have.u.seq->item[i],
                                 got.u.seq->item[i]);
        return;
    }
    if (got.kind != CFX_TENSOR)
        return;
    int64_t at;
    bool known = cfx_tensor_numel(got.u.tensor) &&
                 !cfx_dim_eval(&at, have.u.tensor->offset, value_with, &u,
                               NULL);
    for (size_t i = 0; i < c->ntensors && known; i++)
        if (cfx_tensor_shares(got.u.tensor, c->tensor[i]) &&
            at != cfx_dim_value(got.u.tensor->offset))
            walk_disagree(w, "symbols give another offset than a run");
}
