/*
 * walk -- one case on numbers, on metas, and on symbols.
 *
 * A symbol is called n5 or n5_2: it stands for 5, so that its name tells its
 * value. What is chosen by chance follows from the text of the case alone.
 */
#include "tests/cases/walk.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cases/mutant.h"

/* ---- A run ---- */

/* How tensors are put in. */
enum { REAL, META, SYMBOLS, WILD };

/* Numbers beyond stay what they are. */
enum { SYMBOL_MAX = 1 << 20 };

struct run {
    walk_case *w;
    const op_case *c;
    int how;
    cfx_scope s;
    cfx_shape_env *env;
    uint64_t chance;
    /* Of symbols: also for extents of 1, one for each place, for numbers. */
    bool ones, apart, numbers;
    int count;
    bool has_one;       /* a symbol stands for 1 */
    cfx_value out;
    cfx_status status;
    char error[CFX_ERROR_TEXT];
};

static uint64_t hash(const char *s)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
    return h;
}

CFX_PRINTF(2, 3)
static void disagree(walk_case *w, const char *fmt, ...)
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

static cfx_dim symbol_for(struct run *r, int64_t v)
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

static bool value_of(void *user, const char *name, int64_t *v)
{
    (void)user;
    *v = strtoll(name + 1, NULL, 10);
    return *name == 'n';
}

/* Extents beyond what memory holds; only metas have them. */
static cfx_dim wild_for(struct run *r, int64_t v)
{
    static const int64_t extent[] = {
        0, 1, (int64_t)1 << 31, (int64_t)1 << 61, (int64_t)1 << 32,
        ((int64_t)1 << 31) - 1, ((int64_t)1 << 61) - 1, (int64_t)1 << 45,
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
static void strides_in_terms(struct run *r, const cfx_tensor *t,
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
        int64_t have = cfx_tensor_stride(t, axis), n = cfx_tensor_size(t, axis);
        stride[axis] = t->stride[axis];
        if (have == 0 || have % step)
            continue;
        stride[axis] = cfx_dim_mul(r->env, of, cfx_dim_int(have / step));
        step = have * (n ? n : 1);
        of = n ? cfx_dim_mul(r->env, stride[axis], shape[axis])
               : stride[axis];
    }
}

/* Also on axes of extent 1, and where it is empty. */
static bool is_row_major(const cfx_tensor *t)
{
    cfx_dim stride[CFX_MAX_RANK];
    cfx_strides_of(NULL, CFX_CONTIGUOUS_FORMAT, t->rank, t->shape, stride);
    for (int i = 0; i < t->rank; i++)
        if (!cfx_dim_same(stride[i], t->stride[i]))
            return false;
    return true;
}

static cfx_value put_tensor(struct run *r, const cfx_tensor *t)
{
    cfx_dim shape[CFX_MAX_RANK], stride[CFX_MAX_RANK];
    cfx_tensor *meta;
    for (int i = 0; i < t->rank; i++) {
        int64_t n = cfx_tensor_size(t, i);
        shape[i] = r->how == SYMBOLS ? symbol_for(r, n)
                   : r->how == WILD ? wild_for(r, n) : t->shape[i];
        stride[i] = t->stride[i];
    }
    if (r->how != META && is_row_major(t))
        cfx_strides_of(r->env, CFX_CONTIGUOUS_FORMAT, t->rank, shape, stride);
    else if (r->how != META)
        strides_in_terms(r, t, shape, stride);
    if (cfx_tensor_meta(&meta, r->s.ctx, (cfx_dtype)t->dtype, t->rank, shape,
                        stride, r->how == WILD ? &r->s.error : NULL))
        return cfx_none();
    return cfx_scope_take(&r->s, cfx_value_of_tensor(meta));
}

/* What stands in an argument, for this run. */
static cfx_value put(struct run *r, cfx_value v, bool size)
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
         v.kind != CFX_SLICE) || v.u.seq->len > 64)
        return v;
    for (uint32_t i = 0; i < v.u.seq->len; i++)
        item[i] = put(r, v.u.seq->item[i], size);
    return cfx_scope_take(&r->s, cfx_seq_new(r->s.ctx, (cfx_kind)v.kind,
                                             v.u.seq->len, item,
                                             v.u.seq->type));
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
static cfx_value run_bound(struct run *r, const cfx_bound *b)
{
    cfx_value in[CFX_MAX_PARAMS];
    const cfx_schema *s = b->target->schema;
    for (int k = 0; k < s->nparams; k++)
        in[k] = put(r, b->in[k], r->numbers && is_size(s, s->params[k].name,
                                                    r->c->ntensors));
    return cfx_scope_call(&r->s, b->target->op, in, (size_t)s->nparams,
                          b->inplace);
}

static cfx_value run_named(struct run *r)
{
    op_case c = *r->c;
    for (size_t i = 0; i < c.nargs; i++)
        c.args[i] = put(r, c.args[i], false);
    for (size_t i = 0; i < c.nkwargs; i++)
        c.kwargs[2 * i + 1] = put(r, c.kwargs[2 * i + 1], false);
    return case_run(&c, &r->s);
}

static void run_begin(struct run *r, walk_case *w, const op_case *c, int how,
                      const cfx_scope_class *cls, cfx_context *ctx)
{
    *r = (struct run){.w = w, .c = c, .how = how};
    cfx_shape_env_new(&r->env, ctx, NULL);
    cfx_scope_init(&r->s, cls, ctx, cls == &cfx_meta_class ? r->env : NULL);
}

static void run_go(struct run *r, const cfx_bound *b)
{
    cfx_value out = b && r->numbers ? run_bound(r, b) : run_named(r);
    r->status = cfx_scope_failed(&r->s) ? r->s.error.code : CFX_OK;
    r->out = r->status ? cfx_none() : out;
    snprintf(r->error, sizeof(r->error), "%s",
             r->status ? r->s.error.text : "");
    bool lacking = r->status == CFX_ENOMEM && r->s.cls == &cfx_meta_class &&
                   !r->w->wild;
    if (r->status && (!*r->error || lacking))
        disagree(r->w, "fails without a sentence: %s", r->error);
}

static void run_end(struct run *r)
{
    cfx_scope_release(&r->s);
    cfx_shape_env_free(r->env);
}

/* ---- Comparing ---- */

/* Unbacked symbols take the value of the extent that they first stand for. */
enum { UNBACKED = 1024 };
struct unbacked { int64_t v[UNBACKED]; bool set[UNBACKED]; };

static bool value_with(void *user, const char *name, int64_t *v)
{
    const struct unbacked *u = user;
    if (*name == 'n')
        return value_of(NULL, name, v);
    long k = strtol(name + 1, NULL, 10);
    if (k < 0 || k >= UNBACKED || !u->set[k])
        return false;
    *v = u->v[k];
    return true;
}

/* Is the dim that number? */
static bool stands_for(struct unbacked *u, cfx_dim d, int64_t v)
{
    char text[200];
    int64_t have;
    cfx_dim_format(d, text, sizeof(text));
    if (text[0] == 'u' && !strpbrk(text, " +-*/")) {
        long k = strtol(text + 1, NULL, 10);
        if (k < UNBACKED && !u->set[k]) {
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
static bool is_rolled(const struct run *r)
{
    return r->w->op && !strncmp(r->w->op->schema, "roll(", 5) && r->w->bent &&
           r->how == SYMBOLS;
}

/*
 * Where symbols are, strides may differ on axes of extent 1, and where an
 * extent that is computed becomes 0. An extent that comes to 1, or an empty
 * tensor, hides that what is in another order is row-major too, be it an
 * argument or the result: then nothing is asked of them.
 */
static bool same_strides(const struct run *r, struct unbacked *u,
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
        if (!one && !stands_for(u, have->stride[i],
                                cfx_tensor_stride(want, i)))
            return false;
    }
    return true;
}

static bool same_tensor(const struct run *r, struct unbacked *u,
                        const cfx_tensor *have, const cfx_tensor *want)
{
    if (have->dtype != want->dtype || have->rank != want->rank)
        return false;
    for (int i = 0; i < want->rank; i++)
        if (!stands_for(u, have->shape[i], cfx_tensor_size(want, i)))
            return false;
    return same_strides(r, u, have, want);
}

static bool same(const struct run *r, struct unbacked *u, cfx_value have,
                 cfx_value want)
{
    if (have.kind == CFX_SYMINT)
        return want.kind == CFX_INT && stands_for(u, have.u.dim, want.u.i);
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

static void show(cfx_value v, char *buf, size_t size)
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
            show(v.u.seq->item[i], buf + n, size - n - 2);
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

/* As in a golden, without elements. */
static void add_got(walk_case *w, cfx_value v)
{
    size_t n = strlen(w->got), room = sizeof(w->got) - n;
    if (v.kind != CFX_TENSOR && holds_tensor(v)) {
        bool dict = v.kind == CFX_DICT;
        for (uint32_t i = dict; i < v.u.seq->len; i += dict ? 2 : 1)
            add_got(w, v.u.seq->item[i]);
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

static void compare(walk_case *w, const struct run *have,
                    const struct run *want, const char *what)
{
    struct unbacked u = {0};
    char a[1000], b[1000];
    if (same(have, &u, have->out, want->out))
        return;
    show(have->out, a, sizeof(a));
    show(want->out, b, sizeof(b));
    disagree(w, "%s give %s, a run %s", what, a, b);
}

/* ---- Aliases ---- */

static void compare_places(walk_case *w, const op_case *c, cfx_value promised,
                           cfx_value got)
{
    if (got.kind >= CFX_TUPLE && got.kind <= CFX_DICT) {
        for (uint32_t i = 0; i < got.u.seq->len; i++)
            compare_places(w, c, promised.u.seq->item[i],
                           got.u.seq->item[i]);
        return;
    }
    for (size_t i = 0; got.kind == CFX_TENSOR && i < c->ntensors; i++) {
        const cfx_tensor *p = promised.u.tensor, *g = got.u.tensor;
        bool shares = cfx_tensor_shares(g, c->tensor[i]);
        /* Where it begins only numbers tell. */
        if (!cfx_dim_is_int(p->offset))
            continue;
        if (shares != cfx_tensor_shares(p, c->tensor[i]))
            disagree(w, "metas %s the memory of arg%zu, a run %s",
                     shares ? "do not share" : "share", i,
                     shares ? "does" : "does not");
    }
}

static void compare_offsets(walk_case *w, const op_case *c, cfx_value have,
                            cfx_value got)
{
    struct unbacked u = {0};
    if (got.kind >= CFX_TUPLE && got.kind <= CFX_DICT) {
        for (uint32_t i = 0; i < got.u.seq->len; i++)
            compare_offsets(w, c, have.u.seq->item[i], got.u.seq->item[i]);
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
            disagree(w, "symbols give another offset than a run");
}

/* ---- Guards ---- */

/* One side of a guard, read where nothing is known of the symbols. */
static bool side_value(struct run *r, const char *text, size_t n, int64_t *v)
{
    char side[400];
    cfx_dim d;
    cfx_shape_env *env;
    snprintf(side, sizeof(side), "%.*s", (int)n, text);
    if (cfx_shape_env_new(&env, r->s.ctx, NULL))
        return false;
    bool read = !cfx_dim_parse(&d, env, side, NULL) &&
                !cfx_dim_eval(v, d, value_of, NULL, NULL);
    cfx_shape_env_free(env);
    return read;
}

/* Does a guard hold where each symbol is what it stands for? One that has
 * unbacked symbols tells nothing. */
static bool guard_holds(struct run *r, const char *text)
{
    static const char *const sign[] = {" == ", " != ", " <= ", " >= ", " < ",
                                       " > "};
    for (int i = 0; i < 6; i++) {
        const char *at = strstr(text, sign[i]);
        int64_t a, b;
        if (!at)
            continue;
        const char *right = at + strlen(sign[i]);
        if (!side_value(r, text, (size_t)(at - text), &a) ||
            !side_value(r, right, strlen(right), &b))
            return true;
        return i == 0 ? a == b : i == 1 ? a != b : i == 2 ? a <= b
               : i == 3 ? a >= b : i == 4 ? a < b : a > b;
    }
    return false;
}

/* The first guard that is false; NULL if there is none. */
static const char *false_guard(struct run *r)
{
    for (size_t i = 0; i < cfx_shape_env_guards(r->env); i++)
        if (!guard_holds(r, cfx_shape_env_guard(r->env, i)))
            return cfx_shape_env_guard(r->env, i);
    return NULL;
}

/* ---- Together ---- */

/*
 * Where symbols do not tell whether what is not row-major has a view of another
 * shape, they take it to be copied; the result is the same but for its strides.
 */
static bool copies(walk_case *w, const struct run *sym,
                   const struct run *want)
{
    static const char *const all[] = {"reshape", "reshape_as",
                                      "flatten.using_ints"};
    bool may = false;
    const cfx_value have = sym->out, got = want->out;
    for (size_t i = 0; w->op && i < sizeof(all) / sizeof(*all); i++)
        may |= !strncmp(w->op->schema, all[i], strlen(all[i])) &&
               w->op->schema[strlen(all[i])] == '(';
    if (!may || !w->strided || have.kind != CFX_TENSOR ||
        !cfx_tensor_is_contiguous(have.u.tensor) ||
        have.u.tensor->rank != got.u.tensor->rank)
        return false;
    struct unbacked u = {0};
    for (int i = 0; i < got.u.tensor->rank; i++)
        if (!stands_for(&u, have.u.tensor->shape[i],
                        cfx_tensor_size(got.u.tensor, i)))
            return false;
    return true;
}

static void check_symbols(walk_case *w, struct run *sym,
                          const struct run *want, const op_case *c,
                          bool eager)
{
    const char *guard = false_guard(sym);
    char out[600];
    if (sym->status == CFX_EUNSUPPORTED) {
        w->counted = !want->status;
        return;
    }
    if (want->status) {
        bool any = cfx_shape_env_guards(sym->env);
        /* Of a float that is not known, neither is whether there is one. */
        bool unknown = sym->out.kind == CFX_FLOAT && isnan(sym->out.u.f);
        show(sym->out, out, sizeof(out));
        if (!sym->status && !guard && !unknown)
            disagree(w, "symbols (%s) are accepted%s%s: %s; numbers are not: "
                     "%s", sym->apart ? "apart" : "shared",
                     any ? ", guarded by " : " without a guard",
                     any ? cfx_shape_env_guard(sym->env, 0) : "", out,
                     want->error);
        return;
    }
    /* A symbol is taken not to be 1 where something is broadcast, and what is
     * asked of two of them to be so. */
    bool truth = want->out.kind == CFX_BOOL_VALUE;
    if (guard ? sym->has_one || truth : sym->has_one && truth)
        return;
    /* No dim is so large. */
    if (want->out.kind == CFX_INT && ((want->out.u.i >> 60) + 1) >> 1)
        return;
    /* Products of many factors have coefficients that no dim has. */
    if (sym->status && w->op && !strncmp(w->op->schema, "combinations(", 13) &&
        strstr(sym->error, "beyond 2^61")) {
        w->counted = true;
        return;
    }
    /* Symbols take chunks to be as many as are asked for. */
    if (guard && !sym->status && w->op &&
        !strncmp(w->op->schema, "chunk(", 6)) {
        w->counted = true;
        return;
    }
    if (sym->status)
        disagree(w, "symbols are refused (%s, %s): %s",
                 sym->numbers ? "in sizes too" : "in shapes",
                 sym->ones ? "from 1" : "from 2", sym->error);
    else if (guard)
        disagree(w, "the guard %s is false", guard);
    else if (!copies(w, sym, want))
        compare(w, sym, want, "symbols");
    if (w->ok && eager && want->out.kind >= CFX_TUPLE)
        compare_offsets(w, c, sym->out, want->out);
}

static void look_at(walk_case *w, const op_case *c)
{
    for (size_t i = 0; i < c->ntensors; i++) {
        const cfx_tensor *t = c->tensor[i];
        w->rank = t->rank > w->rank ? t->rank : w->rank;
        w->strided |= !cfx_tensor_is_contiguous(t);
        w->bent |= !is_row_major(t);
        for (int k = 0; k < t->rank; k++) {
            w->zero |= cfx_tensor_size(t, k) == 0;
            w->one |= cfx_tensor_size(t, k) == 1;
        }
    }
}

/* What the case calls; false if there is nothing of the kind, or it does not
 * bind. */
static bool bind(walk_case *w, cfx_bound *b, cfx_context *ctx,
                 const op_case *c)
{
    if (c->module) {
        w->type = cfx_module_type_of(c->module);
        return true;
    }
    const cfx_target *chain = c->is_method
                                  ? cfx_find_method(ctx, c->target + 7)
                                  : cfx_find_function(ctx, c->target);
    if (!chain || cfx_bind(b, ctx, chain,
        (cfx_args){c->args, c->nargs, c->kwargs, c->nkwargs}, NULL))
        return false;
    w->op = b->target->op;
    return true;
}

/* Read a case, bind what it calls, and do something with both: `b` is NULL
 * for a module. */
typedef void case_fn(walk_case *w, cfx_context *ctx, const op_case *c,
                     const cfx_bound *b, const char *text);

static void with_case(walk_case *w, cfx_context *ctx, const char *text,
                      case_fn *with)
{
    op_case c;
    cfx_scope s;
    cfx_bound b = {0};
    cfx_scope_init(&s, &cfx_eager_class, ctx, NULL);
    if (case_read(&c, &s, text, strlen(text), w->why, sizeof(w->why)) &&
        bind(w, &b, ctx, &c))
        with(w, ctx, &c, c.module ? NULL : &b, text);
    cfx_bound_release(&b);
    case_release(&c);
    cfx_scope_release(&s);
}

/* What is only made is not called. */
static void forget_made(walk_case *w, cfx_context *ctx, const op_case *c,
                        const cfx_bound *b, const char *text)
{
    (void)ctx;
    (void)b;
    (void)text;
    if (c->only_made) {
        w->op = NULL;
        w->type = NULL;
    }
}

void walk_bind(walk_case *w, cfx_context *ctx, const char *text)
{
    *w = (walk_case){.ok = true};
    with_case(w, ctx, text, forget_made);
}

static void choose(struct run *sym, const char *text)
{
    uint64_t chance = hash(text);
    /* A symbol that stands for 1 hides that what is in another order is
     * row-major too. */
    sym->ones = mutant_chance(&chance, 2) && !sym->w->bent;
    sym->apart = mutant_chance(&chance, 3);
    sym->numbers = mutant_chance(&chance, 2);
    sym->chance = chance;
}

static void check_runs(walk_case *w, cfx_context *ctx, const op_case *c,
                       const cfx_bound *b, const char *text)
{
    struct run real, meta, sym, eager;
    run_begin(&meta, w, c, META, &cfx_meta_class, ctx);
    run_begin(&real, w, c, REAL, &cfx_meta_class, ctx);
    run_begin(&sym, w, c, SYMBOLS, &cfx_meta_class, ctx);
    run_begin(&eager, w, c, REAL, &cfx_eager_class, ctx);
    choose(&sym, text);
    run_go(&meta, NULL);
    run_go(&real, NULL);
    run_go(&sym, b);
    /* An extent that may be more than 1 is not broadcast. */
    if (sym.has_one && sym.status && !meta.status) {
        run_end(&sym);
        run_begin(&sym, w, c, SYMBOLS, &cfx_meta_class, ctx);
        choose(&sym, text);
        sym.ones = false;
        run_go(&sym, b);
    }
    run_go(&eager, NULL);
    w->accepted = !meta.status || !eager.status;
    w->unknown = meta.status == CFX_EUNSUPPORTED && !eager.status;
    w->data = !meta.status && eager.status;
    if (eager.status)
        snprintf(w->got, sizeof(w->got), "error");
    else
        add_got(w, eager.out);
    if (meta.status && !eager.status && !w->unknown)
        disagree(w, "metas are refused, a run is not: %s", meta.error);
    if (!meta.status && !eager.status) {
        compare(w, &meta, &eager, "metas");
        if (w->ok && !real.status && real.out.kind == eager.out.kind)
            compare_places(w, c, real.out, eager.out);
    }
    check_symbols(w, &sym, eager.status && !meta.status ? &meta : &eager, c,
                  !eager.status);
    run_end(&meta);
    run_end(&real);
    run_end(&sym);
    run_end(&eager);
}

static void look_and_check(walk_case *w, cfx_context *ctx, const op_case *c,
                           const cfx_bound *b, const char *text)
{
    look_at(w, c);
    if (!c->only_made)
        check_runs(w, ctx, c, b, text);
}

void walk_check(walk_case *w, cfx_context *ctx, const char *text)
{
    *w = (walk_case){.ok = true};
    with_case(w, ctx, text, look_and_check);
}

/* ---- What is degenerate ---- */

static bool is_small(cfx_value v)
{
    if (v.kind == CFX_TENSOR) {
        int64_t n = 1;
        for (int i = 0; i < v.u.tensor->rank; i++) {
            cfx_dim d = v.u.tensor->shape[i];
            if (!cfx_dim_is_int(d) || cfx_dim_value(d) > 1000)
                return false;
            n *= cfx_dim_value(d);
            if (n > 100000)
                return false;
        }
    }
    if (v.kind < CFX_SLICE || v.kind > CFX_DICT)
        return true;
    bool small = v.u.seq->len < 1000;
    for (uint32_t i = 0; small && i < v.u.seq->len; i++)
        small = is_small(v.u.seq->item[i]);
    return small;
}

static bool try_once(walk_case *w, cfx_context *ctx, const op_case *c,
                     const cfx_bound *b, const char *text, int how)
{
    struct run r;
    run_begin(&r, w, c, how, &cfx_meta_class, ctx);
    choose(&r, text);
    if (how == WILD)
        r.numbers = false;
    run_go(&r, b);
    bool small = !r.status && is_small(r.out);
    w->accepted |= !r.status;
    run_end(&r);
    return small;
}

static void try_all(walk_case *w, cfx_context *ctx, const op_case *c,
                    const cfx_bound *b, const char *text)
{
    if (c->only_made)
        return;
    try_once(w, ctx, c, b, text, SYMBOLS);
    try_once(w, ctx, c, b, text, WILD);
    if (try_once(w, ctx, c, b, text, META)) {
        struct run r;
        run_begin(&r, w, c, REAL, &cfx_eager_class, ctx);
        run_go(&r, NULL);
        run_end(&r);
    }
}

void walk_try(walk_case *w, cfx_context *ctx, const char *text)
{
    *w = (walk_case){.ok = true, .wild = true};
    with_case(w, ctx, text, try_all);
}
