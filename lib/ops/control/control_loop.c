/*
 * control_loop -- graphs that run many times: while_loop, map and scan.
 */
#include "ops/control/control.h"

#include <stdio.h>

/* ---- Results of one round ---- */

/* The items of what a graph gave, which they are counted by; *n of them. */
static cfx_status items_of(control *c, int k, cfx_value v, uint32_t least,
                           const cfx_value **items, uint32_t *n)
{
    if (!cfx_value_is_seq(v) || v.u.seq->len < least)
        return cfx_call_fail(
            c->call, CFX_EINVAL,
            "%s should return a tuple of at least %u elements",
            cfx_call__param_name(c->call, k), least);
    *items = v.u.seq->item;
    *n = v.u.seq->len;
    return CFX_OK;
}

/* Put the first values of `from` in the place of those in `row`. */
static void take_first(control_row *row, size_t n, const cfx_value *from)
{
    for (size_t i = 0; i < n; i++) {
        cfx_value old = row->v[i];
        row->v[i] = cfx_value_ref(from[i]);
        cfx_value_unref(old);
    }
}

/* A row of shares of `first`, then of `second`. */
static cfx_status fill_row(control *c, control_row *row, const cfx_seq *first,
                           const cfx_seq *second)
{
    cfx_status st = cfx_control__row(c, row, first->len + second->len);
    if (st)
        return st;
    take_first(row, first->len, first->item);
    for (uint32_t i = 0; i < second->len; i++)
        row->v[first->len + i] = cfx_value_ref(second->item[i]);
    return CFX_OK;
}

static bool is_meta(cfx_value v)
{
    return v.kind == CFX_TENSOR && cfx_tensor_is_meta(v.u.tensor);
}

static cfx_status give_row(control *c, cfx_kind kind, const control_row *row,
                           size_t n, cfx_value *out)
{
    *out = cfx_seq_new(c->s->ctx, kind, n, row->v, NULL);
    return out->kind ? CFX_OK : cfx_no_memory(c->call->err);
}

/* ---- while_loop ---- */

/* Before a round whose number is not known: numbers that are carried may be
 * any, so that they become symbols. */
static cfx_status forget_numbers(control *c, control_row *row, uint32_t n)
{
    for (uint32_t i = 0; c->call->env && i < n; i++) {
        cfx_value v = row->v[i];
        if (v.kind != CFX_SYMINT && (v.kind != CFX_INT || v.u.i < 0))
            continue;
        cfx_dim d = cfx_dim_unbacked(c->call->env);
        if (cfx_dim_is_bad(d))
            return cfx_no_memory(c->call->err);
        row->v[i] = cfx_value_of_dim(d);
    }
    return CFX_OK;
}

static bool is_extent(cfx_value v)
{
    return v.kind == CFX_INT || v.kind == CFX_SYMINT;
}

static cfx_status check_count(control *c, uint32_t have, uint32_t want)
{
    return have == want
               ? CFX_OK
               : cfx_call_fail(
                     c->call, CFX_EINVAL,
                     "body_fn should return the same number of elements as carried_inputs, %u, not %u",
                     want, have);
}

/* Shapes and types of any round: the result must have those of the carried
 * values; numbers may differ. */
static cfx_status any_round(control *c, control_row *row, uint32_t n)
{
    const cfx_value *items = NULL;
    char name[64];
    uint32_t count = 0;
    cfx_value result = CFX_NOTHING;
    cfx_status st = forget_numbers(c, row, n);
    if (!st)
        st = cfx_control__call(c, BODY_FN, row->v, row->n, &result);
    if (!st)
        st = items_of(c, BODY_FN, result, n, &items, &count);
    if (!st)
        st = check_count(c, count, n);
    for (uint32_t i = 0; !st && i < n; i++) {
        cfx_value v = CFX_NOTHING;
        snprintf(name, sizeof(name), "carried_inputs[%u]", i);
        control_merge m = {c, "body_fn", name, true};
        /* A symbol that stands for any number does for the next one, too. */
        if (c->call->env && is_extent(items[i]) &&
            row->v[i].kind == CFX_SYMINT)
            continue;
        st = cfx_control__merge(&m, items[i], row->v[i], &v);
        cfx_value_unref(row->v[i]);
        row->v[i] = v;
    }
    cfx_value_unref(result);
    return st;
}

/* Without data, a loop over known numbers is unrolled up to this many
 * rounds. */
enum { MOST_UNROLLED = 1024 };

static bool is_computed(const control *c, const control_row *row)
{
    bool meta = c->call->env || !c->s->hook.computes;
    for (size_t i = 0; i < row->n; i++)
        meta = meta || is_meta(row->v[i]);
    return !meta;
}

/* *more: was the condition true, and has the body run? Where that is not known
 * the row becomes what all rounds have in common. */
static cfx_status next_round(control *c, control_row *row, uint32_t n,
                             uint64_t round, bool *more)
{
    const cfx_value *items = NULL;
    uint32_t count = 0;
    bool known, go = false;
    cfx_value result;
    *more = false;
    cfx_status st = cfx_context_check(c->s->ctx, c->call->err);
    if (!st)
        st = cfx_control__call(c, COND_FN, row->v, row->n, &result);
    if (st)
        return st;
    st = cfx_control__truth(c, result, "what cond_fn returns", &known, &go);
    cfx_value_unref(result);
    if (!st && known && round >= MOST_UNROLLED && !is_computed(c, row))
        known = false;
    if (!st && !known)
        return any_round(c, row, n);
    if (st || !go)
        return st;
    st = cfx_control__call(c, BODY_FN, row->v, row->n, &result);
    if (st)
        return st;
    st = items_of(c, BODY_FN, result, n, &items, &count);
    if (!st)
        st = check_count(c, count, n);
    if (!st)
        take_first(row, n, items);
    cfx_value_unref(result);
    *more = !st;
    return st;
}

cfx_status cfx_control__while_loop(control *c, cfx_value *out)
{
    const cfx_seq *carried = list_of(c, CARRIED_INPUTS);
    uint32_t n = carried->len;
    control_row row = {.n = 0};
    bool more = true;
    cfx_status st = fill_row(c, &row, carried, list_of(c, ADDITIONAL_INPUTS));
    for (uint64_t i = 0; !st && more; i++)
        st = next_round(c, &row, n, i, &more);
    if (!st)
        st = give_row(c, CFX_TUPLE, &row, n, out);
    cfx_control__row_release(c, &row);
    return st;
}

/* ---- Slices, and their stack ---- */

/* The slices and results of map and scan. */
typedef struct sweep {
    control *c;
    const cfx_seq *xs;
    cfx_dim rounds;
    control_row args;  /* of one round */
    control_row stack; /* results, whole; made in the first round */
} sweep;

/* Do all tensors have the same, positive number of slices? */
static cfx_status check_slices(sweep *w, const char *what)
{
    cfx_call *call = w->c->call;
    for (uint32_t i = 0; i < w->xs->len; i++) {
        cfx_value v = w->xs->item[i];
        if (v.kind != CFX_TENSOR || !v.u.tensor->rank)
            return cfx_call_fail(
                call, CFX_EINVAL,
                "%s can only consist of tensors that have an axis", what);
        cfx_dim n = v.u.tensor->shape[0];
        if (i && !cfx_dim_eq(call->env, n, w->rounds)) {
            char a[128], b[128];
            cfx_tensor_format_type(w->xs->item[0].u.tensor, a, sizeof(a));
            cfx_tensor_format_type(v.u.tensor, b, sizeof(b));
            return cfx_call_fail(
                call, CFX_ESHAPE,
                "Leading dimensions of %s must be consistent. Got %s and %s",
                what, a, b);
        }
        w->rounds = i ? w->rounds : n;
    }
    if (!w->xs->len)
        return cfx_call_fail(call, CFX_EINVAL, "there are no %s", what);
    if (cfx_dim_is(w->rounds, 0))
        return cfx_call_fail(call, CFX_ESHAPE,
                             "Leading dimensions of %s cannot be 0", what);
    return CFX_OK;
}

/* Slice `i` of a tensor, as a view. */
static cfx_status slice(control *c, const cfx_tensor *t, int64_t i,
                        cfx_tensor **out)
{
    cfx_dim at = cfx_dim_add(
        c->call->env, t->offset,
        cfx_dim_mul(c->call->env, t->stride[0], cfx_dim_int(i)));
    return cfx_tensor_view(out, t, t->rank - 1, t->shape + 1, t->stride + 1,
                           at, c->call->err);
}

/* Put slice i of all xs into the arguments, from `at` on. */
static cfx_status take_slices(sweep *w, int64_t i, size_t at)
{
    for (uint32_t k = 0; k < w->xs->len; k++) {
        cfx_tensor *t;
        cfx_status st = slice(w->c, w->xs->item[k].u.tensor, i, &t);
        if (st)
            return st;
        cfx_value_unref(w->args.v[at + k]);
        w->args.v[at + k] = cfx_value_of_tensor(t);
    }
    return CFX_OK;
}

/* A tensor for the stacked results of all rounds, each like `one`. */
static cfx_status new_stack(sweep *w, const cfx_tensor *one, cfx_value *out)
{
    control *c = w->c;
    cfx_dim shape[CFX_MAX_RANK];
    cfx_tensor *t;
    if (one->rank == CFX_MAX_RANK)
        return cfx_call_fail(c->call, CFX_ESHAPE,
                             "the result has more than %d axes", CFX_MAX_RANK);
    shape[0] = w->rounds;
    for (int i = 0; i < one->rank; i++)
        shape[i + 1] = one->shape[i];
    cfx_status st = cfx_tensor_meta(&t, c->s->ctx, (cfx_dtype)one->dtype,
                                    one->rank + 1, shape, NULL, c->call->err);
    if (!st && !cfx_tensor_is_meta(one)) {
        st = cfx_tensor_alloc(t, c->call->err);
        if (st)
            cfx_tensor_unref(t);
    }
    if (!st)
        *out = cfx_value_of_tensor(t);
    return st;
}

static bool same_type(const cfx_tensor *a, const cfx_tensor *b)
{
    bool same = a->dtype == b->dtype && a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++)
        same = cfx_dim_same(a->shape[i], b->shape[i]);
    return same;
}

/* Copy a round's result to its place. */
static cfx_status put(sweep *w, const cfx_tensor *all, const cfx_tensor *one,
                      int64_t i)
{
    control *c = w->c;
    cfx_tensor *place;
    cfx_status st = slice(c, all, i, &place);
    if (st)
        return st;
    if (same_type(place, one)) {
        st = cfx_tensor_copy(place, one, c->call->err);
    } else {
        char a[128], b[128];
        cfx_tensor_format_type(place, a, sizeof(a));
        cfx_tensor_format_type(one, b, sizeof(b));
        st = cfx_call_fail(c->call, CFX_ESHAPE,
                           "round %lld gives %s, the rounds before it gave %s",
                           (long long)i, b, a);
    }
    cfx_tensor_unref(place);
    return st;
}

/* Gather what round i gave. None stays None. */
static cfx_status gather(sweep *w, int64_t i, const cfx_value *v, uint32_t n)
{
    control *c = w->c;
    cfx_status st = i ? CFX_OK : cfx_control__row(c, &w->stack, n);
    if (!st && n != w->stack.n)
        st = cfx_call_fail(c->call, CFX_EINVAL,
                           "round %lld gives %u values, the first gave %zu",
                           (long long)i, n, w->stack.n);
    for (uint32_t k = 0; !st && k < n; k++) {
        cfx_value *all = &w->stack.v[k];
        if (!i && v[k].kind == CFX_TENSOR)
            st = new_stack(w, v[k].u.tensor, all);
        else if (!i && v[k].kind == CFX_NONE)
            *all = cfx_none();
        if (!st && all->kind != v[k].kind)
            st = cfx_call_fail(c->call, CFX_EINVAL,
                               "only tensors and None can be stacked, not %s",
                               cfx_kind_name((cfx_kind)v[k].kind));
        if (!st && all->kind == CFX_TENSOR &&
            !cfx_tensor_is_meta(all->u.tensor))
            st = put(w, all->u.tensor, v[k].u.tensor, i);
    }
    return st;
}

/* Is one round enough, since nothing is computed? */
static bool is_symbolic(const cfx_value *v, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        if (is_meta(v[k]))
            return true;
    return false;
}

static cfx_status must_be_known(control *c)
{
    return cfx_call_fail(c->call, CFX_EUNSUPPORTED,
                         "the number of slices must be known to compute them");
}

/* ---- map ---- */

static cfx_status map_round(sweep *w, int64_t i, bool *more)
{
    const cfx_value *items = NULL;
    uint32_t n = 0;
    cfx_value result;
    cfx_status st = cfx_context_check(w->c->s->ctx, w->c->call->err);
    if (!st)
        st = take_slices(w, i, 0);
    if (!st)
        st = cfx_control__call(w->c, F, w->args.v, w->args.n, &result);
    if (st)
        return st;
    st = items_of(w->c, F, result, 0, &items, &n);
    if (!st)
        st = gather(w, i, items, n);
    *more = !st && !is_symbolic(items, n);
    if (*more && !cfx_dim_is_int(w->rounds))
        st = must_be_known(w->c);
    *more = *more && !st && i + 1 < cfx_dim_value(w->rounds);
    cfx_value_unref(result);
    return st;
}

static void release(sweep *w)
{
    cfx_control__row_release(w->c, &w->args);
    cfx_control__row_release(w->c, &w->stack);
}

cfx_status cfx_control__map(control *c, cfx_value *out)
{
    sweep w = {.c = c, .xs = list_of(c, XS)};
    bool more = true;
    cfx_status st = check_slices(&w, "mapped xs");
    if (!st)
        st = fill_row(c, &w.args, w.xs, list_of(c, POS_ARGS));
    for (int64_t i = 0; !st && more; i++)
        st = map_round(&w, i, &more);
    if (!st)
        st = give_row(c, CFX_TUPLE, &w.stack, w.stack.n, out);
    release(&w);
    return st;
}

/* ---- scan ---- */

/* A round gives what is carried on, then what is gathered; of an associative
 * scan both are the same. */
static cfx_status scan_round(sweep *w, int64_t i, uint32_t n, bool both,
                             bool *more)
{
    control *c = w->c;
    const cfx_value *items = NULL;
    uint32_t count = 0;
    cfx_value result;
    cfx_status st = cfx_context_check(c->s->ctx, c->call->err);
    if (!st)
        st = take_slices(w, i, n);
    if (!st)
        st = cfx_control__call(c, COMBINE_FN, w->args.v, w->args.n, &result);
    if (st)
        return st;
    st = items_of(c, COMBINE_FN, result, n, &items, &count);
    bool symbolic = !st && is_symbolic(items, count);
    for (uint32_t k = 0; symbolic && !st && k < n; k++) {
        cfx_value v = CFX_NOTHING;
        control_merge m = {c, "combine_fn", both ? "xs" : "init", true};
        st = cfx_control__merge(&m, items[k], w->args.v[k], &v);
        cfx_value_unref(w->args.v[k]);
        w->args.v[k] = v;
    }
    if (!st && !symbolic)
        take_first(&w->args, n, items);
    if (!st)
        st = both ? gather(w, i, items, count)
                  : gather(w, i, items + n, count - n);
    if (!st && !symbolic && !cfx_dim_is_int(w->rounds))
        st = must_be_known(c);
    *more = !st && !symbolic && i + 1 < cfx_dim_value(w->rounds);
    cfx_value_unref(result);
    return st;
}

/* The arguments of a round: what is carried, slices, what stays. */
static cfx_status scan_args(sweep *w, const cfx_seq *init,
                            const cfx_seq *others)
{
    uint32_t n = init->len, m = w->xs->len;
    cfx_status st = cfx_control__row(w->c, &w->args, n + m + others->len);
    if (st)
        return st;
    take_first(&w->args, n, init->item);
    for (uint32_t i = 0; i < others->len; i++)
        w->args.v[n + m + i] = cfx_value_ref(others->item[i]);
    return CFX_OK;
}

cfx_status cfx_control__scan(control *c, cfx_value *out)
{
    const cfx_seq *init = list_of(c, INIT);
    sweep w = {.c = c, .xs = list_of(c, XS)};
    control_row all = {.n = 0};
    uint32_t n = init->len;
    bool more = true;
    cfx_status st = check_slices(&w, "xs");
    if (!st)
        st = scan_args(&w, init, list_of(c, ADDITIONAL_INPUTS));
    for (int64_t i = 0; !st && more; i++)
        st = scan_round(&w, i, n, false, &more);
    if (!st)
        st = cfx_control__row(c, &all, n + w.stack.n);
    if (!st) {
        take_first(&all, n, w.args.v);
        for (size_t i = 0; i < w.stack.n; i++)
            all.v[n + i] = cfx_value_ref(w.stack.v[i]);
        st = give_row(c, CFX_LIST, &all, all.n, out);
    }
    cfx_control__row_release(c, &all);
    release(&w);
    return st;
}

/* The first result is the first slice itself. */
static cfx_status first_slices(sweep *w, uint32_t n)
{
    cfx_status st = take_slices(w, 0, n);
    if (st)
        return st;
    take_first(&w->args, n, w->args.v + n);
    return gather(w, 0, w->args.v, n);
}

cfx_status cfx_control__associative_scan(control *c, cfx_value *out)
{
    const cfx_seq *xs = list_of(c, XS);
    sweep w = {.c = c, .xs = xs};
    uint32_t n = xs->len;
    cfx_status st = check_slices(&w, "xs");
    if (!st)
        st = scan_args(&w, xs, list_of(c, ADDITIONAL_INPUTS));
    if (!st)
        st = first_slices(&w, n);
    bool more = !st && !cfx_dim_is(w.rounds, 1);
    for (int64_t i = 1; !st && more; i++)
        st = scan_round(&w, i, n, true, &more);
    if (!st)
        st = give_row(c, CFX_TUPLE, &w.stack, w.stack.n, out);
    release(&w);
    return st;
}
