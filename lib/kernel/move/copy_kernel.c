/*
 * copy.c -- copies between any strides and types.
 *
 * Rows go through the conversion loops. Where the input has no gaps along
 * another axis than the output, of the same type, the plane of those two axes
 * is transposed in tiles.
 */
#include <string.h>

#include "kernel/int64.h"
#include "kernel/partition.h"
#include "kernel/pointwise/pointwise_kernel.h"

enum {
    GRAIN = 32768,  /* elements that are worth another thread */
    TILE = 64,      /* columns that one call transposes, */
    TILE_MIN = 4096 /* or more, so that it moves so many elements */
};

typedef struct job {
    const cfx_iter *it;
    const struct cfx_pointwise_kernels *kernels;
    cfx_convert_fn *convert;
    cfx_transpose_fn *transpose;
    int plane;           /* the axis transposed with axis 0 */
    int64_t tile, tiles; /* along that axis: columns of one, their number */
    size_t size;
    bool stream;
} job;

static int64_t row_bytes(const cfx_operand *op)
{
    return op->stride[1] * (int64_t)cfx_dtype_size(op->dtype);
}

/* Elements begin..end of the walk: parts of rows, or whole rows of axis 1. */
static void copy_rows(void *arg, int64_t begin, int64_t end, int worker)
{
    const job *j = arg;
    const cfx_iter *it = j->it;
    const cfx_operand *to = &it->op[0], *from = &it->op[1];
    int64_t all = it->shape[0];
    cfx_place place;

    (void)worker;
    cfx_place_seek(&place, it, begin);
    while (begin < end) {
        char *y = cfx_operand_at(to, it, &place);
        const char *x = cfx_operand_at(from, it, &place);
        int64_t n = cfx_min64(all - place.at[0], end - begin), rows = 1;

        if (n == all && it->rank > 1)
            rows = cfx_min64(it->shape[1] - place.at[1], (end - begin) / n);
        j->convert(y, to->stride[0], x, from->stride[0], n);
        for (int64_t r = 1; r < rows; r++)
            j->convert(y += row_bytes(to), to->stride[0], x += row_bytes(from),
                       from->stride[0], n);
        cfx_place_advance(&place, it, rows * n);
        begin += rows * n;
    }
}

static void copy_bytes(void *arg, int64_t begin, int64_t end, int worker)
{
    const job *j = arg;
    char *y = j->it->op[0].data + (size_t)begin * j->size;
    const char *x = j->it->op[1].data + (size_t)begin * j->size;
    size_t bytes = (size_t)(end - begin) * j->size;

    (void)worker;
    if (j->stream) {
        j->kernels->stream(y, x, bytes);
        j->kernels->stream(NULL, NULL, 0);
    } else {
        memcpy(y, x, bytes);
    }
}

/* Strips begin..end of the planes: a tile of columns of the input, all its rows. */
static void copy_planes(void *arg, int64_t begin, int64_t end, int worker)
{
    const job *j = arg;
    const cfx_iter *it = j->it;
    int64_t cols = it->shape[j->plane];

    (void)worker;
    for (int64_t k = begin; k < end; k++) {
        int64_t rest = k / j->tiles, first = k % j->tiles * j->tile;
        int64_t n = cfx_min64(cols - first, j->tile);
        cfx_place place = {{0}};

        place.at[j->plane] = first;
        for (int i = 1; i < it->rank; i++)
            if (i != j->plane) {
                place.at[i] = rest % it->shape[i];
                rest /= it->shape[i];
            }
        j->transpose(cfx_operand_at(&it->op[0], it, &place),
                     it->op[0].stride[j->plane],
                     cfx_operand_at(&it->op[1], it, &place),
                     it->op[1].stride[0], it->shape[0], n);
    }
}

/* The axis along which the input, but not the output, has no gaps; or 0. */
static int find_plane(const cfx_iter *it)
{
    const cfx_operand *y = &it->op[0], *x = &it->op[1];

    if (y->stride[0] != 1 || x->stride[0] == 1)
        return 0;
    for (int i = 1; i < it->rank; i++)
        if (x->stride[i] == 1 && it->shape[i] >= 4)
            return i;
    return 0;
}

static int log2_of(size_t size)
{
    return size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : 4;
}

/* The type as which elements are moved: of stored types that of an integer of
 * their size. */
static cfx_dtype moved_as(cfx_dtype t)
{
    static const cfx_dtype of_size[] = {CFX_I8, CFX_I16, CFX_I32, CFX_I64};

    return 1 << t & CFX_STORED_TYPES ? of_size[log2_of(cfx_dtype_size(t))] : t;
}

/* Stored types are not converted here (cfx_tensor_copy does that). */
void cfx_copy(cfx_context *ctx, cfx_iter *it)
{
    const struct cfx_pointwise_kernels *kernels =
        cfx_context_kernels(ctx)->pointwise;
    cfx_dtype to = it->op[0].dtype, from = it->op[1].dtype;
    int64_t n = cfx_iter_numel(it);
    job j = {
        .it = it,
        .kernels = kernels,
        .convert = kernels->convert[moved_as(to)][moved_as(from)],
        .size = cfx_dtype_size(to),
    };

    if (n == 0)
        return;
    cfx_iter_coalesce(it, 0);
    if (to == from)
        j.plane = find_plane(it);
    if (to == from && it->rank == 1 && it->op[0].stride[0] == 1 &&
        it->op[1].stride[0] == 1) {
        j.stream = cfx_streams(ctx, n * (int64_t)j.size);
        cfx_parallel_for(ctx, n, GRAIN, copy_bytes, &j);
    } else if (j.plane) {
        int64_t rows = it->shape[0], cols = it->shape[j.plane], strip;

        j.tile = rows < TILE_MIN / TILE ? TILE_MIN / rows : TILE;
        j.tiles = cfx_ceil_div(cols, j.tile);
        strip = rows * j.tile;
        j.transpose = kernels->transpose[log2_of(j.size)];
        cfx_parallel_for(ctx, n / rows / cols * j.tiles,
                         strip < GRAIN ? (GRAIN + strip - 1) / strip : 1,
                         copy_planes, &j);
    } else {
        cfx_parallel_for(ctx, n, GRAIN, copy_rows, &j);
    }
}
