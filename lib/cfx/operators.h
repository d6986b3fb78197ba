/*
 * cfx/operators.h -- the operators that a model calls, with their counts.
 *
 *     cfx_operators ops;
 *     cfx_operators_init(&ops, gm, &err);
 *     for (size_t i = 0; i < ops.n; i++)
 *         printf("%s %zu\n", ops.item[i].name, ops.item[i].count);
 *     cfx_operators_release(&ops);
 */
#ifndef CFX_OPERATORS_H
#define CFX_OPERATORS_H

#include <cfx/graph_module.h>

typedef struct cfx_operator_count {
    const char *name; /* of the function, the method or the module's class; a
                         module that the model lacks has its path */
    cfx_opcode op;
    bool known;          /* can it be called? */
    size_t count;        /* nodes that call it */
    const char *first;   /* name of the first node that calls it */
    const char *nearest; /* of an unknown one: the known name that is nearest
                             to it, or NULL */
} cfx_operator_count;

typedef struct cfx_operators {
    cfx_operator_count *item; /* the most frequent first, then by name */
    size_t n, ncalls;
    size_t nunknown, nunknown_calls; /* of those */
    bool quantized; /* an unknown call has a type of quantized tensors */
    struct cfx_operators_memory *memory; /* private */
} cfx_operators;

CFX_BEGIN_DECLS

/* Count the calls of a model's graphs, nested ones too. The counts are valid
 * until the model is edited. Nearest names are looked for on behalf of the 64
 * most frequent unknown operators. Fails with CFX_ENOMEM; then, too, it may be
 * released. */
CFX_API cfx_status cfx_operators_init(cfx_operators *ops, const cfx_module *gm,
                                      cfx_error *err);
/* A zeroed one is allowed. */
CFX_API void cfx_operators_release(cfx_operators *ops);

CFX_END_DECLS

#endif
