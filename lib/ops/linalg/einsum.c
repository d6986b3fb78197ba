/*
 * einsum -- sums of products of tensors over axes that have names.
 *
 * shape   the axes that the equation names after the arrow; without an arrow
 *         those of the ellipsis, then the letters that occur once, in order of
 *         the alphabet. Axes of one name agree, or have extent 1.
 * cost    that of the operators it consists of: two operands at a time, from
 *         left to right or along `path`, are one batched product of matrices.
 *
 * Every operand is brought to the same axes in the same order first: those of
 * the result, then those to be summed over; axes it lacks have extent 1. Of one
 * operand with nothing to sum the result is a view.
 */
#include <string.h>

#include "op/composite.h"
#include "op/infer.h"

CFX_PARAMS(params, EQUATION, TENSORS, PATH);

enum { LETTERS = 52, ELLIPSIS = LETTERS, END = -1, BAD = -2 };
enum { MAX_OPERANDS = 64 };

struct equation {
    const char *left, *arrow, *right; /* arrow: the end of the left side */
    bool explicit_;
    int count[LETTERS]; /* how often a letter occurs on the left */
    int place[LETTERS]; /* its axis, or -1 */
    int dots_at, dots;  /* the axes of the ellipsis; dots_at may be -1 */
    int out, rank;      /* axes of the result, and of the operands */
    int holders[CFX_MAX_RANK]; /* operands in which an axis is not 1 */
    cfx_dim size[CFX_MAX_RANK];
};

/* ---- The equation ---- */

/* The next label, before `end` or a comma. */
static int next_label(const char **at, const char *end)
{
    while (*at < end && **at == ' ')
        ++*at;
    if (*at >= end || **at == ',')
        return END;
    char c = *(*at)++;
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c != '.' || end - *at < 2 || (*at)[0] != '.' || (*at)[1] != '.')
        return BAD;
    *at += 2;
    return ELLIPSIS;
}

/* Count one operand's letters; its ellipsis stands for the other axes. */
static bool read_operand(cfx_scope *s, struct equation *e, const char **at,
                         int rank)
{
    int label, letters = 0, dots = -1;
    while ((label = next_label(at, e->arrow)) >= 0) {
        if (label == ELLIPSIS && dots >= 0)
            break;
        if (label == ELLIPSIS) {
            dots = 0;
        } else {
            letters++;
            e->count[label]++;
        }
    }
    if (label != END)
        cfx_scope_fail(
            s, CFX_EINVAL,
            "einsum(): subscripts must be letters, and one '...' at most");
    else if (dots < 0 ? letters != rank : letters > rank)
        cfx_scope_fail(
            s, CFX_EINVAL,
            "einsum(): the number of subscripts in the equation (%d) does not match the number of dimensions (%d)",
            letters, rank);
    if (dots >= 0 && rank - letters > e->dots)
        e->dots = rank - letters;
    return !cfx_scope_failed(s);
}

static bool read_left(cfx_scope *s, struct equation *e, const cfx_value *x,
                      int n)
{
    const char *at = e->left;
    for (int i = 0; i < n; i++) {
        if (!read_operand(s, e, &at, x[i].u.tensor->rank))
            return false;
        bool more = at < e->arrow;
        if (more != (i + 1 < n)) {
            cfx_scope_fail(
                s, CFX_EINVAL,
                "einsum(): %s operands were provided than specified in the equation",
                more ? "fewer" : "more");
            return false;
        }
        at++;
    }
    return true;
}

/* Axes of the result: as they are named, or by the rule without an arrow. */
static bool read_right(cfx_scope *s, struct equation *e)
{
    const char *at = e->right, *end = at + strlen(at);
    int label;
    if (!e->explicit_) {
        e->dots_at = 0;
        e->rank = e->dots;
        for (int i = 0; i < LETTERS; i++)
            if (e->count[i] == 1)
                e->place[i] = e->rank++;
        return true;
    }
    while ((label = next_label(&at, end)) >= 0) {
        bool dots = label == ELLIPSIS;
        if (dots ? e->dots_at >= 0 : !e->count[label] || e->place[label] >= 0)
            break;
        *(dots ? &e->dots_at : &e->place[label]) = e->rank;
        e->rank += dots ? e->dots : 1;
    }
    if (label != END || at < end)
        cfx_scope_fail(
            s, CFX_EINVAL,
            "einsum(): the output must name subscripts of the inputs, each once");
    return !cfx_scope_failed(s);
}

static bool read_equation(cfx_scope *s, struct equation *e, const char *text,
                          const cfx_value *x, int n)
{
    const char *arrow = strstr(text, "->");
    *e = (struct equation){.left = text, .dots_at = -1};
    e->explicit_ = arrow;
    e->arrow = arrow ? arrow : text + strlen(text);
    e->right = arrow ? arrow + 2 : e->arrow;
    for (int i = 0; i < LETTERS; i++)
        e->place[i] = -1;
    if (!read_left(s, e, x, n) || !read_right(s, e))
        return false;
    e->out = e->rank;
    if (e->dots_at < 0) {
        e->dots_at = e->rank;
        e->rank += e->dots;
    }
    for (int i = 0; i < LETTERS; i++)
        if (e->count[i] && e->place[i] < 0)
            e->place[i] = e->rank++;
    if (e->rank > CFX_MAX_RANK)
        cfx_scope_fail(s, CFX_EUNSUPPORTED,
                       "einsum(): %d axes are more than %d", e->rank,
                       CFX_MAX_RANK);
    for (int i = 0; i < CFX_MAX_RANK; i++)
        e->size[i] = cfx_dim_int(1);
    return !cfx_scope_failed(s);
}

/* ---- Operands of the same axes ---- */

static cfx_dim extent(cfx_value x, int axis)
{
    return x.u.tensor->shape[axis];
}

static bool is_one(cfx_value x, int axis)
{
    return cfx_dim_is(extent(x, axis), 1);
}

/* Axis `from` of x is axis `to` of all. */
static void place_axis(cfx_scope *s, struct equation *e, cfx_value x, int from,
                       int to, int *order)
{
    cfx_dim n = extent(x, from);
    order[to] = from;
    if (cfx_dim_is(n, 1))
        return;
    if (cfx_dim_is(e->size[to], 1))
        e->size[to] = n;
    else if (!cfx_dim_eq(s->env, e->size[to], n))
        cfx_scope_fail(
            s, CFX_ESHAPE,
            "einsum(): operands do not broadcast: extents of one subscript differ");
    e->holders[to]++;
}

/* A letter that x has already: what is on the diagonal of both axes. */
static cfx_value take_diagonal(cfx_scope *s, cfx_value x, int first, int axis)
{
    cfx_value a = cfx_int(first), b = cfx_int(axis);
    if (!cfx_dim_eq(s->env, extent(x, first), extent(x, axis)))
        return cfx_scope_fail(
            s, CFX_ESHAPE,
            "einsum(): a subscript is repeated for an operand, but its extents do not match");
    x = CFX_CALL(s, "torch.diagonal", x, cfx_int(0), a, b);
    return CFX_CALL(s, "torch.movedim", x, cfx_int(-1), a);
}

static int letters_of(const char *at, const char *end)
{
    int label, n = 0;
    while ((label = next_label(&at, end)) >= 0)
        n += label != ELLIPSIS;
    return n;
}

static cfx_value align(cfx_scope *s, struct equation *e, const char **at,
                       cfx_value x)
{
    int order[CFX_MAX_RANK], label, axis = 0;
    int dots = x.u.tensor->rank - letters_of(*at, e->arrow);
    cfx_value axes[CFX_MAX_RANK];
    for (int i = 0; i < e->rank; i++)
        order[i] = -1;
    while ((label = next_label(at, e->arrow)) >= 0 && !cfx_scope_failed(s)) {
        if (label == ELLIPSIS)
            for (int i = e->dots - dots; i < e->dots; i++)
                place_axis(s, e, x, axis++, e->dots_at + i, order);
        else if (order[e->place[label]] < 0)
            place_axis(s, e, x, axis++, e->place[label], order);
        else
            x = take_diagonal(s, x, order[e->place[label]], axis);
    }
    ++*at;
    for (int i = 0; i < e->rank; i++) {
        if (order[i] < 0) {
            x = CFX_CALL(s, "torch.unsqueeze", x, cfx_int(axis));
            order[i] = axis++;
        }
        axes[i] = cfx_int(order[i]);
    }
    return CFX_CALL(s, "torch.permute", x,
                    cfx_list_of(s, CFX_TUPLE, (size_t)e->rank, axes));
}

/* ---- Products ---- */

static cfx_value sum_over(cfx_scope *s, cfx_value x, const bool *which,
                          int rank, bool keep)
{
    cfx_value axes[CFX_MAX_RANK];
    size_t n = 0;
    for (int i = 0; i < rank; i++)
        if (which[i])
            axes[n++] = cfx_int(i);
    return n ? CFX_CALL(s, "torch.sum", x, cfx_list_of(s, CFX_TUPLE, n, axes),
                        cfx_bool(keep))
             : x;
}

/* Axes of a kind, and the product of their extents in x. */
struct group {
    int axis[CFX_MAX_RANK], n;
    cfx_dim size;
};

static void add_axis(cfx_scope *s, struct group *g, cfx_value x, int axis)
{
    g->axis[g->n++] = axis;
    g->size = cfx_dim_mul(s->env, g->size, extent(x, axis));
}

/* x with its axes in the order of four groups, the first three of which are
 * one axis each. */
static cfx_value as_matrices(cfx_scope *s, cfx_value x,
                             const struct group *const g[4])
{
    cfx_value axes[CFX_MAX_RANK], shape[3];
    size_t n = 0;
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < g[k]->n; i++)
            axes[n++] = cfx_int(g[k]->axis[i]);
    for (int k = 0; k < 3; k++)
        shape[k] = cfx_value_of_dim(g[k]->size);
    x = CFX_CALL(s, "torch.permute", x, cfx_list_of(s, CFX_TUPLE, n, axes));
    return CFX_CALL(s, "torch.reshape", x,
                    cfx_list_of(s, CFX_TUPLE, 3, shape));
}

/* Undo it: `y` is (both, left, right), and 1 for each axis summed over. */
static cfx_value from_matrices(cfx_scope *s, cfx_value y, cfx_value a,
                               cfx_value b, const struct group *const g[4])
{
    cfx_value shape[CFX_MAX_RANK], axes[CFX_MAX_RANK];
    int n = 0;
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < g[k]->n; i++, n++) {
            int axis = g[k]->axis[i];
            shape[n] = k == 2 ? cfx_int(1)
                              : cfx_value_of_dim(extent(k == 3 ? b : a, axis));
            axes[axis] = cfx_int(n);
        }
    y = CFX_CALL(s, "torch.reshape", y,
                 cfx_list_of(s, CFX_TUPLE, (size_t)n, shape));
    return CFX_CALL(s, "torch.permute", y,
                    cfx_list_of(s, CFX_TUPLE, (size_t)n, axes));
}

/* a * b, summed over the axes in `sum`, which stay with extent 1. */
static cfx_value product(cfx_scope *s, cfx_value a, cfx_value b,
                         const bool *sum, int rank)
{
    cfx_dim one = cfx_dim_int(1);
    struct group both = {.size = one}, left = both, right = both, inner = both;
    bool any = false;
    for (int i = 0; i < rank; i++) {
        any = any || sum[i];
        if (sum[i])
            add_axis(s, &inner, a, i);
        else if (is_one(a, i))
            add_axis(s, &right, b, i);
        else
            add_axis(s, is_one(b, i) ? &left : &both, a, i);
    }
    if (!any)
        return CFX_CALL(s, "torch.mul", a, b);
    /* The factor whose axes come first in the result is the first one. */
    struct group *first = &left, *second = &right;
    if (left.n && right.n && left.axis[0] > right.axis[right.n - 1]) {
        cfx_value t = a;
        a = b;
        b = t;
        first = &right;
        second = &left;
    }
    const struct group *for_a[] = {&both, first, &inner, second};
    const struct group *for_b[] = {&both, &inner, second, first};
    cfx_value x = as_matrices(s, a, for_a), y = as_matrices(s, b, for_b);
    x = CFX_CALL(s, "torch.bmm", x, y);
    return from_matrices(s, x, a, b, for_a);
}

/* Two operands in one. What no other operand has is summed over now. */
static cfx_value contract(cfx_scope *s, struct equation *e, cfx_value a,
                          cfx_value b)
{
    bool of_a[CFX_MAX_RANK] = {false}, of_b[CFX_MAX_RANK] = {false};
    bool of_both[CFX_MAX_RANK] = {false};
    if (cfx_scope_failed(s))
        return cfx_none();
    for (int i = e->out; i < e->rank; i++) {
        bool in_a = !is_one(a, i), in_b = !is_one(b, i);
        if (in_a && in_b)
            of_both[i] = --e->holders[i] == 1;
        else if (e->holders[i] == 1 && (in_a || in_b))
            *(in_a ? &of_a[i] : &of_b[i]) = true;
        if (of_a[i] || of_b[i] || of_both[i])
            e->holders[i] = 0;
    }
    a = sum_over(s, a, of_a, e->rank, true);
    b = sum_over(s, b, of_b, e->rank, true);
    return cfx_scope_failed(s) ? a : product(s, a, b, of_both, e->rank);
}

static void remove_at(cfx_value *x, int n, int i)
{
    memmove(x + i, x + i + 1, (size_t)(n - i - 1) * sizeof(*x));
}

static cfx_value contract_along(cfx_scope *s, struct equation *e, cfx_value *x,
                                int n, cfx_value path)
{
    for (int k = 0; n > 1; k += 2, n--) {
        int64_t i = path.u.seq->item[k].u.i, j = path.u.seq->item[k + 1].u.i;
        if (i > j) {
            int64_t t = i;
            i = j;
            j = t;
        }
        if (i < 0 || j >= n || i == j)
            return cfx_scope_fail(
                s, CFX_EINVAL, "einsum(): path has no operands %lld and %lld",
                (long long)i, (long long)j);
        cfx_value y = contract(s, e, x[i], x[j]);
        remove_at(x, n, (int)j);
        remove_at(x, n - 1, (int)i);
        x[n - 2] = y;
    }
    return x[0];
}

/* Axes after those of the result: summed, or of extent 1 by now. */
static cfx_value finish(cfx_scope *s, const struct equation *e, cfx_value y,
                        bool one)
{
    bool rest[CFX_MAX_RANK] = {false};
    cfx_value shape[CFX_MAX_RANK];
    if (cfx_scope_failed(s) || e->rank == e->out)
        return y;
    for (int i = e->out; i < e->rank; i++)
        rest[i] = true;
    if (one)
        return sum_over(s, y, rest, e->rank, false);
    for (int i = 0; i < e->out; i++)
        shape[i] = cfx_value_of_dim(extent(y, i));
    return CFX_CALL(s, "torch.reshape", y,
                    cfx_list_of(s, CFX_TUPLE, (size_t)e->out, shape));
}

static cfx_value einsum_build(cfx_scope *s, const cfx_call *call)
{
    struct equation e;
    cfx_value x[MAX_OPERANDS], path = cfx_call_value(call, PATH);
    int n = cfx_call_len(call, TENSORS);
    if (!n || n > MAX_OPERANDS)
        return cfx_scope_fail(
            s, CFX_EINVAL,
            "einsum(): must provide at least one operand, and %d at most",
            MAX_OPERANDS);
    if (path.kind != CFX_NONE && cfx_call_len(call, PATH) != 2 * (n - 1))
        return cfx_scope_fail(
            s, CFX_EINVAL,
            "einsum(): expected contraction path given in path parameter to have size %d",
            2 * (n - 1));
    for (int i = 0; i < n; i++)
        x[i] = cfx_call_item(call, TENSORS, i);
    if (!read_equation(s, &e, cfx_call_str(call, EQUATION), x, n))
        return cfx_none();
    const char *at = e.left;
    for (int i = 0; i < n && !cfx_scope_failed(s); i++)
        x[i] = align(s, &e, &at, x[i]);
    if (path.kind != CFX_NONE && n > 1)
        return finish(s, &e, contract_along(s, &e, x, n, path), false);
    for (int i = 1; i < n; i++)
        x[0] = contract(s, &e, x[0], x[i]);
    return finish(s, &e, x[0], n == 1);
}

/* ---- The operator ---- */

/* Is there one operand, and nothing to be summed over? */
static bool is_view(const cfx_call *call, cfx_scope *s)
{
    struct equation e;
    return cfx_call_len(call, TENSORS) == 1 &&
           read_equation(s, &e, cfx_call_str(call, EQUATION),
                         &cfx_call_value(call, TENSORS).u.seq->item[0], 1) &&
           e.rank == e.out;
}

static cfx_status einsum_infer(cfx_call *call)
{
    cfx_scope s;
    cfx_scope_init(&s, &cfx_composite__meta, call->ctx, call->env);
    cfx_value y = is_view(call, &s) ? einsum_build(&s, call) : cfx_none();
    cfx_status st = y.kind == CFX_TENSOR
                        ? cfx_call_return_take(call, cfx_value_ref(y))
                        : cfx_composite_infer(call, einsum_build);
    cfx_scope_release(&s);
    return st;
}

static void einsum_cost(const cfx_call *call, cfx_cost *cost)
{
    cfx_composite_cost(call, cost, einsum_build);
}

static cfx_status einsum_run(cfx_call *call)
{
    return call->nout ? cfx_composite_run(call, einsum_build) : CFX_OK;
}

const cfx_op cfx_op__einsum = {
    .schema =
        "einsum(str equation, Tensor(a)[*] tensors, *, int[]? path=None) -> Tensor(a)",
    .params = params,
    .aliases = "torch. aten.",
    .doc = "Sums of products over axes that an equation names.",
    .flags = CFX_OP_COMPLEX,
    .infer = einsum_infer,
    .cost = einsum_cost,
    .run = einsum_run,
};
