/*
 * cfx/transformer.h -- an interpreter whose values are nodes of a new graph.
 *
 * It walks a graph and records each node in a new graph; a subclass overrides
 * hooks to record something else. cfx_transform returns a GraphModule with the
 * new graph.
 *
 *     struct swap {
 *         cfx_transformer base;
 *         cfx_value mul;
 *     };
 *
 *     extern const cfx_interp_class swap_class;
 *
 *     static cfx_status swap_function(cfx_interp *it, const cfx_call *call,
 *                                     cfx_value *out)
 *     {
 *         cfx_call other = *call;
 *         if (cfx_call_is(call, "add"))
 *             other.target = ((struct swap *)it)->mul;
 *         return CFX_SUPER(&swap_class, call_function)(it, &other, out);
 *     }
 *
 *     const cfx_interp_class swap_class = {
 *         .size = sizeof(cfx_interp_class),
 *         .name = "swap",
 *         .super = &cfx_transformer_class,
 *         .call_function = swap_function,
 *     };
 *     ...
 *     struct swap t = {.mul = cfx_keyword(ctx, "operator.mul")};
 *     cfx_transformer_init(&t.base, &swap_class, gm, NULL, &err);
 *     cfx_transform(&t.base, &out, &err);
 *     cfx_transformer_release(&t.base);
 *
 * A hook may also compute with proxies, in the scope `it->scope`, which is a
 * tracer: `*out = cfx_mul(it->scope, cfx_gt(it->scope, x, zero), x)` decomposes
 * relu. Returning an argument removes the node (dropout).
 *
 * A new node with the target of the original one keeps its name (if free), type
 * and meta; other new nodes inherit its provenance (cfx_node_inherit).
 * Placeholders keep defaults, types and meta; torch.fx loses the last two.
 */
#ifndef CFX_TRANSFORMER_H
#define CFX_TRANSFORMER_H

#include <cfx/interp.h>
#include <cfx/tracer.h>

typedef struct cfx_transformer {
    cfx_interp base;
    cfx_tracer tracer; /* base.scope */
    cfx_graph *graph;  /* the new graph, until cfx_transform */
} cfx_transformer;

CFX_BEGIN_DECLS

CFX_API extern const cfx_interp_class cfx_transformer_class;

/* Prepare a zeroed struct. All modules are leaves unless options->is_leaf says
 * otherwise; others are inlined, down to operators. The module and its graph
 * are borrowed. Fails as cfx_interp_init does. */
CFX_API cfx_status cfx_transformer_init(cfx_transformer *t,
                                        const cfx_interp_class *cls,
                                        cfx_module *gm,
                                        const cfx_trace_options *options,
                                        cfx_error *err);
CFX_API void cfx_transformer_release(cfx_transformer *t);

/* Walk the graph; *out is a new GraphModule with copies of the attributes that
 * the new graph names; tensors are shared. May be called once. Errors of a node
 * end in "While executing %node : ...". */
CFX_API cfx_status cfx_transform(cfx_transformer *t, cfx_module **out,
                                 cfx_error *err);

CFX_END_DECLS

#endif
