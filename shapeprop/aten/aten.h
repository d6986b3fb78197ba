/*
 * aten.h -- shared by the files that retrace graphs into calls of ATen. Not
 * installed.
 */
#ifndef CFX_ATEN_H
#define CFX_ATEN_H

#include <cfx/shape_prop.h>

#include "base/util.h"

/* A tensor that a node of the new graph computes. */
typedef struct cfx_aten_known {
    struct cfx_aten_known *next;
    const cfx_tensor *tensor; /* a reference; also the key in the map */
    cfx_node *node;
    int item; /* of the node's results; -1: it is the node's value */
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

/* A scope that propagates shapes and records its calls. */
typedef struct cfx_aten {
    cfx_shape_scope shapes;
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
    size_t constants;
    cfx_arena arena;
} cfx_aten;

/* ---- record.c ---- */

void cfx_aten__frame_init(cfx_aten_frame *f, cfx_context *ctx);
void cfx_aten__frame_release(cfx_aten_frame *f);

/* Say that a node's value, or its item, is a tensor or extent. */
cfx_status cfx_aten__know(cfx_aten *a, cfx_value v, cfx_node *n, int item,
                          cfx_error *err);
/* Like cfx_aten__know for all tensors and extents that a result has. */
cfx_status cfx_aten__know_all(cfx_aten *a, cfx_value v, cfx_node *n,
                              cfx_error *err);
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

/* Spell a bound call. *found is false where ATen has no such overload. Release
 * it also on failure. */
cfx_status cfx_aten__spell(cfx_aten_spelling *out, const cfx_call *call,
                           bool *found);
void cfx_aten__spelling_release(cfx_aten_spelling *c);

/* ---- lowering.c ---- */

/* Code over values for a call that has no overload of its own in ATen, or one
 * of other arguments. Returns None, without a call, where it has none, too. */
typedef cfx_value cfx_aten_lowering(cfx_scope *s, const cfx_call *call);
/* That of an operator, or NULL. */
cfx_aten_lowering *cfx_aten__find_lowering(const cfx_call *call);

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

/* ---- image.c ---- */

cfx_aten_lowering cfx_aten__interpolate, cfx_aten__grid_sample;

#endif
