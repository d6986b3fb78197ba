/*
 * cfx/memory_plan.h -- the lifetime of each block of memory of a run, and a
 * place for each in one arena.
 *
 * A plan is made by a walk without data. It records every block of tensor data
 * that a run would allocate, also within modules and nested graphs: results,
 * the scratch memory of operators, and temporary results of operators that
 * write in place. A block lives from the call that allocates it to the last
 * call while it is referenced. Time is the number of operator calls, from 0.
 * Views and in-place results are listed as aliases of the block that they
 * share.
 *
 *     cfx_memory_plan *plan;
 *     if (cfx_memory_plan_new(&plan, gm, inputs, ninputs, NULL, &err))
 *         return 1;
 *     printf("%lld bytes\n", (long long)cfx_memory_plan_arena(plan));
 *
 * A run in a planned scope, which has its own arena, uses the planned places:
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
 * From the second run on, only results are allocated from the context; they are
 * not in the arena and only need the context. A request that the plan does not
 * have (a size that depends on data, a value that a hook keeps, another input
 * size) is served from the context's heap and counted; results are correct in
 * any case.
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
    CFX_BLOCK_INPUT,   /* the caller's; neither planned nor counted as live */
    CFX_BLOCK_STATE,   /* a parameter or buffer; as above */
    CFX_BLOCK_RESULT,  /* the result of a call */
    CFX_BLOCK_SCRATCH, /* scratch memory of a call */
    CFX_BLOCK_ALIAS    /* a node's value within another block */
} cfx_block_kind;

CFX_API extern const char *const cfx_block_kind_names[];

typedef struct cfx_memory_block {
    const cfx_node *node; /* the node of the planned graph that makes it */
    cfx_block_kind kind;
    const cfx_op *op;         /* that makes it; NULL for inputs and state */
    bool leaves;              /* it is part of the result of the run */
    bool from_data;           /* its size or its producer depends on data: not
                              planned */
    uint32_t first, last;     /* first and last call of its lifetime */
    const cfx_node *until;    /* the node of the last call */
    int32_t alias_of;         /* index of the block that it aliases, or -1 */
    cfx_dim bytes;            /* for aliases: the bytes they span */
    int64_t offset;           /* in the arena; -1: not in it */
    const cfx_tensor *tensor; /* for inputs and state: borrowed from the caller
                                 or the module; else NULL */
} cfx_memory_block;

typedef struct cfx_memory_plan_options {
    size_t size;            /* sizeof(cfx_memory_plan_options) */
    const cfx_graph *graph; /* another graph over the same module */
    cfx_shape_env *env;     /* of the inputs' symbols; outlives the plan */
} cfx_memory_plan_options;

CFX_BEGIN_DECLS

/*
 * Plan a run with inputs of these shapes: metas, or tensors whose data is not
 * read, in the order of the placeholders. With symbols, sizes are expressions,
 * scratch memory is not counted, since only numbers determine it, and there is
 * no arena. `options` may be NULL. Fails as a run in a meta scope does.
 */
CFX_API cfx_status cfx_memory_plan_new(cfx_memory_plan **out, cfx_module *gm,
                                       const cfx_value *inputs, size_t ninputs,
                                       const cfx_memory_plan_options *options,
                                       cfx_error *err);
CFX_API void cfx_memory_plan_free(cfx_memory_plan *plan);

/* True if inputs have symbols, so that there is no arena. */
CFX_API bool cfx_memory_plan_is_symbolic(const cfx_memory_plan *plan);

/* True if the size of some block depends on data. No sum includes these: a run
 * takes more than the peak. */
CFX_API bool cfx_memory_plan_is_partial(const cfx_memory_plan *plan);

/* Return the size of the arena, and its lower bound: the largest sum of planned
 * blocks that live at one time, each rounded up to 64 bytes, also if empty. -1
 * for symbolic plans, and if the blocks exceed 2^56 bytes together: there is
 * then no arena. */
CFX_API int64_t cfx_memory_plan_arena(const cfx_memory_plan *plan);
CFX_API int64_t cfx_memory_plan_bound(const cfx_memory_plan *plan);

/*
 * Return the peak of live bytes, and a node at which it is reached: all blocks
 * that the run allocates, including results, without inputs and state. With
 * symbols the peak is a maximum expression, and the node is NULL unless it is
 * the same for all values.
 */
CFX_API cfx_dim cfx_memory_plan_peak(const cfx_memory_plan *plan,
                                     const cfx_node **node);

/* Return the live bytes while a node runs: the peak of its calls, or, if it
 * makes none, the bytes between the calls before and after it. */
CFX_API cfx_dim cfx_memory_plan_live(const cfx_memory_plan *plan,
                                     const cfx_node *n);

/* Return the sum of the blocks of a kind: inputs, state, or results. */
CFX_API cfx_dim cfx_memory_plan_input_bytes(const cfx_memory_plan *plan);
CFX_API cfx_dim cfx_memory_plan_state_bytes(const cfx_memory_plan *plan);
CFX_API cfx_dim cfx_memory_plan_result_bytes(const cfx_memory_plan *plan);

/* The blocks, in the order of allocation. */
CFX_API size_t cfx_memory_plan_len(const cfx_memory_plan *plan);
CFX_API const cfx_memory_block *cfx_memory_plan_at(const cfx_memory_plan *plan,
                                                   size_t i);

/* Return the number of operator calls. */
CFX_API uint32_t cfx_memory_plan_calls(const cfx_memory_plan *plan);

/* Print the plan: a table with sums below it, CSV, or JSON "cfx.memory/1". */
typedef enum cfx_memory_text {
    CFX_MEMORY_TABLE,
    CFX_MEMORY_CSV,
    CFX_MEMORY_JSON
} cfx_memory_text;
CFX_API cfx_status cfx_print_memory(cfx_sink to, const cfx_memory_plan *plan,
                                    cfx_memory_text format, cfx_error *err);

/* ---- Runs in the arena ---- */

/* A scope with an arena. Place it zeroed, and give &s->base to an
 * interpreter. */
typedef struct cfx_planned_scope {
    cfx_scope base;
    struct cfx_planned_self *self;
} cfx_planned_scope;

/* Counts of the blocks that runs requested. */
typedef struct cfx_planned_counts {
    uint64_t placed; /* blocks at their planned place */
    uint64_t missed; /* blocks from the heap instead */
    uint64_t missed_bytes;
} cfx_planned_counts;

/* Allocate the arena. The plan must outlive the scope. Fails with CFX_ESHAPE
 * for a plan without an arena, CFX_ENOMEM. */
CFX_API cfx_status cfx_planned_scope_init(cfx_planned_scope *s,
                                          const cfx_memory_plan *plan,
                                          cfx_error *err);
/* Release it; values that are still referenced stay. May be zeroed or
 * released. */
CFX_API void cfx_planned_scope_release(cfx_planned_scope *s);

CFX_API cfx_planned_counts
cfx_planned_scope_counts(const cfx_planned_scope *s);

CFX_END_DECLS

#endif
