/*
 * onnx_write_groups -- products of groups of rows or columns with a matrix each.
 *
 * ONNX has no such product: the factor is split at the ends of the groups,
 * which are computed, and the products are joined. What lies after the last
 * group is 0, by padding.
 */
#include "format/onnx/onnx_write.h"

/* Rows of ints, one after the other; `c` may be NULL. */
static const char *joined(onnx_writer *w, const char *a, const char *b,
                          const char *c)
{
    char **in = onnx_put_alloc(w, 3, sizeof(*in));

    if (!in)
        return NULL;
    in[0] = onnx_put_text(w, a);
    in[1] = onnx_put_text(w, b);
    in[2] = c ? onnx_put_text(w, c) : NULL;
    return onnx_put_concat(w, NULL, in, c ? 3 : 2, 0);
}

/* The sizes of the groups, and of what lies after them. */
static const char *sizes_of(onnx_writer *w, const char *ends, cfx_dim size)
{
    const char *zero = onnx_put_one(w, 0);

    return ONNX_PUT(w, "Sub", NULL,
                    joined(w, ends, onnx_put_shape(w, 1, &size), NULL),
                    joined(w, zero, ends, NULL));
}

/* Split along an axis into n parts, of these sizes, or, without, of one. */
static void split(onnx_writer *w, char **part, int64_t n, const char *x,
                  const char *sizes, int64_t axis)
{
    Onnx__NodeProto *node = ONNX_NODE(w, "Split", NULL, x, sizes);

    onnx_put_attr_int(w, node, "axis", axis);
    if (!sizes)
        onnx_put_attr_int(w, node, "num_outputs", n);
    for (int64_t i = 0; i < n; i++)
        part[i] = onnx_put_text(w, i ? onnx_put_more(w, node)
                                     : onnx_put_out(node));
}

/* Append zeros along an axis of three. */
static const char *padded(onnx_writer *w, const char *x, const char *more,
                          int64_t axis)
{
    const int64_t before = 3 + axis, after = 2 - axis;
    const char *zeros = onnx_put_filled(w, before, 0, CFX_I64);

    return ONNX_PUT(
        w, "Pad", NULL, x,
        joined(w, zeros, more,
               after ? onnx_put_filled(w, after, 0, CFX_I64) : NULL));
}

/* Factors of which one has groups, along an axis of the product. */
static void put_groups(onnx_writer *w, const cfx_tensor *many, bool rows)
{
    const int64_t n = onnx_put_extent(w, many, 0), axis = rows ? 1 : 2;
    const cfx_tensor *whole = onnx_put_self(w, rows ? "self" : "mat2");
    const char *ends = onnx_put_as(w, onnx_put_arg(w, "offs"), CFX_I64);
    char **part = onnx_put_alloc(w, (size_t)n + 1, sizeof(*part));
    char **matrix = onnx_put_alloc(w, (size_t)n + 1, sizeof(*matrix));

    if (!part || !matrix || w->st)
        return;
    const char *sizes = sizes_of(w, ends, whole->shape[!rows]);
    split(w, part, n + 1, onnx_put_input(w, rows ? "self" : "mat2"), sizes,
          !rows);
    split(w, matrix, n, onnx_put_input(w, rows ? "mat2" : "self"), NULL, 0);
    for (int64_t i = 0; i < n && !w->st; i++) {
        const char *y = ONNX_PUT(w, "MatMul", NULL, rows ? part[i] : matrix[i],
                                 rows ? matrix[i] : part[i]);
        part[i] = onnx_put_text(w, y);
    }
    const char *y = onnx_put_concat(w, NULL, part, (size_t)n, axis);
    y = padded(w, y,
               ONNX_PUT(w, "Slice", NULL, sizes, onnx_put_one(w, n),
                        onnx_put_one(w, n + 1)),
               axis);
    ONNX_RESULT(w, "Squeeze", y, onnx_put_one(w, 0));
}

void onnx_write_grouped_mm(onnx_writer *w)
{
    const cfx_tensor *a = onnx_put_self(w, "self");
    const cfx_tensor *b = onnx_put_self(w, "mat2");

    onnx_put_unused(w, "out_dtype");
    if (!a || !b)
        return;
    if (a->rank == 2 && b->rank == 2)
        onnx_put_fail(w, "ONNX has no product of groups of terms");
    else if (a->rank == 3 && b->rank == 3)
        ONNX_RESULT(w, "MatMul", onnx_put_input(w, "self"),
                    onnx_put_input(w, "mat2"));
    else
        put_groups(w, a->rank == 3 ? a : b, a->rank == 2);
}
