/*
 * aten.h -- shared by the files that retrace graphs into calls of ATen. Not
 * installed.
 */
#ifndef CFX_ATEN_H
#define CFX_ATEN_H

#include <cfx/shape_prop.h>

#include "base/util.h"

/* The call that made a view, to make it again after its memory was written. */
typedef struct cfx_aten_view {
    struct cfx_aten_view *next;
    const cfx_tensor *of; /* the tensor that is viewed */
    const char *target;
    const cfx_value *args; /* nargs, then nkwargs pairs; owned, as is result */
    size_t nargs, nkwargs;
    cfx_value result;
} cfx_aten_view;

/* A tensor that a node of the new graph computes. */
typedef struct cfx_aten_known {
    struct cfx_aten_known *next;
    const cfx_tensor *tensor; /* a reference; also the key in the map */
    cfx_node *node;           /* NULL: none yet */
    int item; /* of the node's results; -1: it is the node's value */
    /* Of functional graphs. */
    const cfx_aten_view *view; /* NULL: the tensor has its own memory */
    unsigned version;          /* how often the memory was written when the
                                  node read it */
} cfx_aten_known;

/* An extent that a node computes. */
typedef struct cfx_aten_extent {
    uint64_t bits; /* of the dim; also the key in the map */
    cfx_node *node;
    int axis; /* of the node's value; -1: it is the node's value */
} cfx_aten_extent;

/* A graph that is being made: the whole, or one that an operator calls. */
typedef struct cfx_aten_frame {
    struct cfx_aten_frame *outer;
    cfx_graph *graph;
    cfx_map tensors; /* cfx_tensor * -> cfx_aten_known */
    cfx_map extents; /* bits of a cfx_dim -> cfx_aten_extent */
} cfx_aten_frame;

/* A form of graphs. */
typedef struct cfx_aten_form {
    const cfx_scope_class *cls; /* a subclass of cfx_aten__class, or it */
    const char *lacks;          /* begins the message on missing operators */
    cfx_status lacks_code;      /* its code */
    bool symbolic;   /* symbolic numbers stay arguments; no nodes make them */
    bool functional; /* no call writes to memory */
} cfx_aten_form;

/* A scope that propagates shapes and records its calls. */
typedef struct cfx_aten {
    cfx_shape_scope shapes;
    const cfx_aten_form *form;
    cfx_module *root;   /* that is retraced */
    cfx_module *made;   /* gets state and nested graphs */
    cfx_aten_frame *at; /* the graph that gets the nodes */
    const cfx_node *origin;
    const cfx_call *unbound; /* the call as the node has it, until it is
                                recorded; or NULL */
    cfx_node *last;          /* the newest node of a call */
    int muted;               /* above 0: calls are not recorded */
    bool higher;             /* within an operator that calls graphs */
    cfx_node_path *path;     /* of the root's nodes, by id */
    cfx_map stacks;          /* path -> nn_module_stack, a value */
    cfx_map state;           /* full name -> get_attr node */
    cfx_map graphs;          /* cfx_module * -> get_attr node */
    cfx_map missing;         /* names of operators that ATen lacks */
    cfx_buf missing_text;
    cfx_aten_known *refs;
    cfx_aten_view *views;
    size_t constants;
    cfx_arena arena;
} cfx_aten;

/* ---- to_aten.c ---- */

extern const cfx_scope_class cfx_aten__class;

/* cfx_to_aten of a form. */
cfx_status cfx_aten__retrace(cfx_module **out, const cfx_aten_form *form,
                             cfx_module *gm, cfx_shape_env *env,
                             const cfx_value *inputs, size_t ninputs,
                             cfx_error *err);
/* The result of the class above cfx_aten__class: shapes, and numbers that are
 * known. Nothing is recorded. */
cfx_status cfx_aten__propagate(cfx_scope *s, cfx_call *call, cfx_value *out);
/* Is it an extent that depends on data, and that no node gives yet? */
bool cfx_aten__is_new_extent(cfx_aten *a, cfx_value v);
/* Note an operator that the form lacks; its call is recorded as it is, so that
 * others are found, too. */
cfx_status cfx_aten__miss(cfx_aten *a, cfx_call *call, cfx_value result);

/* ---- record.c ---- */

void cfx_aten__frame_init(cfx_aten_frame *f, cfx_context *ctx);
void cfx_aten__frame_release(cfx_aten_frame *f);

/* Say that a node's value, or its item, is a tensor or extent. */
cfx_status cfx_aten__know(cfx_aten *a, cfx_value v, cfx_node *n, int item,
                          cfx_error *err);
/* Like cfx_aten__know for all tensors and extents that a result has. */
cfx_status cfx_aten__know_all(cfx_aten *a, cfx_value v, cfx_node *n,
                              cfx_error *err);
/* What is known of a tensor in this graph; NULL: nothing. */
cfx_aten_known *cfx_aten__find(cfx_aten *a, const cfx_tensor *t);
/* Say that an extent of a node's tensor is known. */
cfx_status cfx_aten__know_extents(cfx_aten *a, const cfx_tensor *t,
                                  cfx_node *n, cfx_error *err);
/* Do nodes of this graph compute all tensors in a value? */
bool cfx_aten__knows(cfx_aten *a, cfx_value v);
/* The nodes that compute a value: a new reference. */
cfx_status cfx_aten__value(cfx_value *out, cfx_aten *a, cfx_value v,
                           cfx_error *err);
/* Make a node of a call, whose arguments are values of this scope and whose
 * result is `result`. */
cfx_status cfx_aten__emit(cfx_aten *a, const char *target, cfx_args args,
                          cfx_value result, cfx_error *err);
/* Set meta "val" and the provenance of a node. */
cfx_status cfx_aten__annotate(cfx_aten *a, cfx_node *n, cfx_value v,
                              cfx_error *err);
/* The get_attr node of a state; or of a nested graph, which is taken. */
cfx_status cfx_aten__state(cfx_aten *a, const char *path,
                           const cfx_state *state, cfx_error *err);
cfx_status cfx_aten__graph_take(cfx_aten *a, cfx_module *of, const char *hint,
                                cfx_module *made, cfx_error *err);

/* ---- spell.c ---- */

/* A call as ATen spells it. */
typedef struct cfx_aten_spelling {
    char target[160];
    cfx_value arg[CFX_MAX_PARAMS], kwarg[2 * CFX_MAX_PARAMS];
    size_t nargs, nkwargs;
    cfx_value name[CFX_MAX_PARAMS]; /* keys of kwarg; owned */
} cfx_aten_spelling;

/* Spell a bound call. *found is false where ATen has no such overload; then the
 * target is the operator's own name, or empty. Release it also on failure. */
cfx_status cfx_aten__spell(cfx_aten_spelling *out, const cfx_call *call,
                           bool *found);
void cfx_aten__spelling_release(cfx_aten_spelling *c);

/* ---- lowering.c ---- */

/* Code over values for a call that has no overload of its own in ATen, or one
 * of other arguments. Returns None, without a call, where it has none, too. */
typedef cfx_value cfx_aten_lowering(cfx_scope *s, const cfx_call *call);
/* That of an operator, or NULL. */
cfx_aten_lowering *cfx_aten__find_lowering(const cfx_call *call);
/* Is the operator, or an overload of it, called by this name? */
bool cfx_aten__is_called(const cfx_call *call, const char *name);
/* Call a lowering. *out stays absent where it has no form for this call. */
cfx_status cfx_aten__lower(cfx_aten *a, const cfx_call *call,
                           cfx_aten_lowering *fn, cfx_value *out);

/* Call an overload of ATen by its name; it is recorded with these
 * arguments. */
cfx_value cfx_aten__call_overload(cfx_scope *s, const char *target,
                                  cfx_args args);
#define CFX_ATEN(s, target, ...)                                              \
    cfx_aten__call_overload((s), "torch.ops.aten." target,                    \
                            CFX_ARGS(__VA_ARGS__))

/* An argument of a call by its name in the schema; None where it has none. */
cfx_value cfx_aten__in(const cfx_call *call, const char *name);
/* The call's result, a meta that no node computes; NULL after a failure. */
const cfx_tensor *cfx_aten__result(cfx_scope *s, const cfx_call *call);

/* ---- index.c ---- */

/* x[index], and x[index] = value. */
cfx_aten_lowering cfx_aten__getitem, cfx_aten__setitem;

/* ---- views.c ---- */

/* Say that the result of a call is a view of a tensor, of which it is made
 * again if the tensor's memory is written. */
cfx_status cfx_aten__know_view(cfx_aten *a, cfx_tensor *of, const char *target,
                               cfx_args args, cfx_value result,
                               cfx_error *err);
void cfx_aten__views_release(cfx_aten *a);
/* Make the node of a view again if its memory was written. */
cfx_status cfx_aten__refresh(cfx_aten *a, cfx_aten_known *k, cfx_error *err);
/* Record a call that writes to its first argument as one that does not: the
 * tensor, and all that it is a view of, are known by new nodes then. */
cfx_status cfx_aten__call_written(cfx_aten *a, cfx_call *call, cfx_value *out);

/* ---- onnx_lowering.c ---- */

/* The lowering of an operator for ONNX, or NULL. */
cfx_aten_lowering *cfx_aten__find_onnx_lowering(const cfx_call *call);

/* ---- onnx_windows.c ---- */

cfx_aten_lowering cfx_aten__unfold_dim, cfx_aten__unfold, cfx_aten__roll;

/* ---- image.c ---- */

cfx_aten_lowering cfx_aten__interpolate, cfx_aten__grid_sample;

#endif
