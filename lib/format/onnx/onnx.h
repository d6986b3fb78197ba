/*
 * onnx.h -- shared by the files that read ONNX. Not installed.
 *
 * decode.c and tensor.c read messages; recorder.c is the scope in which rules
 * call operators, which become nodes; import.c walks the nodes of a model and
 * calls the rule of each (pairs.def, rules.def); attr.c and ints.c are what rules
 * are written with.
 *
 * A value of ONNX is one of
 *
 *     a node       a tensor that is computed
 *     a tensor     a constant: an initializer, or computed from some
 *     a tuple      a tensor of int64 with one axis whose items are known: ints,
 *                  or nodes of symbolic ints. Shapes are such values, so that
 *                  they stay symbolic
 *     an int, or a node of a symbolic int: such an item alone, of no axis
 *     a str, or a nested list of str, or a node that is marked with the type
 *     ONNX_STRING  a tensor of strings
 *     a list       a sequence of tensors
 *     None         an input or output that is left out, or an optional value
 *                  without an element
 *
 * A rule asks for the form that it needs: onnx_tensor, onnx_ints, onnx_texts.
 */
#ifndef CFX_FORMAT_ONNX_H
#define CFX_FORMAT_ONNX_H

#include <cfx/file.h>
#include <cfx/graph_module.h>
#include <cfx/ops.h>
#include <protobuf-c/protobuf-c.h>

#include "base/util.h"
#include "format/onnx/onnx.pb-c.h"
#include "op/composite.h"

/* ---- Messages: decode.c, tensor.c ---- */

typedef struct onnx_message {
    cfx_context *ctx;
    ProtobufCMessage *base;
} onnx_message;

/* Decode a message of that kind; release it. Fails with CFX_EPARSE,
 * CFX_ENOMEM. */
cfx_status onnx_decode(onnx_message *out, cfx_context *ctx,
                       const ProtobufCMessageDescriptor *kind,
                       const void *data, size_t size, cfx_error *err);
void onnx_message_release(onnx_message *m);
/* Free a block of a decoded message, which was taken from it. */
void onnx_block_free(void *block);

/* ONNX's code of strings, which are no data type of cfx. */
enum { ONNX_STRING = 8 };
/* The data type of ONNX's code; false if cfx has none. */
bool onnx_dtype(cfx_dtype *out, int64_t code);
/* The bits of a number of less than 8; 0 of other types. Such integers are int8
 * or uint8 in memory, such floats float8_e4m3fn. */
int onnx_narrow_bits(int64_t code);
/* The type in memory: onnx_dtype, and a wider type for narrow numbers. */
bool onnx_memory_type(cfx_dtype *out, int64_t code);
const char *onnx_type_name(int64_t code);

/* The folder of a model, in which other files may hold its numbers. */
typedef struct onnx_folder {
    const char *path;
    const char *name; /* of the file that is open; a text of the message */
    int fd;           /* -1: none is */
} onnx_folder;

/* A tensor of a message, from which it takes the bytes of raw_data. `dir` is
 * the model's folder, where files of numbers may lie; NULL: nowhere. */
cfx_status onnx_tensor_read(cfx_tensor **out, cfx_context *ctx,
                            Onnx__TensorProto *p, onnx_folder *dir,
                            cfx_error *err);

/* Like onnx_tensor_read; strings become a nested list of str. */
cfx_status onnx_constant_read(cfx_value *out, cfx_context *ctx,
                              Onnx__TensorProto *p, onnx_folder *dir,
                              cfx_error *err);

/* ---- values.c ---- */

/* The kind of message that a value of that type is; NULL: a tensor. */
const ProtobufCMessageDescriptor *onnx_value_kind(const Onnx__TypeProto *type);
cfx_status onnx_value_read(cfx_value *out, cfx_context *ctx,
                           ProtobufCMessage *m, cfx_error *err);

/* ---- The scope of rules: recorder.c ---- */

/* A graph that is being made, and the module that holds its constants. */
typedef struct onnx_graph {
    struct onnx_graph *outer; /* NULL: the model's */
    cfx_graph *graph;
    cfx_module *module;
    cfx_node_map metas; /* from nodes to metas of their results */
    cfx_map constants;  /* from addresses of tensors to get_attr nodes */
    cfx_map floats; /* from addresses of nodes of int32 to nodes of floats */
} onnx_graph;

typedef struct onnx_recorder {
    cfx_scope base;
    onnx_graph *at;
    cfx_shape_env *env;
    cfx_scope meta, eager; /* infer results; fold constants */
    cfx_map tensor_names;  /* from addresses of initializers to their names */
    cfx_map types;   /* ONNX's types by the addresses of tensors and nodes: of
                      numbers of less than 8 bits, and of strings */
    cfx_map results; /* metas of what branches give, by module */
    cfx_map numbers; /* onnx_numbers of nodes, by their addresses */
    cfx_arena arena;
} onnx_recorder;

cfx_status onnx_recorder_init(onnx_recorder *r, cfx_context *ctx,
                              cfx_error *err);
void onnx_recorder_release(onnx_recorder *r);
CFX_INLINE onnx_recorder *onnx_recorder_of(cfx_scope *s)
{
    return (onnx_recorder *)s;
}

/* Maps by addresses. The value of one, or NULL; and its entry, for a new value:
 * NULL and failure without memory. */
void *onnx_address_get(const cfx_map *m, const void *at);
cfx_map_entry *onnx_address_put(onnx_recorder *r, cfx_map *m, const void *at);

/* The meta of the result of the graph at hand, a new reference; absent if it is
 * not known. */
cfx_value onnx_result_of(cfx_scope *s);
/* Calls of this branch give a result with that meta. Takes the reference. */
void onnx_set_result_take(cfx_scope *s, const cfx_module *branch,
                          cfx_value meta);
/* The metas may lie in the graphs of the branches, so they go first. */
void onnx_release_results(onnx_recorder *r);

cfx_status onnx_graph_init(onnx_graph *g, cfx_context *ctx, onnx_graph *outer,
                           cfx_error *err);
void onnx_graph_release(onnx_graph *g);

/* The meta of a value: of a node, what is known of its result, or absent; of
 * strings a tensor of uint8 of their shape. */
cfx_value onnx_meta(cfx_scope *s, cfx_value v);
/* Keep the meta of a node of the graph at hand; of other values nothing. */
void onnx_set_meta(cfx_scope *s, cfx_value node, cfx_value meta);
/* A placeholder of the graph that is made, with this meta (absent: unknown);
 * None after a failure. */
cfx_value onnx_placeholder(cfx_scope *s, const char *name, cfx_value meta);
/* A get_attr node of a module that holds a graph; takes the module. */
cfx_value onnx_child_take(cfx_scope *s, const char *name, cfx_module *child);
/* Record the ONNX element type of a tensor or node, which its dtype in memory does
 * not determine. */
void onnx_mark_type(cfx_scope *s, cfx_value v, int64_t code);
/* The code that was kept, or 0. */
int64_t onnx_marked_type(cfx_scope *s, cfx_value v);
/* Record the floats that a tensor of int32 has the integers of, for a cast of it: they
 * are rounded as float32 is. And find them; absent if there are none in this graph. */
void onnx_set_floats(cfx_scope *s, cfx_value integers, cfx_value floats);
cfx_value onnx_floats(cfx_scope *s, cfx_value integers);
/* Make `name` the name of a tensor that becomes a parameter or buffer. */
void onnx_name_tensor(cfx_scope *s, cfx_tensor *t, const char *name);
/* Give it the name of the tensor that it is made of. */
void onnx_name_like(cfx_scope *s, cfx_tensor *t, const cfx_tensor *of);
/* The transpose of a constant matrix, as a constant. */
cfx_value onnx_transposed(cfx_scope *s, cfx_value matrix);
/* A name of ONNX as an identifier, with dots if `dots`; in the recorder's
 * arena, NULL without memory. */
char *onnx_identifier(onnx_recorder *r, const char *name, bool dots);
/* The values of the items of an output: constants become nodes. */
cfx_value onnx_output_value(cfx_scope *s, cfx_value v);

/* ---- Rules ---- */

struct onnx_rule;

/* The names that nodes see: of a graph, or of a function's body. */
typedef struct onnx_frame {
    struct onnx_frame *outer; /* NULL: names of nothing else are seen */
    cfx_map names;            /* to cfx_values in the recorder's arena */
    Onnx__OperatorSetIdProto **opset;
    size_t nopsets;
    /* In the body of a function: the node that calls it, to whose attributes the
     * body may refer, and the frame of that node. */
    const Onnx__FunctionProto *function;
    const Onnx__NodeProto *call;
    struct onnx_frame *caller;
} onnx_frame;

typedef struct onnx_importer {
    onnx_recorder r;
    const Onnx__ModelProto *model;
    onnx_folder *dir;
    const cfx_load_options *options;
    onnx_frame *frame;
    cfx_map rules;     /* by their keys */
    cfx_map constants; /* cfx_values by the addresses of their messages */
    int depth;         /* of graphs and functions */
    size_t nimported;  /* nodes */
    int nbranches;
} onnx_importer;

/* How a rule takes numbers of uint64 as int64. */
typedef enum onnx_uint64 {
    ONNX_NO_UINT64, /* it refuses them */
    ONNX_BITS,      /* their bits: sums, products and moves come out alike */
    ONNX_ORDER      /* less 2^63, so that they keep their order */
} onnx_uint64;

/* The node that a rule imports. */
typedef struct onnx_node {
    onnx_importer *importer;
    cfx_scope *s;
    const Onnx__NodeProto *proto;
    const struct onnx_rule *rule;
    int64_t opset; /* of the node's domain */
    size_t nin, nout;
    cfx_value *in;  /* None where an input is left out */
    cfx_value *out; /* the results, to be set */
    bool *seen; /* which attributes the rule asked for: others are refused */
    onnx_uint64 uint64;
    cfx_dtype widened; /* uint16, uint32 or uint64 that onnx_tensor gave in a
                          wider type, to which results go back; else bool */
} onnx_node;

/* A rule returns the first result, or absent on failure, and always sets the
 * others, for which `out` has room. */
typedef cfx_value onnx_rule_fn(onnx_node *n);

struct onnx_list;

enum { ONNX_MAX_INPUTS = 3, ONNX_PAIR_ATTRS = 2 };

/* A row of onnx_pairs.def. */
typedef struct onnx_pair {
    const char *onnx;
    const cfx_op *op; /* the first overload */
    const char *inputs;
    struct {
        const char *name, *param; /* NULL after the last */
        double usual;
    } attr[ONNX_PAIR_ATTRS];
    const char *target; /* NULL: the operator's first name */
} onnx_pair;

#define ONNX_ROW(name, op_, ...)                                              \
    (&(const onnx_pair){                                                      \
        .onnx = name, .op = &cfx_op__##op_, .inputs = __VA_ARGS__})

typedef struct onnx_rule {
    const char *name, *domain;
    const char *key; /* "domain.name" */
    int since;       /* the first version of the operator set that it is for */
    onnx_rule_fn *import;
    const char *target;    /* of rules that call one function */
    const onnx_pair *pair; /* of onnx_import_pair */
} onnx_rule;

/* Functions within functions and graphs within graphs. */
enum { ONNX_MAX_DEPTH = 32 };

/* The version of a domain's operator set among n; 1 where it is not told, 0 of
 * ONNX's own domain. */
int64_t onnx_opset_of(Onnx__OperatorSetIdProto **opset, size_t n,
                      const char *domain);
/* The i-th rule; NULL after the last. */
const onnx_rule *onnx_rule_at(size_t i);
/* The rule of an operator, if the operator set has it, or NULL. */
const onnx_rule *onnx_find_rule(const onnx_importer *im, const char *domain,
                                const char *name, int64_t opset);
/* The function of the model that a node calls, or NULL. */
const Onnx__FunctionProto *onnx_find_function(const Onnx__ModelProto *m,
                                              const Onnx__NodeProto *p);

CFX_INLINE const char *onnx_text(const char *s)
{
    return s ? s : "";
}
/* A domain; "" for ONNX's own. */
CFX_INLINE const char *onnx_domain(const char *domain)
{
    return domain && strcmp(domain, "ai.onnx") ? domain : "";
}
/* The name of a node in messages: its own, else that of its first output. */
CFX_INLINE const char *onnx_node_name(const Onnx__NodeProto *p)
{
    const char *name = onnx_text(p->name);
    return !*name && p->n_output ? onnx_text(p->output[0]) : name;
}

/* ---- unknown.c ---- */

/* `err` names an operator that has no rule. If others have none, too, name them
 * all. */
void onnx_name_unknown(const onnx_importer *im, cfx_error *err);

/* Call the operator of the row. */
onnx_rule_fn onnx_import_pair;
#define ONNX_RULE(domain, name, since, fn, target)                            \
    onnx_rule_fn onnx_import_##fn;
#include "format/onnx/onnx_rules.def"
#undef ONNX_RULE

#define ONNX_PAIR(onnx, since, op, ...) extern const cfx_op cfx_op__##op;
#define ONNX_IMPORTED ONNX_PAIR
#define ONNX_WRITTEN ONNX_PAIR
#include "format/onnx/onnx_pairs.def"

/* ---- numbers.c ---- */

/* Import a node: as numbers, if those of its inputs are known, else by its
 * rule. */
void onnx_import_node(onnx_node *n);
/* The values of the int tensor of rank 0 or 1 that a node computes; false if they are
 * not known. */
bool onnx_recorded_ints(onnx_node *n, cfx_value v, struct onnx_list *out);

/* Make the scope fail: the operator's name is added. */
cfx_value onnx_fail(onnx_node *n, cfx_status code, const char *fmt, ...)
    CFX_PRINTF(3, 4);
/* Like onnx_fail, for functions that return a bool. */
#define onnx_refuse(...) (onnx_fail(__VA_ARGS__), false)

/* ---- Inputs ---- */

/* The number of an input that this version of the operator has not; it has an
 * attribute instead, or nothing. */
#define ONNX_NO_INPUT SIZE_MAX

CFX_INLINE bool onnx_has(const onnx_node *n, size_t i)
{
    return i < n->nin && n->in[i].kind != CFX_NONE;
}
/* Input i as a tensor: a node or a constant. None and failure if it is left
 * out. torch has uint16, uint32 and uint64, but computes next to nothing in
 * them: they come as int32 or int64, and n->widened says so. */
cfx_value onnx_tensor(onnx_node *n, size_t i);
/* Like onnx_tensor, but in its own type, for rules that make views or
 * convert. */
cfx_value onnx_stored_tensor(onnx_node *n, size_t i);
/* Is a value strings? */
bool onnx_is_texts(cfx_scope *s, cfx_value v);
/* Input i as strings: a str, nested lists of them or a node. None and failure
 * if it is none. */
cfx_value onnx_texts(onnx_node *n, size_t i);

/* ---- Rules of strings that others call: strings.c ---- */

/* Input 0 as strings that show its numbers becomes the result. */
cfx_value onnx_cast_to_texts(onnx_node *n);
/* The numbers that the strings of input 0 show. */
cfx_value onnx_cast_texts(onnx_node *n, cfx_dtype to);
/* Are the strings of the two inputs equal? */
cfx_value onnx_equal_texts(onnx_node *n);
/* A result that a rule computed in the wider type, in the type of the input;
 * any other as it is. */
cfx_value onnx_narrowed(onnx_node *n, cfx_value v);
/* Like onnx_tensor, but absent if the input is left out. */
cfx_value onnx_optional(onnx_node *n, size_t i);
/* A value as a tensor. */
cfx_value onnx_as_tensor(cfx_scope *s, cfx_value v);
/* The meta of a tensor; NULL after failure. */
const cfx_tensor *onnx_meta_tensor(onnx_node *n, cfx_value v);
/* Rank and type; -1, CFX_F32 after failure. */
int onnx_rank(onnx_node *n, cfx_value v);
cfx_dtype onnx_type_of(onnx_node *n, cfx_value v);
bool onnx_is_int(onnx_node *n, cfx_value v);
/* An axis from 0; fails outside of the rank. */
int onnx_axis(onnx_node *n, int64_t axis, int rank);
/* The attribute `axis`, one of x, from 0; 0 after a failure. */
int onnx_attr_axis(onnx_node *n, cfx_value x, int64_t otherwise);
/* The extent of a tensor: an int, or a node. */
cfx_value onnx_size(cfx_scope *s, cfx_value x, int axis);
/* The extents of the axes from..to, as a list. */
cfx_value onnx_extents(cfx_scope *s, cfx_value x, int from, int to);
/* The items from..to of an axis. */
cfx_value onnx_slice(cfx_scope *s, cfx_value x, int axis, int64_t from,
                     int64_t to);
/* A row, shaped to broadcast along an axis of `rank`. */
cfx_value onnx_along(cfx_scope *s, cfx_value row, int axis, int rank);
/* A known extent; fails for a symbol. */
int64_t onnx_known_size(onnx_node *n, cfx_value x, int axis);

/* ---- Types: cast.c ---- */

/* Convert a tensor; itself if it has that type. */
cfx_value onnx_in_type(onnx_node *n, cfx_value x, cfx_dtype to);
/* Is it a float of 8 bits? */
bool onnx_is_small_float(cfx_dtype t);
CFX_INLINE bool onnx_is_byte(cfx_dtype t)
{
    return t == CFX_U8 || t == CFX_I8;
}
/* Cast to a float of 8 or 4 bits, which is `to` in memory, as the attributes
 * `saturate` and `round_mode` say. */
cfx_value onnx_small_float(onnx_node *n, cfx_value x, cfx_dtype to, int bits);

/* ---- decomposed.c: calls of torch.ops.quantized_decomposed ---- */

/* The numbers of the inputs that hold the scale (ONNX_NO_INPUT: it is 1) and the zero
 * point, and the axis of which each item has its own, if there are several. */
typedef struct onnx_qparams {
    size_t scale, zero;
    int64_t axis;
} onnx_qparams;

/* Can input i be dequantized by such a call? */
bool onnx_can_dequantize(onnx_node *n, size_t i, const onnx_qparams *in);
/* x as integers of a type, of fewer than 8 bits unless `bits` is 0; and input i, of
 * integers, as floats. Absent if there is no such call, or after a failure. */
cfx_value onnx_quantized(onnx_node *n, cfx_value x, const onnx_qparams *in,
                         cfx_dtype type, int bits);
cfx_value onnx_dequantized(onnx_node *n, size_t i, const onnx_qparams *in);

/* ---- uint64.c: of tensors of int64 that hold the bits of uint64 ---- */

cfx_value onnx_uint64_shift_right(onnx_node *n, cfx_value a, cfx_value by);
cfx_value onnx_uint64_div(onnx_node *n, cfx_value a, cfx_value b);
cfx_value onnx_uint64_mod(onnx_node *n, cfx_value a, cfx_value b);

/* ---- Attributes: attr.c ---- */

const Onnx__AttributeProto *onnx_attr(const onnx_node *n, const char *name);
/* An attribute that does not change the results. */
CFX_INLINE void onnx_ignore(const onnx_node *n, const char *name)
{
    (void)onnx_attr(n, name);
}
int64_t onnx_attr_int(onnx_node *n, const char *name, int64_t otherwise);
double onnx_attr_float(onnx_node *n, const char *name, double otherwise);
/* Is the text attribute this word? `otherwise` is its default. */
bool onnx_attr_is(const onnx_node *n, const char *name, const char *word,
                  const char *otherwise);
/* The text of an attribute, in the recorder's arena. */
const char *onnx_attr_text(onnx_node *n, const char *name,
                           const char *otherwise);
/* A text attribute as a str, in the scope; absent if there is none. */
cfx_value onnx_attr_str(onnx_node *n, const char *name);
/* A tensor attribute, or NULL. */
Onnx__TensorProto *onnx_attr_tensor(const onnx_node *n, const char *name);
/* A list of str of an attribute, in the scope; absent if there is none. */
cfx_value onnx_attr_texts(onnx_node *n, const char *name);
/* A list of ints: count and items; 0 if there is none. */
size_t onnx_attr_ints(const onnx_node *n, const char *name,
                      const int64_t **out);

/* ---- Rules that call others: attr.c ---- */

/* The version of an operator set that has every operator. */
#define ONNX_NEWEST INT64_MAX

/* A node with these inputs, which may be absent, and one result: of the newest
 * operator set, without attributes. NULL without memory. */
onnx_node *onnx_node_with(onnx_node *n, size_t nin, const cfx_value *in);
/* The result of a rule on such a node. */
cfx_value onnx_apply(onnx_node *n, onnx_rule_fn *rule, size_t nin,
                     const cfx_value *in);
/* Like onnx_apply, with the attributes, operator set and results of n. */
cfx_value onnx_with_inputs(onnx_node *n, onnx_rule_fn *rule, size_t nin,
                           const cfx_value *in);

/* ---- Ints that are known: ints.c ---- */

enum { ONNX_MAX_INTS = 4096 };

/* A list of ints or symbolic ints, with room for a few. */
typedef struct onnx_list {
    size_t n;
    cfx_value *item; /* in the scope */
} onnx_list;

/* Input i as a list of ints: a constant, a shape. False if it is computed from
 * numbers that are not known; then nothing has failed. */
bool onnx_ints_known(onnx_node *n, cfx_value v, onnx_list *out);
/* Like it, but fails with a line that tells which input should be constant. */
bool onnx_ints(onnx_node *n, size_t i, onnx_list *out);
/* Like onnx_ints, for extents of x where an item of `keeps` stands for x's own;
 * the items are those of the first axes, or, if `behind`, of the last. Only
 * items that are data are replaced. */
bool onnx_sizes(onnx_node *n, size_t i, cfx_value x, int64_t keeps,
                bool behind, onnx_list *out);
typedef struct onnx_int_list {
    bool ok;    /* false after a failure */
    bool given; /* is there an input or attribute? */
    size_t n;
    int64_t *item;
} onnx_int_list;

/* Plain ints: input i, or, where it is left out, the attribute `name`, which may
 * be NULL. */
onnx_int_list onnx_plain_ints(onnx_node *n, size_t i, const char *name);
/* One number as an argument: of a constant, a symbolic int, or a node of it. */
cfx_value onnx_scalar(onnx_node *n, size_t i);
/* One number: of a constant of one element. */
bool onnx_number(onnx_node *n, size_t i, double *out);
/* A value of ints with one axis, or none. */
cfx_value onnx_tuple(cfx_scope *s, size_t n, const cfx_value *items);
/* A list for an operator's argument. */
cfx_value onnx_arg(cfx_scope *s, size_t n, const cfx_value *items);
cfx_value onnx_int_arg(cfx_scope *s, size_t n, const int64_t *items);
/* Is it a known int, or a tuple of such, or a symbolic int? */
bool onnx_is_known(cfx_scope *s, cfx_value v);
bool onnx_is_symint(cfx_scope *s, cfx_value v);
/* A tensor of one row of int64. */
cfx_value onnx_int_tensor(cfx_scope *s, int rank, size_t n,
                          const int64_t *items);
/* A tensor of one number or one row of float32. */
cfx_value onnx_float_tensor(cfx_scope *s, int rank, size_t n,
                            const float *items);
/* A tensor of one number of a type. */
cfx_value onnx_scalar_tensor(cfx_scope *s, double v, cfx_dtype dtype);
/* Memory in the recorder's arena; the scope fails without. */
void *onnx_alloc(cfx_scope *s, size_t n, size_t size);

/* Rounds or steps that stand one after the other in the graph, where torch has
 * no operator for them. */
enum { ONNX_MAX_UNROLLED = 256 };

/* A tensor or strings of a message, marked with a type that its dtype does not
 * tell. They are read once: graphs that are imported several times share them.
 * None after a failure. */
cfx_value onnx_constant(onnx_importer *im, Onnx__TensorProto *p);

/* ---- Graphs within nodes: import.c ---- */

/* Import a graph in the place of the node, with values for its inputs. */
bool onnx_inline(onnx_node *n, const Onnx__GraphProto *g, const cfx_value *in,
                 size_t nin, cfx_value *out, size_t nout);
/* A graph of its own that is being made: a branch, or a round of a loop. Nodes
 * go into it between its opening and its closing. */
typedef struct onnx_branch {
    onnx_graph graph, *outer;
    onnx_frame frame, *before;
} onnx_branch;

bool onnx_branch_open(onnx_node *n, onnx_branch *b);
/* A placeholder with this meta. */
cfx_value onnx_branch_input(onnx_node *n, const char *name, cfx_value meta);
/* Placeholders for values around the graph, under their names. */
void onnx_branch_capture(onnx_node *n, size_t count, const char *const *name,
                         const cfx_value *metas);
/* Set the results of the branch's graph: one value, or a tuple. */
void onnx_branch_results(onnx_node *n, size_t count, const cfx_value *v,
                         bool single);
/* A get_attr node of the graph's module. */
cfx_value onnx_branch_close(onnx_node *n, onnx_branch *b, const char *name);
/* Forget the graph: it told what its values are like. */
void onnx_branch_drop(onnx_node *n, onnx_branch *b);
/* Make values operands of a graph, and tell their metas. */
void onnx_as_operands(onnx_node *n, cfx_value *v, cfx_value *metas,
                      size_t count);
/* The graph of an attribute; NULL after failure. */
const Onnx__GraphProto *onnx_attr_graph(onnx_node *n, const char *name);
/* Results along a new axis. */
cfx_value onnx_stacked(onnx_node *n, const cfx_value *rows, size_t rounds,
                       int64_t axis);

/* ---- captures.c ---- */

enum { ONNX_MAX_CAPTURED = 256 };

/* The values of outer graphs that a graph uses, at most `room` names. */
bool onnx_captures(onnx_node *n, const Onnx__GraphProto *g, const char **name,
                   size_t *count, size_t room);
/* The value of a name at this place; NULL if there is none. */
const cfx_value *onnx_find_value(const onnx_importer *im, const char *name);
cfx_value onnx_value_of(onnx_node *n, const char *name);

/* ---- A model ---- */

cfx_status onnx_import(cfx_module **out, cfx_context *ctx,
                       const Onnx__ModelProto *model, onnx_folder *dir,
                       const cfx_load_options *options, cfx_error *err);

#endif
