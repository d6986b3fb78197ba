/*
 * iter.c -- build iterators, and simplify them.
 */
#include "kernel/iter.h"

#include <assert.h>

static void row_major(int64_t *stride, int rank, const int64_t *shape)
{
    int64_t s = 1;

    for (int i = rank - 1; i >= 0; i--) {
        stride[i] = s;
        s *= shape[i];
    }
}

void cfx_iter_out(cfx_iter *it, void *data, cfx_dtype dtype,
                  const int64_t *stride)
{
    int64_t *to = cfx_iter_add(it, data, dtype);

    if (!stride)
        row_major(to, it->rank, it->shape);
    else
        for (int i = 0; i < it->rank; i++)
            to[i] = stride[i];
}

void cfx_iter_in(cfx_iter *it, const void *data, cfx_dtype dtype, int rank,
                 const int64_t *shape, const int64_t *stride)
{
    int64_t *to = cfx_iter_add(it, data, dtype);
    int64_t own[CFX_ITER_RANK];
    int missing = it->rank - rank;

    assert(missing >= 0);
    if (!stride) {
        row_major(own, rank, shape);
        stride = own;
    }
    for (int i = 0; i < missing; i++)
        to[i] = 0;
    it->op[it->count - 1].single = true;
    for (int i = 0; i < rank; i++) {
        to[missing + i] = shape[i] == 1 ? 0 : stride[i];
        it->op[it->count - 1].single &= shape[i] == 1;
    }
}

/* A number is an operand of type f64, i64 or c128 that stands still. */
static void add_number(cfx_iter *it, cfx_dtype dtype)
{
    int64_t *stride = cfx_iter_add(it, NULL, dtype);

    for (int i = 0; i < it->rank; i++)
        stride[i] = 0;
}

void cfx_iter_number(cfx_iter *it, double v)
{
    it->op[it->count].number.d = v;
    add_number(it, CFX_F64);
}

void cfx_iter_integer(cfx_iter *it, int64_t v)
{
    it->op[it->count].number.i = v;
    add_number(it, CFX_I64);
}

void cfx_iter_complex(cfx_iter *it, double re, double im)
{
    it->op[it->count].number.part[0] = re;
    it->op[it->count].number.part[1] = im;
    add_number(it, CFX_C128);
}

/* Turn the axes around, so that the innermost is axis 0, without those of
 * extent 1. */
static void reverse_axes(cfx_iter *it)
{
    int64_t shape[CFX_ITER_RANK];
    int axis[CFX_ITER_RANK], rank = 0;

    for (int i = it->rank - 1; i >= 0; i--)
        if (it->shape[i] != 1) {
            shape[rank] = it->shape[i];
            axis[rank++] = i;
        }
    for (int k = 0; k < it->count; k++) {
        int64_t stride[CFX_ITER_RANK];

        for (int i = 0; i < rank; i++)
            stride[i] = it->op[k].stride[axis[i]];
        for (int i = 0; i < rank; i++)
            it->op[k].stride[i] = stride[i];
    }
    for (int i = 0; i < rank; i++)
        it->shape[i] = shape[i];
    it->rank = rank;
}

static int64_t magnitude(int64_t v)
{
    return v < 0 ? -v : v;
}

/* Should axis `a` be inside of axis `b`? If the key has stride 0 along one of
 * them, the other operands decide. */
static bool goes_inside(const cfx_iter *it, int key, int a, int b)
{
    for (int i = 0; i < it->count; i++) {
        const cfx_operand *op = &it->op[i ? (i <= key ? i - 1 : i) : key];
        int64_t sa = magnitude(op->stride[a]), sb = magnitude(op->stride[b]);

        if (sa && sb && sa != sb)
            return sa < sb;
    }
    return false;
}

static void swap_axes(cfx_iter *it, int a, int b)
{
    int64_t t = it->shape[a];

    it->shape[a] = it->shape[b];
    it->shape[b] = t;
    for (int k = 0; k < it->count; k++) {
        int64_t *stride = it->op[k].stride;

        t = stride[a];
        stride[a] = stride[b];
        stride[b] = t;
    }
}

/* By insertion: axes are few, and nearly always in order already. */
static void sort_axes(cfx_iter *it, int key)
{
    for (int i = 1; i < it->rank; i++)
        for (int j = i; j > 0 && goes_inside(it, key, j, j - 1); j--)
            swap_axes(it, j, j - 1);
}

static bool joins(const cfx_iter *it, int inner, int outer)
{
    for (int k = 0; k < it->count; k++) {
        const int64_t *stride = it->op[k].stride;

        if (stride[outer] != stride[inner] * it->shape[inner])
            return false;
    }
    return true;
}

static void join_axes(cfx_iter *it)
{
    int last = 0;

    for (int i = 1; i < it->rank; i++) {
        if (joins(it, last, i)) {
            it->shape[last] *= it->shape[i];
            continue;
        }
        last++;
        it->shape[last] = it->shape[i];
        for (int k = 0; k < it->count; k++)
            it->op[k].stride[last] = it->op[k].stride[i];
    }
    it->rank = last + 1;
}

void cfx_iter_coalesce(cfx_iter *it, int key)
{
    for (int k = 0; k < it->count; k++)
        if (!it->op[k].data)
            it->op[k].data = (char *)&it->op[k].number;
    if (it->rank > 1)
        reverse_axes(it);
    if (it->rank == 0 || (it->rank == 1 && it->shape[0] == 1)) {
        /* One element has no gaps. */
        it->rank = 1;
        it->shape[0] = 1;
        for (int k = 0; k < it->count; k++)
            it->op[k].stride[0] = 1;
    } else if (it->rank > 1) {
        sort_axes(it, key);
        join_axes(it);
    }
}
