/*
 * env.h -- the shape environment: facts about the symbols. Not installed.
 */
#ifndef CFX_ENV_H
#define CFX_ENV_H

#include "dim/expr.h"
#include "base/mutex.h"

/* A range's ends; CFX_INF is no integer of a dim. */
#define CFX_INF INT64_MAX

typedef struct cfx_range {
    int64_t lo, hi;
} cfx_range;

typedef struct cfx_symbol_facts {
    cfx_dim symbol; /* CFX_DIM_BAD: nothing is known */
    cfx_range range;
    cfx_dim equals;      /* fixed to this by a guard; CFX_DIM_BAD: free */
    int64_t every, from; /* congruent to `from` modulo `every` */
    bool unbacked;
} cfx_symbol_facts;

/* A guard that ranges and substitutions do not cover. */
typedef struct cfx_fact {
    cfx_dim d;
    bool nonzero; /* d != 0; otherwise d >= 0 */
} cfx_fact;

/* Queries use the newest facts only, so that their cost stays bounded in
 * graphs with many guards. */
enum { CFX_FACTS_USED = 128 };

/* Only ranges are used for larger expressions. */
enum { CFX_PROOF_WEIGHT_MAX = 150 };

/* Undo log of a guard, until no contradiction is found. */
typedef struct cfx_undo {
    size_t facts, equalities;
    uint64_t replaced;
    bool overflow;
    size_t n;
    struct {
        cfx_dim symbol;
        cfx_symbol_facts was;
    } known[32];
} cfx_undo;

struct cfx_shape_env {
    cfx_context *ctx;
    cfx_exprs *table;
    cfx_mutex lock;          /* recursive */
    cfx_symbol_facts *known; /* by symbol number minus the first */
    size_t known_cap;
    int64_t known_from;
    cfx_dim *symbol; /* in order of creation */
    size_t symbols, symbol_cap;
    size_t equalities; /* how often symbols got an `equals` or `every` */
    uint64_t replaced; /* which these may be, as in cfx_expr */
    size_t facts_at;   /* `equalities` when the facts were resolved */
    cfx_undo *undo;    /* of the guard that is being recorded */
    bool in_cases;     /* a proof by cases is being tried */
    cfx_fact *fact;
    size_t facts, fact_cap;
    cfx_arena arena; /* texts of guards */
    cfx_map texts;   /* the guards by their text */
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

/* The facts about a symbol; NULL: none. */
const cfx_symbol_facts *cfx_env_facts_of(const cfx_shape_env *env,
                                         const cfx_expr *s);

/* The facts about a symbol, to be changed; logged in `undo`. NULL when out of
 * memory. */
cfx_symbol_facts *cfx_env_facts_mut(cfx_shape_env *env, cfx_dim symbol);

/* A symbol in a text; a new one is at least 1. */
cfx_dim cfx_dim_symbol_default(cfx_shape_env *env, const char *name,
                               size_t len);

/* The range of a dim. */
cfx_range cfx_dim_range(cfx_shape_env *env, cfx_dim d);

/* The newest facts, counted from 0; NULL: no more. */
CFX_INLINE const cfx_fact *cfx_env_fact(const cfx_shape_env *env, size_t i)
{
    return env && i < env->facts && i < CFX_FACTS_USED
               ? &env->fact[env->facts - 1 - i]
               : NULL;
}

/* Is d >= 0 provable? d > 0? d < 0? With the lock held. */
bool cfx_prove_ge0(cfx_shape_env *env, cfx_dim d);
bool cfx_prove_nonzero(cfx_shape_env *env, cfx_dim d);
/* Prove d >= 0 by ranges only, with nesting of at most `tries` rules. */
bool cfx_prove_ge0_plainly(cfx_shape_env *env, cfx_dim d);

/* Does `holds` succeed in every case of the remainders of d's symbols? */
bool cfx_prove_by_cases(cfx_shape_env *env, cfx_dim d,
                        bool (*holds)(cfx_shape_env *env, cfx_dim d));

/* ---- Relations of d to zero ---- */

typedef enum cfx_relation { CFX_EQ, CFX_NE, CFX_LE, CFX_LT } cfx_relation;

/* Record an unproved relation as a guard. False when out of memory, or if it
 * contradicts known facts: then nothing has changed. */
bool cfx_env_record(cfx_shape_env *env, cfx_relation r, cfx_dim d);

/* d after substitution of fixed symbols. */
cfx_dim cfx_env_resolve(cfx_shape_env *env, cfx_dim d);

/* ---- Rebuilding ---- */

typedef struct cfx_subst cfx_subst;
struct cfx_subst {
    cfx_shape_env *env;
    uint64_t mask; /* symbols that may be replaced, as in cfx_expr */
    int depth;
    void *user;
    /* The replacement of a symbol. */
    cfx_dim (*of)(cfx_subst *s, cfx_dim symbol);
};
cfx_dim cfx_subst_dim(cfx_subst *s, cfx_dim d);

#endif
