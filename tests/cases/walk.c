/*
 * walk -- one case on numbers, on metas, and on symbols.
 *
 * A symbol is called n5 or n5_2: it stands for 5, so that its name tells its
 * value. What is chosen by chance follows from the text of the case alone.
 */
#include "tests/cases/walk.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cases/mutant.h"
#include "tests/cases/walk_run.h"

/* ---- Guards ---- */

/* Read one side of a guard in an environment without facts about symbols. */
static bool side_value(walk_run *r, const char *text, size_t n, int64_t *v)
{
    char side[400];
    cfx_dim d;
    cfx_shape_env *env;
    snprintf(side, sizeof(side), "%.*s", (int)n, text);
    if (cfx_shape_env_new(&env, r->s.ctx, NULL))
        return false;
    bool read = !cfx_dim_parse(&d, env, side, NULL) &&
                !cfx_dim_eval(v, d, walk_value_of, NULL, NULL);
    cfx_shape_env_free(env);
    return read;
}

/* Does a guard hold where each symbol is what it stands for? One that has
 * unbacked symbols tells nothing. */
static bool guard_holds(walk_run *r, const char *text)
{
    static const char *const sign[] = {
        " == ", " != ", " <= ", " >= ", " < ", " > "};
    for (int i = 0; i < 6; i++) {
        const char *at = strstr(text, sign[i]);
        int64_t a, b;
        if (!at)
            continue;
        const char *right = at + strlen(sign[i]);
        if (!side_value(r, text, (size_t)(at - text), &a) ||
            !side_value(r, right, strlen(right), &b))
            return true;
        return i == 0   ? a == b
               : i == 1 ? a != b
               : i == 2 ? a <= b
               : i == 3 ? a >= b
               : i == 4 ? a < b
                        : a > b;
    }
    return false;
}

/* The first guard that is false; NULL if there is none. */
static const char *false_guard(walk_run *r)
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
static bool copies(walk_case *w, const walk_run *sym, const walk_run *want)
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
    walk_unbacked u = {0};
    for (int i = 0; i < got.u.tensor->rank; i++)
        if (!walk_stands_for(&u, have.u.tensor->shape[i],
                             cfx_tensor_size(got.u.tensor, i)))
            return false;
    return true;
}

static void check_symbols(walk_case *w, walk_run *sym, const walk_run *want,
                          const op_case *c, bool eager)
{
    const char *guard = false_guard(sym);
    char out[600];
    if (sym->status == CFX_EUNSUPPORTED) {
        w->counted = !want->status;
        return;
    }
    if (want->status) {
        bool any = cfx_shape_env_guards(sym->env);
        /* A float that is not known may also be an error. */
        bool unknown = sym->out.kind == CFX_FLOAT && isnan(sym->out.u.f);
        walk_show(sym->out, out, sizeof(out));
        if (!sym->status && !guard && !unknown)
            walk_disagree(w,
                          "symbols (%s) are accepted%s%s: %s; numbers are "
                          "not: %s",
                          sym->apart ? "apart" : "shared",
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
        walk_disagree(w, "symbols are refused (%s, %s): %s",
                      sym->numbers ? "in sizes too" : "in shapes",
                      sym->ones ? "from 1" : "from 2", sym->error);
    else if (guard)
        walk_disagree(w, "the guard %s is false", guard);
    else if (!copies(w, sym, want))
        walk_compare(w, sym, want, "symbols");
    if (w->ok && eager && want->out.kind >= CFX_TUPLE)
        walk_compare_offsets(w, c, sym->out, want->out);
}

static void look_at(walk_case *w, const op_case *c)
{
    for (size_t i = 0; i < c->ntensors; i++) {
        const cfx_tensor *t = c->tensor[i];
        w->rank = t->rank > w->rank ? t->rank : w->rank;
        w->strided |= !cfx_tensor_is_contiguous(t);
        w->bent |= !walk_is_row_major(t);
        for (int k = 0; k < t->rank; k++) {
            w->zero |= cfx_tensor_size(t, k) == 0;
            w->one |= cfx_tensor_size(t, k) == 1;
        }
    }
}

/* Find the operator or module type that the case calls; false if there is
 * none, or it does not take the arguments. */
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
    if (!chain ||
        cfx_bind(b, ctx, chain,
                 (cfx_args){c->args, c->nargs, c->kwargs, c->nkwargs}, NULL))
        return false;
    w->op = b->target->op;
    return true;
}

/* Read a case, bind what it calls, and do something with both: `b` is NULL
 * for a module, and for what does not bind, which is left out if `bound`. */
typedef void case_fn(walk_case *w, cfx_context *ctx, const op_case *c,
                     const cfx_bound *b, const char *text);

static void with_case(walk_case *w, cfx_context *ctx, const char *text,
                      bool bound, case_fn *with)
{
    op_case c;
    cfx_scope s;
    cfx_bound b = {0};
    cfx_scope_init(&s, &cfx_eager_class, ctx, NULL);
    if (case_read(&c, &s, text, strlen(text), w->why, sizeof(w->why))) {
        bool takes = bind(w, &b, ctx, &c);
        if (takes || !bound)
            with(w, ctx, &c, takes && !c.module ? &b : NULL, text);
    }
    cfx_bound_release(&b);
    case_release(&c);
    cfx_scope_release(&s);
}

/* Leave modules out that a case constructs and does not call. */
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
    with_case(w, ctx, text, true, forget_made);
}

static uint64_t hash(const char *s)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
    return h;
}

static void choose(walk_run *sym, const char *text)
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
    walk_run real, meta, sym, eager;
    walk_run_begin(&meta, w, c, META, &cfx_meta_class, ctx);
    walk_run_begin(&real, w, c, REAL, &cfx_meta_class, ctx);
    walk_run_begin(&sym, w, c, SYMBOLS, &cfx_meta_class, ctx);
    walk_run_begin(&eager, w, c, REAL, &cfx_eager_class, ctx);
    choose(&sym, text);
    walk_run_go(&meta, NULL);
    walk_run_go(&real, NULL);
    walk_run_go(&sym, b);
    /* An extent that may be more than 1 is not broadcast. */
    if (sym.has_one && sym.status && !meta.status) {
        walk_run_end(&sym);
        walk_run_begin(&sym, w, c, SYMBOLS, &cfx_meta_class, ctx);
        choose(&sym, text);
        sym.ones = false;
        walk_run_go(&sym, b);
    }
    walk_run_go(&eager, NULL);
    w->accepted = !meta.status || !eager.status;
    w->unknown = meta.status == CFX_EUNSUPPORTED && !eager.status;
    w->data = !meta.status && eager.status;
    if (eager.status)
        snprintf(w->got, sizeof(w->got), "error");
    else
        walk_add_got(w, eager.out);
    if (meta.status && !eager.status && !w->unknown)
        walk_disagree(w, "metas are refused, a run is not: %s", meta.error);
    if (!meta.status && !eager.status) {
        walk_compare(w, &meta, &eager, "metas");
        if (w->ok && !real.status && real.out.kind == eager.out.kind)
            walk_compare_places(w, c, real.out, eager.out);
    }
    check_symbols(w, &sym, eager.status && !meta.status ? &meta : &eager, c,
                  !eager.status);
    walk_run_end(&meta);
    walk_run_end(&real);
    walk_run_end(&sym);
    walk_run_end(&eager);
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
    with_case(w, ctx, text, true, look_and_check);
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
    walk_run r;
    walk_run_begin(&r, w, c, how, &cfx_meta_class, ctx);
    choose(&r, text);
    if (how == WILD)
        r.numbers = false;
    walk_run_go(&r, b);
    bool small = !r.status && is_small(r.out);
    w->accepted |= !r.status;
    walk_run_end(&r);
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
        walk_run r;
        walk_run_begin(&r, w, c, REAL, &cfx_eager_class, ctx);
        walk_run_go(&r, NULL);
        walk_run_end(&r);
    }
}

static void try_kind(walk_case *w, cfx_context *ctx, const op_case *c,
                     const cfx_bound *b, const char *text)
{
    walk_run r;
    if (c->only_made)
        return;
    try_once(w, ctx, c, b, text, SYMBOLS);
    walk_run_begin(&r, w, c, META, &cfx_meta_class, ctx);
    walk_run_go(&r, NULL);
    bool small = r.status || is_small(r.out);
    walk_run_end(&r);
    if (!c->module)
        walk_graph(w, ctx, c, small);
    else if (small)
        try_once(w, ctx, c, b, text, REAL);
}

void walk_try(walk_case *w, cfx_context *ctx, const char *text)
{
    *w = (walk_case){.ok = true, .wild = true};
    with_case(w, ctx, text, true, try_all);
}

void walk_try_kind(walk_case *w, cfx_context *ctx, const char *text)
{
    *w = (walk_case){.ok = true, .wild = true};
    with_case(w, ctx, text, false, try_kind);
}
