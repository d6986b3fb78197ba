/*
 * env.h -- what one propagation knows of its symbols. Not installed.
 */
#ifndef CFX_ENV_H
#define CFX_ENV_H

#include "dim/expr.h"
#include "base/mutex.h"

/* A range's ends; CFX_INF is no integer of a dim. */
#define CFX_INF INT64_MAX

typedef struct cfx_range { int64_t lo, hi; } cfx_range;

typedef struct cfx_symbol_facts {
    cfx_dim symbol; /* of which this tells; CFX_DIM_BAD: nothing known */
    cfx_range range;
    cfx_dim equals; /* what a guard says it is; CFX_DIM_BAD: nothing */
    int64_t every, from; /* it is `from` modulo `every` */
    bool unbacked;
} cfx_symbol_facts;

/* What guards said and ranges do not hold. */
typedef struct cfx_fact {
    cfx_dim d;
    bool nonzero; /* d != 0; otherwise d >= 0 */
} cfx_fact;

/* Questions look at so many facts, the newest: the work that a graph with
 * very many guards makes stays linear. */
enum { CFX_FACTS_USED = 128 };

/* Of what is larger, only ranges are asked. */
enum { CFX_PROOF_WEIGHT_MAX = 400 };

/* What a guard changed, until it is known to contradict nothing. */
typedef struct cfx_undo {
    size_t facts, equalities;
    uint64_t replaced;
    bool overflow;
    size_t n;
    struct { cfx_dim symbol; cfx_symbol_facts was; } known[32];
} cfx_undo;

struct cfx_shape_env {
    cfx_context *ctx;
    cfx_exprs *table;
    cfx_mutex lock;       /* taken again by whoever has it */
    cfx_symbol_facts *known; /* by the number of the symbol, less the first */
    size_t known_cap;
    int64_t known_from;
    cfx_dim *symbol;      /* in the order in which they came */
    size_t symbols, symbol_cap;
    size_t equalities;    /* how often symbols got an `equals` or `every` */
    uint64_t replaced;    /* which these may be, as in cfx_expr */
    size_t facts_at;      /* `equalities` when the facts were resolved */
    cfx_undo *undo;       /* of the guard that is being recorded */
    bool in_cases;        /* a proof by cases is being tried */
    cfx_fact *fact;
    size_t facts, fact_cap;
    cfx_arena arena;      /* texts of guards */
    cfx_map texts;        /* the guards by their text */
    const char **guard;
    size_t guards, guard_cap;
    int64_t unbacked;
};

CFX_INLINE void cfx_env_lock(cfx_shape_env *env)
{
    if (env)
        cfx_mutex_lock(&env->lock);
}
CFX_INLINE void cfx_env_unlock(cfx_shape_env *env)
{
    if (env)
        cfx_mutex_unlock(&env->lock);
}

/* What is known of a symbol; NULL: nothing. */
const cfx_symbol_facts *cfx_env_known(const cfx_shape_env *env,
                                      const cfx_expr *s);

/* The same to be changed, noted in `undo`; NULL on lack of memory. */
cfx_symbol_facts *cfx_env_know(cfx_shape_env *env, cfx_dim symbol);

/* A symbol that a text names: one that is not known yet is at least 1. */
cfx_dim cfx_dim_symbol_default(cfx_shape_env *env, const char *name,
                               size_t len);

/* The values a dim may have. */
cfx_range cfx_dim_range(cfx_shape_env *env, cfx_dim d);

/* The newest facts, counted from 0; NULL: no more. */
CFX_INLINE const cfx_fact *cfx_env_fact(const cfx_shape_env *env, size_t i)
{
    return env && i < env->facts && i < CFX_FACTS_USED
               ? &env->fact[env->facts - 1 - i] : NULL;
}

/* Does it follow that d >= 0? That d > 0 or d < 0? With the lock held. */
bool cfx_prove_ge0(cfx_shape_env *env, cfx_dim d);
bool cfx_prove_nonzero(cfx_shape_env *env, cfx_dim d);
/* The same without use of guards but for ranges, and `tries` rules deep. */
bool cfx_prove_ge0_plainly(cfx_shape_env *env, cfx_dim d);

/* Does it follow from all ways in which symbols of d may be rounded by the
 * integers that divide them? */
bool cfx_prove_by_cases(cfx_shape_env *env, cfx_dim d,
                        bool (*holds)(cfx_shape_env *env, cfx_dim d));

/* ---- Relations, as of d to zero ---- */

typedef enum cfx_relation { CFX_EQ, CFX_NE, CFX_LE, CFX_LT } cfx_relation;

/* Take the relation to hold, as a guard that does not follow. False on lack of
 * memory, or where it contradicts what is known: then nothing has changed. */
bool cfx_env_record(cfx_shape_env *env, cfx_relation r, cfx_dim d);

/* d in terms of what is not replaced. */
cfx_dim cfx_env_resolve(cfx_shape_env *env, cfx_dim d);

/* ---- Rebuilding ---- */

typedef struct cfx_subst cfx_subst;
struct cfx_subst {
    cfx_shape_env *env;
    uint64_t mask; /* symbols that may be replaced, as in cfx_expr */
    int depth;
    void *user;
    /* What a symbol becomes. */
    cfx_dim (*of)(cfx_subst *s, cfx_dim symbol);
};
cfx_dim cfx_subst_dim(cfx_subst *s, cfx_dim d);

#endif
