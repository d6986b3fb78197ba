/*
 * split -- one tensor to several views: split, chunk, tensor_split, unbind.
 *
 * shape   the parts lie one after the other along `dim`; unbind takes the axis
 *         away.
 * cost    nothing.
 */
#include "op/infer.h"
#include "ops/shape/view.h"

CFX_PARAMS(params, SELF, SPLIT_SIZE, SPLIT_SIZES, CHUNKS, INDICES, SECTIONS,
           TENSOR_INDICES_OR_SECTIONS, DIM);

/* ---- A list of views that grows ---- */

struct parts {
    cfx_call *call;
    cfx_value *item;
    size_t n, cap;
};

static cfx_status begin_parts(struct parts *p, cfx_call *call, int64_t cap)
{
    *p = (struct parts){.call = call, .cap = (size_t)cap};
    if (cap > UINT32_MAX / (int64_t)sizeof(*p->item))
        return cfx_call_fail(call, CFX_EINVAL, "%lld parts are too many",
                             (long long)cap);
    p->item = cfx_alloc(call->ctx, p->cap * sizeof(*p->item));
    return p->item ? CFX_OK : cfx_no_memory(call->err);
}

static cfx_status add_part(struct parts *p, const cfx_view *v)
{
    cfx_status st = cfx_view_new(p->call, &p->item[p->n], 0, v);
    p->n += !st;
    return st;
}

/* The tuple of all parts, unless something failed. */
static cfx_status end_parts(struct parts *p, cfx_status st)
{
    if (!st)
        st = cfx_call_return_take(p->call,
                                  cfx_tuple_new(p->call->ctx, p->n, p->item));
    for (size_t i = 0; i < p->n; i++)
        cfx_value_unref(p->item[i]);
    cfx_free(p->call->ctx, p->item, p->cap * sizeof(*p->item));
    return st;
}

/* Elements from..from + length of an axis. */
static cfx_status add_range(struct parts *p, int axis, cfx_dim from,
                            cfx_dim length)
{
    cfx_shape_env *env = p->call->env;
    cfx_view v;
    cfx_view_begin(&v, cfx_call_tensor(p->call, SELF));
    v.shape[axis] = length;
    v.offset = cfx_dim_add(env, v.offset,
                           cfx_dim_mul(env, from, v.stride[axis]));
    return add_part(p, &v);
}

static cfx_status find_axis(cfx_call *call, int64_t dim, int *axis)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    if (!x->rank)
        return cfx_call_fail(call, CFX_EINVAL,
                             "expects at least a 1-dimensional tensor");
    return cfx_call_axis(call, dim, x->rank, axis);
}

/* The number of parts must be known. */
static cfx_status need_int(cfx_call *call, cfx_dim d, int64_t *out)
{
    char s[64];
    if (cfx_dim_is_int(d)) {
        *out = cfx_dim_value(d);
        return CFX_OK;
    }
    cfx_dim_format(d, s, sizeof(s));
    return cfx_call_fail(call, CFX_EUNSUPPORTED,
                         "the number of parts depends on the symbol %s", s);
}

/* ---- split ---- */

/* So many parts of `size`, the last one smaller. */
static cfx_status split_by(cfx_call *call, int axis, cfx_dim size,
                           int64_t count)
{
    cfx_shape_env *env = call->env;
    cfx_dim n = cfx_call_tensor(call, SELF)->shape[axis],
            from = cfx_dim_int(0);
    struct parts p;
    cfx_status st = begin_parts(&p, call, count);
    if (st)
        return st;
    for (int64_t i = 0; !st && i < count; i++) {
        cfx_dim rest = cfx_dim_sub(env, n, from);
        st = add_range(&p, axis, from, i + 1 < count ? size : rest);
        from = cfx_dim_add(env, from, size);
    }
    return end_parts(&p, st);
}

/* Beyond so many, parts of a symbolic size are not tried one by one. */
enum { MOST_PARTS = 64 };

/* The number of parts of `size` in an extent of n. */
static cfx_dim count_parts(cfx_call *call, cfx_dim n, cfx_dim size)
{
    int64_t least, most;
    if (cfx_dim_is(size, 0) || cfx_dim_is(n, 0))
        return cfx_dim_int(1);
    cfx_dim parts = cfx_dim_ceildiv(call->env, n, size);
    if (cfx_dim_is_int(parts))
        return parts;
    cfx_dim_bounds(call->env, parts, &least, &most);
    return least == most ? cfx_dim_int(least) : parts;
}

/*
 * The number of parts of a size such as N//2 is 2 if the size divides the
 * extent: this becomes a guard.
 */
static cfx_status guard_parts(cfx_call *call, cfx_dim n, cfx_dim size,
                              cfx_dim parts, int64_t *count)
{
    cfx_shape_env *env = call->env;
    for (int64_t k = 1; env && k <= MOST_PARTS; k++)
        if (cfx_dim_same(cfx_dim_floordiv(env, n, cfx_dim_int(k)), size) &&
            cfx_dim_eq(env, cfx_dim_mul(env, size, cfx_dim_int(k)), n)) {
            *count = k;
            return CFX_OK;
        }
    return need_int(call, parts, count);
}

static cfx_status split_evenly(cfx_call *call, int axis, cfx_dim size)
{
    int64_t count = 1;
    cfx_dim n = cfx_call_tensor(call, SELF)->shape[axis];
    cfx_dim parts = count_parts(call, n, size);
    cfx_status st = cfx_dim_is_int(parts)
                        ? need_int(call, parts, &count)
                        : guard_parts(call, n, size, parts, &count);
    return st ? st : split_by(call, axis, size, count);
}

static cfx_status split_infer(cfx_call *call)
{
    cfx_dim size = cfx_value_dim(cfx_call_value(call, SPLIT_SIZE));
    cfx_dim zero = cfx_dim_int(0);
    int axis;
    cfx_status st = find_axis(call, cfx_call_int(call, DIM), &axis);
    if (st)
        return st;
    cfx_dim n = cfx_call_tensor(call, SELF)->shape[axis];
    if (!cfx_dim_le(call->env, zero, size))
        return cfx_call_fail(call, CFX_EINVAL,
                             "expects split_size be non-negative");
    if (cfx_dim_is(size, 0) && !cfx_dim_eq(call->env, n, zero))
        return cfx_call_fail(
            call, CFX_EINVAL,
            "split_size can only be 0 if dimension size is 0");
    return split_evenly(call, axis, size);
}

static cfx_status split_sizes_infer(cfx_call *call)
{
    cfx_shape_env *env = call->env;
    cfx_dim from = cfx_dim_int(0);
    int sizes = cfx_call_place(call, SPLIT_SIZES) >= 0 ? SPLIT_SIZES
                                                       : SPLIT_SIZE;
    int axis, count = cfx_call_len(call, sizes);
    struct parts p;
    cfx_status st = find_axis(call, cfx_call_int(call, DIM), &axis);
    if (!st)
        st = begin_parts(&p, call, count);
    if (st)
        return st;
    for (int i = 0; !st && i < count; i++) {
        cfx_dim size = cfx_call_dim(call, sizes, i);
        if (!cfx_dim_le(env, cfx_dim_int(0), size)) {
            st = cfx_call_fail(
                call, CFX_EINVAL,
                "split_with_sizes expects split_sizes have only non-negative entries");
            break;
        }
        from = cfx_dim_add(env, from, size);
    }
    cfx_dim n = cfx_call_tensor(call, SELF)->shape[axis];
    if (!st && !cfx_dim_eq(env, from, n))
        st = cfx_call_fail(
            call, CFX_EINVAL,
            "split_with_sizes expects split_sizes to sum exactly to the extent of the dimension");
    from = cfx_dim_int(0);
    for (int i = 0; !st && i < count; i++) {
        cfx_dim size = cfx_call_dim(call, sizes, i);
        st = add_range(&p, axis, from, size);
        from = cfx_dim_add(env, from, size);
    }
    return end_parts(&p, st);
}

const cfx_op cfx_op__split_with_sizes = {
    .schema =
        "split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]",
    .params = params,
    .aliases =
        "torch. Tensor. aten. torch.unsafe_split_with_sizes Tensor.unsafe_split_with_sizes",
    .doc = "Parts of the given extents.",
    .infer = split_sizes_infer,
};

static const cfx_op split_sizes = {
    .schema =
        "split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "Parts of the given extents.",
    .infer = split_sizes_infer,
};

const cfx_op cfx_op__split = {
    .schema =
        "split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
    .params = params,
    .aliases = "torch. Tensor. aten. torch.unsafe_split Tensor.unsafe_split",
    .doc = "Parts of one extent, the last one smaller.",
    .infer = split_infer,
    .next = &split_sizes,
};

/* ---- chunk ---- */

/* The parts of an extent that is known, not 0, where so many are asked for. */
static int64_t chunks_of(int64_t n, int64_t chunks)
{
    int64_t size = (n - 1) / chunks + 1;
    return (n - 1) / size + 1;
}

/* Beyond so many chunks, cases are not tried one by one. */
enum { MOST_TRIED = 64 };

/*
 * Do extents from `least` to `most` have one number of parts? From
 * chunks*(chunks - 1) on there are as many as are asked for, since each of
 * them but the last may then be one larger than it has to be; below, all are
 * tried.
 */
static bool chunks_within(int64_t chunks, int64_t least, int64_t most,
                          int64_t *count)
{
    int64_t last = chunks * (chunks - 1);
    if (most < last)
        last = most;
    *count = chunks_of(least, chunks);
    for (int64_t n = least; n <= last; n++)
        if (chunks_of(n, chunks) != *count)
            return false;
    return true;
}

/*
 * The number of parts of an extent that is not known: what its range says, or
 * as many as are asked for, which is what the caller unpacks, and then it is a
 * guard that none is empty. Two are not from an extent of 2 on.
 */
static cfx_status choose_chunks(cfx_call *call, cfx_dim n, cfx_dim size,
                                int64_t chunks, int64_t *count)
{
    cfx_shape_env *env = call->env;
    int64_t least, most;
    cfx_dim parts = count_parts(call, n, size);
    if (cfx_dim_is_int(parts))
        return need_int(call, parts, count);
    cfx_dim_bounds(env, n, &least, &most);
    if (chunks <= MOST_TRIED && least > 0 &&
        chunks_within(chunks, least, most, count))
        return CFX_OK;
    *count = chunks;
    cfx_dim full = chunks == 2
                       ? cfx_dim_int(1)
                       : cfx_dim_mul(env, size, cfx_dim_int(chunks - 1));
    return cfx_dim_lt(env, full, n) ? CFX_OK : need_int(call, parts, count);
}

static cfx_status chunk_infer(cfx_call *call)
{
    cfx_shape_env *env = call->env;
    int64_t chunks = cfx_call_int(call, CHUNKS), count = 0;
    int axis;
    struct parts p;
    cfx_status st = find_axis(call, cfx_call_int(call, DIM), &axis);
    if (st)
        return st;
    if (chunks < 1)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "expects `chunks` to be greater than 0, got: %lld",
            (long long)chunks);
    cfx_dim n = cfx_call_tensor(call, SELF)->shape[axis];
    cfx_dim size = cfx_dim_ceildiv(env, n, cfx_dim_int(chunks));
    if (!cfx_dim_is(n, 0)) {
        st = choose_chunks(call, n, size, chunks, &count);
        return st ? st : split_by(call, axis, size, count);
    }
    st = begin_parts(&p, call, chunks);
    if (st)
        return st;
    for (int64_t i = 0; !st && i < chunks; i++)
        st = add_range(&p, axis, n, n);
    return end_parts(&p, st);
}

const cfx_op cfx_op__chunk = {
    .schema =
        "chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]",
    .params = params,
    .aliases = "torch. Tensor. aten. torch.unsafe_chunk Tensor.unsafe_chunk",
    .doc = "So many parts, or fewer, the last one smaller.",
    .infer = chunk_infer,
};

/* ---- tensor_split ---- */

/* So many parts, the first ones larger by one where that is needed. */
static cfx_status split_sections(cfx_call *call, int axis, int64_t sections)
{
    cfx_shape_env *env = call->env;
    struct parts p;
    if (sections < 1)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "number of sections must be larger than 0, got %lld",
            (long long)sections);
    cfx_dim n = cfx_call_tensor(call, SELF)->shape[axis];
    cfx_dim by = cfx_dim_int(sections), one = cfx_dim_int(1);
    cfx_dim size = cfx_dim_floordiv(env, n, by),
            more = cfx_dim_mod(env, n, by);
    cfx_status st = begin_parts(&p, call, sections);
    if (st)
        return st;
    for (int64_t i = 0; !st && i < sections; i++) {
        /* 1 for the first `more` of them; more is below the sections. */
        cfx_dim rest = cfx_dim_sub(env, more, cfx_dim_int(i));
        cfx_dim extra = cfx_dim_min(env, one,
                                    cfx_dim_max(env, cfx_dim_int(0), rest));
        cfx_dim at = cfx_dim_int(i);
        cfx_dim from = cfx_dim_add(env, cfx_dim_mul(env, at, size),
                                   cfx_dim_min(env, at, more));
        st = add_range(&p, axis, from, cfx_dim_add(env, size, extra));
    }
    return end_parts(&p, st);
}

/* Cut at these places, as Python's slices do. */
static cfx_status split_at(cfx_call *call, int axis, int count,
                           const cfx_value *place)
{
    struct parts p;
    cfx_value from = cfx_none();
    cfx_status st = begin_parts(&p, call, (int64_t)count + 1);
    if (st)
        return st;
    for (int i = 0; !st && i <= count; i++) {
        cfx_view v;
        cfx_value to = i < count ? place[i] : cfx_none();
        cfx_view_begin(&v, cfx_call_tensor(call, SELF));
        st = cfx_view_slice(call, &v, axis, from, to, cfx_none());
        if (!st)
            st = add_part(&p, &v);
        from = to;
    }
    return end_parts(&p, st);
}

static cfx_status sections_infer(cfx_call *call)
{
    int axis;
    int64_t sections = 0;
    cfx_status st = find_axis(call, cfx_call_int(call, DIM), &axis);
    if (!st)
        st = need_int(call, cfx_value_dim(cfx_call_value(call, SECTIONS)),
                      &sections);
    return st ? st : split_sections(call, axis, sections);
}

static cfx_status indices_infer(cfx_call *call)
{
    int axis;
    cfx_status st = find_axis(call, cfx_call_int(call, DIM), &axis);
    return st ? st
              : split_at(call, axis, cfx_call_len(call, INDICES),
                         cfx_call_value(call, INDICES).u.seq->item);
}

/* So many places that only data tell: each part has an extent of its own. */
static cfx_status split_anywhere(cfx_call *call, int axis, int64_t count)
{
    struct parts p;
    cfx_dim from = cfx_dim_int(0), length;
    cfx_status st = begin_parts(&p, call, count + 1);
    if (st)
        return st;
    for (int64_t i = 0; !st && i <= count; i++) {
        if (i)
            st = cfx_infer_unknown_extent(call, &from);
        if (!st)
            st = cfx_infer_unknown_extent(call, &length);
        if (!st)
            st = add_range(&p, axis, from, length);
    }
    return end_parts(&p, st);
}

/* A tensor has the number of parts, or a vector of the places. */
static cfx_status split_by_tensor(cfx_call *call)
{
    int axis;
    const cfx_tensor *t = cfx_call_tensor(call, TENSOR_INDICES_OR_SECTIONS);
    cfx_status st = find_axis(call, cfx_call_int(call, DIM), &axis);
    if (st)
        return st;
    if (t->dtype != CFX_I64 || t->rank > 1)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "tensor_split expected tensor_indices_or_sections to be an int64 vector or number");
    bool known = !cfx_tensor_is_meta(t) && (!call->meta || call->known);
    if (!known && t->rank && cfx_dim_is_int(t->shape[0]))
        return split_anywhere(call, axis, cfx_dim_value(t->shape[0]));
    if (!known)
        return cfx_call_fail(
            call, CFX_EUNSUPPORTED,
            "the number of parts is in a tensor whose numbers are not known");
    if (!t->rank)
        return split_sections(call, axis, *(const int64_t *)t->data);
    size_t n = (size_t)cfx_tensor_size(t, 0),
           bytes = (n + 1) * sizeof(cfx_value);
    cfx_value *place = cfx_alloc(call->ctx, bytes);
    if (!place)
        return cfx_no_memory(call->err);
    for (int64_t i = 0; i < (int64_t)n; i++)
        place[i] = cfx_int(*(const int64_t *)cfx_tensor_at(t, &i));
    st = split_at(call, axis, (int)n, place);
    cfx_free(call->ctx, place, bytes);
    return st;
}

#define TENSOR_SPLIT "torch.tensor_split Tensor.tensor_split "

static const cfx_op tensor_split_tensor = {
    .schema =
        "tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int dim=0) -> Tensor(a)[]",
    .params = params,
    .aliases = TENSOR_SPLIT "aten.tensor_split.tensor_indices_or_sections",
    .doc = "Parts that begin at the places in a tensor.",
    .infer = split_by_tensor,
};

static const cfx_op tensor_split_indices = {
    .schema =
        "tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]",
    .params = params,
    .aliases = TENSOR_SPLIT "aten.tensor_split.indices",
    .doc = "Parts that begin at the given places.",
    .infer = indices_infer,
    .next = &tensor_split_tensor,
};

const cfx_op cfx_op__tensor_split = {
    .schema =
        "tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]",
    .params = params,
    .aliases = TENSOR_SPLIT "aten.tensor_split.sections",
    .doc = "So many parts, the first ones larger.",
    .infer = sections_infer,
    .next = &tensor_split_indices,
};

/* ---- hsplit, vsplit, dsplit ---- */

static cfx_status nsplit_axis(cfx_call *call, int *axis)
{
    int rank = cfx_call_tensor(call, SELF)->rank, need = call->op->code;
    if (rank < (need == 1 ? 1 : need))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "requires a tensor with at least %d dimension%s, but got a tensor with %d dimensions!",
            need, need > 1 ? "s" : "", rank);
    *axis = need == 1 ? rank > 1 : need == 2 ? 0 : 2;
    return CFX_OK;
}

static cfx_status nsplit_infer(cfx_call *call)
{
    int axis = 0;
    int64_t sections = 0;
    cfx_shape_env *env = call->env;
    int given = cfx_call_place(call, INDICES) >= 0 ? INDICES : SECTIONS;
    bool listed = cfx_value_is_seq(cfx_call_value(call, given));
    cfx_status st = nsplit_axis(call, &axis);
    if (st)
        return st;
    if (listed)
        return split_at(call, axis, cfx_call_len(call, given),
                        cfx_call_value(call, given).u.seq->item);
    sections = cfx_call_int(call, given);
    cfx_dim n = cfx_call_tensor(call, SELF)->shape[axis];
    if (sections < 1 ||
        !cfx_dim_eq(env, cfx_dim_mod(env, n, cfx_dim_int(sections)),
                    cfx_dim_int(0)))
        return cfx_call_fail(
            call, CFX_EINVAL,
            "attempted to split along dimension %d, but the size of the dimension is not divisible by the split_size %lld!",
            axis, (long long)sections);
    return split_sections(call, axis, sections);
}

#define NSPLIT(letter, rank, doc_)                                            \
    static const cfx_op letter##split_array = {                               \
        .schema = #letter "split.array(Tensor(a -> *) self, int[] indices) "  \
                          "-> Tensor(a)[]",                                   \
        .params = params,                                                     \
        .aliases = "torch. Tensor. aten.",                                    \
        .doc = doc_,                                                          \
        .code = rank,                                                         \
        .infer = nsplit_infer,                                                \
    };                                                                        \
    const cfx_op cfx_op__##letter##split = {                                  \
        .schema = #letter "split.int(Tensor(a -> *) self, int sections) "     \
                          "-> Tensor(a)[]",                                   \
        .params = params,                                                     \
        .aliases = "torch. Tensor. aten.",                                    \
        .doc = doc_,                                                          \
        .code = rank,                                                         \
        .infer = nsplit_infer,                                                \
        .next = &letter##split_array,                                         \
    };

NSPLIT(h, 1, "Parts along the second axis, of vectors along the first.")
NSPLIT(v, 2, "Parts along the first axis.")
NSPLIT(d, 3, "Parts along the third axis.")

/* ---- unbind ---- */

static cfx_status unbind_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, SELF);
    int axis;
    int64_t n = 0;
    struct parts p;
    cfx_status st = find_axis(call, cfx_call_int(call, DIM), &axis);
    if (!st)
        st = need_int(call, x->shape[axis], &n);
    if (!st)
        st = begin_parts(&p, call, n);
    if (st)
        return st;
    for (int64_t i = 0; !st && i < n; i++) {
        cfx_view v;
        cfx_view_begin(&v, x);
        st = cfx_view_select(call, &v, axis, cfx_dim_int(i));
        if (!st)
            st = add_part(&p, &v);
    }
    return end_parts(&p, st);
}

const cfx_op cfx_op__unbind = {
    .schema = "unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]",
    .params = params,
    .aliases = "torch. Tensor. aten.",
    .doc = "The elements of an axis, each by itself.",
    .infer = unbind_infer,
};
