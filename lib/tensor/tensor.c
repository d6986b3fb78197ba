/*
 * tensor -- constructors, views and reference counts of tensors.
 *
 * All constructors come down to `make`, which lays out the block, and
 * `survey`, which reads extents and strides once and refuses more than 2^61
 * bytes. After that, sums and products of them cannot overflow.
 */
#include <cfx/tensor.h>

#include <stdio.h>

#include "base/atomic.h"
#include "base/context_impl.h"
#include "base/util.h"
#include "tensor/storage.h"

enum {
    ALIGN = 64,
    SMALL = 4096 /* bytes of data that share a block with their tensor */
};

#define MAX_BYTES ((int64_t)1 << 61)

/* ---- Extents and strides ---- */

/* a * b for non-negative numbers; false beyond MAX_BYTES. */
static bool times(int64_t *out, int64_t a, int64_t b)
{
    if (CFX_UNLIKELY((a | b) >> 30) && b && a > MAX_BYTES / b)
        return false;
    *out = a * b;
    return true;
}

/* bytes / size, by shifts: a division costs as much as the rest of making a
 * view. */
static size_t elements_in(size_t bytes, size_t size)
{
    return bytes >> (size >= 8 ? 2 + (size >> 3) : size >> 1);
}

static int64_t max_numel(cfx_dtype dtype)
{
    return (int64_t)elements_in((size_t)MAX_BYTES, cfx_dtype_size(dtype));
}

/* Is it a non-negative integer? Sets *value. */
static bool is_count(cfx_dim d)
{
    return !(d.bits & 1) && (int64_t)d.bits >= 0;
}
static bool are_counts(cfx_dim a, cfx_dim b)
{
    return is_count((cfx_dim){a.bits | b.bits});
}
static int64_t count_of(cfx_dim d)
{
    return (int64_t)(d.bits >> 1);
}

typedef struct survey {
    bool known;    /* all extents and strides are integers */
    bool empty;    /* an extent is 0 */
    bool rows;     /* row-major (or empty) */
    int64_t reach; /* elements from the first to the last, inclusive */
} survey;

/* "[2, 3]" for messages. */
static const char *show(char *buf, size_t size, int rank, const cfx_dim *dim)
{
    size_t len = 0;

    for (int i = 0; i < rank && len < size; i++) {
        if (i)
            len += (size_t)snprintf(buf + len, size - len, ", ");
        if (len < size)
            len += cfx_dim_format(dim[i], buf + len, size - len);
    }
    if (!rank)
        *buf = 0;
    return buf;
}

static cfx_status fail_size(cfx_error *err, cfx_dtype dtype, int rank,
                            const cfx_dim *shape)
{
    char text[512];

    return cfx_fail(
        err, CFX_ESHAPE,
        "a tensor of type %s and shape [%s] is larger than 2^61 bytes",
        cfx_dtypes[dtype].name, show(text, sizeof text, rank, shape));
}

static cfx_status check_rank(cfx_error *err, int rank)
{
    if (CFX_LIKELY(rank >= 0 && rank <= CFX_MAX_RANK))
        return CFX_OK;
    return cfx_fail(err, CFX_ESHAPE, "rank %d is not within 0 and %d", rank,
                    CFX_MAX_RANK);
}

static cfx_status check_dim(cfx_error *err, const char *what, int axis,
                            cfx_dim d)
{
    if (cfx_dim_is_bad(d))
        return cfx_fail(err, CFX_ESHAPE,
                        "the %s on axis %d is beyond 2^61 or undefined", what,
                        axis);
    if (cfx_dim_is_int(d) && cfx_dim_value(d) < 0)
        return cfx_fail(err, CFX_ESHAPE, "the %s on axis %d is negative: %lld",
                        what, axis, (long long)cfx_dim_value(d));
    return CFX_OK;
}

static bool is_one(cfx_dim d)
{
    return cfx_dim_is(d, 1);
}

/* Axes of extent 1 may have any stride; symbolic extents are compared as
 * words. */
static bool steps_follow(const int *order, int rank, const cfx_dim *shape,
                         const cfx_dim *stride)
{
    cfx_dim expected = cfx_dim_int(1);

    for (int k = 0; k < rank; k++) {
        int i = order[k];
        if (is_one(shape[i]))
            continue;
        if (!cfx_dim_same(stride[i], expected))
            return false;
        expected = cfx_dim_mul(NULL, expected, shape[i]);
    }
    return true;
}

/* Is some order of the axes row-major? The order is found by following the
 * strides from 1 upwards. */
static bool is_dense(int rank, const cfx_dim *shape, const cfx_dim *stride)
{
    cfx_dim expected = cfx_dim_int(1);
    unsigned left = 0;

    for (int i = 0; i < rank; i++)
        if (!is_one(shape[i]))
            left |= 1u << i;
    while (left) {
        int i = 0;
        while (i < rank &&
               (!(left >> i & 1) || !cfx_dim_same(stride[i], expected)))
            i++;
        if (i == rank)
            return false;
        left &= ~(1u << i);
        expected = cfx_dim_mul(NULL, expected, shape[i]);
    }
    return true;
}

/* As in PyTorch, an empty tensor is contiguous and dense, but channels-last
 * only by its strides. */
static uint8_t flags_of(bool rows, int rank, const cfx_dim *shape,
                        const cfx_dim *stride)
{
    static const int last_2d[] = {1, 3, 2, 0}, last_3d[] = {1, 4, 3, 2, 0};
    unsigned flags = 0;

    if (rows)
        flags |= CFX_TENSOR_CONTIGUOUS | CFX_TENSOR_DENSE;
    else if (is_dense(rank, shape, stride))
        flags |= CFX_TENSOR_DENSE;
    if (rank == 4 && steps_follow(last_2d, 4, shape, stride))
        flags |= CFX_TENSOR_CHANNELS_LAST;
    if (rank == 5 && steps_follow(last_3d, 5, shape, stride))
        flags |= CFX_TENSOR_CHANNELS_LAST_3D;
    return (uint8_t)flags;
}

/* ---- Surveys ---- */

/*
 * The bound uses extents of at least 1, so that it also covers the strides of
 * an empty tensor. Symbols are skipped.
 */
static cfx_status survey_of(survey *out, cfx_dtype dtype, int rank,
                            const cfx_dim *shape, const cfx_dim *stride,
                            cfx_error *err)
{
    static const int last_first[] = {15, 14, 13, 12, 11, 10, 9, 8,
                                     7,  6,  5,  4,  3,  2,  1, 0};
    int64_t row = 1, reach = 1, far;
    bool known = true, empty = false, rows = true;

    for (int i = rank - 1; i >= 0; i--) {
        if (CFX_UNLIKELY(!are_counts(shape[i], stride[i]))) {
            if (check_dim(err, "extent", i, shape[i]) ||
                check_dim(err, "stride", i, stride[i]))
                return CFX_ESHAPE;
            known = false;
            empty |= cfx_dim_is(shape[i], 0);
            continue;
        }
        int64_t n = count_of(shape[i]), step = count_of(stride[i]);
        if (CFX_UNLIKELY(n == 0)) {
            empty = true;
            continue;
        }
        rows &= step == row || n == 1;
        if (CFX_LIKELY(!((n | step | row | reach) >> 30))) {
            row *= n;
            reach += (n - 1) * step;
        } else if (!times(&row, row, n) || row > MAX_BYTES) {
            return fail_size(err, dtype, rank, shape);
        } else if (!times(&far, n - 1, step) || reach > MAX_BYTES - far) {
            return cfx_fail(
                err, CFX_ESHAPE,
                "stride %lld on axis %d of extent %lld reaches beyond 2^61",
                (long long)step, i, (long long)n);
        } else {
            reach += far;
        }
    }
    if (CFX_UNLIKELY(row > max_numel(dtype)))
        return fail_size(err, dtype, rank, shape);
    if (CFX_UNLIKELY(!known && !empty))
        rows = steps_follow(last_first + CFX_MAX_RANK - rank, rank, shape,
                            stride);
    *out = (survey){
        .known = known,
        .empty = empty,
        .rows = rows || empty,
        .reach = empty ? 0 : reach,
    };
    return CFX_OK;
}

/* Row-major strides of known extents, and their number of elements. */
static cfx_status row_major(int64_t *numel, cfx_dtype dtype, int rank,
                            const cfx_dim *shape, cfx_dim *stride,
                            cfx_error *err)
{
    int64_t row = 1;
    bool empty = false;

    for (int i = rank - 1; i >= 0; i--) {
        if (CFX_UNLIKELY(!is_count(shape[i])))
            return check_dim(err, "extent", i, shape[i]);
        int64_t n = count_of(shape[i]);
        stride[i] = (cfx_dim){(uint64_t)row << 1};
        if (CFX_UNLIKELY(n == 0))
            empty = true;
        else if (CFX_UNLIKELY(!times(&row, row, n) || row > MAX_BYTES))
            return fail_size(err, dtype, rank, shape);
    }
    if (CFX_UNLIKELY(row > max_numel(dtype)))
        return fail_size(err, dtype, rank, shape);
    *numel = empty ? 0 : row;
    return CFX_OK;
}

void cfx_strides_of(cfx_shape_env *env, cfx_memory_format format, int rank,
                    const cfx_dim *shape, cfx_dim *stride)
{
    bool last = (format == CFX_CHANNELS_LAST && rank == 4) ||
                (format == CFX_CHANNELS_LAST_3D && rank == 5);
    cfx_dim step = cfx_dim_int(1);

    if (last) {
        stride[1] = step;
        step = shape[1];
    }
    for (int i = rank - 1; i >= 0; i--) {
        if (last && i == 1)
            continue;
        stride[i] = step;
        /* As in PyTorch, an empty axis counts as 1 only in row-major order. */
        if (last || !cfx_dim_is(shape[i], 0))
            step = cfx_dim_mul(env, step, shape[i]);
    }
}

int64_t cfx_tensor_numel(const cfx_tensor *t)
{
    int64_t n = 1;

    for (int i = 0; i < t->rank; i++)
        n *= cfx_dim_value(t->shape[i]);
    return n;
}

/* ---- Blocks ---- */

static size_t head_size(int rank, bool with_storage)
{
    return (with_storage ? sizeof(cfx_storage) : 0) + sizeof(cfx_tensor) +
           2 * (size_t)rank * sizeof(cfx_dim);
}

static size_t round_up(size_t n)
{
    return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

static cfx_storage *own_storage(const cfx_tensor *t)
{
    return (cfx_storage *)(void *)((char *)(uintptr_t)t - sizeof(cfx_storage));
}

/* Create a tensor in a block of that size, with strides but without data. */
static cfx_tensor *make(cfx_context *ctx, cfx_dtype dtype, int rank,
                        bool with_storage, size_t block)
{
    char *p = cfx_head_alloc(ctx, block);
    if (!p)
        return NULL;

    cfx_tensor *t = (void *)(with_storage ? p + sizeof(cfx_storage) : p);
    t->refs = 1;
    t->dtype = (uint8_t)dtype;
    t->rank = (uint8_t)rank;
    t->flags = 0;
    t->has_storage = with_storage;
    t->device = 0;
    t->levels = 0;
    t->data = NULL;
    t->storage = NULL;
    t->ctx = ctx;
    t->offset = cfx_dim_int(0);
    t->stride = t->shape + rank;
    return t;
}

static void set_axes(cfx_tensor *t, bool rows, const cfx_dim *shape,
                     const cfx_dim *stride)
{
    for (int i = 0; i < t->rank; i++) {
        t->shape[i] = shape[i];
        t->stride[i] = stride[i];
    }
    t->flags = flags_of(rows, t->rank, shape, stride);
}

/* Initialize the storage in the tensor's block, which it then owns. */
static void init_storage(cfx_tensor *t, void *data, size_t bytes, size_t block)
{
    cfx_storage *s = own_storage(t);

    *s = (cfx_storage){
        .refs = 1,
        .ctx = t->ctx,
        .data = data,
        .bytes = bytes,
        .block = block,
    };
    t->storage = s;
    t->data = data;
}

static void storage_unref(cfx_storage *s)
{
    if (!cfx_ref_dec(&s->refs))
        return;
    if (s->owns_data)
        cfx_block_free(s->ctx, s->data, s->bytes);
    if (s->release)
        s->release(s->user);
    cfx_block_free(s->ctx, s, s->block);
}

cfx_tensor *cfx_tensor_ref(const cfx_tensor *t)
{
    cfx_tensor *mine = (cfx_tensor *)(uintptr_t)t;

    if (mine)
        cfx_ref_inc(&mine->refs);
    return mine;
}

void cfx_tensor_unref(cfx_tensor *t)
{
    if (!t || !cfx_ref_dec(&t->refs))
        return;

    cfx_storage *s = t->storage;
    char *block = (char *)t - (t->has_storage ? sizeof(cfx_storage) : 0);
    /* A block is freed with the storage in it. */
    if ((char *)s != block)
        cfx_block_free(t->ctx, block, head_size(t->rank, t->has_storage));
    if (s)
        storage_unref(s);
}

/* ---- Constructors ---- */

static cfx_status no_memory(cfx_error *err, size_t bytes)
{
    return cfx_fail(err, CFX_ENOMEM, "no memory for a tensor of %zu bytes",
                    bytes);
}

/* Convert extents to dims; fails for one out of range. */
static cfx_status dims_of(cfx_dim *out, const char *what, int rank,
                          const int64_t *n, cfx_error *err)
{
    for (int i = 0; i < rank; i++) {
        if (CFX_UNLIKELY((uint64_t)n[i] > (uint64_t)CFX_DIM_MAX))
            return cfx_fail(err, CFX_ESHAPE,
                            "the %s on axis %d is not within 0 and 2^61: %lld",
                            what, i, (long long)n[i]);
        out[i] = (cfx_dim){(uint64_t)n[i] << 1};
    }
    return CFX_OK;
}

/* Allocate `bytes` of data, at least 1 byte: an empty tensor has an address,
 * too. */
static cfx_status give_block(cfx_tensor *t, size_t bytes, cfx_error *err)
{
    size_t size = bytes ? bytes : ALIGN;
    void *data = cfx_block_alloc(t->ctx, size);

    if (!data)
        return no_memory(err, bytes);
    init_storage(t, data, size, head_size(t->rank, true));
    t->storage->owns_data = true;
    return CFX_OK;
}

static bool are_integers(int rank, const cfx_dim *dim)
{
    uint64_t bits = 0;

    for (int i = 0; i < rank; i++)
        bits |= dim[i].bits;
    return !(bits & 1);
}

static cfx_status needs_numbers(cfx_error *err, int rank, const cfx_dim *shape)
{
    char text[512];

    return cfx_fail(err, CFX_ESHAPE,
                    "memory for shape [%s] needs numbers for its symbols",
                    show(text, sizeof text, rank, shape));
}

/* A tensor with uninitialized data, in one block if it is small; the caller
 * sets the axes. */
static cfx_tensor *make_whole(cfx_context *ctx, cfx_dtype dtype, int rank,
                              size_t bytes, cfx_error *err)
{
    size_t head = head_size(rank, true), at = round_up(head);
    /* A memory plan is for data only. */
    bool small = bytes <= SMALL && !ctx->heap.source;
    size_t block = small ? at + (bytes ? bytes : 1) : head;
    cfx_tensor *t = make(ctx, dtype, rank, true, block);

    if (!t) {
        no_memory(err, bytes);
    } else if (small) {
        init_storage(t, (char *)own_storage(t) + at, bytes, block);
    } else if (give_block(t, bytes, err)) {
        cfx_tensor_unref(t);
        t = NULL;
    }
    return t;
}

cfx_status cfx_tensor__empty(cfx_tensor **out, cfx_context *ctx,
                             cfx_dtype dtype, int rank, const cfx_dim *shape,
                             const cfx_dim *stride, cfx_error *err)
{
    cfx_dim rows[CFX_MAX_RANK];
    size_t size = cfx_dtype_size(dtype);
    survey s = {.known = true, .rows = true};
    cfx_status st;

    *out = NULL;
    if ((st = check_rank(err, rank)))
        return st;
    if (!are_integers(rank, shape))
        return needs_numbers(err, rank, shape);
    if ((st = stride ? survey_of(&s, dtype, rank, shape, stride, err)
                     : row_major(&s.reach, dtype, rank, shape, rows, err)))
        return st;
    if (!s.known)
        return needs_numbers(err, rank, stride);
    if (s.reach > MAX_BYTES / (int64_t)size)
        return fail_size(err, dtype, rank, shape);
    *out = make_whole(ctx, dtype, rank, (size_t)s.reach * size, err);
    if (!*out)
        return CFX_ENOMEM;
    set_axes(*out, s.rows, shape, stride ? stride : rows);
    if (!stride)
        (*out)->flags |= CFX_TENSOR_EXACT;
    return CFX_OK;
}

/* If its strides are those of a row-major tensor, they are copied. */
cfx_status cfx_tensor__empty_rows(cfx_tensor **out, cfx_context *ctx,
                                  const cfx_tensor *like, cfx_dtype dtype,
                                  cfx_error *err)
{
    size_t size = cfx_dtype_size(dtype);
    int64_t n = 1;

    if (!(like->flags & CFX_TENSOR_EXACT))
        return cfx_tensor__empty(out, ctx, dtype, like->rank, like->shape,
                                 NULL, err);
    for (int i = 0; i < like->rank; i++)
        n *= count_of(like->shape[i]);
    if (n > MAX_BYTES / 8)
        return fail_size(err, dtype, like->rank, like->shape);
    cfx_tensor *t = make_whole(ctx, dtype, like->rank, (size_t)n * size, err);
    *out = t;
    if (!t)
        return CFX_ENOMEM;
    t->flags = like->flags;
    for (int i = 0; i < like->rank; i++) {
        t->shape[i] = like->shape[i];
        t->stride[i] = like->stride[i];
    }
    return CFX_OK;
}

cfx_status cfx_tensor_new(cfx_tensor **out, cfx_context *ctx, cfx_dtype dtype,
                          int rank, const int64_t *shape, cfx_error *err)
{
    cfx_dim dims[CFX_MAX_RANK];
    cfx_status st;

    *out = NULL;
    if ((st = check_rank(err, rank)) ||
        (st = dims_of(dims, "extent", rank, shape, err)))
        return st;
    return cfx_tensor__empty(out, ctx, dtype, rank, dims, NULL, err);
}

/* Row-major strides of extents that may be symbols. */
static cfx_status default_strides(cfx_dim *stride, cfx_dtype dtype, int rank,
                                  const cfx_dim *shape, cfx_error *err)
{
    int64_t numel;

    if (are_integers(rank, shape))
        return row_major(&numel, dtype, rank, shape, stride, err);
    for (int i = 0; i < rank; i++)
        if (check_dim(err, "extent", i, shape[i]))
            return CFX_ESHAPE;
    cfx_strides_of(NULL, CFX_CONTIGUOUS_FORMAT, rank, shape, stride);
    for (int i = 0; i < rank; i++)
        if (cfx_dim_is_bad(stride[i]))
            return fail_size(err, dtype, rank, shape);
    return CFX_OK;
}

cfx_status cfx_tensor_meta(cfx_tensor **out, cfx_context *ctx, cfx_dtype dtype,
                           int rank, const cfx_dim *shape,
                           const cfx_dim *stride, cfx_error *err)
{
    cfx_dim rows[CFX_MAX_RANK];
    survey s = {.rows = true};
    cfx_status st;

    *out = NULL;
    if ((st = check_rank(err, rank)) ||
        (st = stride ? survey_of(&s, dtype, rank, shape, stride, err)
                     : default_strides(rows, dtype, rank, shape, err)))
        return st;

    cfx_tensor *t = make(ctx, dtype, rank, true, head_size(rank, true));
    if (!t)
        return no_memory(err, 0);
    set_axes(t, s.rows, shape, stride ? stride : rows);
    if (!stride)
        t->flags |= CFX_TENSOR_EXACT;
    *out = t;
    return CFX_OK;
}

cfx_status cfx_tensor__meta_like(cfx_tensor **out, cfx_context *ctx,
                                 const cfx_tensor *t, cfx_error *err)
{
    cfx_status st = cfx_tensor_meta(out, ctx, (cfx_dtype)t->dtype, t->rank,
                                    t->shape, t->stride, err);
    if (!st)
        (*out)->levels = t->levels;
    return st;
}

cfx_status cfx_tensor_alloc(cfx_tensor *t, cfx_error *err)
{
    cfx_status st;
    survey s;

    if (t->storage)
        return cfx_fail(err, CFX_EINVAL, "the tensor has memory already");
    if ((st = survey_of(&s, (cfx_dtype)t->dtype, t->rank, t->shape, t->stride,
                        err)))
        return st;
    if (!s.known)
        return needs_numbers(err, t->rank, t->shape);
    size_t size = cfx_dtype_size((cfx_dtype)t->dtype);
    if (s.reach > MAX_BYTES / (int64_t)size)
        return fail_size(err, (cfx_dtype)t->dtype, t->rank, t->shape);
    t->offset = cfx_dim_int(0);
    return give_block(t, (size_t)s.reach * size, err);
}

cfx_status cfx_tensor_from(cfx_tensor **out, cfx_context *ctx, cfx_dtype dtype,
                           int rank, const int64_t *shape,
                           const int64_t *stride, void *data, size_t bytes,
                           void (*release)(void *user), void *user,
                           cfx_error *err)
{
    cfx_dim dims[CFX_MAX_RANK], strides[CFX_MAX_RANK];
    cfx_tensor *t = NULL;
    cfx_status st;
    survey s;
    int64_t numel;

    *out = NULL;
    if ((st = check_rank(err, rank)) ||
        (st = dims_of(dims, "extent", rank, shape, err)) ||
        (st = stride ? dims_of(strides, "stride", rank, stride, err)
                     : row_major(&numel, dtype, rank, dims, strides, err)) ||
        (st = survey_of(&s, dtype, rank, dims, strides, err)))
        goto out;
    if ((size_t)s.reach > elements_in(bytes, cfx_dtype_size(dtype))) {
        st = cfx_fail(
            err, CFX_ESHAPE,
            "extents and strides reach %lld elements of %s, but the memory has %zu bytes",
            (long long)s.reach, cfx_dtypes[dtype].name, bytes);
        goto out;
    }
    t = make(ctx, dtype, rank, true, head_size(rank, true));
    if (!t) {
        st = no_memory(err, 0);
        goto out;
    }
    set_axes(t, s.rows, dims, strides);
    /* An empty tensor needs some address. */
    init_storage(t, data ? data : t, bytes, head_size(rank, true));
    t->storage->release = release;
    t->storage->user = user;
    *out = t;
out:
    if (!t && release)
        release(user);
    return st;
}

/* The address of a view, checked to stay within the storage. */
static cfx_status find_data(void **out, const cfx_storage *storage,
                            cfx_dtype dtype, const survey *s, cfx_dim offset,
                            cfx_error *err)
{
    size_t size = cfx_dtype_size(dtype);
    size_t room = elements_in(storage->bytes, size);

    *out = NULL;
    if (!storage->data)
        return CFX_OK;
    if (!s->known || !cfx_dim_is_int(offset))
        return cfx_fail(
            err, CFX_ESHAPE,
            "a view of memory needs extents, strides and an offset that are numbers");
    size_t first = (size_t)cfx_dim_value(offset);
    if (s->empty) {
        *out = first <= room ? (char *)storage->data + first * size
                             : storage->data;
        return CFX_OK;
    }
    if (first > room || (size_t)s->reach > room - first)
        return cfx_fail(
            err, CFX_ESHAPE,
            "a view of %lld elements from element %lld leaves a storage of %zu",
            (long long)s->reach, (long long)first, room);
    *out = (char *)storage->data + first * size;
    return CFX_OK;
}

cfx_status cfx_tensor__view_in(cfx_tensor **out, cfx_context *ctx,
                               const cfx_tensor *base, int rank,
                               const cfx_dim *shape, const cfx_dim *stride,
                               cfx_dim offset, cfx_error *err)
{
    cfx_dtype dtype = (cfx_dtype)base->dtype;
    bool with_storage = !base->storage;
    void *data = NULL;
    cfx_status st;
    survey s;

    *out = NULL;
    if ((st = check_rank(err, rank)) ||
        (st = survey_of(&s, dtype, rank, shape, stride, err)))
        return st;
    if (cfx_dim_is_bad(offset) ||
        (cfx_dim_is_int(offset) && cfx_dim_value(offset) < 0))
        return cfx_fail(err, CFX_ESHAPE,
                        "the offset of a view is negative or beyond 2^61");
    if (!with_storage &&
        (st = find_data(&data, base->storage, dtype, &s, offset, err)))
        return st;

    cfx_tensor *t = make(ctx, dtype, rank, with_storage,
                         head_size(rank, with_storage));
    if (!t)
        return no_memory(err, 0);
    set_axes(t, s.rows, shape, stride);
    t->device = base->device;
    t->offset = offset;
    if (!with_storage) {
        t->storage = base->storage;
        t->data = data;
        cfx_ref_inc(&t->storage->refs);
    }
    *out = t;
    return CFX_OK;
}

cfx_status cfx_tensor_view(cfx_tensor **out, const cfx_tensor *base, int rank,
                           const cfx_dim *shape, const cfx_dim *stride,
                           cfx_dim offset, cfx_error *err)
{
    return cfx_tensor__view_in(out, base->ctx, base, rank, shape, stride,
                               offset, err);
}

/* The number of elements from the first to the last; a symbolic tensor must be
 * dense. */
static cfx_dim elements_of(const cfx_tensor *t, cfx_shape_env *env)
{
    bool dense = t->flags & CFX_TENSOR_DENSE;
    cfx_dim n = cfx_dim_int(1), one = n;

    for (int i = 0; i < t->rank; i++) {
        if (dense)
            n = cfx_dim_mul(env, n, t->shape[i]);
        else
            n = cfx_dim_add(env, n,
                            cfx_dim_mul(env, t->stride[i],
                                        cfx_dim_sub(env, t->shape[i], one)));
    }
    return n;
}

cfx_dim cfx_tensor__bytes(const cfx_tensor *t, cfx_shape_env *env)
{
    cfx_dtype dtype = (cfx_dtype)t->dtype;
    cfx_dim size = cfx_dim_int((int64_t)cfx_dtype_size(dtype));
    survey s;

    if (!are_integers(t->rank, t->shape) || !are_integers(t->rank, t->stride))
        return cfx_dim_mul(env, elements_of(t, env), size);
    if (survey_of(&s, dtype, t->rank, t->shape, t->stride, NULL))
        return CFX_DIM_BAD;
    return cfx_dim_mul(env, cfx_dim_int(s.reach), size);
}

void cfx_tensor__fake_storage(cfx_tensor *t, void (*release)(void *user),
                              void *user)
{
    assert(!t->storage && t->has_storage);
    init_storage(t, NULL, 0, head_size(t->rank, true));
    t->storage->release = release;
    t->storage->user = user;
}

cfx_status cfx_tensor__place(cfx_tensor *t, const cfx_tensor *other,
                             size_t byte_offset, cfx_error *err)
{
    cfx_dtype dtype = (cfx_dtype)t->dtype;
    size_t size = cfx_dtype_size(dtype);
    cfx_status st;
    survey s;

    assert(!t->storage && other->storage);
    if (byte_offset % size)
        return cfx_fail(err, CFX_ESHAPE,
                        "offset %zu is not a multiple of the %zu bytes of %s",
                        byte_offset, size, cfx_dtypes[dtype].name);
    cfx_dim offset = cfx_dim_int((int64_t)(byte_offset / size));
    if ((st = survey_of(&s, dtype, t->rank, t->shape, t->stride, err)) ||
        (st = find_data(&t->data, other->storage, dtype, &s, offset, err)))
        return st;
    t->offset = offset;
    t->storage = other->storage;
    cfx_ref_inc(&t->storage->refs);
    return CFX_OK;
}

/* ---- Queries ---- */

bool cfx_tensor_shares(const cfx_tensor *a, const cfx_tensor *b)
{
    return a->storage && a->storage == b->storage;
}

void *cfx_tensor_at(const cfx_tensor *t, const int64_t *index)
{
    int64_t at = 0;

    for (int i = 0; i < t->rank; i++)
        at += index[i] * cfx_tensor_stride(t, i);
    return (char *)t->data + at * (int64_t)cfx_dtype_size((cfx_dtype)t->dtype);
}
