/*
 * cfx/shape_prop.h -- the types, shapes and strides of each node's value.
 *
 * ShapeProp is an interpreter. It runs the graph on metas, tensors without data
 * whose extents may be symbols; or, like torch.fx's, on tensors. Each node gets
 *
 *     meta["tensor_meta"]   a meta for each tensor that came out, in the
 *                           tuples, lists and dicts in which it came; as in
 *                           torch.fx only where there was a tensor at all
 *     meta["type"]          the type of what came out: "torch.Tensor", "int",
 *                           "tuple", "torch.return_types.topk"
 *
 *     cfx_shape_env *env;
 *     cfx_shape_prop p = {0};
 *     cfx_shape_prop_options o = {.size = sizeof(o)};
 *     cfx_value x, y;
 *     cfx_shape_env_new(&env, ctx, &err);
 *     cfx_parse_shape(&x, ctx, env, "f32[N, 3, 224, 224]", 19, &err);
 *     o.env = env;
 *     cfx_shape_prop_init(&p, NULL, gm, &o, &err);
 *     cfx_interp_run(&p.base, &x, 1, &y, &err);
 *     ...
 *     cfx_interp_release(&p.base);
 *
 * Weights are not needed. Known values stay known: extents and arithmetic on
 * them, and tensors of at most CFX_KNOWN_MAX elements that are made from
 * numbers (torch.tensor([2, 3]), torch.arange(4)) or were loaded. So a reshape
 * by them, their item(), and indexing with them as masks have a shape. An
 * extent that depends on data (nonzero of an input) gets a symbol u0, u1, ...
 * Conditions that a rule needs and that cannot be proved become guards of the
 * environment.
 *
 * The walk writes the nodes' meta. So two threads must not propagate shapes
 * over one graph at the same time, nor may one do so while another runs or
 * reads it: give each thread a copy (cfx_module_copy), or set `no_meta`, which
 * only reads the graph, and use cfx_interp_env (keep_values). Each thread needs
 * an environment of its own in any case.
 *
 * Errors name the operator, its inputs and the node: "The size of tensor a (3)
 * must match ...; operator.add of f32[2, 3], f32[2, 4] in layer1.0; While
 * executing %add : ...".
 */
#ifndef CFX_SHAPE_PROP_H
#define CFX_SHAPE_PROP_H

#include <cfx/interp.h>
#include <cfx/text.h>

/* The maximal size of a tensor that is known by value. */
enum { CFX_KNOWN_MAX = 4096 };

/*
 * The scope in which shapes are propagated, of cfx_shape_scope_class or a
 * derived class. A call_op hook of your own chains up, or calls
 * cfx_shape_scope_known first.
 */
typedef struct cfx_shape_scope {
    cfx_scope base;
    cfx_tensor **written; /* private: no longer known, although with data */
    size_t nwritten, cap;
} cfx_shape_scope;

typedef struct cfx_shape_prop {
    cfx_interp base;
    cfx_shape_env *env;    /* of the options, or its own */
    bool real;             /* run on tensors */
    bool no_meta;          /* do not write the nodes' meta */
    cfx_shape_scope scope; /* scope of the calls, unless another is given */
    cfx_shape_env *own;    /* private */
    struct cfx_shape_match *match; /* private */
    cfx_node_map nodes; /* private: nodes to write to; empty with no_meta */
} cfx_shape_prop;

/* Zeroed for the defaults. */
typedef struct cfx_shape_prop_options {
    size_t size;        /* sizeof(cfx_shape_prop_options) */
    cfx_graph *graph;   /* another graph over the same module */
    cfx_shape_env *env; /* of the symbols; borrowed */
    cfx_scope *scope;   /* another scope for the calls; borrowed */
    bool real;          /* run tensors with data in an eager scope */
    bool keep_values;   /* until the next run, for cfx_interp_env */
    bool no_meta;       /* do not write the nodes' meta */
    bool check;         /* fail with CFX_ESHAPE if a node has meta
                              "tensor_meta" and its value differs */
} cfx_shape_prop_options;

/* torch.fx's TensorMetadata of a tensor. */
typedef struct cfx_tensor_metadata {
    const cfx_tensor *tensor;        /* its dtype, shape and stride */
    bool requires_grad;              /* always false here */
    bool has_memory_format;          /* false: None */
    cfx_memory_format memory_format; /* contiguous, else channels_last, ... */
    bool is_quantized;
} cfx_tensor_metadata;

CFX_BEGIN_DECLS

CFX_API extern const cfx_interp_class cfx_shape_prop_class;
CFX_API extern const cfx_scope_class cfx_shape_scope_class;

/* Prepare a zeroed struct of cfx_shape_prop_class (cls NULL), or of a derived
 * class, whose struct has a cfx_shape_prop first. Release it with
 * cfx_interp_release(&p->base). Fails as cfx_interp_init does. */
CFX_API cfx_status cfx_shape_prop_init(cfx_shape_prop *p,
                                       const cfx_interp_class *cls,
                                       cfx_module *gm,
                                       const cfx_shape_prop_options *options,
                                       cfx_error *err);

/* Propagate shapes in one call: each node of gm gets its meta. `env` NULL:
 * extents are integers, and sizes that depend on data fail. `result`, if not
 * NULL, receives the result. */
CFX_API cfx_status cfx_propagate_shapes(cfx_module *gm, cfx_shape_env *env,
                                        const cfx_value *inputs,
                                        size_t ninputs, cfx_value *result,
                                        cfx_error *err);

/* True if some node has the meta that propagation sets. */
CFX_API bool cfx_graph_has_shapes(const cfx_graph *g);
/* Remove that meta from all nodes. Fails with CFX_ENOMEM. */
CFX_API cfx_status cfx_graph_remove_shapes(cfx_graph *g, cfx_error *err);

/* Initialize and release a scope; `cls` NULL: cfx_shape_scope_class. */
CFX_API void cfx_shape_scope_init(cfx_shape_scope *s,
                                  const cfx_scope_class *cls, cfx_context *ctx,
                                  cfx_shape_env *env);
CFX_API void cfx_shape_scope_release(cfx_shape_scope *s);

/* Make a call whose arguments are known by value: sets *done, and returns
 * status and *out as hooks do. For other calls *done is false, and only the
 * targets of its writes become unknown. */
CFX_API cfx_status cfx_shape_scope_known(cfx_shape_scope *s, cfx_call *call,
                                         cfx_value *out, bool *done);

/* Return the metadata of a tensor, symbolic or not. Never fails. */
CFX_API cfx_tensor_metadata cfx_tensor_metadata_of(const cfx_tensor *t);

/*
 * Compares asserted shapes, values as cfx_parse_shape reads them, with those of
 * a walk. A symbol that the walk's environment does not have takes the first
 * extent it is compared with, and must match it from then on; `_` matches
 * anything. So f32[N, 64, 56, 56] matches a batch of 2, and N is then 2.
 */
typedef struct cfx_shape_match cfx_shape_match;

CFX_API cfx_status cfx_shape_match_new(cfx_shape_match **out, cfx_context *ctx,
                                       cfx_shape_env *env, cfx_error *err);
CFX_API void cfx_shape_match_free(cfx_shape_match *m);
/* Fails with CFX_ESHAPE, "NAME is f32[2, 3], not f32[2, 4] as asserted", and
 * CFX_ENOMEM. `strides` compares these too, except on axes of extent 1. */
CFX_API cfx_status cfx_shape_match_check(cfx_shape_match *m, const char *name,
                                         cfx_value have, cfx_value want,
                                         bool strides, cfx_error *err);

/*
 * The path of the module that each node of a graph comes from: for a
 * call_module that module, for a get_attr the module that owns it, for others
 * the innermost one in meta "nn_module_stack", which PyTorch's text lacks.
 * Without it, a call that uses state fetched by get_attr nodes, as in exported
 * programs, is in the innermost module around that state; any other call is in
 * the innermost module around the nearest known nodes before and after it.
 */
typedef struct cfx_node_path {
    const char *path; /* without a terminating NUL */
    size_t len;       /* 0 for the root */
} cfx_node_path;

/* Fill `paths`, one for each id below cfx_graph_ids(g). They are valid until
 * the graph is edited. Never fails. */
CFX_API void cfx_graph_node_paths(const cfx_graph *g, cfx_node_path *paths);

/*
 * Print the shapes of a walk that keeps its values (keep_values), after the
 * run: a table followed by ranges of symbols and guards, CSV, or JSON
 * "cfx.shapes/1". With `depth` above 0, the nodes of deeper modules are merged
 * into one row for the module at that depth. Fails with CFX_EINVAL without
 * values, CFX_ENOMEM, and as the sink does.
 */
typedef enum cfx_shapes_format {
    CFX_SHAPES_TEXT,
    CFX_SHAPES_CSV,
    CFX_SHAPES_JSON
} cfx_shapes_format;

CFX_API cfx_status cfx_print_shapes(cfx_sink to, const cfx_shape_prop *p,
                                    cfx_shapes_format format, int depth,
                                    cfx_error *err);

CFX_END_DECLS

#endif
