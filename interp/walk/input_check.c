/*
 * input_check -- compare inputs with the declared types, ranges and guards.
 *
 * Symbols take the extents of the inputs they stand for; then expressions,
 * ranges and guards are evaluated. Most runs have the sizes of the run before:
 * the extents that were accepted last are kept, and the same ones are accepted
 * by comparing words.
 */
#include <cfx/input_check.h>

#include <cfx/text.h>

#include "base/util.h"
#include "format/print.h"

/* A placeholder. */
typedef struct input {
    const char *name;
    cfx_value want; /* borrowed from its meta; absent: free */
    cfx_dim *seen;  /* the extents that were accepted last */
} input;

/* A symbol, and the extent that it stands for in a run. */
typedef struct binding {
    cfx_dim symbol, is; /* is: CFX_DIM_BAD until it is known */
    const input *by;
} binding;

typedef struct range {
    cfx_dim of;
    int64_t min, max;
} range;

typedef struct guard {
    const char *text, *op;
    cfx_dim left, right;
} guard;

struct cfx_input_check {
    cfx_context *ctx;
    cfx_arena arena;
    input *input;
    binding *symbol;
    range *range;
    guard *guard;
    size_t n, nsymbols, nranges, nguards;
    size_t symbol_cap, range_cap, guard_cap;
    size_t nseen; /* inputs that were accepted last */
    bool has_seen;
};

/* One comparison. */
typedef struct run {
    cfx_input_check *c;
    cfx_shape_env *env;
    cfx_error *err;
} run;

/* ---- What is declared ---- */

static const char *name_of(const cfx_node *n)
{
    return n->target->text + strspn(n->target->text, "*");
}

/* Extents of what is declared: those of a tensor, or the number itself. */
static size_t count_extents(cfx_value v)
{
    return v.kind == CFX_TENSOR ? (size_t)v.u.tensor->rank
                                : v.kind == CFX_SYMINT;
}

static cfx_dim extent(cfx_value v, size_t axis)
{
    return v.kind == CFX_TENSOR ? v.u.tensor->shape[axis] : cfx_value_dim(v);
}

static binding *find_symbol(const cfx_input_check *c, cfx_dim symbol)
{
    for (size_t i = 0; i < c->nsymbols; i++)
        if (cfx_dim_same(c->symbol[i].symbol, symbol))
            return &c->symbol[i];
    return NULL;
}

/* `_` is any extent. */
static cfx_status add_symbol(cfx_input_check *c, cfx_dim symbol,
                             cfx_error *err)
{
    if (find_symbol(c, symbol) || !strcmp(cfx_dim_symbol_name(symbol), "_"))
        return CFX_OK;
    if (cfx_grow(c->ctx, c->symbol, c->symbol_cap, c->nsymbols + 1, err))
        return CFX_ENOMEM;
    c->symbol[c->nsymbols++] = (binding){symbol, CFX_DIM_BAD, NULL};
    return CFX_OK;
}

/* An extent with more symbols is not compared. */
enum { MOST_SYMBOLS = 16 };

static cfx_status add_input(cfx_input_check *c, const cfx_node *n,
                            cfx_error *err)
{
    input *in = &c->input[c->n++];
    cfx_dim symbol[MOST_SYMBOLS];
    cfx_status st = CFX_OK;
    *in = (input){.name = name_of(n), .want = cfx_node_declared(n)};
    size_t extents = count_extents(in->want);
    in->seen = cfx_arena_alloc(&c->arena, extents * sizeof(*in->seen) + 1);
    if (!in->seen)
        return cfx_no_memory(err);
    for (size_t k = 0; k < extents; k++) {
        size_t many = cfx_dim_free_symbols(extent(in->want, k), symbol,
                                           MOST_SYMBOLS);
        for (size_t i = 0; i < many && i < MOST_SYMBOLS && !st; i++)
            st = add_symbol(c, symbol[i], err);
    }
    return st;
}

/* ---- Ranges and guards ---- */

/* Parse an expression; *ok is false if it is none. */
static cfx_status parse(cfx_dim *out, bool *ok, cfx_shape_env *env,
                        const char *text, cfx_error *err)
{
    cfx_error why = {0};
    cfx_status st = cfx_dim_parse(out, env, text, &why);
    *ok = !st && !cfx_dim_is_bad(*out);
    return st == CFX_ENOMEM ? cfx_no_memory(err) : CFX_OK;
}

static cfx_status add_range(cfx_input_check *c, cfx_shape_env *env,
                            const char *name, cfx_value limits, cfx_error *err)
{
    range r = {.min = CFX_DIM_NO_MIN, .max = CFX_DIM_NO_MAX};
    bool ok;
    if (limits.kind != CFX_TUPLE || limits.u.seq->len != 2)
        return CFX_OK;
    cfx_value min = limits.u.seq->item[0], max = limits.u.seq->item[1];
    /* torch.export writes 2 for extents that may be 0 and 1, too, and does not
     * compare it. */
    if (min.kind == CFX_INT && min.u.i > 2)
        r.min = min.u.i;
    if (max.kind == CFX_INT)
        r.max = max.u.i;
    if (r.min == CFX_DIM_NO_MIN && r.max == CFX_DIM_NO_MAX)
        return CFX_OK;
    cfx_status st = parse(&r.of, &ok, env, name, err);
    if (st || !ok || cfx_dim_is_int(r.of))
        return st;
    if (cfx_grow(c->ctx, c->range, c->range_cap, c->nranges + 1, err))
        return CFX_ENOMEM;
    c->range[c->nranges++] = r;
    return CFX_OK;
}

/* Find the relation of a guard, outside of brackets. */
static const char *find_relation(const char *text)
{
    int depth = 0;
    for (; *text; text++) {
        depth += *text == '(' ? 1 : *text == ')' ? -1 : 0;
        if (!depth && strchr("=!<>", *text))
            return text;
    }
    return NULL;
}

/* A guard that cfx cannot express, as of strides, is passed over. */
static cfx_status add_guard(cfx_input_check *c, cfx_shape_env *env,
                            const char *text, cfx_error *err)
{
    const char *op = find_relation(text);
    guard g = {.text = text, .op = op};
    bool left = false, right = false;
    char *copy = op ? cfx_arena_strdup(&c->arena, text, (size_t)(op - text))
                    : NULL;
    if (!op)
        return CFX_OK;
    if (!copy)
        return cfx_no_memory(err);
    cfx_status st = parse(&g.left, &left, env, copy, err);
    if (!st)
        st = parse(&g.right, &right, env, op + strspn(op, "=!<>"), err);
    if (st || !left || !right ||
        (cfx_dim_is_int(g.left) && cfx_dim_is_int(g.right)))
        return st;
    if (cfx_grow(c->ctx, c->guard, c->guard_cap, c->nguards + 1, err))
        return CFX_ENOMEM;
    c->guard[c->nguards++] = g;
    return CFX_OK;
}

static cfx_status add_conditions(cfx_input_check *c, cfx_shape_env *env,
                                 const cfx_node *n, cfx_error *err)
{
    cfx_value ranges = cfx_node_meta(n, "range_constraints");
    cfx_value guards = cfx_node_meta(n, "guards");
    cfx_status st = CFX_OK;
    for (uint32_t i = 0;
         ranges.kind == CFX_DICT && i + 1 < ranges.u.seq->len && !st; i += 2)
        if (ranges.u.seq->item[i].kind == CFX_STR)
            st = add_range(c, env, ranges.u.seq->item[i].u.str->text,
                           ranges.u.seq->item[i + 1], err);
    for (uint32_t i = 0;
         cfx_value_is_seq(guards) && i < guards.u.seq->len && !st; i++)
        if (guards.u.seq->item[i].kind == CFX_STR)
            st = add_guard(c, env, guards.u.seq->item[i].u.str->text, err);
    return st;
}

/* ---- Creation ---- */

static const cfx_node *next_placeholder(const cfx_node *n)
{
    while (n && n->op != CFX_PLACEHOLDER)
        n = cfx_node_next(n);
    return n;
}

static cfx_status add_all(cfx_input_check *c, const cfx_graph *g, size_t n,
                          cfx_error *err)
{
    cfx_shape_env *env;
    cfx_status st = cfx_shape_env_new(&env, c->ctx, err);
    c->input = st ? NULL : cfx_arena_alloc(&c->arena, n * sizeof(*c->input));
    if (!st && !c->input)
        st = cfx_no_memory(err);
    for (const cfx_node *p = next_placeholder(cfx_graph_first(g)); p && !st;
         p = next_placeholder(cfx_node_next(p))) {
        st = add_input(c, p, err);
        if (!st)
            st = add_conditions(c, env, p, err);
    }
    cfx_shape_env_free(env);
    return st;
}

cfx_status cfx_input_check_new(cfx_input_check **out, const cfx_graph *g,
                               cfx_error *err)
{
    cfx_context *ctx = cfx_graph_context(g);
    size_t n = 0;
    bool declared = false;
    *out = NULL;
    for (const cfx_node *p = next_placeholder(cfx_graph_first(g)); p;
         p = next_placeholder(cfx_node_next(p)), n++)
        declared = declared || cfx_node_declared(p).kind;
    if (!declared)
        return CFX_OK;
    cfx_input_check *c = cfx_calloc(ctx, 1, sizeof(*c));
    if (!c)
        return cfx_no_memory(err);
    c->ctx = ctx;
    cfx_arena_init(&c->arena, ctx);
    cfx_status st = add_all(c, g, n, err);
    if (st)
        cfx_input_check_free(c);
    else
        *out = c;
    return st;
}

void cfx_input_check_free(cfx_input_check *c)
{
    if (!c)
        return;
    cfx_free(c->ctx, c->symbol, c->symbol_cap * sizeof(*c->symbol));
    cfx_free(c->ctx, c->range, c->range_cap * sizeof(*c->range));
    cfx_free(c->ctx, c->guard, c->guard_cap * sizeof(*c->guard));
    cfx_arena_release(&c->arena);
    cfx_free(c->ctx, c, sizeof(*c));
}

/* ---- Messages ---- */

static const char *const export_again = "export it with dynamic_shapes=...";

static cfx_status refuse(const run *r, const input *in, cfx_value v,
                         const char *condition, const char *remedy)
{
    cfx_buf have, want;
    cfx_buf_init(&have, r->c->ctx);
    cfx_buf_init(&want, r->c->ctx);
    cfx_print_shape(cfx_sink_buf(&have), v, false, NULL);
    cfx_print_shape(cfx_sink_buf(&want), in->want, false, NULL);
    cfx_status st = cfx_fail(
        r->err, CFX_EINPUT,
        "input %s is %.300s; the model was exported for %.300s%s: %s",
        in->name, cfx_buf_str(&have), cfx_buf_str(&want), condition, remedy);
    cfx_buf_release(&have);
    cfx_buf_release(&want);
    return st;
}

static cfx_status refuse_type(const run *r, const input *in, cfx_value v)
{
    char remedy[96];
    const cfx_tensor *want = in->want.kind == CFX_TENSOR ? in->want.u.tensor
                                                         : NULL;
    const char *type = want ? cfx_dtypes[want->dtype].name : "";
    if (want && v.kind == CFX_TENSOR && v.u.tensor->dtype != want->dtype)
        snprintf(remedy, sizeof(remedy),
                 cfx_dtypes[want->dtype].npy
                     ? "convert it, as x.astype('%s') does"
                     : "convert it, as x.to(torch.%s) does",
                 type);
    else if (want)
        snprintf(remedy, sizeof(remedy), "give a tensor of %d ax%s",
                 want->rank, want->rank == 1 ? "is" : "es");
    else
        snprintf(remedy, sizeof(remedy), "%s",
                 in->want.kind == CFX_INT      ? export_again
                 : in->want.kind == CFX_SYMINT ? "give an int"
                                               : "export it for this value");
    return refuse(r, in, v, "", remedy);
}

static cfx_status refuse_extent(const run *r, const input *in, cfx_value v,
                                cfx_dim want)
{
    const char *name = cfx_dim_symbol_name(want);
    const binding *b = name ? find_symbol(r->c, want) : NULL;
    char is[64], condition[256];
    if (!b || b->by == in)
        return refuse(r, in, v, "", export_again);
    cfx_dim_format(b->is, is, sizeof(is));
    snprintf(condition, sizeof(condition),
             ", where %.60s is %s by input %.60s", name, is, b->by->name);
    return refuse(r, in, v, condition, "make the extents equal");
}

/* ---- One input ---- */

static bool is_number(cfx_value v)
{
    return v.kind == CFX_INT || v.kind == CFX_FLOAT || v.kind == CFX_COMPLEX ||
           v.kind == CFX_BOOL_VALUE || v.kind == CFX_SYMINT;
}

static bool is_free(const input *in, cfx_value v)
{
    return !in->want.kind || !v.kind || v.kind == CFX_NODE;
}

/* Has a value the kind, the dtype and the number of axes? A number may stand for
 * a tensor without axes, and Python compares numbers by their values. */
static bool fits_type(const input *in, cfx_value v)
{
    cfx_value want = in->want;
    if (want.kind == CFX_TENSOR)
        return v.kind == CFX_TENSOR
                   ? v.u.tensor->dtype == want.u.tensor->dtype &&
                         v.u.tensor->rank == want.u.tensor->rank
                   : want.u.tensor->rank == 0 && is_number(v);
    if (want.kind == CFX_SYMINT)
        return !cfx_dim_is_bad(cfx_value_dim(v));
    return cfx_value_equal(v, want) ||
           (is_number(v) && cfx_value_number(v) == cfx_value_number(want));
}

/* Compare an extent with a number or a symbol. */
static bool fits_extent(const run *r, const input *in, cfx_dim have,
                        cfx_dim want)
{
    binding *b = find_symbol(r->c, want);
    if (b && cfx_dim_is_bad(b->is)) {
        b->is = have;
        b->by = in;
        return true;
    }
    if (b)
        want = b->is;
    else if (!cfx_dim_is_int(want))
        return true; /* an expression, which is evaluated later */
    return cfx_dim_same(have, want) || cfx_dim_known_eq(r->env, have, want);
}

static cfx_status match_input(const run *r, const input *in, cfx_value v)
{
    if (is_free(in, v))
        return CFX_OK;
    if (!fits_type(in, v))
        return refuse_type(r, in, v);
    size_t extents = v.kind == CFX_TENSOR || in->want.kind == CFX_SYMINT
                         ? count_extents(in->want)
                         : 0;
    for (size_t k = 0; k < extents; k++)
        if (!fits_extent(r, in, extent(v, k), extent(in->want, k)))
            return refuse_extent(r, in, v, extent(in->want, k));
    return CFX_OK;
}

/* ---- Expressions ---- */

static bool value_of(void *user, const char *name, cfx_dim *v)
{
    const cfx_input_check *c = user;
    for (size_t i = 0; i < c->nsymbols; i++)
        if (!cfx_dim_is_bad(c->symbol[i].is) &&
            !strcmp(cfx_dim_symbol_name(c->symbol[i].symbol), name)) {
            *v = c->symbol[i].is;
            return true;
        }
    return false;
}

/* Evaluate an expression; *left is its first symbol that has no extent, and
 * the result is how many have none. */
static size_t evaluate(const run *r, cfx_dim d, cfx_dim *out, binding **left)
{
    cfx_dim symbol[MOST_SYMBOLS];
    size_t n = cfx_dim_free_symbols(d, symbol, MOST_SYMBOLS), missing = 0;
    for (size_t i = 0; i < n; i++) {
        binding *b = i < MOST_SYMBOLS ? find_symbol(r->c, symbol[i]) : NULL;
        if (b && !cfx_dim_is_bad(b->is))
            continue;
        missing += b ? 1 : 2; /* an unknown symbol cannot be solved for */
        *left = b;
    }
    *out = cfx_dim_subst(r->env, d, value_of, r->c);
    return missing;
}

/* Is an extent a number that can be subtracted from another without overflow? */
static bool is_small(cfx_dim d)
{
    return cfx_dim_is_int(d) && cfx_dim_value(d) > -INT64_MAX / 4 &&
           cfx_dim_value(d) < INT64_MAX / 4;
}

/* The value of an expression with a number for `b`; INT64_MIN if it is none. */
static int64_t value_at(const run *r, cfx_dim d, binding *b, int64_t at)
{
    binding *left;
    cfx_dim v;
    b->is = cfx_dim_int(at);
    bool ok = !evaluate(r, d, &v, &left) && is_small(v);
    b->is = CFX_DIM_BAD;
    return ok ? cfx_dim_value(v) : INT64_MIN;
}

/* Solve want == have for the one symbol that has no extent, if `want` is linear
 * in it; false if no extent solves it. */
static bool solve(const run *r, const input *in, cfx_dim want, cfx_dim have,
                  binding *b)
{
    int64_t at0 = value_at(r, want, b, 0), at1 = value_at(r, want, b, 1);
    int64_t at2 = value_at(r, want, b, 2);
    if (!is_small(have) || at0 == INT64_MIN || at1 == INT64_MIN ||
        at2 == INT64_MIN || at2 - at1 != at1 - at0 || at1 == at0)
        return true; /* it is not linear, so nothing can be said */
    int64_t is = (cfx_dim_value(have) - at0) / (at1 - at0);
    if (is < 0 || value_at(r, want, b, is) != cfx_dim_value(have))
        return false;
    b->is = cfx_dim_int(is);
    b->by = in;
    return true;
}

static cfx_status match_expressions(const run *r, const input *in, cfx_value v)
{
    size_t extents = is_free(in, v) || (in->want.kind == CFX_TENSOR &&
                                        v.kind != CFX_TENSOR)
                         ? 0
                         : count_extents(in->want);
    for (size_t k = 0; k < extents; k++) {
        cfx_dim have = extent(v, k), want = extent(in->want, k), is;
        binding *left = NULL;
        if (cfx_dim_is_int(want) || find_symbol(r->c, want))
            continue;
        size_t missing = evaluate(r, want, &is, &left);
        bool fits = missing ? missing > 1 || solve(r, in, want, have, left)
                            : cfx_dim_known_eq(r->env, have, is);
        if (!fits)
            return refuse_extent(r, in, v, want);
    }
    return CFX_OK;
}

/* ---- Ranges and guards ---- */

/* Refuse the input that gave the first symbol of an expression its extent. */
static cfx_status refuse_by(const run *r, cfx_dim d, const cfx_value *in,
                            const char *condition)
{
    cfx_dim symbol = CFX_DIM_BAD;
    cfx_dim_free_symbols(d, &symbol, 1);
    const input *by = find_symbol(r->c, symbol)->by;
    return refuse(r, by, in[by - r->c->input], condition, export_again);
}

static cfx_status refuse_range(const run *r, const range *g,
                               const cfx_value *in)
{
    char name[64], min[32] = "", max[32] = "", text[160];
    cfx_dim_format(g->of, name, sizeof(name));
    if (g->min != CFX_DIM_NO_MIN)
        snprintf(min, sizeof(min), "%lld <= ", (long long)g->min);
    if (g->max != CFX_DIM_NO_MAX)
        snprintf(max, sizeof(max), " <= %lld", (long long)g->max);
    snprintf(text, sizeof(text), ", %s%s%s", min, name, max);
    return refuse_by(r, g->of, in, text);
}

/* With symbols, a limit that is not proved becomes a guard of the walk. */
static cfx_status check_range(const run *r, const range *g,
                              const cfx_value *in)
{
    binding *left;
    cfx_dim v;
    if (evaluate(r, g->of, &v, &left))
        return CFX_OK;
    bool fits = g->min == CFX_DIM_NO_MIN ||
                cfx_dim_le(r->env, cfx_dim_int(g->min), v);
    fits = fits && (g->max == CFX_DIM_NO_MAX ||
                    cfx_dim_le(r->env, v, cfx_dim_int(g->max)));
    return fits ? CFX_OK : refuse_range(r, g, in);
}

static bool holds(const char *op, int64_t a, int64_t b)
{
    switch (op[0]) {
    case '=': return a == b;
    case '!': return a != b;
    case '<': return op[1] == '=' ? a <= b : a < b;
    default: return op[1] == '=' ? a >= b : a > b;
    }
}

/* Guards are checked for numbers. */
static cfx_status check_guard(const run *r, const guard *g,
                              const cfx_value *in)
{
    char text[256];
    binding *left;
    cfx_dim a, b;
    if (evaluate(r, g->left, &a, &left) || evaluate(r, g->right, &b, &left) ||
        !cfx_dim_is_int(a) || !cfx_dim_is_int(b) ||
        holds(g->op, cfx_dim_value(a), cfx_dim_value(b)))
        return CFX_OK;
    snprintf(text, sizeof(text), ", %s", g->text);
    return refuse_by(r, cfx_dim_is_int(g->left) ? g->right : g->left, in,
                     text);
}

/* ---- All inputs ---- */

/* Has a value the type and the extents that were accepted last? */
static bool is_seen(const input *in, cfx_value v)
{
    cfx_value want = in->want;
    if (want.kind == CFX_TENSOR && v.kind == CFX_TENSOR) {
        const cfx_tensor *t = v.u.tensor;
        return t->dtype == want.u.tensor->dtype &&
               t->rank == want.u.tensor->rank &&
               !memcmp(t->shape, in->seen,
                       (size_t)t->rank * sizeof(*in->seen));
    }
    if (want.kind == CFX_SYMINT)
        return v.kind == CFX_INT &&
               cfx_dim_same(cfx_value_dim(v), in->seen[0]);
    return !want.kind || cfx_value_equal(v, want);
}

static bool are_seen(const cfx_input_check *c, const cfx_value *in, size_t n)
{
    bool same = c->has_seen && n == c->nseen;
    for (size_t i = 0; i < n && same; i++)
        same = is_seen(&c->input[i], in[i]);
    return same;
}

/* Keep the extents of numbers; others need an environment. */
static void keep_seen(cfx_input_check *c, const cfx_value *in, size_t n)
{
    c->nseen = n;
    c->has_seen = true;
    for (size_t i = 0; i < n && c->has_seen; i++) {
        const input *p = &c->input[i];
        bool numbers = p->want.kind == CFX_SYMINT || in[i].kind == CFX_TENSOR;
        for (size_t k = 0; k < count_extents(p->want) && c->has_seen; k++) {
            p->seen[k] = numbers ? extent(in[i], k) : CFX_DIM_BAD;
            c->has_seen = cfx_dim_is_int(p->seen[k]);
        }
    }
}

static cfx_status check_all(const run *r, const cfx_value *in, size_t n)
{
    const cfx_input_check *c = r->c;
    cfx_status st = CFX_OK;
    for (size_t i = 0; i < c->nsymbols; i++)
        c->symbol[i].is = CFX_DIM_BAD;
    for (size_t i = 0; i < n && !st; i++)
        st = match_input(r, &c->input[i], in[i]);
    for (size_t i = 0; i < n && !st; i++)
        st = match_expressions(r, &c->input[i], in[i]);
    for (size_t i = 0; i < c->nranges && !st; i++)
        st = check_range(r, &c->range[i], in);
    for (size_t i = 0; i < c->nguards && !st; i++)
        st = check_guard(r, &c->guard[i], in);
    return st;
}

cfx_status cfx_input_check_run(cfx_input_check *c, cfx_shape_env *env,
                               const cfx_value *in, size_t n, cfx_error *err)
{
    const run r = {c, env, err};
    n = n < c->n ? n : c->n;
    if (are_seen(c, in, n))
        return CFX_OK;
    cfx_status st = check_all(&r, in, n);
    if (!st)
        keep_seen(c, in, n);
    return st;
}

/* ---- Missing inputs ---- */

static cfx_status with_extents(void *user, cfx_value v, cfx_value *out)
{
    const run *r = user;
    cfx_dim shape[CFX_MAX_RANK], stride[CFX_MAX_RANK];
    cfx_tensor *t;
    *out = v.kind == CFX_SYMINT ? cfx_value_of_dim(cfx_dim_subst(
                                      r->env, v.u.dim, value_of, r->c))
                                : cfx_value_ref(v);
    if (v.kind != CFX_TENSOR)
        return CFX_OK;
    for (int i = 0; i < v.u.tensor->rank; i++) {
        shape[i] = cfx_dim_subst(r->env, v.u.tensor->shape[i], value_of, r->c);
        stride[i] = cfx_dim_subst(r->env, v.u.tensor->stride[i], value_of,
                                  r->c);
    }
    cfx_value_unref(*out);
    *out = CFX_NOTHING;
    cfx_status st = cfx_tensor_meta(&t, r->c->ctx,
                                    (cfx_dtype)v.u.tensor->dtype,
                                    v.u.tensor->rank, shape, stride, r->err);
    if (!st)
        *out = cfx_value_of_tensor(t);
    return st;
}

cfx_status cfx_input_check_expected(cfx_value *out, const cfx_input_check *c,
                                    size_t i, cfx_error *err)
{
    run r = {(cfx_input_check *)(uintptr_t)c, NULL, err};
    *out = CFX_NOTHING;
    return i < c->n && c->input[i].want.kind
               ? with_extents(&r, c->input[i].want, out)
               : CFX_OK;
}
