/*
 * matcher_impl.h -- declarations shared by the matcher's files. Not installed.
 *
 * A pattern is compiled once: a kind for each node, the anchors, and for each
 * anchor but the first a path that connects it to earlier ones. The search
 * works like Prolog's: a list of goals (a value of the pattern against one of
 * the graph), a trail of bindings to undo, and a stack of choices to backtrack
 * to. All stacks are arrays; nothing recurses.
 */
#ifndef CFX_MATCHER_IMPL_H
#define CFX_MATCHER_IMPL_H

#include <assert.h>

#include <cfx/matcher.h>

#include "base/util.h"
#include "graph/graph_impl.h"

/* ---- The pattern ---- */

typedef enum cfx_pattern_kind {
    CFX_PAT_UNUSED, /* no node in use has this id */
    CFX_PAT_PLACEHOLDER,
    CFX_PAT_NODE,   /* equal op and target */
    CFX_PAT_MODULE, /* cfx.module */
    CFX_PAT_CALL,   /* cfx.call */
    CFX_PAT_NUMBER, /* cfx.number */
    CFX_PAT_ANY,
    CFX_PAT_ONE_OF, /* and cfx.optional */
    CFX_PAT_WHERE
} cfx_pattern_kind;

/* True if it stands for one node of the graph that no other stands for. */
CFX_INLINE bool cfx_pattern_is_plain(uint8_t kind)
{
    return kind == CFX_PAT_NODE || kind == CFX_PAT_MODULE ||
           kind == CFX_PAT_CALL;
}

CFX_INLINE bool cfx_pattern_is_number(cfx_value v)
{
    return v.kind == CFX_INT || v.kind == CFX_FLOAT;
}

/* A call of the pattern, bound to one of its targets. */
typedef struct cfx_bound_pattern {
    const cfx_target *target;
    bool fits;
    cfx_bound bound;
    struct cfx_bound_pattern *next;
} cfx_bound_pattern;

typedef struct cfx_pattern_node {
    uint8_t kind;
    bool early;                      /* an earlier anchor reaches it */
    cfx_bound_pattern *calls;        /* created on demand */
    const cfx_match_predicate *test; /* of CFX_PAT_WHERE, CFX_PAT_CALL */
} cfx_pattern_node;

typedef struct cfx_anchor {
    const cfx_node *node;
    /* A candidate must equal one of these nodes; any_node: any. */
    const cfx_node **heads;
    size_t nheads, heads_cap;
    bool any_node;
    /* From a node that is bound earlier to this anchor, each an input of the
     * next; empty if there is no such path. */
    const cfx_node **path;
    size_t npath, path_cap;
} cfx_anchor;

struct cfx_matcher {
    cfx_context *ctx;
    const cfx_graph *pattern;
    cfx_match_options o;
    cfx_pattern_node *node; /* by id */
    uint32_t ids;
    const cfx_node *output;
    cfx_value out_args; /* the part that is matched */
    uint32_t nout_args; /* 0: all of it */
    cfx_anchor *anchor;
    size_t nanchors, anchors_cap;
    const cfx_node **placeholder, **returning;
    size_t nplaceholders, nreturning, placeholders_cap, returning_cap;
    const cfx_node **queue; /* scratch with room for all ids */
    bool lacks_memory;      /* set when operators are resolved */
};

/* Return alternative i of a special pattern node. */
cfx_value cfx_pattern_alternative(const cfx_node *pn, uint32_t i);
uint32_t cfx_pattern_alternatives(const cfx_node *pn);

/* True if a value of a pattern contains nodes. */
bool cfx_pattern_has_nodes(cfx_value v);

/* ---- The search ---- */

typedef struct cfx_goal {
    cfx_value p, g;
    uint32_t next; /* 1 + index, or 0 */
    uint8_t what;
} cfx_goal;

enum { CFX_GOAL_MATCH, CFX_GOAL_ANCHOR, CFX_GOAL_TEST };

typedef struct cfx_choice {
    uint8_t what;
    bool listed; /* candidates are those of the anchor */
    uint32_t anchor;
    uint32_t at, end; /* the remaining alternatives */
    uint32_t goals;   /* the goals to solve afterwards */
    uint32_t ngoals, ntrail, nbounds, nnodes;
    const cfx_node *pn;
    cfx_value g;
    cfx_bound *pb, *gb;
} cfx_choice;

enum { CFX_CHOICE_ANCHOR, CFX_CHOICE_ONE_OF, CFX_CHOICE_SWAP };

typedef struct cfx_candidates {
    cfx_node **node;
    size_t n, cap, first; /* those before `first` were accepted */
} cfx_candidates;

/* rev[id of the graph's node]: 1 + id of the pattern's node, and a bit. */
#define CFX_REV_TAKEN (UINT32_C(1) << 31)
#define CFX_REV_MASK (CFX_REV_TAKEN - 1)

typedef struct cfx_search {
    cfx_matcher *m;
    const cfx_graph *g;
    cfx_matches *found;
    cfx_error *err;
    cfx_status status;
    cfx_value *map;        /* by id of the pattern's nodes */
    uint32_t *rev;         /* by id of the graph's */
    uint32_t *seen, epoch; /* by id of the graph's */
    uint32_t *ok;          /* by id of the pattern's: an epoch */
    cfx_candidates *list;  /* by anchor */
    cfx_goal *goal;
    size_t ngoals, goals_cap;
    uint32_t goals;  /* the list of goals to solve */
    uint32_t *trail; /* ids of the pattern's nodes */
    size_t ntrail, trail_cap;
    cfx_choice *choice;
    size_t nchoices, choices_cap;
    cfx_bound **bound;
    size_t nbounds, bounds_cap;
    cfx_node **nodes; /* candidates, and scratch for searches */
    size_t nnodes, nodes_cap;
    uint32_t ids; /* of the graph */
    uint32_t steps;
} cfx_search;

/* True if a node of the pattern is plain. */
bool cfx_pattern_computes(const cfx_node *n);

/* Walk over the nodes of the graph that plain nodes of the pattern matched: *at is
 * the node of the pattern, first NULL. Returns NULL after the last. */
CFX_INLINE cfx_node *cfx_match__next_node(const cfx_match *m,
                                          const cfx_node **at)
{
    cfx_node *n = NULL;
    while (!n) {
        *at = *at ? cfx_node_next(*at) : cfx_graph_first(m->pattern);
        if (!*at)
            break;
        if (cfx_pattern_computes(*at))
            n = cfx_value__node(m->map[(*at)->id]);
    }
    return n;
}

/* Release the contents of a match. */
void cfx_match__release(cfx_context *ctx, cfx_match *m);

/* Make room for one more element; false, and CFX_ENOMEM in s, if it fails. */
#define CFX_SEARCH_GROW(s, array, n, cap)                                     \
    (!cfx_grow((s)->m->ctx, (s)->array, (s)->cap, (s)->n + 1, NULL) ||        \
     (cfx_search__no_memory(s), false))
void cfx_search__no_memory(cfx_search *s);

/* Run the search and call accept for each solution. */
void cfx_search_run(cfx_search *s);

/* Push a goal before all others. */
bool cfx_search_push(cfx_search *s, uint8_t what, cfx_value p, cfx_value g);
bool cfx_search_choose(cfx_search *s, cfx_choice choice);

/* ---- matcher_call.c ---- */

/* True if the opcodes and targets of the two nodes may be equal. */
bool cfx_match_head(cfx_matcher *m, const cfx_node *pn, const cfx_node *gn);
/* Push goals for the arguments of two nodes; false if they cannot match. */
bool cfx_match_call(cfx_search *s, const cfx_node *pn, const cfx_node *gn);
/* Push the goals of a bound call, with exchanged operands if `swap`. */
bool cfx_match_bound(cfx_search *s, const cfx_bound *p, const cfx_bound *g,
                     bool swap);

/* ---- matcher_check.c ---- */

/* True if the current bindings satisfy containment and acyclicity. */
bool cfx_match_is_valid(cfx_search *s);
/* Record the current bindings as a match. */
void cfx_match_record(cfx_search *s);

#endif
