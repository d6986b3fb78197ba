/*
 * onnx_write.h -- shared by the files that write ONNX. Not installed.
 *
 * write.c walks a graph of calls of operators, whose nodes have their types and
 * shapes in meta, and calls the rule of each operator (pairs.def,
 * write_rules.def), which puts nodes of ONNX. A value of ONNX is its name: that of the graph's node, the
 * path of a parameter, or NODE/1, NODE/2, ... for what rules need between.
 */
#ifndef CFX_FORMAT_ONNX_WRITE_H
#define CFX_FORMAT_ONNX_WRITE_H

#include "base/util.h"
#include "format/onnx/onnx.h"

/* The version of the operator set. */
/* The version of the operator set; and the first that has integers of 4 bits, which is
 * written if the graph has them. */
enum { ONNX_WRITE_OPSET = 18, ONNX_WRITE_INT4_OPSET = 21 };

typedef struct onnx_writer {
    cfx_context *ctx;
    cfx_error *err;
    cfx_status st; /* the first failure; then rules do nothing */
    const cfx_module *gm;
    cfx_arena arena;
    cfx_scope keep;  /* owns constants */
    cfx_map names;   /* from names of nodes to names of their values, where
                        these differ */
    cfx_map folded;  /* from names of nodes that depend on no input to their
                        values */
    cfx_map tensors; /* from addresses of tensors to names of initializers */
    cfx_map taken;   /* names of nodes and of values */
    cfx_map dims;    /* from extents to values that have them: write_dim.c */
    struct known *known_dims;
    int opset;
    Onnx__GraphProto graph;
    size_t node_cap, initializer_cap;
    cfx_buf refused; /* the operators that cannot be written */
    int nrefused;

    /* The call that is being written. */
    const cfx_node *node;
    const cfx_bound *call;
    uint32_t asked;        /* the parameters that its rule asked for */
    const char *onnx;      /* the word of its row, or NULL */
    const onnx_pair *pair; /* of onnx_write_pair */
    int ntemps;
} onnx_writer;

CFX_INLINE bool onnx_put_is_none(cfx_value v)
{
    return v.kind == CFX_NONE || v.kind == CFX_ABSENT;
}

typedef void onnx_write_fn(onnx_writer *w);

/* Write the operator of the row. */
onnx_write_fn onnx_write_pair;
#define ONNX_WRITE(op, fn, name) onnx_write_fn onnx_write_##fn;
#include "format/onnx/onnx_write_rules.def"
#undef ONNX_WRITE

/* Memory in the arena, zeroed; NULL and failure without. */
void *onnx_put_alloc(onnx_writer *w, size_t n, size_t size);
/* Fail with a line that names the node. */
void onnx_put_fail(onnx_writer *w, const char *fmt, ...) CFX_PRINTF(2, 3);

/* Is a name in a set or map? */
CFX_INLINE bool onnx_put_has(const cfx_map *m, const char *name)
{
    return cfx_map_get(m, name, strlen(name)) != NULL;
}
/* Add it; false if it was there, or after a failure. */
bool onnx_put_add(onnx_writer *w, cfx_map *set, const char *name);

/* ---- Arguments ---- */

/* An argument by the parameter's name; None if the overload lacks it. Those
 * that a rule does not ask for must have their defaults. */
cfx_value onnx_put_arg(onnx_writer *w, const char *name);
/* An argument that changes no number of the result; all that are not asked
 * for, as they do not, or are in the type and shape of the result. */
void onnx_put_unused(onnx_writer *w, const char *name);
void onnx_put_settled(onnx_writer *w);
/* Fail if the call has others than were asked for. */
void onnx_put_check_unasked(onnx_writer *w);
int64_t onnx_put_int(onnx_writer *w, const char *name, int64_t otherwise);
double onnx_put_number(onnx_writer *w, const char *name, double otherwise);
bool onnx_put_is(onnx_writer *w, const char *name, const char *word);
/* A list of plain ints, at most `room`: the count; one int is a list of one, a
 * missing argument of none. */
size_t onnx_put_list(onnx_writer *w, const char *name, int64_t *to,
                     size_t room);
/* The node's meta `val` or `tensor_meta`; absent if it has none. */
cfx_value onnx_put_meta_value(const cfx_node *n);
/* The meta of a tensor; NULL of other values. */
const cfx_tensor *onnx_put_meta(const onnx_writer *w, cfx_value v);
/* The meta of an argument that is a tensor; fails without. */
const cfx_tensor *onnx_put_self(onnx_writer *w, const char *name);
/* The argument `self`, or `input`. */
cfx_value onnx_put_self_arg(onnx_writer *w);
/* The meta of the node's result; fails if it is not one tensor. */
const cfx_tensor *onnx_put_result(onnx_writer *w);
/* Its type; float32 after a failure. */
cfx_dtype onnx_put_result_type(onnx_writer *w);
/* An axis from 0. */
int64_t onnx_put_axis(onnx_writer *w, const char *name, int rank,
                      int64_t otherwise);
/* An extent that is a number; fails for a symbol. */
int64_t onnx_put_extent(onnx_writer *w, const cfx_tensor *t, int axis);

/* ---- Values: NULL after a failure ---- */

/* The value of an argument or item that is a tensor. */
const char *onnx_put_value(onnx_writer *w, cfx_value v);
const char *onnx_put_input(onnx_writer *w, const char *name);
const char *onnx_put_self_value(onnx_writer *w);
/* The value of an argument, converted to a type; a number becomes a constant.
 * An argument that is missing or None: "". */
const char *onnx_put_as(onnx_writer *w, cfx_value v, cfx_dtype type);
/* The numbers of an argument that is a parameter, or computed from some, with their data
 * without gaps; NULL: they are not known. */
const cfx_tensor *onnx_put_known(onnx_writer *w, cfx_value v);
/* A constant without axes: a number that the type holds, or failure. */
const char *onnx_put_constant(onnx_writer *w, cfx_value v, cfx_dtype type);
/* Constants. */
const char *onnx_put_one(onnx_writer *w, int64_t v); /* of one axis and item */
const char *onnx_put_ints(onnx_writer *w, size_t n, const int64_t *items);
const char *onnx_put_floats(onnx_writer *w, size_t n, const float *items);
const char *onnx_put_scalar(onnx_writer *w, double v, cfx_dtype type);
/* A constant of one axis with n times the same number. */
const char *onnx_put_filled(onnx_writer *w, int64_t n, double v,
                            cfx_dtype type);

/* Say that an axis of a value's shape, or (axis -1) the value itself, is an
 * extent; and so for all axes. */
void onnx_put_know_dim(onnx_writer *w, cfx_dim d, const char *name, int axis);
void onnx_put_know_dims(onnx_writer *w, const cfx_tensor *t, const char *name);
/* An extent as a tensor of one item. */
const char *onnx_put_dim(onnx_writer *w, cfx_dim d);
/* A number, known or symbolic, as a tensor of one item; `otherwise` where it is
 * None. */
const char *onnx_put_whole(onnx_writer *w, cfx_value v, int64_t otherwise);
/* A shape of n extents as a value: a constant, or joined from them. */
const char *onnx_put_shape(onnx_writer *w, size_t n, const cfx_dim *shape);

/* ---- Quantized weights: write_quantize.c ---- */

/* Is v dequantized by one scale that is a number? Is it a constant that is dequantized? */
bool onnx_put_is_quantized(cfx_value v);
bool onnx_put_is_weight(onnx_writer *w, cfx_value v);
/* Is n only quantized, by a scale that is a number? */
bool onnx_put_is_quantized_next(const cfx_node *n);
/* The product of x, which is quantized in each run, by a weight, (in, out) or not, as
 * one of integers, as `out` or a new name; NULL: they are others. */
const char *onnx_put_integer_product(onnx_writer *w, const char *out,
                                     cfx_value x, cfx_value weight,
                                     bool columns);
/* The transpose of such a matrix, if nothing else reads it, as `out` or a new name; else
 * NULL. */
const char *onnx_put_transposed(onnx_writer *w, const char *out, cfx_value v);
/* The bias of a layer of x and a weight: in int32 if both are dequantized; "" if it is
 * None. */
const char *onnx_put_bias(onnx_writer *w, cfx_value x, cfx_value weight,
                          cfx_value bias);

/* ---- Nodes ---- */

enum { ONNX_PUT_MAX = 8 };

/* A node with one output: `out`, or, if it is NULL, a new name, which is
 * returned. Inputs end at NULL; "" is one that is left out. */
Onnx__NodeProto *onnx_put_node(onnx_writer *w, const char *op, const char *out,
                               const char *const in[ONNX_PUT_MAX]);
const char *onnx_put_op(onnx_writer *w, const char *op, const char *out,
                        const char *const in[ONNX_PUT_MAX]);
/* onnx_put_op of the inputs that follow. */
#define ONNX_PUT(w, op, out, ...)                                             \
    onnx_put_op(w, op, out, (const char *const[ONNX_PUT_MAX]){__VA_ARGS__})
#define ONNX_NODE(w, op, out, ...)                                            \
    onnx_put_node(w, op, out, (const char *const[ONNX_PUT_MAX]){__VA_ARGS__})
/* A node of the call's first arguments, as the letters of onnx_pairs.def tell. */
Onnx__NodeProto *onnx_put_pair(onnx_writer *w, const char *op, const char *out,
                               const char *inputs);
/* The node whose output is the call's result, of the inputs that follow. */
#define ONNX_RESULT(w, op, ...) ONNX_NODE(w, op, onnx_put_name(w), __VA_ARGS__)
/* Another output of a node: its name. */
const char *onnx_put_more(onnx_writer *w, Onnx__NodeProto *n);
/* The name of the node's result, for `out`. */
const char *onnx_put_name(const onnx_writer *w);
/* The result is another value, without a node. */
void onnx_put_alias(onnx_writer *w, const char *name);
/* Value i of several results of the node; and of another node. */
void onnx_put_part(onnx_writer *w, uint32_t i, const char *name);
const char *onnx_put_part_of(onnx_writer *w, const cfx_node *n, int64_t i);
/* Attributes; a node may be NULL, after a failure. */
void onnx_put_attr_int(onnx_writer *w, Onnx__NodeProto *n, const char *name,
                       int64_t v);
void onnx_put_attr_ints(onnx_writer *w, Onnx__NodeProto *n, const char *name,
                        size_t count, const int64_t *v);
void onnx_put_attr_float(onnx_writer *w, Onnx__NodeProto *n, const char *name,
                         double v);
void onnx_put_attr_text(onnx_writer *w, Onnx__NodeProto *n, const char *name,
                        const char *v);
/* A list of n times the same text. */
void onnx_put_attr_texts(onnx_writer *w, Onnx__NodeProto *n, const char *name,
                         size_t count, const char *v);
/* The output of a node that onnx_put_node gave. */
CFX_INLINE const char *onnx_put_out(const Onnx__NodeProto *n)
{
    return n ? n->output[0] : NULL;
}

const char *onnx_put_cast(onnx_writer *w, const char *x, const char *out,
                          cfx_dtype type);
/* Tensors joined along an axis. */
const char *onnx_put_concat(onnx_writer *w, const char *out, char **in,
                            size_t n, int64_t axis);
/* A value whose axes are permuted. */
const char *onnx_put_permuted(onnx_writer *w, const char *out, const char *x,
                              int rank, const int64_t *perm);
/* A value as a row of its elements. */
const char *onnx_put_row(onnx_writer *w, const char *x);
/* ONNX's code of a type; fails where it has none. */
int onnx_put_code(onnx_writer *w, cfx_dtype type);

/* A copy of a text in the arena; and of a name that has a number appended. */
char *onnx_put_text(onnx_writer *w, const char *text);
char *onnx_put_numbered(onnx_writer *w, const char *name, char mark,
                        int64_t i);

/* Write the nodes of a graph into w->graph. */
cfx_status onnx_write_graph(onnx_writer *w, const cfx_graph *g);
/* Write a model to a file: file.c's row. */
cfx_status onnx_write(const char *path, const cfx_module *gm,
                      const cfx_save_options *o, cfx_error *err);

#endif
