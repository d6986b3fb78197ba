/*
 * env.h -- what one propagation knows of its symbols. Not installed.
 */
#ifndef CFX_ENV_H
#define CFX_ENV_H

#include <pthread.h>

#include "base/expr.h"

/* A range's ends; CFX_INF is no integer of a dim. */
#define CFX_INF INT64_MAX

typedef struct cfx_range { int64_t lo, hi; } cfx_range;

typedef struct cfx_known {
    cfx_dim symbol; /* of which this tells; CFX_DIM_BAD: nothing known */
    cfx_range range;
    cfx_dim equals; /* what a guard says it is; CFX_DIM_BAD: nothing */
} cfx_known;

/* What guards said and ranges do not hold. */
typedef struct cfx_fact {
    cfx_dim d;
    bool nonzero; /* d != 0; otherwise d >= 0 */
} cfx_fact;

/* Questions look at so many facts, the newest: the work that a graph with
 * very many guards makes stays linear. */
enum { CFX_FACTS_USED = 128 };

struct cfx_shape_env {
    cfx_context *ctx;
    cfx_exprs *table;
    pthread_mutex_t lock; /* taken again by whoever has it */
    cfx_known *known;     /* by the number of the symbol */
    size_t known_cap;
    size_t equalities;    /* symbols whose `equals` is set */
    uint64_t replaced;    /* which these may be, as in cfx_expr */
    size_t facts_at;      /* `equalities` when the facts were resolved */
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
        pthread_mutex_lock(&env->lock);
}
CFX_INLINE void cfx_env_unlock(cfx_shape_env *env)
{
    if (env)
        pthread_mutex_unlock(&env->lock);
}

/* What is known of a symbol; NULL: nothing. */
const cfx_known *cfx_env_known(const cfx_shape_env *env, const cfx_expr *s);

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

#endif
