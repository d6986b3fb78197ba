/*
 * walk_run -- put numbers, metas or symbols into an operator case, and call it.
 */
#include "tests/cases/walk_run.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cases/mutant.h"

void walk_disagree(walk_case *w, const char *fmt, ...)
{
    va_list ap;
    if (!w->ok)
        return;
    w->ok = false;
    va_start(ap, fmt);
    vsnprintf(w->why, sizeof(w->why), fmt, ap);
    va_end(ap);
}

/* ---- Symbols for numbers ---- */

static cfx_dim symbol_for(walk_run *r, int64_t v)
{
    char name[48];
    if (v < 1 || (v == 1 && !r->ones) || v >= SYMBOL_MAX)
        return cfx_dim_int(v);
    r->has_one |= v == 1;
    if (r->apart)
        snprintf(name, sizeof(name), "n%lld_%d", (long long)v, r->count++);
    else
        snprintf(name, sizeof(name), "n%lld", (long long)v);
    return cfx_dim_symbol(r->env, name, r->ones ? 1 : 2);
}

bool walk_value_of(void *user, const char *name, int64_t *v)
{
    (void)user;
    *v = strtoll(name + 1, NULL, 10);
    return *name == 'n';
}

/* Extents beyond what memory holds; only metas have them. */
static cfx_dim wild_for(walk_run *r, int64_t v)
{
    static const int64_t extent[] = {
        0,
        1,
        (int64_t)1 << 31,
        (int64_t)1 << 61,
        (int64_t)1 << 32,
        ((int64_t)1 << 31) - 1,
        ((int64_t)1 << 61) - 1,
        (int64_t)1 << 45,
    };
    if (!mutant_chance(&r->chance, 3))
        return r->env && mutant_chance(&r->chance, 2) ? symbol_for(r, v)
                                                      : cfx_dim_int(v);
    return cfx_dim_int(extent[mutant_below(&r->chance, 8)]);
}

/* Does axis a lie within axis b in memory? */
static bool is_within(const cfx_tensor *t, int a, int b)
{
    int64_t x = cfx_tensor_stride(t, a), y = cfx_tensor_stride(t, b);
    return x < y || (x == y && cfx_tensor_size(t, a) == 1 &&
                     cfx_tensor_size(t, b) != 1);
}

/* The strides of t in terms of the extents: each a multiple of what the axes
 * within it take; where it is none, the number. */
static void strides_in_terms(walk_run *r, const cfx_tensor *t,
                             const cfx_dim *shape, cfx_dim *stride)
{
    int order[CFX_MAX_RANK];
    int64_t step = 1;
    cfx_dim of = cfx_dim_int(1);
    for (int i = 0; i < t->rank; i++) {
        int j = i, axis = t->rank - 1 - i;
        for (; j > 0 && is_within(t, axis, order[j - 1]); j--)
            order[j] = order[j - 1];
        order[j] = axis;
    }
    for (int i = 0; i < t->rank; i++) {
        int axis = order[i];
        int64_t have = cfx_tensor_stride(t, axis),
                n = cfx_tensor_size(t, axis);
        stride[axis] = t->stride[axis];
        if (have == 0 || have % step)
            continue;
        stride[axis] = cfx_dim_mul(r->env, of, cfx_dim_int(have / step));
        step = have * (n ? n : 1);
        of = n ? cfx_dim_mul(r->env, stride[axis], shape[axis]) : stride[axis];
    }
}

bool walk_is_row_major(const cfx_tensor *t)
{
    cfx_dim stride[CFX_MAX_RANK];
    cfx_strides_of(NULL, CFX_CONTIGUOUS_FORMAT, t->rank, t->shape, stride);
    for (int i = 0; i < t->rank; i++)
        if (!cfx_dim_same(stride[i], t->stride[i]))
            return false;
    return true;
}

static cfx_value put_tensor(walk_run *r, const cfx_tensor *t)
{
    cfx_dim shape[CFX_MAX_RANK], stride[CFX_MAX_RANK];
    cfx_tensor *meta;
    for (int i = 0; i < t->rank; i++) {
        int64_t n = cfx_tensor_size(t, i);
        shape[i] = r->how == SYMBOLS ? symbol_for(r, n)
                   : r->how == WILD  ? wild_for(r, n)
                                     : t->shape[i];
        stride[i] = t->stride[i];
    }
    if (r->how != META && walk_is_row_major(t))
        cfx_strides_of(r->env, CFX_CONTIGUOUS_FORMAT, t->rank, shape, stride);
    else if (r->how != META)
        strides_in_terms(r, t, shape, stride);
    if (cfx_tensor_meta(&meta, r->s.ctx, (cfx_dtype)t->dtype, t->rank, shape,
                        stride, r->how == WILD ? &r->s.error : NULL))
        return cfx_none();
    return cfx_scope_take(&r->s, cfx_value_of_tensor(meta));
}

/* Make an argument of the form of this run (r->how). */
static cfx_value put(walk_run *r, cfx_value v, bool size)
{
    cfx_value item[64];
    if (r->how == REAL)
        return v;
    if (v.kind == CFX_TENSOR)
        return put_tensor(r, v.u.tensor);
    if (v.kind == CFX_INT && size && r->how == SYMBOLS && v.u.i > 1 &&
        v.u.i < SYMBOL_MAX)
        return cfx_value_of_dim(symbol_for(r, v.u.i));
    if ((v.kind != CFX_TUPLE && v.kind != CFX_LIST && v.kind != CFX_DICT &&
         v.kind != CFX_SLICE) ||
        v.u.seq->len > 64)
        return v;
    for (uint32_t i = 0; i < v.u.seq->len; i++)
        item[i] = put(r, v.u.seq->item[i], size);
    return cfx_scope_take(&r->s,
                          cfx_seq_new(r->s.ctx, (cfx_kind)v.kind, v.u.seq->len,
                                      item, v.u.seq->type));
}

/* ---- Running ---- */

/* Does the schema say SymInt of that parameter, or, where there are no
 * tensors, that any number will do? */
static bool is_size(const cfx_schema *s, const char *name, bool tensors)
{
    char text[64];
    size_t n = strlen(name);
    snprintf(text, sizeof(text), " %s", name);
    for (const char *p = s->text; (p = strstr(p, text)); p++) {
        const char *from = p;
        if (p[n + 1] != ',' && p[n + 1] != '=' && p[n + 1] != ')')
            continue;
        while (from > s->text && from[-1] != ' ' && from[-1] != '(')
            from--;
        if (!strncmp(from, "SymInt", 6) ||
            (!tensors && !strncmp(from, "Scalar", 6)))
            return true;
    }
    return false;
}

/* By descriptor, so that it is known which arguments are sizes. */
static cfx_value run_bound(walk_run *r, const cfx_bound *b)
{
    cfx_value in[CFX_MAX_PARAMS];
    const cfx_schema *s = b->target->schema;
    for (int k = 0; k < s->nparams; k++)
        in[k] = put(r, b->in[k],
                    r->numbers &&
                        is_size(s, s->params[k].name, r->c->ntensors));
    return cfx_scope_call(&r->s, b->target->op, in, (size_t)s->nparams,
                          b->inplace);
}

static cfx_value run_named(walk_run *r)
{
    op_case c = *r->c;
    for (size_t i = 0; i < c.nargs; i++)
        c.args[i] = put(r, c.args[i], false);
    for (size_t i = 0; i < c.nkwargs; i++)
        c.kwargs[2 * i + 1] = put(r, c.kwargs[2 * i + 1], false);
    return case_run(&c, &r->s);
}

void walk_run_begin(walk_run *r, walk_case *w, const op_case *c, int how,
                    const cfx_scope_class *cls, cfx_context *ctx)
{
    *r = (struct walk_run){.w = w, .c = c, .how = how};
    cfx_shape_env_new(&r->env, ctx, NULL);
    cfx_scope_init(&r->s, cls, ctx, cls == &cfx_meta_class ? r->env : NULL);
}

void walk_run_go(walk_run *r, const cfx_bound *b)
{
    cfx_value out = b && r->numbers ? run_bound(r, b) : run_named(r);
    r->status = cfx_scope_failed(&r->s) ? r->s.error.code : CFX_OK;
    r->out = r->status ? cfx_none() : out;
    snprintf(r->error, sizeof(r->error), "%s",
             r->status ? r->s.error.text : "");
    bool lacking = r->status == CFX_ENOMEM && r->s.cls == &cfx_meta_class &&
                   !r->w->wild;
    if (r->status && (!*r->error || lacking))
        walk_disagree(r->w, "fails without a sentence: %s", r->error);
}

void walk_run_end(walk_run *r)
{
    cfx_scope_release(&r->s);
    cfx_shape_env_free(r->env);
}
