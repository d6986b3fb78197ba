/*
 * fuse_attention -- scaled_dot_product_attention in place of its products and softmax:
 *
 *     softmax(query @ key^T * scale + mask) @ value
 *
 * as models write it, and as Core ATen and the ONNX exporters of PyTorch do. They scale
 * the scores, or query and key; add the mask, or fill the scores that it hides; and
 * some guard rows that the mask hides as a whole, whose weights are 0 / 0.
 *
 * scaled_dot_product_attention gives 0 for such a row, softmax alone gives NaN. Where
 * the formula has no guard and the mask may hide a row, the mask of that row becomes
 * infinity, so that the row stays NaN. The guard of ONNX exporters also turns NaN of
 * query and key into 0; these stay NaN, as in the model that was exported.
 */
#include <cfx/ops.h>

#include <math.h>

#include "interp/rewrite/rewrite_rules.h"
#include "graph/graph_impl.h"

/* The placeholders of the pattern. MOVED is the key before its axes are permuted, KEY_T the
 * transposed key where no permutation is found. BIAS is a second mask. SEEN is a boolean
 * mask, LOW the value of hidden scores. */
enum { QUERY, MOVED, KEY_T, VALUE, BIAS, MASK, SEEN, LOW, SOFTMAX_DIM };
#define PARAMS "query moved key_t value bias mask seen low dim"

/* A number so low that a score added to it is lost in rounding. */
static const double lowest = -1e30;

/* ---- Constants ---- */

/* Has a constant an element above -inf in each row; or, with `every`, no other? */
static bool leaves_some(cfx_pass_call *p, cfx_tensor *t, bool every)
{
    cfx_scope s;
    cfx_scope_init(&s, &cfx_eager_class, p->ctx, NULL);
    cfx_value seen = cfx_ne(&s, cfx_value_of_tensor(t), cfx_float(-INFINITY));
    if (!every)
        seen = cfx_any(&s, seen, .dim = cfx_int(-1));
    seen = cfx_item(&s, cfx_all(&s, seen));
    bool all = !cfx_scope_failed(&s) && seen.kind == CFX_BOOL_VALUE &&
               seen.u.i;
    cfx_scope_release(&s);
    return all;
}

static bool is_number(void *p, cfx_value v)
{
    double x;
    return cfx_facts__number(p, v, &x);
}

static bool is_zero(void *p, cfx_value v)
{
    double x;
    const cfx_node *n = v.kind == CFX_NODE ? v.u.node : NULL;
    if (n && cfx_node_is(n, "full") && n->nargs > 1)
        v = n->args[1];
    return cfx_facts__number(p, v, &x) && x == 0;
}

/* ---- Permutations ---- */

static bool read_axis(cfx_value v, int rank, int *out)
{
    int64_t axis = v.kind == CFX_INT ? v.u.i + (v.u.i < 0 ? rank : 0) : -1;
    *out = (int)axis;
    return axis >= 0 && axis < rank;
}

/* transpose(x, a, b) as a permutation. */
static bool read_transpose(const cfx_node *n, const cfx_schema *schema,
                           int rank, int *axes)
{
    int a, b;
    if (!read_axis(cfx_pass__arg(n, schema, "dim0"), rank, &a) ||
        !read_axis(cfx_pass__arg(n, schema, "dim1"), rank, &b))
        return false;
    for (int i = 0; i < rank; i++)
        axes[i] = i == a ? b : i == b ? a : i;
    return true;
}

static bool read_permute(const cfx_node *n, const cfx_schema *schema, int rank,
                         int *axes)
{
    cfx_value dims = cfx_pass__arg(n, schema, "dims");
    bool listed = cfx_value_is_seq(dims);
    const cfx_value *item = listed ? dims.u.seq->item : n->args + 1;
    uint32_t len = listed ? dims.u.seq->len : n->nargs ? n->nargs - 1 : 0;
    bool all = (int)len == rank;
    for (int i = 0; all && i < rank; i++)
        all = read_axis(item[i], rank, &axes[i]);
    return all;
}

/* The axes of its argument, in the order in which n has them; false: n moves none. */
static bool read_axes(const cfx_node *n, int rank, int *axes)
{
    const cfx_schema *schema = cfx_pass__signature(n);
    return schema && cfx_node__arg(n, 0) &&
           (cfx_node_is(n, "transpose")
                ? read_transpose(n, schema, rank, axes)
                : cfx_node_is(n, "permute") &&
                      read_permute(n, schema, rank, axes));
}

static bool is_permutation(void *p, cfx_value v)
{
    const cfx_tensor *t = cfx_node__known_tensor(v.u.node);
    int axes[CFX_MAX_RANK];
    (void)p;
    return t && read_axes(v.u.node, t->rank, axes);
}

static const cfx_match_predicate predicates[] = {
    {"number", is_number, NULL},
    {"zero", is_zero, NULL},
    {"permutation", is_permutation, NULL},
};

/* ---- The pattern ---- */

static cfx_value any(cfx_scope *s, const char *predicate)
{
    return cfx_pattern_where(s, cfx_pattern_any(s), predicate);
}

/* x times a number, x divided by one, or x alone. The names are those of the product
 * and of the quotient. */
static cfx_value scaled(cfx_scope *s, cfx_value x, const char *times,
                        const char *over)
{
    return cfx_pattern_one_of(
        s, cfx_named(s, times, cfx_mul(s, x, any(s, "number"))),
        cfx_named(s, over, cfx_pattern__quotient(s, x, any(s, "number"))), x);
}

static cfx_value product(cfx_scope *s, cfx_value a, cfx_value b)
{
    return cfx_pattern_one_of(s, cfx_matmul(s, a, b), cfx_bmm(s, a, b));
}

static cfx_value scores(cfx_scope *s, const cfx_value *in)
{
    cfx_value low = cfx_pattern_where(s, in[LOW], "number");
    cfx_value a = scaled(s, in[QUERY], "query_times", "query_over");
    cfx_value moved = cfx_pattern_call(s, "permutation", &in[MOVED], 1);
    cfx_value b = scaled(
        s,
        cfx_pattern_one_of(s, cfx_named(s, "permutation", moved), in[KEY_T]),
        "key_times", "key_over");
    cfx_value x = scaled(s, product(s, a, b), "scores_times", "scores_over");
    x = cfx_pattern_one_of(s, cfx_add(s, x, in[BIAS]),
                           cfx_baddbmm(s, in[BIAS], a, b), x);
    return cfx_pattern_one_of(
        s, cfx_add(s, x, in[MASK]),
        cfx_named(s, "shows", cfx_where(s, in[SEEN], x, low)),
        cfx_where(s, in[SEEN], low, x), cfx_masked_fill(s, x, in[SEEN], low),
        x);
}

static cfx_value softmax(cfx_scope *s, cfx_value x, cfx_value dim)
{
    return cfx_pattern_one_of(
        s, cfx_softmax(s, x, dim, .dtype = cfx_pattern_any(s)),
        cfx_aten_softmax(s, x, dim, cfx_bool(false)));
}

/* Is x -inf in the whole row? As Core ATen asks. */
static cfx_value is_empty(cfx_scope *s, cfx_value x)
{
    cfx_value seen = cfx_logical_not(s, cfx_eq(s, x, cfx_float(-INFINITY)));
    return cfx_logical_not(s, cfx_any(s, seen, .dim = cfx_pattern_any(s),
                                      .keepdim = cfx_bool(true)));
}

/* The weights w; or 0 in rows of scores x that are hidden as a whole. */
static cfx_value guarded(cfx_scope *s, cfx_value x, cfx_value w)
{
    cfx_value zero = cfx_pattern_one_of(
        s, any(s, "zero"),
        cfx_full_like(s, w, any(s, "zero"), .dtype = cfx_pattern_any(s),
                      .layout = cfx_pattern_any(s),
                      .device = cfx_pattern_any(s),
                      .pin_memory = cfx_pattern_any(s),
                      .memory_format = cfx_pattern_any(s)));
    cfx_value empty = cfx_pattern_one_of(s, cfx_isnan(s, w), is_empty(s, x));
    return cfx_pattern_one_of(
        s, cfx_named(s, "guard", cfx_where(s, empty, zero, w)), w);
}

static cfx_value attention(cfx_scope *s, const cfx_value *in, void *user)
{
    (void)user;
    cfx_value x = scores(s, in);
    cfx_value w = guarded(s, x, softmax(s, x, in[SOFTMAX_DIM]));
    return product(s, w, in[VALUE]);
}

/* x with its rows before its batch in memory, and its heads after it. */
static cfx_value rows_first(cfx_scope *s, cfx_value x)
{
    cfx_value order = cfx_list(s, cfx_int(2), cfx_int(0), cfx_int(1),
                               cfx_int(3));
    cfx_value back = cfx_list(s, cfx_int(1), cfx_int(2), cfx_int(0),
                              cfx_int(3));
    cfx_value y = cfx_clone(
        s, cfx_permute(s, x, order),
        .memory_format = cfx_value_of_format(CFX_CONTIGUOUS_FORMAT));
    return cfx_permute(s, y, back);
}

/* The result as Core ATen has it. */
static cfx_value attention_rows_first(cfx_scope *s, const cfx_value *in,
                                      void *user)
{
    return cfx_named(s, "rows_first", rows_first(s, attention(s, in, user)));
}

/* ---- The condition ---- */

/* The type of the transposed key. */
static const cfx_tensor *key_t_of(const cfx_match *m)
{
    const cfx_node *moved = cfx_match__node(m, "permutation");
    return moved ? cfx_node__known_tensor(moved) : cfx_match__known(m, KEY_T);
}

static cfx_dim extent(const cfx_tensor *t, int from_end)
{
    return t->shape[t->rank - from_end];
}

/* Are query, key and value of one type, with the same batch and heads? */
static bool operands_fit(const cfx_match *m)
{
    const cfx_tensor *q = cfx_match__known(m, QUERY);
    const cfx_tensor *k = key_t_of(m);
    const cfx_tensor *v = cfx_match__known(m, VALUE);
    bool fit = q && k && v && (q->rank == 3 || q->rank == 4) &&
               k->rank == q->rank && v->rank == q->rank &&
               k->dtype == q->dtype && v->dtype == q->dtype &&
               cfx_dtype_is_float((cfx_dtype)q->dtype);
    for (int i = 0; fit && i + 2 < q->rank; i++)
        fit = cfx_dim_same(q->shape[i], k->shape[i]) &&
              cfx_dim_same(q->shape[i], v->shape[i]);
    return fit && cfx_dim_same(extent(q, 1), extent(k, 2)) &&
           cfx_dim_same(extent(k, 1), extent(v, 2));
}

/* Does a mask of this type leave the shape of the scores as it is? */
static bool spreads(const cfx_match *m, int i, int dtype)
{
    const cfx_tensor *q = cfx_match__known(m, QUERY);
    const cfx_tensor *k = key_t_of(m);
    const cfx_tensor *mask = cfx_match__known(m, i);
    bool fits = mask && mask->dtype == dtype && mask->rank > 0 &&
                mask->rank <= q->rank;
    for (int j = 1; fits && j <= mask->rank; j++)
        fits = cfx_dim_is(extent(mask, j), 1) ||
               cfx_dim_same(extent(mask, j), extent(j == 1 ? k : q, j));
    return fits;
}

static bool mask_fits(cfx_pass_call *p, const cfx_match *m)
{
    double low;
    int dtype = cfx_match__known(m, QUERY)->dtype;
    if ((m->placeholders[BIAS].kind && !spreads(m, BIAS, dtype)) ||
        (m->placeholders[MASK].kind && !spreads(m, MASK, dtype)))
        return false;
    return !m->placeholders[SEEN].kind ||
           (spreads(m, SEEN, CFX_BOOL) && dtype == CFX_F32 &&
            cfx_facts__number(p, m->placeholders[LOW], &low) && low <= lowest);
}

static bool is_attention(cfx_pass_call *p, const cfx_match *m)
{
    if (!operands_fit(m))
        cfx_pass_missed(
            p, m->anchor,
            "its query, key and value have unknown shapes, or other types or batches");
    else if (!cfx_match__is_last_axis(m, QUERY, m->placeholders[SOFTMAX_DIM]))
        cfx_pass_missed(p, m->anchor, "its softmax is not over the last axis");
    else if (!mask_fits(p, m))
        cfx_pass_missed(
            p, m->anchor,
            "its mask has another type, widens the scores or hides them by a number above %g",
            lowest);
    else
        return true;
    return false;
}

/* ---- What is built ---- */

/* The number by which a node of the match multiplies or divides. */
static double operand_of(cfx_pass_call *p, const cfx_node *n)
{
    double x = 1;
    for (uint32_t i = 0; i < n->nkwargs; i++)
        if (cfx_facts__number(p, n->kwargs[2 * i + 1], &x))
            return x;
    for (uint32_t i = n->nargs; i-- > 0;)
        if (cfx_facts__number(p, n->args[i], &x))
            break;
    return x;
}

/* The scale; absent if it is the default. */
static cfx_value scale_of(cfx_pass_call *p, const cfx_match *m)
{
    static const char *const names[][2] = {{"query_times", "query_over"},
                                           {"key_times", "key_over"},
                                           {"scores_times", "scores_over"}};
    cfx_dim e = extent(cfx_match__known(m, QUERY), 1);
    double x = 1;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const cfx_node *times = cfx_match__node(m, names[i][0]);
        const cfx_node *over = cfx_match__node(m, names[i][1]);
        x *= times ? operand_of(p, times) : 1;
        x /= over ? operand_of(p, over) : 1;
    }
    bool usual = cfx_dim_is_int(e) &&
                 fabs(x * sqrt((double)cfx_dim_value(e)) - 1) < 1e-6;
    return usual ? CFX_NOTHING : cfx_float(x);
}

/* The key: the transposed one with its last two axes exchanged. Axes of a permutation
 * are moved once. */
static cfx_value key_of(cfx_scope *s, const cfx_value *in, const cfx_match *m)
{
    const cfx_node *moved = cfx_match__node(m, "permutation");
    int rank = key_t_of(m)->rank, axes[CFX_MAX_RANK];
    cfx_value list[CFX_MAX_RANK];
    if (!moved || !read_axes(moved, rank, axes))
        return cfx_transpose(s, in[KEY_T], cfx_int(-2), cfx_int(-1));
    bool same = true;
    for (int i = 0; i < rank; i++) {
        int axis = axes[i < rank - 2 ? i : 2 * rank - 3 - i];
        list[i] = cfx_int(axis);
        same = same && axis == i;
    }
    return same ? in[MOVED]
                : cfx_permute(s, in[MOVED],
                              cfx_list_of(s, CFX_LIST, (size_t)rank, list));
}

/* ---- The mask ---- */

/* Is v a number, or a constant, above -inf in each row, or everywhere? */
static bool is_above(cfx_pass_call *p, cfx_value v, bool every)
{
    double x;
    cfx_tensor *t = cfx_facts__constant(p, v);
    return (cfx_facts__number(p, v, &x) && x > -INFINITY) ||
           (t && t->rank && leaves_some(p, t, every));
}

/* May the mask be -inf in a whole row? */
static bool may_hide_rows(cfx_pass_call *p, cfx_value mask)
{
    const cfx_node *n = mask.u.node;
    if (cfx_node_is(n, "where") && n->nargs == 3)
        return !is_above(p, n->args[1], true) ||
               !is_above(p, n->args[2], true);
    return !is_above(p, mask, false);
}

/* The mask, infinite in rows in which it was -inf. */
static cfx_value unhide_rows(cfx_scope *s, cfx_value mask)
{
    cfx_value low = cfx_float(-INFINITY), high = cfx_float(INFINITY);
    cfx_value seen = cfx_any(s, cfx_ne(s, mask, low), .dim = cfx_int(-1),
                             .keepdim = cfx_bool(true));
    return cfx_where(s, seen, mask, high);
}

/* The mask that a condition stands for: the bias, or `low` where it hides scores. */
static cfx_value sum_of_seen(cfx_scope *s, const cfx_value *in,
                             const cfx_match *m, double low)
{
    cfx_value hidden = cfx_float(low);
    cfx_value bias = m->placeholders[BIAS].kind ? in[BIAS] : cfx_float(0);
    return cfx_match__node(m, "shows") ? cfx_where(s, in[SEEN], bias, hidden)
                                       : cfx_where(s, in[SEEN], hidden, bias);
}

/* The condition as a mask of attention: what it shows. */
static cfx_value shown(cfx_scope *s, const cfx_value *in, const cfx_match *m)
{
    return cfx_match__node(m, "shows") ? in[SEEN]
                                       : cfx_logical_not(s, in[SEEN]);
}

static cfx_value mask_of(cfx_scope *s, const cfx_value *in, const cfx_match *m,
                         cfx_pass_call *p)
{
    const cfx_value *bound = m->placeholders;
    bool guard = cfx_match__node(m, "guard"), biased = bound[BIAS].kind;
    bool hides = biased && may_hide_rows(p, bound[BIAS]);
    cfx_value mask = biased ? in[BIAS] : CFX_NOTHING;
    double low = 0;
    if (bound[SEEN].kind) {
        cfx_facts__number(p, bound[LOW], &low);
        hides = hides || (float)low == -INFINITY;
        if (hides && guard && !biased)
            return shown(s, in, m);
        mask = sum_of_seen(s, in, m, low);
    } else if (bound[MASK].kind) {
        /* Two masks may hide a row together. */
        hides = biased ? !is_above(p, bound[BIAS], true) ||
                             !is_above(p, bound[MASK], true)
                       : may_hide_rows(p, bound[MASK]);
        mask = biased ? cfx_add(s, in[BIAS], in[MASK]) : in[MASK];
    }
    return hides && !guard ? unhide_rows(s, mask) : mask;
}

/* ---- The result ---- */

/* The arguments that a view takes, besides the sizes in a list. */
enum { VIEW_ARGS = 8 };

/* The metas of arguments, y for n. False: there are too many, or one is not known. */
static bool put_metas(cfx_value *to, const cfx_node *user, const cfx_node *n,
                      cfx_value y)
{
    bool known = user->nargs <= VIEW_ARGS && !user->nkwargs;
    for (uint32_t i = 0; known && i < user->nargs; i++) {
        cfx_value v = user->args[i];
        to[i] = v.kind != CFX_NODE ? v
                : v.u.node == n    ? y
                                   : cfx_node__known(v.u.node);
        known = to[i].kind != CFX_ABSENT;
    }
    return known;
}

/* Can the users of n, and of views of it, read y in its place? What is no view does not
 * depend on strides, unless it says so. */
static bool users_take(cfx_pass_call *p, const cfx_node *n, cfx_value y,
                       int depth)
{
    bool take = depth > 0;
    for (const cfx_use *u = n->first_user; u && take; u = u->next) {
        cfx_value args[VIEW_ARGS], z = CFX_NOTHING;
        const cfx_target *t = cfx_node__target(u->user);
        cfx_effects e;
        cfx_scope s;
        if (u->user->op == CFX_OUTPUT)
            continue;
        if (cfx_node_effects(u->user, &e, NULL) ||
            cfx_node__has_flag(u->user, CFX_OP_READS_STRIDES))
            return false;
        if (!e.input_views)
            continue;
        if (!t || !put_metas(args, u->user, n, y))
            return false;
        cfx_scope_init(&s, &cfx_meta_class, p->ctx, NULL);
        take = !cfx_scope_call_target(&s, t, cfx_args_of(args, u->user->nargs),
                                      &z) &&
               z.kind == CFX_TENSOR &&
               (cfx_facts__same_layout(z.u.tensor,
                                       cfx_node__known_tensor(u->user)) ||
                users_take(p, u->user, z, depth - 1));
        cfx_value_unref(z);
        cfx_scope_release(&s);
    }
    return take;
}

/* Is a copy needed? The strides of attention may be others than those of the product. */
static bool needs_copy(cfx_pass_call *p, const cfx_match *m)
{
    enum { DEPTH = 4 };
    const cfx_node *moved = cfx_match__node(m, "permutation");
    cfx_value q = cfx_node__known(m->placeholders[QUERY].u.node);
    cfx_value k = cfx_node__known(moved ? moved
                                        : m->placeholders[KEY_T].u.node);
    cfx_value v = cfx_node__known(m->placeholders[VALUE].u.node);
    cfx_scope s;
    cfx_scope_init(&s, &cfx_meta_class, p->ctx, NULL);
    k = cfx_transpose(&s, k, cfx_int(-2), cfx_int(-1));
    cfx_value y = cfx_scaled_dot_product_attention(&s, q, k, v);
    bool take = !cfx_scope_failed(&s) &&
                users_take(p, m->returning[0].u.node, y, DEPTH);
    cfx_scope_release(&s);
    return !take;
}

static cfx_value build(cfx_scope *s, const cfx_value *in, const cfx_match *m,
                       void *p)
{
    cfx_value mask = mask_of(s, in, m, p), scale = scale_of(p, m);
    cfx_value y = cfx_scaled_dot_product_attention(
        s, in[QUERY], key_of(s, in, m), in[VALUE], .attn_mask = mask,
        .scale = scale);
    if (!needs_copy(p, m))
        return y;
    return cfx_match__node(m, "rows_first") ? rows_first(s, y)
                                            : cfx_contiguous(s, y);
}

#define RULE(pattern_)                                                        \
    {                                                                         \
        .params = PARAMS, .pattern = pattern_, .where = is_attention,         \
        .build = build, .predicates = predicates,                             \
        .npredicates = sizeof(predicates) / sizeof(*predicates)               \
    }

static const cfx_rewrite_rule rules[] = {
    RULE(attention_rows_first),
    RULE(attention),
    {0},
};

static bool is_contiguous(cfx_value v)
{
    const cfx_tensor *t = v.kind == CFX_NODE ? cfx_node__known_tensor(v.u.node)
                                             : NULL;
    return t && cfx_tensor_is_contiguous(t);
}

/* Forget the types of new attention, whose strides may be others, and of its views. */
static cfx_status forget_strides(cfx_pass_call *p, bool *forgotten,
                                 uint32_t ids)
{
    cfx_status st = CFX_OK;
    for (cfx_node *n = cfx_graph_first(p->graph); n && !st;
         n = cfx_node_next(n)) {
        bool made = n->id >= ids &&
                    cfx_node_is(n, "scaled_dot_product_attention") &&
                    !(is_contiguous(n->args[0]) &&
                      is_contiguous(cfx_value_of_node(n)));
        cfx_effects e;
        if (!made && !cfx_node_effects(n, &e, NULL) && e.input_views)
            for (uint32_t i = 0; i < n->ninputs; i++)
                made = made || forgotten[cfx_node_input(n, i)->id];
        forgotten[n->id] = made;
        if (made)
            st = cfx_node__forget_known(n, p->err);
    }
    return st;
}

/* Tell which products of softmax remain. */
static void report_products(cfx_pass_call *p)
{
    for (const cfx_node *n = p->missed ? cfx_graph_first(p->graph) : NULL; n;
         n = cfx_node_next(n)) {
        const cfx_node *w = cfx_node__arg(n, 0);
        if ((cfx_node_is(n, "matmul") || cfx_node_is(n, "bmm")) && w &&
            (cfx_node_is(w, "softmax") || cfx_node_is(w, "_softmax")))
            cfx_pass_missed(
                p, n,
                "%s reads no product with a scale and a mask, or others read it",
                w->name);
    }
}

static cfx_status fuse_attention_run(cfx_pass_call *p)
{
    uint32_t before = cfx_graph_ids(p->graph);
    cfx_status st = cfx_rules__apply(p, rules);
    report_products(p);
    if (st || !p->changed)
        return st;
    uint32_t ids = cfx_graph_ids(p->graph);
    bool *forgotten = cfx_calloc(p->ctx, ids, sizeof(*forgotten));
    st = forgotten ? forget_strides(p, forgotten, before)
                   : cfx_no_memory(p->err);
    cfx_free(p->ctx, forgotten, ids * sizeof(*forgotten));
    return st;
}

const cfx_pass cfx_pass__fuse_attention = {
    .abi = CFX_ABI(cfx_pass),
    .schema = "fuse_attention()",
    .doc =
        "Replace the products and the softmax of attention with scaled_dot_product_attention, where meta tensor_meta shows that it applies.",
    .flags = CFX_PASS_ROUNDS,
    .run = fuse_attention_run,
};
