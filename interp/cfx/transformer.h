/*
 * cfx/transformer.h -- an interpreter whose values are nodes of a new graph.
 *
 * It walks a graph and writes each node down again; a subclass overrides the
 * hooks of an interpreter and so changes what is written. cfx_transform gives
 * a GraphModule with the new graph.
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
 *     cfx_transformer_init(&t.base, &swap_class, gm, NULL, &err);
 *     cfx_transform(&t.base, &out, &err);
 *     cfx_transformer_release(&t.base);
 *
 * A hook may also compute with proxies, in the scope `it->scope`, which is a
 * tracer: `*out = cfx_mul(it->scope, cfx_gt(it->scope, x, zero), x)` decomposes
 * relu; or give back one of its arguments, which removes the node (dropout).
 *
 * New nodes keep the name where it is free, the type and the meta of the node
 * they stand for: what is written for one node under the same target is that
 * node, anything else inherits its provenance (cfx_node_inherit). Placeholders
 * keep their defaults, types and meta; torch.fx loses the last two.
 */
#ifndef CFX_TRANSFORMER_H
#define CFX_TRANSFORMER_H

#include <cfx/interp.h>
#include <cfx/tracer.h>

typedef struct cfx_transformer {
    cfx_interp base;
    cfx_tracer tracer;       /* base.scope */
    cfx_graph *graph;        /* the new one, until it is given away */
} cfx_transformer;

CFX_BEGIN_DECLS

CFX_API extern const cfx_interp_class cfx_transformer_class;

/* Prepare a zeroed struct. All modules are leaves unless options->is_leaf says
 * otherwise: those that are not are inlined, down to operators. It borrows the
 * module, which keeps its graph. Fails as cfx_interp_init does. */
CFX_API cfx_status cfx_transformer_init(cfx_transformer *t,
                                        const cfx_interp_class *cls,
                                        cfx_module *gm,
                                        const cfx_trace_options *options,
                                        cfx_error *err);
CFX_API void cfx_transformer_release(cfx_transformer *t);

/* Walk the graph; *out is a new GraphModule with copies of what the new graph
 * names; tensors are shared. May be called once. Errors of a node end in
 * "While executing %node : ...". */
CFX_API cfx_status cfx_transform(cfx_transformer *t, cfx_module **out,
                                 cfx_error *err);

CFX_END_DECLS

#endif
