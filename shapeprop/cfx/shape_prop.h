/*
 * cfx/shape_prop.h -- what comes out of each node: types, shapes, strides.
 *
 * ShapeProp is an interpreter. It runs the graph on metas, which have all but
 * numbers, and whose extents may be symbols; or, as torch.fx's, on tensors.
 * Each node gets
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
 * Weights are not needed. What is known by value stays known: extents and
 * arithmetic on them, and tensors of at most CFX_KNOWN_MAX elements that are
 * made of numbers (torch.tensor([2, 3]), torch.arange(4)) or were loaded, so
 * that a reshape by them, their item() and masks that they are have a shape.
 * What only the data tells (nonzero of an input) gets a symbol u0, u1, ...
 * Facts that a rule needed and that do not follow are guards of the
 * environment.
 *
 * The meta is written while the graph is walked. So two threads must not
 * propagate shapes over one graph at a time, nor one while another runs or
 * reads it: give each thread a copy (cfx_module_copy), or set `no_meta`,
 * which only reads the graph, and ask cfx_interp_env (keep_values). Each thread
 * needs an environment of its own in any case.
 *
 * Errors say what was called, on what, and where: "The size of tensor a (3)
 * must match ...; operator.add of f32[2, 3], f32[2, 4] in layer1.0; While
 * executing %add : ...".
 */
#ifndef CFX_SHAPE_PROP_H
#define CFX_SHAPE_PROP_H

#include <cfx/interp.h>
#include <cfx/text.h>

/* The most elements of a tensor that is known by value. */
enum { CFX_KNOWN_MAX = 4096 };

/*
 * The scope in which shapes are propagated: of cfx_shape_scope_class or a class
 * derived from it. A call_op of your own chains up, or asks
 * cfx_shape_scope_known before it propagates in a way of its own.
 */
typedef struct cfx_shape_scope {
    cfx_scope base;
    cfx_tensor **written;  /* private: no longer known, though they have data */
    size_t nwritten, cap;
} cfx_shape_scope;

typedef struct cfx_shape_prop {
    cfx_interp base;
    cfx_shape_env *env;    /* of the options, or of its own */
    bool real;             /* tensors are run */
    bool no_meta;          /* nodes are left as they are */
    cfx_shape_scope scope; /* where calls are made, unless given another */
    cfx_shape_env *own;    /* private */
    struct cfx_shape_match *match; /* private */
    cfx_node_map nodes;    /* private: to themselves; empty with no_meta */
} cfx_shape_prop;

/* Zeroed for the defaults. */
typedef struct cfx_shape_prop_options {
    size_t size;           /* sizeof(cfx_shape_prop_options) */
    cfx_graph *graph;      /* another graph over the same module */
    cfx_shape_env *env;    /* of the symbols; borrowed */
    cfx_scope *scope;      /* another scope for the calls; borrowed */
    bool real;             /* run tensors: an eager scope, inputs with data */
    bool keep_values;      /* for cfx_interp_env, until the next run */
    bool no_meta;          /* leave the nodes' meta alone */
    bool check;            /* fail with CFX_ESHAPE where a node has meta
                              "tensor_meta" and something else comes out */
} cfx_shape_prop_options;

/* torch.fx's TensorMetadata of a tensor. */
typedef struct cfx_tensor_metadata {
    const cfx_tensor *tensor;        /* its dtype, shape and stride */
    bool requires_grad;              /* nothing here does */
    bool has_memory_format;          /* false: None */
    cfx_memory_format memory_format; /* contiguous, else channels_last, ... */
    bool is_quantized;
} cfx_tensor_metadata;

CFX_BEGIN_DECLS

CFX_API extern const cfx_interp_class cfx_shape_prop_class;
CFX_API extern const cfx_scope_class cfx_shape_scope_class;

/* Prepare a zeroed struct, of cfx_shape_prop_class (cls NULL) or a class
 * derived from it, whose struct has a cfx_shape_prop first. Fails as
 * cfx_interp_init does. Release it with cfx_interp_release(&p->base). */
CFX_API cfx_status cfx_shape_prop_init(cfx_shape_prop *p,
                                       const cfx_interp_class *cls,
                                       cfx_module *gm,
                                       const cfx_shape_prop_options *options,
                                       cfx_error *err);

/* All of it in one call: each node of gm gets its meta. `env` NULL: extents are
 * integers, what depends on data fails. `result`, if not NULL, gets what came
 * out. */
CFX_API cfx_status cfx_propagate_shapes(cfx_module *gm, cfx_shape_env *env,
                                        const cfx_value *inputs,
                                        size_t ninputs, cfx_value *result,
                                        cfx_error *err);

/* Place a scope and give its things back; `cls` NULL: cfx_shape_scope_class. */
CFX_API void cfx_shape_scope_init(cfx_shape_scope *s,
                                  const cfx_scope_class *cls,
                                  cfx_context *ctx, cfx_shape_env *env);
CFX_API void cfx_shape_scope_release(cfx_shape_scope *s);

/* If the call is one on what is known by value, make it: *done, and the status
 * and *out of hooks. Else *done is false, and nothing has happened but that
 * what the call writes to is no longer known. */
CFX_API cfx_status cfx_shape_scope_known(cfx_shape_scope *s, cfx_call *call,
                                         cfx_value *out, bool *done);

/* What is known of a tensor, symbolic or not. Never fails. */
CFX_API cfx_tensor_metadata cfx_tensor_metadata_of(const cfx_tensor *t);

/*
 * Shapes that are asserted: values as cfx_parse_shape reads them, held against
 * what a walk gave. Symbols that the environment of the walk does not know
 * stand for what they meet first, and for that everywhere; `_` for anything. So
 * f32[N, 64, 56, 56] holds for 2 images, and once N is 2 it is 2.
 */
typedef struct cfx_shape_match cfx_shape_match;

CFX_API cfx_status cfx_shape_match_new(cfx_shape_match **out,
                                       cfx_context *ctx, cfx_shape_env *env,
                                       cfx_error *err);
CFX_API void cfx_shape_match_free(cfx_shape_match *m);
/* Fails with CFX_ESHAPE, "NAME is f32[2, 3], not f32[2, 4] as asserted", and
 * CFX_ENOMEM. With `strides` these must agree too, but for axes of extent 1. */
CFX_API cfx_status cfx_shape_match_check(cfx_shape_match *m, const char *name,
                                         cfx_value have, cfx_value want,
                                         bool strides, cfx_error *err);

/*
 * The paths of the modules that the nodes of a graph stem from: of a
 * call_module that module, of a get_attr the one that has it, of others the
 * innermost in meta "nn_module_stack". That is missing in all that was read
 * from PyTorch's text. A call that takes state which get_attr nodes fetch, as
 * all of an export do, is then in the innermost module around that state; any
 * other is in the innermost around both the nodes before and behind that tell.
 */
typedef struct cfx_node_path {
    const char *path; /* without a NUL behind it */
    size_t len;       /* of the root 0 */
} cfx_node_path;

/* One for each id below cfx_graph_ids(g), into `paths`. They are good as long
 * as the graph is not edited. Never fails. */
CFX_API void cfx_graph_node_paths(const cfx_graph *g, cfx_node_path *paths);

/*
 * What a walk found, of one that keeps its values (keep_values), after the run:
 * a table, with the ranges of symbols and the guards behind it; CSV; or JSON,
 * "cfx.shapes/1". With `depth` above 0, nodes of modules that lie deeper come
 * together in one row for the module at that depth. Fails with CFX_EINVAL
 * where there are no values, CFX_ENOMEM, and as the sink does.
 */
typedef enum cfx_shapes_format {
    CFX_SHAPES_TEXT, CFX_SHAPES_CSV, CFX_SHAPES_JSON
} cfx_shapes_format;

CFX_API cfx_status cfx_print_shapes(cfx_sink to, const cfx_shape_prop *p,
                                    cfx_shapes_format format, int depth,
                                    cfx_error *err);

CFX_END_DECLS

#endif
