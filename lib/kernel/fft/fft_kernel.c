/*
 * fft_kernel.c -- how a Fourier transform is computed, and its roots of unity.
 *
 * Roots are products of two of double precision, rounded once. What is computed
 * depends on the lengths and the number of lines alone, so that results are the
 * same for any number of threads.
 */
#include "kernel/fft/fft_kernel.h"

#include <math.h>
#include <string.h>

#include "base/util.h"
#include "kernel/int64.h"

enum {
    NEAR =
        1 << 19, /* bytes of the two buffers of lines that stay in a cache */
    GRAIN = 1 << 15 /* numbers of a piece of work, at least */
};

typedef struct root {
    double re, im;
} root;

/* exp(-2 pi i k / n) for 0 <= k < n, from the first quarter of the circle. */
static root root_of(int64_t k, int64_t n)
{
    int64_t quarter = 4 * k / n;
    double angle = 1.5707963267948966192 * (double)(4 * k - quarter * n) /
                   (double)n;
    double c = cos(angle), s = sin(angle);
    return quarter == 0   ? (root){c, -s}
           : quarter == 1 ? (root){-s, -c}
           : quarter == 2 ? (root){-c, s}
                          : (root){s, c};
}

/* The roots of n: number k is low[k % size] * high[k / size]. */
typedef struct roots {
    int64_t n, size;
    root *low, *high;
} roots;

static int64_t part_of(int64_t n)
{
    int64_t size = 1;
    while (size * size < n)
        size *= 2;
    return size;
}

static roots roots_init(int64_t n, root *work)
{
    roots r = {.n = n, .size = part_of(n), .low = work};
    r.high = work + r.size;
    for (int64_t k = 0; k < r.size && k < n; k++)
        r.low[k] = root_of(k, n);
    for (int64_t k = 0; k * r.size < n; k++)
        r.high[k] = root_of(k * r.size, n);
    return r;
}

static root roots_at(const roots *r, int64_t k)
{
    root a = r->low[k & (r->size - 1)], b = r->high[k / r->size];
    return (root){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* ---- Lengths ---- */

/* A factor of n. Of 16 and 4 there are no 8s, since a pass of 2 is dear. */
static int64_t factor_of(int64_t n)
{
    if (n % 8 == 0 && (n % 16 || n % 32 == 0))
        return 8;
    if (n % 4 == 0)
        return 4;
    for (int64_t p = 2; p <= CFX_FFT_LARGEST; p++)
        if (n % p == 0)
            return p;
    return n;
}

static bool is_smooth(int64_t n)
{
    while (n > 1) {
        int64_t p = factor_of(n);
        if (p > CFX_FFT_LARGEST)
            return false;
        n /= p;
    }
    return true;
}

/* The complex numbers that n are computed from. */
static int64_t core_of(const cfx_fft *f)
{
    return f->kind != CFX_FFT_COMPLEX && f->n % 2 == 0 ? f->n / 2 : f->n;
}

/* The power of two for a convolution of n. */
static int64_t padded(int64_t n)
{
    int64_t m = 1;
    while (m < 2 * n - 1)
        m *= 2;
    return m;
}

/* The factor of n next below its root; 1 if it is less than `least`. */
static int64_t split_of(int64_t n, int64_t least)
{
    int64_t d = (int64_t)sqrt((double)n);
    while (d >= least && (n % d || d * d > n))
        d--;
    return d >= least ? d : 1;
}

static void list_factors(cfx_fft_passes *p, int64_t n)
{
    *p = (cfx_fft_passes){.n = n};
    for (; n > 1; n /= p->factor[p->count++])
        p->factor[p->count] = factor_of(n);
}

/* ---- The memory of a transform ---- */

typedef struct layout {
    cfx_fft_plan plan;
    const struct cfx_fft_type *type;
    int64_t size; /* of an element */
    int64_t core;
    int64_t elements; /* of the buffers of a thread */
    int64_t tables, roots;
} layout;

/* Elements of the roots of passes. */
static int64_t roots_size(const cfx_fft_passes *p)
{
    int64_t all = 0, m = p->n;
    for (int i = 0; i < p->count; i++) {
        m /= p->factor[i];
        all += 2 * (m * (p->factor[i] - 1) + p->factor[i]);
    }
    return all;
}

static void choose(layout *l, const cfx_context *ctx, const cfx_fft *f)
{
    const struct cfx_fft_kernels *k = cfx_context_kernels(ctx)->fft;
    cfx_fft_plan *p = &l->plan;
    bool f64 = f->dtype == CFX_F64;

    *l = (layout){.type = f64 ? &k->f64 : &k->f32, .size = f64 ? 8 : 4};
    l->core = core_of(f);
    p->f = f;
    p->length = is_smooth(l->core) ? l->core : padded(l->core);
    int64_t lanes = l->type->lanes, n1 = split_of(p->length, lanes);
    int64_t lines = f->inner > 1 ? f->inner : f->outer;
    bool near = p->length * l->size * lanes * 4 <= NEAR;
    p->line = n1 > 1 && (!near || 2 * lines <= lanes);
    list_factors(&p->first, p->line ? n1 : p->length);
    list_factors(&p->second, p->line ? p->length / n1 : 1);
    int64_t n2 = p->second.n, most = n1 > n2 ? n1 : n2;
    int64_t numbers = (f->n > p->length ? f->n : p->length) + 1;
    p->buffer = cfx_round_up(2 * (p->line ? 1 : lanes) * numbers, 16);
    l->elements = p->line
                      ? p->buffer + 2 * (n1 + lanes) * n2 + 4 * lanes * most
                      : 2 * p->buffer;
    l->elements = cfx_round_up(l->elements, 16);
    l->tables = roots_size(&p->first) + roots_size(&p->second);
    if (p->line)
        l->tables += 2 * n1 * (n2 / lanes + 1 + lanes);
    if (p->length != l->core)
        l->tables += 2 * (l->core + p->length);
    l->tables += f->n / 2 + 2;
    l->tables = cfx_round_up(l->tables, 16);
    l->roots = 2 * (part_of(2 * f->n) + part_of(p->length)) + 2;
}

size_t cfx_fft_workspace(const cfx_context *ctx, const cfx_fft *f)
{
    layout l;

    if (f->n > (int64_t)1 << 44)
        return 0;
    choose(&l, ctx, f);
    int64_t threads = cfx_context_threads(ctx);
    return (size_t)((l.elements * threads + l.tables) * l.size) +
           (size_t)l.roots * sizeof(root);
}

/* ---- Tables ---- */

/* A table that grows at its end. */
typedef struct table {
    char *end;
    int64_t size;
} table;

static void push(table *t, root r)
{
    if (t->size == 8) {
        memcpy(t->end, &r, sizeof(r));
    } else {
        float f[2] = {(float)r.re, (float)r.im};
        memcpy(t->end, f, sizeof(f));
    }
    t->end += 2 * t->size;
}

/* The roots of `all` serve the passes of any of its factors. */
static void fill_passes(cfx_fft_passes *p, table *t, const roots *all)
{
    int64_t m = p->n, s = all->n / p->n;

    p->roots = t->end;
    for (int i = 0; i < p->count; i++) {
        int64_t f = p->factor[i];
        m /= f;
        if (f > 5 && f != 8)
            for (int64_t k = 0; k < f; k++)
                push(t, roots_at(all, k * (all->n / f)));
        for (int64_t j = 0; j < m; j++)
            for (int64_t k = 1; k < f; k++)
                push(t, roots_at(all, j * k * s));
        s *= f;
    }
}

/* The factors between the two transforms of a line. */
static void fill_line(cfx_fft_plan *p, table *t, const roots *all,
                      int64_t lanes)
{
    const int64_t n1 = p->first.n, n2 = p->second.n;

    p->by_vector = t->end;
    for (int64_t at = 0; at < n2; at += lanes)
        for (int64_t k = 0; k < n1; k++)
            push(t, roots_at(all, k * at));
    p->by_lane = t->end;
    for (int64_t k = 0; k < n1; k++)
        for (int part = 0; part < 2; part++)
            for (int64_t i = 0; i < lanes; i++) {
                root r = roots_at(all, k * i);
                double x = part ? r.im : r.re;
                if (t->size == 8)
                    memcpy(t->end, &x, 8);
                else
                    memcpy(t->end, &(float){(float)x}, 4);
                t->end += t->size;
            }
}

static void fill_tables(layout *l, void *tables, root *work)
{
    cfx_fft_plan *p = &l->plan;
    const cfx_fft *f = p->f;
    table t = {tables, l->size};
    roots all = roots_init(p->length, work);

    fill_passes(&p->first, &t, &all);
    fill_passes(&p->second, &t, &all);
    if (p->line)
        fill_line(p, &t, &all, l->type->lanes);
    if (l->core != f->n) {
        roots r = roots_init(f->n, work);
        p->half = t.end;
        for (int64_t k = 0; k <= f->n / 4; k++)
            push(&t, roots_at(&r, k));
    }
    if (l->core == p->length)
        return;
    /* k * k modulo 2 n, one after the other, since a square may not fit. */
    roots r = roots_init(2 * l->core, work);
    p->chirp = t.end;
    for (int64_t k = 0, square = 0; k < l->core; k++) {
        push(&t, roots_at(&r, square));
        square = (square + 2 * k + 1) % (2 * l->core);
    }
    p->filter = t.end;
}

/* ---- Running ---- */

typedef struct job {
    const layout *l;
    char *work;
} job;

static void run_blocks(void *arg, int64_t begin, int64_t end, int worker)
{
    const job *j = arg;
    void *work = j->work + worker * j->l->elements * j->l->size;

    for (int64_t i = begin; i < end; i++)
        j->l->type->transform(&j->l->plan, i, work);
}

void cfx_fft_run(cfx_context *ctx, const cfx_fft *f, void *work)
{
    layout l;

    choose(&l, ctx, f);
    const cfx_fft_plan *p = &l.plan;
    int64_t buffers = l.elements * cfx_context_threads(ctx) * l.size;
    char *tables = (char *)work + buffers;
    fill_tables(&l, tables, (root *)(void *)(tables + l.tables * l.size));
    if (p->chirp)
        l.type->filter(p, (void *)(uintptr_t)p->filter, work);

    int64_t lanes = p->line ? 1 : l.type->lanes;
    int64_t blocks = f->inner == 1 ? cfx_ceil_div(f->outer, lanes)
                                   : f->outer * cfx_ceil_div(f->inner, lanes);
    job j = {&l, work};
    cfx_parallel_for(ctx, blocks, GRAIN / (p->length * lanes) + 1, run_blocks,
                     &j);
}
