/*
 * cfx/memory_plan.h -- how long each block of memory of a run lives, and where
 * all of them fit in one arena.
 *
 * A plan is made by a walk that computes nothing. It notes every block of
 * numbers that a run would ask for, also inside of modules and of graphs that
 * are called: results, the scratch memory of operators, and what an operator
 * that writes computes apart first. A block lives from the call that made it
 * to the one after which nobody refers to it. Calls of operators are the clock:
 * they are counted from 0. Views, and results in place, are the block that they
 * share; they are listed as its aliases.
 *
 *     cfx_memory_plan *plan;
 *     if (cfx_memory_plan_new(&plan, gm, inputs, ninputs, NULL, &err))
 *         return 1;
 *     printf("%lld bytes\n", (long long)cfx_memory_plan_arena(plan));
 *
 * A run has its blocks where the plan says when it is made in a planned scope,
 * which has an arena of its own:
 *
 *     cfx_planned_scope s = {0};
 *     cfx_interp it = {0};
 *     cfx_interp_options options = {.size = sizeof(options),
 *                                   .scope = &s.base};
 *     cfx_planned_scope_init(&s, plan, &err);
 *     cfx_interp_init_with(&it, &cfx_interp_base, gm, &options, &err);
 *     cfx_interp_run(&it, inputs, ninputs, &result, &err);
 *     ...
 *     cfx_interp_release(&it);
 *     cfx_planned_scope_release(&s);
 *     cfx_memory_plan_free(plan);
 *
 * From the second run on such a walk takes nothing from the context but the
 * memory of its results, which are not in the arena and outlive everything
 * here but the context. A run that asks for what the plan does not foresee
 * (sizes that follow from data, values that a hook holds on to, another size of
 * input) gets it from the context's heap: it is counted, and as right as any.
 *
 * A plan does not change once it is made: several threads may run over one,
 * each in a scope of its own. It borrows the module, whose graphs must not be
 * edited meanwhile.
 */
#ifndef CFX_MEMORY_PLAN_H
#define CFX_MEMORY_PLAN_H

#include <cfx/interp.h>
#include <cfx/text.h>

typedef struct cfx_memory_plan cfx_memory_plan;

typedef enum cfx_block_kind {
    CFX_BLOCK_INPUT,   /* the caller's; not planned, not counted as live */
    CFX_BLOCK_STATE,   /* a parameter or buffer; as above */
    CFX_BLOCK_RESULT,  /* what a call gives */
    CFX_BLOCK_SCRATCH, /* what it needs while it runs */
    CFX_BLOCK_ALIAS    /* a node's value that lies in another block */
} cfx_block_kind;

CFX_API extern const char *const cfx_block_kind_names[];

typedef struct cfx_memory_block {
    cfx_block_kind kind;
    const cfx_node *node;  /* of the graph that was planned: where it is made */
    const cfx_op *op;      /* whose call made it; NULL of inputs and state */
    bool leaves;           /* it is, or is a part of, the result of the run */
    bool from_data;        /* only the data tell its size, or who makes it:
                              not planned */
    uint32_t first, last;  /* the calls between which it lives, both counted */
    const cfx_node *until; /* the node whose call is the last */
    int32_t alias_of;      /* the number of the block that it lies in, or -1 */
    cfx_dim bytes;         /* of aliases: that they reach over */
    int64_t offset;        /* in the arena; -1: it is not there */
    const cfx_tensor *tensor; /* of inputs and state: borrowed from the caller,
                              or from the module; else NULL */
} cfx_memory_block;

typedef struct cfx_memory_plan_options {
    size_t size;            /* sizeof(cfx_memory_plan_options) */
    const cfx_graph *graph; /* another graph over the same module */
    cfx_shape_env *env;     /* of symbols in the inputs; outlives the plan */
} cfx_memory_plan_options;

CFX_BEGIN_DECLS

/*
 * Plan a run with inputs of such shapes: tensors, whose numbers are not read,
 * or metas, in the order of the placeholders. Symbols are allowed; then the
 * sizes are expressions, scratch memory, which only numbers tell, is not
 * counted, and there is no arena. `options` may be NULL. Fails as a run in a
 * meta scope does.
 */
CFX_API cfx_status cfx_memory_plan_new(cfx_memory_plan **out, cfx_module *gm,
                                       const cfx_value *inputs, size_t ninputs,
                                       const cfx_memory_plan_options *options,
                                       cfx_error *err);
CFX_API void cfx_memory_plan_free(cfx_memory_plan *plan);

/* Is it one without an arena, because inputs have symbols? */
CFX_API bool cfx_memory_plan_is_symbolic(const cfx_memory_plan *plan);

/* Are there blocks whose size only the data tell? No sum has them: a run takes
 * more than the peak. */
CFX_API bool cfx_memory_plan_is_partial(const cfx_memory_plan *plan);

/* The size of the arena; and the least that any plan could have: the largest
 * sum of planned blocks that live at once, each rounded up to 64 bytes, which
 * empty ones take too. -1 of symbolic ones, and where the blocks have more than
 * 2^56 bytes together: there is no arena then. */
CFX_API int64_t cfx_memory_plan_arena(const cfx_memory_plan *plan);
CFX_API int64_t cfx_memory_plan_bound(const cfx_memory_plan *plan);

/*
 * The most bytes that live at once, and a node at which they do: all blocks
 * that the run makes, those that leave it too, without inputs and state. With
 * symbols it is a maximum, and the node is NULL unless it is one for all
 * values.
 */
CFX_API cfx_dim cfx_memory_plan_peak(const cfx_memory_plan *plan,
                                     const cfx_node **node);

/* The same while one node runs: the most of its calls; of a node without calls
 * what lives between the calls before and behind it. */
CFX_API cfx_dim cfx_memory_plan_live(const cfx_memory_plan *plan,
                                     const cfx_node *n);

/* Sums of the blocks of a kind: of inputs, state, or of what leaves. */
CFX_API cfx_dim cfx_memory_plan_input_bytes(const cfx_memory_plan *plan);
CFX_API cfx_dim cfx_memory_plan_state_bytes(const cfx_memory_plan *plan);
CFX_API cfx_dim cfx_memory_plan_result_bytes(const cfx_memory_plan *plan);

/* The blocks, in the order in which they are made. */
CFX_API size_t cfx_memory_plan_len(const cfx_memory_plan *plan);
CFX_API const cfx_memory_block *cfx_memory_plan_at(const cfx_memory_plan *plan,
                                                   size_t i);

/* How many calls of operators there are. */
CFX_API uint32_t cfx_memory_plan_calls(const cfx_memory_plan *plan);

/* The plan as text: a table, with sums below it; CSV; or JSON,
 * "cfx.memory/1". */
typedef enum cfx_memory_text {
    CFX_MEMORY_TABLE, CFX_MEMORY_CSV, CFX_MEMORY_JSON
} cfx_memory_text;
CFX_API cfx_status cfx_print_memory(cfx_sink to, const cfx_memory_plan *plan,
                                    cfx_memory_text format, cfx_error *err);

/* ---- Runs in the arena ---- */

/* Place one yourself, zeroed. Give &s->base to an interpreter. */
typedef struct cfx_planned_scope {
    cfx_scope base;
    struct cfx_planned_self *self;
} cfx_planned_scope;

/* What became of what runs asked for. */
typedef struct cfx_planned_counts {
    uint64_t placed;       /* blocks that were given their planned place */
    uint64_t missed;       /* blocks that came from the heap instead */
    uint64_t missed_bytes;
} cfx_planned_counts;

/* Take an arena. The plan must outlive the scope. Fails with CFX_ESHAPE for a
 * plan without an arena, CFX_ENOMEM. */
CFX_API cfx_status cfx_planned_scope_init(cfx_planned_scope *s,
                                          const cfx_memory_plan *plan,
                                          cfx_error *err);
/* Values that are held on to stay. A zeroed or released one is allowed. */
CFX_API void cfx_planned_scope_release(cfx_planned_scope *s);

CFX_API cfx_planned_counts cfx_planned_scope_counts(
    const cfx_planned_scope *s);

CFX_END_DECLS

#endif
