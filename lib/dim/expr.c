/*
 * expr -- the table of expressions, and sums and products in canonical form.
 */
#include "dim/expr.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/context_impl.h"
#include "base/mutex.h"

/* A sum or product that was computed lately: shapes repeat from layer to layer. It is
 * read without the lock: the version is odd while it is written, and differs after. */
typedef struct recent {
    _Atomic uint64_t version, a, b, result;
} recent;

enum { RECENT = 128 };

struct cfx_exprs {
    cfx_context *ctx;
    cfx_mutex lock;
    cfx_arena arena;
    cfx_expr **bucket;
    size_t cap, len;
    int64_t symbols;
    _Atomic(uint64_t) failures;
    recent sum[RECENT], product[RECENT];
};

enum { FIRST_CAP = 256, PRODUCT_TERMS_MAX = 1 << 14 };

/* ---- The table ---- */

static void exprs_free(cfx_context *ctx, void *table)
{
    cfx_exprs *t = table;
    cfx_arena_release(&t->arena);
    cfx_free(ctx, t->bucket, t->cap * sizeof(*t->bucket));
    cfx_mutex_destroy(&t->lock);
    cfx_free(ctx, t, sizeof(*t));
}

static void *exprs_make(cfx_context *ctx)
{
    cfx_exprs *t = cfx_calloc(ctx, 1, sizeof(*t));
    if (!t)
        return NULL;
    t->ctx = ctx;
    cfx_arena_init(&t->arena, ctx);
    t->bucket = cfx_calloc(ctx, FIRST_CAP, sizeof(*t->bucket));
    if (!t->bucket || !cfx_mutex_init(&t->lock)) {
        cfx_free(ctx, t->bucket, FIRST_CAP * sizeof(*t->bucket));
        cfx_free(ctx, t, sizeof(*t));
        return NULL;
    }
    t->cap = FIRST_CAP;
    return t;
}

cfx_exprs *cfx_exprs_of(cfx_context *ctx)
{
    static const cfx_slot slot = {exprs_make, exprs_free};
    return cfx_context_slot(ctx, &slot);
}

cfx_exprs *cfx_exprs_either(cfx_dim a, cfx_dim b)
{
    if (cfx_dim_is_expr(a))
        return cfx_expr_of(a)->table;
    return cfx_dim_is_expr(b) ? cfx_expr_of(b)->table : NULL;
}

uint64_t cfx_exprs_failures(const cfx_exprs *t)
{
    return atomic_load(&t->failures);
}

cfx_dim cfx_exprs_no_memory(cfx_exprs *t)
{
    atomic_fetch_add(&t->failures, 1);
    return CFX_DIM_BAD;
}

/* When out of memory, chains get longer instead. */
static void grow(cfx_exprs *t)
{
    size_t cap = t->cap * 2;
    cfx_expr **bucket = cfx_calloc(t->ctx, cap, sizeof(*bucket));
    if (!bucket)
        return;
    for (size_t i = 0; i < t->cap; i++)
        for (cfx_expr *e = t->bucket[i], *next; e; e = next) {
            next = e->next;
            e->next = bucket[e->hash & (cap - 1)];
            bucket[e->hash & (cap - 1)] = e;
        }
    cfx_free(t->ctx, t->bucket, t->cap * sizeof(*t->bucket));
    t->bucket = bucket;
    t->cap = cap;
}

static uint32_t hash_of(cfx_expr_kind kind, int64_t c, int64_t den,
                        const cfx_term *term, size_t n)
{
    uint64_t h = cfx_mix64((uint64_t)kind * 31 + (uint64_t)c +
                           (uint64_t)den * 977);
    for (size_t i = 0; i < n; i++) {
        /* By the operands' own hashes: addresses differ between runs. */
        uint64_t of = cfx_dim_is_int(term[i].of)
                          ? term[i].of.bits
                          : cfx_expr_of(term[i].of)->hash;
        h = cfx_mix64(h ^ cfx_mix64((uint64_t)term[i].k * 3 + of));
    }
    return (uint32_t)(h >> 32);
}

static bool same_terms(const cfx_term *a, const cfx_term *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i].k != b[i].k || !cfx_dim_same(a[i].of, b[i].of))
            return false;
    return true;
}

/* Compute depth and weight from the operands; false: too large. */
static bool measure(const cfx_term *term, size_t n, unsigned *depth,
                    uint32_t *weight)
{
    *depth = 0;
    *weight = 1;
    for (size_t i = 0; i < n; i++) {
        if (cfx_dim_is_int(term[i].of)) {
            (*weight)++;
            continue;
        }
        const cfx_expr *e = cfx_expr_of(term[i].of);
        if (e->depth > *depth)
            *depth = e->depth;
        *weight += e->weight;
        if (*weight > CFX_EXPR_WEIGHT_MAX)
            return false;
    }
    return ++*depth <= CFX_EXPR_DEPTH_MAX && n <= CFX_EXPR_WEIGHT_MAX;
}

static cfx_dim word(const cfx_expr *e)
{
    return (cfx_dim){(uint64_t)(uintptr_t)e + 1};
}

static cfx_expr *insert(cfx_exprs *t, cfx_expr *e, uint32_t hash)
{
    e->table = t;
    e->hash = hash;
    if (e->kind == CFX_EXPR_SYMBOL)
        e->symbols = UINT64_C(1) << e->c % 64;
    for (size_t i = 0; i < e->n; i++)
        e->symbols |= cfx_dim_symbols(e->term[i].of);
    if (t->len >= t->cap)
        grow(t);
    e->next = t->bucket[hash & (t->cap - 1)];
    t->bucket[hash & (t->cap - 1)] = e;
    t->len++;
    return e;
}

static cfx_dim intern(cfx_exprs *t, cfx_expr_kind kind, int64_t c, int64_t den,
                      const cfx_term *term, size_t n)
{
    unsigned depth;
    uint32_t weight;
    if (!measure(term, n, &depth, &weight))
        return CFX_DIM_BAD;
    uint32_t hash = hash_of(kind, c, den, term, n);
    cfx_mutex_lock(&t->lock);
    cfx_expr *e = t->bucket[hash & (t->cap - 1)];
    while (e && !(e->hash == hash && e->kind == kind && e->c == c &&
                  e->den == den && e->n == n && same_terms(e->term, term, n)))
        e = e->next;
    if (!e) {
        e = cfx_arena_alloc(&t->arena, sizeof(*e) + n * sizeof(*term));
        if (e) {
            *e = (cfx_expr){.c = c,
                            .den = den,
                            .n = (uint32_t)n,
                            .weight = weight,
                            .depth = (uint16_t)depth,
                            .kind = (uint8_t)kind};
            memcpy(e->term, term, n * sizeof(*term));
            insert(t, e, hash);
        }
    }
    cfx_mutex_unlock(&t->lock);
    return e ? word(e) : cfx_exprs_no_memory(t);
}

static cfx_expr *new_symbol(cfx_exprs *t, const char *name, size_t len,
                            uint32_t hash)
{
    cfx_expr *e = cfx_arena_alloc(&t->arena, sizeof(*e));
    char *copy = e ? cfx_arena_strdup(&t->arena, name, len) : NULL;
    if (!copy)
        return NULL;
    *e = (cfx_expr){.name = copy,
                    .c = t->symbols++,
                    .den = 1,
                    .weight = 1,
                    .depth = 1,
                    .kind = CFX_EXPR_SYMBOL};
    return insert(t, e, hash);
}

cfx_dim cfx_expr_symbol(cfx_exprs *t, const char *name, size_t len)
{
    uint32_t hash = cfx_hash(name, len);
    cfx_mutex_lock(&t->lock);
    cfx_expr *e = t->bucket[hash & (t->cap - 1)];
    while (e && !(e->kind == CFX_EXPR_SYMBOL && !strncmp(e->name, name, len) &&
                  !e->name[len]))
        e = e->next;
    if (!e)
        e = new_symbol(t, name, len, hash);
    cfx_mutex_unlock(&t->lock);
    return e ? word(e) : cfx_exprs_no_memory(t);
}

cfx_dim cfx_expr_atom(cfx_exprs *t, cfx_expr_kind kind, const cfx_term *term,
                      size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (cfx_dim_is_bad(term[i].of))
            return CFX_DIM_BAD;
    return intern(t, kind, 0, 1, term, n);
}

/* ---- Order ---- */

static int compare_ints(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_terms(const cfx_expr *a, const cfx_expr *b)
{
    for (size_t i = 0; i < a->n && i < b->n; i++) {
        int order = cfx_dim_compare(a->term[i].of, b->term[i].of);
        if (!order)
            order = compare_ints(b->term[i].k, a->term[i].k);
        if (order)
            return order;
    }
    return compare_ints(a->n, b->n);
}

static int64_t degree_of(const cfx_expr *e)
{
    return e->kind == CFX_EXPR_PRODUCT ? e->c : 1;
}

/* Products of equal degree compare by their first different atom: a monomial
 * order, as long division needs. */
static int compare_products(cfx_dim a, cfx_dim b)
{
    cfx_factors fa, fb;
    cfx_factors_view(&fa, a);
    cfx_factors_view(&fb, b);
    for (size_t i = 0; i < fa.n && i < fb.n; i++) {
        int order = cfx_dim_compare(fa.term[i].of, fb.term[i].of);
        if (!order)
            order = compare_ints(fb.term[i].k, fa.term[i].k);
        if (order)
            return order;
    }
    return compare_ints((int64_t)fa.n, (int64_t)fb.n);
}

int cfx_dim_compare(cfx_dim a, cfx_dim b)
{
    if (cfx_dim_same(a, b))
        return 0;
    if (!cfx_dim_is_expr(a) || !cfx_dim_is_expr(b)) {
        /* Integers come last. */
        if (cfx_dim_is_expr(a))
            return -1;
        if (cfx_dim_is_expr(b))
            return 1;
        return compare_ints((int64_t)a.bits, (int64_t)b.bits);
    }
    const cfx_expr *ea = cfx_expr_of(a), *eb = cfx_expr_of(b);
    if (ea->kind == CFX_EXPR_SUM || eb->kind == CFX_EXPR_SUM) {
        int order = compare_ints(ea->kind, eb->kind);
        if (!order)
            order = compare_terms(ea, eb);
        if (!order)
            order = compare_ints(ea->den, eb->den);
        return order ? order : compare_ints(ea->c, eb->c);
    }
    int order = compare_ints(degree_of(eb), degree_of(ea));
    if (order)
        return order;
    if (ea->kind == CFX_EXPR_PRODUCT || eb->kind == CFX_EXPR_PRODUCT)
        return compare_products(a, b);
    if (ea->kind != eb->kind)
        return compare_ints(ea->kind, eb->kind);
    return ea->kind == CFX_EXPR_SYMBOL ? strcmp(ea->name, eb->name)
                                       : compare_terms(ea, eb);
}

/* ---- Views ---- */

static void view_one(cfx_sum *s, cfx_dim d)
{
    s->only = (cfx_term){1, d};
    s->term = &s->only;
    s->n = 1;
    s->c = 0;
    s->den = 1;
}

void cfx_sum_view(cfx_sum *s, cfx_dim d)
{
    if (cfx_dim_is_int(d)) {
        *s = (cfx_sum){.c = cfx_dim_value(d), .den = 1};
        return;
    }
    const cfx_expr *e = cfx_expr_of(d);
    if (e->kind == CFX_EXPR_SUM)
        *s = (cfx_sum){.c = e->c, .den = e->den, .n = e->n, .term = e->term};
    else
        view_one(s, d);
}

void cfx_factors_view(cfx_factors *f, cfx_dim d)
{
    const cfx_expr *e = cfx_expr_of(d);
    assert(e->kind != CFX_EXPR_SUM);
    if (e->kind == CFX_EXPR_PRODUCT)
        *f = (cfx_factors){.den = 1, .n = e->n, .term = e->term};
    else
        view_one(f, d);
}

bool cfx_product_has_extremum(cfx_dim product)
{
    cfx_factors f;
    cfx_factors_view(&f, product);
    for (size_t i = 0; i < f.n; i++)
        if (cfx_dim_is_kind(f.term[i].of, CFX_EXPR_MIN) ||
            cfx_dim_is_kind(f.term[i].of, CFX_EXPR_MAX))
            return true;
    return false;
}

int64_t cfx_dim__gcd(int64_t a, int64_t b)
{
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

int64_t cfx_sum_content(const cfx_sum *s)
{
    int64_t g = 0;
    for (size_t i = 0; i < s->n && g != 1; i++)
        g = cfx_dim__gcd(g, s->term[i].k);
    return g;
}

int64_t cfx_floordiv_int(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return a % b != 0 && (a % b ^ b) < 0 ? q - 1 : q;
}

/* ---- Products ---- */

/* A product of sorted factors, after the first `n`. */
static cfx_dim make_product(cfx_exprs *t, const cfx_term *f, size_t n)
{
    int64_t degree = 0;
    for (size_t i = 0; i < n; i++)
        degree += f[i].k;
    if (degree > CFX_EXPR_DEGREE_MAX)
        return CFX_DIM_BAD;
    if (n == 0)
        return cfx_dim_int(1);
    if (n == 1 && f[0].k == 1)
        return f[0].of;
    return intern(t, CFX_EXPR_PRODUCT, degree, 1, f, n);
}

/* Multiply a by b to the power `sign`. */
static cfx_dim combine(cfx_dim a, cfx_dim b, int sign)
{
    cfx_term out[2 * CFX_EXPR_DEGREE_MAX];
    cfx_factors fa, fb;
    cfx_factors_view(&fa, a);
    cfx_factors_view(&fb, b);
    size_t n = 0;
    for (size_t i = 0, j = 0; i < fa.n || j < fb.n;) {
        int order = i == fa.n ? 1
                    : j == fb.n
                        ? -1
                        : cfx_dim_compare(fa.term[i].of, fb.term[j].of);
        cfx_term f = order <= 0 ? fa.term[i++] : (cfx_term){0, fb.term[j].of};
        if (order >= 0)
            f.k += sign * fb.term[j++].k;
        if (f.k < 0)
            return CFX_DIM_BAD;
        if (f.k > 0)
            out[n++] = f;
    }
    return make_product(cfx_expr_of(a)->table, out, n);
}

cfx_dim cfx_expr_product(cfx_dim a, cfx_dim b)
{
    return combine(a, b, 1);
}

cfx_dim cfx_expr_quotient(cfx_dim a, cfx_dim b)
{
    return combine(a, b, -1);
}

/* ---- Sums under construction ---- */

void cfx_poly_init(cfx_poly *p, cfx_exprs *table)
{
    p->table = table;
    p->bad = false;
    p->c = 0;
    p->den = 1;
    p->n = 0;
    p->cap = sizeof(p->room) / sizeof(*p->room);
    p->term = p->room;
}

static void poly_release(cfx_poly *p)
{
    if (p->term != p->room)
        cfx_free(p->table->ctx, p->term, p->cap * sizeof(*p->term));
    cfx_poly_init(p, p->table);
}

void cfx_poly_const(cfx_poly *p, int64_t c)
{
    p->bad |= __builtin_mul_overflow(c, p->den, &c) ||
              __builtin_add_overflow(p->c, c, &p->c);
}

static bool poly_grow(cfx_poly *p)
{
    cfx_context *ctx = p->table->ctx;
    size_t cap = p->cap * 2, old = p->cap * sizeof(*p->term);
    cfx_term *term = cfx_alloc(ctx, cap * sizeof(*term));
    if (!term) {
        cfx_exprs_no_memory(p->table);
        p->bad = true;
        return false;
    }
    memcpy(term, p->term, old);
    if (p->term != p->room)
        cfx_free(ctx, p->term, old);
    p->term = term;
    p->cap = cap;
    return true;
}

void cfx_poly_term(cfx_poly *p, int64_t k, cfx_dim of)
{
    p->bad |= cfx_dim_is_bad(of) || __builtin_mul_overflow(k, p->den, &k);
    if (p->bad || !k || (p->n == p->cap && !poly_grow(p)))
        return;
    p->term[p->n++] = (cfx_term){k, of};
}

/* Multiply numerator and denominator by `den`. */
static void poly_widen(cfx_poly *p, int64_t den)
{
    p->bad |= __builtin_mul_overflow(p->den, den, &p->den) ||
              __builtin_mul_overflow(p->c, den, &p->c);
    for (size_t i = 0; i < p->n && !p->bad; i++)
        p->bad |= __builtin_mul_overflow(p->term[i].k, den, &p->term[i].k);
}

void cfx_poly_over(cfx_poly *p, int64_t k)
{
    p->bad |= __builtin_mul_overflow(p->den, k, &p->den);
}

void cfx_poly_dim(cfx_poly *p, int64_t k, cfx_dim d)
{
    if (cfx_dim_is_bad(d)) {
        p->bad = true;
        return;
    }
    cfx_sum s;
    int64_t c, den = 1;
    cfx_sum_view(&s, d);
    if (s.den != 1) {
        den = cfx_dim__gcd(p->den, s.den);
        poly_widen(p, s.den / den);
        /* In the new denominator, of which k is a part. */
        p->bad |= __builtin_mul_overflow(k, p->den / s.den, &k);
        den = p->den;
        p->den = 1;
    }
    p->bad |= __builtin_mul_overflow(k, s.c, &c);
    if (!p->bad)
        cfx_poly_const(p, c);
    for (size_t i = 0; i < s.n && !p->bad; i++) {
        p->bad |= __builtin_mul_overflow(k, s.term[i].k, &c);
        cfx_poly_term(p, c, s.term[i].of);
    }
    if (s.den != 1)
        p->den = den;
}

static int term_order(const void *a, const void *b)
{
    const cfx_term *ta = a, *tb = b;
    return cfx_dim_compare(ta->of, tb->of);
}

/* Sort the terms and combine equal products. */
static void collect(cfx_poly *p)
{
    size_t i = 1;
    while (i < p->n && term_order(&p->term[i - 1], &p->term[i]) < 0)
        i++;
    if (i < p->n)
        qsort(p->term, p->n, sizeof(*p->term), term_order);
    size_t n = 0;
    for (i = 0; i < p->n; i++) {
        if (n && cfx_dim_same(p->term[n - 1].of, p->term[i].of)) {
            p->bad |= __builtin_add_overflow(p->term[n - 1].k, p->term[i].k,
                                             &p->term[n - 1].k);
            continue;
        }
        n -= n && !p->term[n - 1].k;
        p->term[n++] = p->term[i];
    }
    n -= n && !p->term[n - 1].k;
    p->n = n;
    for (i = 0; i < n; i++)
        p->bad |= p->term[i].k == INT64_MIN;
}

/* Cancel common factors of numerator and denominator. */
static void cancel(cfx_poly *p)
{
    int64_t g = cfx_dim__gcd(p->den, p->c);
    for (size_t i = 0; i < p->n && g != 1; i++)
        g = cfx_dim__gcd(g, p->term[i].k);
    p->den /= g;
    p->c /= g;
    for (size_t i = 0; i < p->n; i++)
        p->term[i].k /= g;
    /* An integer that does not divide is not an extent. */
    p->bad |= p->den != 1 && !p->n;
}

cfx_dim cfx_poly_finish(cfx_poly *p)
{
    cfx_dim d = CFX_DIM_BAD;
    if (!p->bad && p->c == INT64_MIN)
        p->bad = true;
    if (!p->bad)
        collect(p);
    if (!p->bad && p->den != 1)
        cancel(p);
    for (size_t i = 0; i < p->n; i++)
        p->bad |= cfx_dim_is_bad(cfx_dim_int(p->term[i].k));
    p->bad |= cfx_dim_is_bad(cfx_dim_int(p->c)) ||
              cfx_dim_is_bad(cfx_dim_int(p->den));
    if (p->bad)
        goto out;
    if (!p->n)
        d = cfx_dim_int(p->c);
    else if (p->n == 1 && p->term[0].k == 1 && !p->c && p->den == 1)
        d = p->term[0].of;
    else
        d = intern(p->table, CFX_EXPR_SUM, p->c, p->den, p->term, p->n);
out:
    poly_release(p);
    return d;
}

/* ---- Arithmetic ---- */

cfx_dim cfx_dim_affine(int64_t k, cfx_dim d, int64_t c)
{
    cfx_poly p;
    cfx_poly_init(&p, cfx_exprs_either(d, d));
    cfx_poly_dim(&p, k, d);
    if (!p.bad)
        cfx_poly_const(&p, c);
    return cfx_poly_finish(&p);
}

cfx_dim cfx_dim_over(cfx_dim d, int64_t k)
{
    if (k == 1 || cfx_dim_is_bad(d))
        return d;
    if (cfx_dim_is_int(d))
        return cfx_dim_value(d) % k ? CFX_DIM_BAD
                                    : cfx_dim_int(cfx_dim_value(d) / k);
    cfx_poly p;
    cfx_poly_init(&p, cfx_exprs_either(d, d));
    cfx_poly_dim(&p, 1, d);
    cfx_poly_over(&p, k);
    return cfx_poly_finish(&p);
}

cfx_dim cfx_dim_numerator(cfx_dim d, int64_t *den)
{
    *den = cfx_dim_is_expr(d) ? cfx_expr_of(d)->den : 1;
    if (*den == 1)
        return d;
    const cfx_expr *e = cfx_expr_of(d);
    cfx_poly p;
    cfx_poly_init(&p, e->table);
    cfx_poly_const(&p, e->c);
    for (size_t i = 0; i < e->n; i++)
        cfx_poly_term(&p, e->term[i].k, e->term[i].of);
    return cfx_poly_finish(&p);
}

/* The result that r has for these operands; CFX_DIM_BAD: it has others, or is being
 * written. Each load orders the later ones after itself. */
static cfx_dim recall(recent *r, cfx_dim a, cfx_dim b)
{
    uint64_t version = atomic_load_explicit(&r->version, memory_order_acquire);
    uint64_t ra = atomic_load_explicit(&r->a, memory_order_acquire);
    uint64_t rb = atomic_load_explicit(&r->b, memory_order_acquire);
    cfx_dim y = {atomic_load_explicit(&r->result, memory_order_acquire)};
    bool whole = !(version & 1) &&
                 atomic_load_explicit(&r->version, memory_order_relaxed) ==
                     version;
    return whole && ra == a.bits && rb == b.bits ? y : CFX_DIM_BAD;
}

/* Only the owner of the lock writes. Each store is ordered after the earlier ones. */
static void note(recent *r, cfx_dim a, cfx_dim b, cfx_dim result)
{
    uint64_t version = atomic_load_explicit(&r->version, memory_order_relaxed);
    atomic_store_explicit(&r->version, version + 1, memory_order_relaxed);
    atomic_store_explicit(&r->a, a.bits, memory_order_release);
    atomic_store_explicit(&r->b, b.bits, memory_order_release);
    atomic_store_explicit(&r->result, result.bits, memory_order_release);
    atomic_store_explicit(&r->version, version + 2, memory_order_release);
}

/* The result of `compute`, remembered in one of the arrays of t. */
static cfx_dim remembered(cfx_exprs *t, recent *array, cfx_dim a, cfx_dim b,
                          cfx_dim (*compute)(cfx_dim, cfx_dim))
{
    recent *place = &array[cfx_mix64(a.bits * 3 + b.bits) % RECENT];
    cfx_dim result = recall(place, a, b);
    if (!cfx_dim_is_bad(result))
        return result;
    result = compute(a, b);
    if (cfx_dim_is_bad(result))
        return result;
    cfx_mutex_lock(&t->lock);
    note(place, a, b, result);
    cfx_mutex_unlock(&t->lock);
    return result;
}

static cfx_dim add(cfx_dim a, cfx_dim b)
{
    cfx_poly p;
    cfx_poly_init(&p, cfx_exprs_either(a, b));
    cfx_poly_dim(&p, 1, a);
    cfx_poly_dim(&p, 1, b);
    return cfx_poly_finish(&p);
}

cfx_dim cfx_dim_add_symbols(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    cfx_exprs *t = cfx_exprs_either(a, b);
    (void)env;
    if (cfx_dim_is_bad(a) || cfx_dim_is_bad(b))
        return CFX_DIM_BAD;
    return t ? remembered(t, t->sum, a, b, add) : add(a, b);
}

static cfx_dim mul_sums(cfx_dim a, cfx_dim b)
{
    cfx_sum sa, sb;
    cfx_sum_view(&sa, a);
    cfx_sum_view(&sb, b);
    if (sa.n * sb.n > PRODUCT_TERMS_MAX)
        return CFX_DIM_BAD;
    cfx_poly p;
    cfx_poly_init(&p, cfx_exprs_either(a, b));
    int64_t k;
    p.bad = __builtin_mul_overflow(sa.c, sb.c, &k);
    cfx_poly_const(&p, k);
    for (size_t i = 0; i < sa.n && !p.bad; i++) {
        p.bad |= __builtin_mul_overflow(sa.term[i].k, sb.c, &k);
        cfx_poly_term(&p, k, sa.term[i].of);
    }
    for (size_t j = 0; j < sb.n && !p.bad; j++) {
        p.bad |= __builtin_mul_overflow(sa.c, sb.term[j].k, &k);
        cfx_poly_term(&p, k, sb.term[j].of);
        for (size_t i = 0; i < sa.n && !p.bad; i++) {
            p.bad |= __builtin_mul_overflow(sa.term[i].k, sb.term[j].k, &k);
            cfx_poly_term(&p, k,
                          cfx_expr_product(sa.term[i].of, sb.term[j].of));
        }
    }
    cfx_poly_over(&p, sa.den);
    cfx_poly_over(&p, sb.den);
    return cfx_poly_finish(&p);
}

static cfx_dim mul(cfx_dim a, cfx_dim b)
{
    if (cfx_dim_is_int(a))
        return cfx_dim_affine(cfx_dim_value(a), b, 0);
    if (cfx_dim_is_int(b))
        return cfx_dim_affine(cfx_dim_value(b), a, 0);
    return mul_sums(a, b);
}

cfx_dim cfx_dim_mul_symbols(cfx_shape_env *env, cfx_dim a, cfx_dim b)
{
    cfx_exprs *t = cfx_exprs_either(a, b);
    int64_t v;
    (void)env;
    if (cfx_dim_is_bad(a) || cfx_dim_is_bad(b))
        return CFX_DIM_BAD;
    if (t)
        return remembered(t, t->product, a, b, mul);
    return __builtin_mul_overflow(cfx_dim_value(a), cfx_dim_value(b), &v)
               ? CFX_DIM_BAD
               : cfx_dim_int(v);
}
