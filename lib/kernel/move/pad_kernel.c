/*
 * pad.c -- padding of any axes, a row at a time.
 *
 * Along each axis an output is either one of the inputs or, in the constant
 * mode, none. Rows of y along the last axis are moved in three parts: what is
 * before x, x itself, what is after it.
 */
#include <string.h>

#include "kernel/int64.h"
#include "kernel/resample/resample.h"

/* The input that output `o` is along an axis, or -1. */
static int64_t source_of(const cfx_pad *p, int axis, int64_t o)
{
    int64_t n = p->in[axis], before = p->before[axis], i = o - before;
    int64_t after = p->out[axis] - n - before, first, len;

    if (i >= 0 && i < n)
        return i;
    switch (p->mode) {
    case CFX_PAD_REFLECT: return i < 0 ? -i : 2 * (n - 1) - i;
    case CFX_PAD_REPLICATE: return i < 0 ? 0 : n - 1;
    case CFX_PAD_CIRCULAR:
        /* Elements that the other side cuts off do not wrap around. */
        first = -cfx_min64(before, 0);
        len = n + cfx_min64(after, 0) - first;
        return first + ((i - first) % len + len) % len;
    default: return -1;
    }
}

/* Elements begin..end of a row of y, all outside of x (NULL: of all of it). */
#define EDGE(T)                                                               \
    static void edge_##T(const cfx_pad *p, T *y, const T *x, int64_t begin,   \
                         int64_t end)                                         \
    {                                                                         \
        T value = 0;                                                          \
                                                                              \
        if (p->value)                                                         \
            memcpy(&value, p->value, sizeof(value));                          \
        for (int64_t i = begin; i < end; i++) {                               \
            int64_t from = x ? source_of(p, p->rank - 1, i) : -1;             \
            y[i] = from < 0 ? value : x[from];                                \
        }                                                                     \
    }

EDGE(uint8_t)
EDGE(uint16_t)
EDGE(uint32_t)
EDGE(uint64_t)
typedef double _Complex complex;
EDGE(complex)

static void edge(const cfx_pad *p, void *y, const void *x, int64_t begin,
                 int64_t end)
{
    switch (p->size) {
    case 1: edge_uint8_t(p, y, x, begin, end); break;
    case 2: edge_uint16_t(p, y, x, begin, end); break;
    case 4: edge_uint32_t(p, y, x, begin, end); break;
    case 8: edge_uint64_t(p, y, x, begin, end); break;
    default: edge_complex(p, y, x, begin, end); break;
    }
}

/* The row of x that row r of y copies, or -1. */
static int64_t row_of(const cfx_pad *p, int64_t r)
{
    int64_t row = 0, step = 1;

    for (int a = p->rank - 2; a >= 0; a--) {
        int64_t i = source_of(p, a, r % p->out[a]);

        if (i < 0)
            return -1;
        row += i * step;
        step *= p->in[a];
        r /= p->out[a];
    }
    return row;
}

static void rows_piece(void *arg, int64_t begin, int64_t end, int worker)
{
    const cfx_pad *p = arg;
    int64_t in = p->in[p->rank - 1], out = p->out[p->rank - 1];
    int64_t before = p->before[p->rank - 1];
    int64_t left = cfx_max64(0, cfx_min64(before, out));
    int64_t right = cfx_max64(left, cfx_min64(before + in, out));

    (void)worker;
    for (int64_t r = begin; r < end; r++) {
        int64_t row = row_of(p, r);
        char *y = (char *)p->y + (size_t)(r * out) * p->size;
        const char *x;

        if (row < 0) {
            edge(p, y, NULL, 0, out);
            continue;
        }
        x = (const char *)p->x + (size_t)(row * in) * p->size;
        edge(p, y, x, 0, left);
        if (right > left)
            memcpy(y + (size_t)left * p->size,
                   x + (size_t)(left - before) * p->size,
                   (size_t)(right - left) * p->size);
        edge(p, y, x, right, out);
    }
}

void cfx_pad_run(cfx_context *ctx, const cfx_pad *p)
{
    static const int64_t one = 1, zero = 0;
    cfx_pad t = *p;
    int64_t rows = 1;

    if (t.rank == 0) {
        t.rank = 1;
        t.in = t.out = &one;
        t.before = &zero;
    }
    for (int a = 0; a < t.rank - 1; a++)
        rows *= t.out[a];
    if (t.out[t.rank - 1] > 0)
        cfx_parallel_for(ctx, rows, 32768 / t.out[t.rank - 1] + 1, rows_piece,
                         &t);
}
