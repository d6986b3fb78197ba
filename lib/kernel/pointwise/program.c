/*
 * program.c -- run a program of pointwise operations tile by tile.
 *
 * A tile is a box of the output: whole inner axes, a part of one, and one place
 * on each outer axis. Buffers hold tiles without gaps.
 */
#include "kernel/pointwise/program.h"

#include <stdatomic.h>

enum {
    TILE = 2048,      /* most elements of a tile */
    WIDEST = 8,       /* bytes of an element */
    TILES_A_PIECE = 4 /* worth another thread */
};

/* ---- Buffers ---- */

/* The last step that reads the result of step i. */
static int last_use(const cfx_program *p, int i)
{
    int last = i;

    for (int s = i + 1; s < p->nsteps; s++)
        for (int k = 0; k < p->step[s].n; k++)
            if (p->step[s].in[k].from == CFX_FROM_STEP &&
                p->step[s].in[k].at == i)
                last = s;
    return last;
}

bool cfx_program_plan(cfx_program *p)
{
    int busy_until[CFX_PROGRAM_BUFFERS] = {0};

    p->nbuffers = 0;
    for (int i = 0; i + 1 < p->nsteps; i++) {
        int b = 0;

        while (b < p->nbuffers && busy_until[b] >= i)
            b++;
        if (b == CFX_PROGRAM_BUFFERS)
            return false;
        if (b == p->nbuffers)
            p->nbuffers++;
        p->step[i].buffer = b;
        busy_until[b] = last_use(p, i);
    }
    return true;
}

static size_t work_of_thread(const cfx_program *p)
{
    return (size_t)p->nbuffers * TILE * WIDEST;
}

size_t cfx_program_work(const cfx_context *ctx, const cfx_program *p)
{
    return work_of_thread(p) * (size_t)cfx_context_threads(ctx);
}

/* ---- Tiles ---- */

typedef struct job {
    cfx_context *ctx;
    const cfx_program *p;
    const cfx_iter *it;
    int axis;       /* the axis that tiles cut */
    int64_t extent; /* most extent of a tile along it */
    int64_t parts;  /* tiles along it */
    char *work;
    atomic_bool zero;
} job;

typedef struct tile {
    cfx_place place;
    int64_t shape[CFX_ITER_RANK];
    char *buffer;
} tile;

static void add_buffer(cfx_iter *s, const tile *t, int b, cfx_dtype dtype)
{
    int64_t *stride = cfx_iter_add(s, t->buffer + (size_t)b * TILE * WIDEST,
                                   dtype);
    int64_t n = 1;

    for (int a = 0; a < s->rank; a++) {
        stride[a] = n;
        n *= t->shape[a];
    }
}

/* Operand k of the walk over the whole, from the place of the tile on. */
static void add_operand(const job *j, cfx_iter *s, const tile *t, int k)
{
    const cfx_operand *o = &j->it->op[k];
    int64_t *stride = cfx_iter_add(s, cfx_operand_at(o, j->it, &t->place),
                                   o->dtype);

    for (int a = 0; a < s->rank; a++)
        stride[a] = o->stride[a];
}

static void add_input(const job *j, cfx_iter *s, const tile *t,
                      const cfx_program_operand *in)
{
    switch (in->from) {
    case CFX_FROM_INPUT: add_operand(j, s, t, 1 + in->at); break;
    case CFX_FROM_STEP:
        add_buffer(s, t, j->p->step[in->at].buffer, j->p->step[in->at].out);
        break;
    case CFX_FROM_NUMBER:
        if (in->dtype == CFX_I64)
            cfx_iter_integer(s, in->number.i);
        else
            cfx_iter_number(s, in->number.d);
        return;
    }
    s->op[s->count - 1].single = in->single;
}

static void run_step(job *j, const tile *t, int i)
{
    const cfx_program_step *step = &j->p->step[i];
    cfx_iter s;

    cfx_iter_begin(&s, j->axis + 1, t->shape);
    if (i + 1 < j->p->nsteps)
        add_buffer(&s, t, step->buffer, step->out);
    else
        add_operand(j, &s, t, 0);
    for (int k = 0; k < step->n; k++)
        add_input(j, &s, t, &step->in[k]);
    if (step->code == CFX_PROGRAM_COPY)
        cfx_copy(j->ctx, &s);
    else if (!cfx_pointwise(j->ctx, (cfx_pw)step->code, step->type, &s,
                            step->params))
        atomic_store_explicit(&j->zero, true, memory_order_relaxed);
}

/* Go to tile n: tiles along the cut axis come first, then the outer axes. */
static void seek(const job *j, tile *t, int64_t n)
{
    const cfx_iter *it = j->it;
    int64_t first = n % j->parts * j->extent;
    int64_t left = it->shape[j->axis] - first;

    n /= j->parts;
    for (int a = 0; a < it->rank; a++) {
        t->shape[a] = it->shape[a];
        t->place.at[a] = 0;
        if (a > j->axis) {
            t->place.at[a] = n % it->shape[a];
            n /= it->shape[a];
        }
    }
    t->place.at[j->axis] = first;
    t->shape[j->axis] = left < j->extent ? left : j->extent;
}

static void run_tiles(void *arg, int64_t begin, int64_t end, int worker)
{
    job *j = arg;
    tile t;

    t.buffer = j->work ? j->work + work_of_thread(j->p) * (size_t)worker
                       : NULL; /* a single step needs none */
    for (; begin < end; begin++) {
        seek(j, &t, begin);
        for (int i = 0; i < j->p->nsteps; i++)
            run_step(j, &t, i);
    }
}

bool cfx_program_run(cfx_context *ctx, const cfx_program *p, cfx_iter *it,
                     void *work)
{
    int64_t n = cfx_iter_numel(it), inner = 1;
    job j = {.ctx = ctx, .p = p, .it = it, .work = work};

    if (n == 0)
        return true;
    atomic_init(&j.zero, false);
    cfx_iter_coalesce(it, 0);
    while (j.axis + 1 < it->rank && inner * it->shape[j.axis] < TILE)
        inner *= it->shape[j.axis++];
    j.extent = TILE / inner;
    j.parts = (it->shape[j.axis] + j.extent - 1) / j.extent;
    n = n / (inner * it->shape[j.axis]) * j.parts;
    cfx_parallel_for(ctx, n, TILES_A_PIECE, run_tiles, &j);
    return !atomic_load_explicit(&j.zero, memory_order_relaxed);
}
