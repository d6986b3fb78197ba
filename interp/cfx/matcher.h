/*
 * cfx/matcher.h -- find the occurrences of a small graph in a large one.
 *
 * A pattern is a graph (of a GraphModule, or traced from a function): its
 * placeholders match any value, its other nodes match equal nodes, and its
 * outputs may be used outside. The rules are those of torch.fx's
 * SubgraphMatcher:
 *
 * anchors      the pattern's outputs that nothing else in it uses. Every node
 *              of the graph that equals the first anchor is tried, in graph
 *              order, and for each the same with the next anchor; from an
 *              anchor the match follows the arguments.
 * equality     the same opcode and target. get_attr nodes are equal when both
 *              name a parameter, or both a buffer, of their graph's module;
 *              numbers are not compared. Where one of them names nothing, the
 *              paths must be the same.
 * arguments    as many, with the same keywords in the same order. Lists and
 *              tuples are compared item by item, literals by type and value
 *              (cfx_value_equal). A placeholder also binds a literal, the
 *              same one wherever it is used. Calls of the same overload
 *              ("torch.ops.aten.x.y") are bound to its schema first where
 *              they are written differently.
 * injectivity  one node of the pattern for one of the graph: x + y does not
 *              match v + v.
 * containment  a node that the pattern computes and does not return has no
 *              users outside of the match.
 * acyclicity   the match could be made one node without a cycle.
 * overlap      a match that shares computed nodes with an earlier one is
 *              dropped.
 *
 * Errors of torch.fx are corrected: the cycle check also works if overlapping
 * matches are kept; there is no match if an anchor has no candidate; a
 * placeholder that the pattern does not use is not bound, and never matches the
 * output node; slices and dicts are compared item by item too; ignoring
 * literals never leaves a node of the pattern without a partner.
 *
 * Beyond torch.fx, a pattern may hold special nodes, calls of
 *
 *     cfx.any()                any value, also a literal; not an input
 *     cfx.one_of(a, b, ...)    the first of these values that matches
 *     cfx.optional(a, b)       a, or where that is missing b, which is a's
 *                              first argument if it is not given
 *     cfx.where(a, "name")     a, if the predicate of that name holds
 *     cfx.module("Type", ...)  the call of a module of that type
 *     cfx.call("name", ...)    the call of a function, method or module for
 *                              which the predicate of that name holds; of its
 *                              arguments only the first ones are compared
 *     cfx.number(c, rtol)      an int or float within rtol * abs(c) of c
 *
 * (cfx/pattern.h makes them in patterns that are written as functions.) Such a
 * node matches what its argument matches; skipped parts of the pattern are not
 * bound. Calls can also be compared by operator instead of literally: see
 * `by_operator` and `commutative`.
 *
 *     cfx_matcher *m;
 *     cfx_matches found;
 *     cfx_matcher_new(&m, pattern, NULL, &err);
 *     cfx_matcher_match(m, graph, &found, &err);
 *     for (size_t i = 0; i < found.n; i++)
 *         puts(found.item[i].anchor->name);
 *     cfx_matches_release(&found);
 *     cfx_matcher_free(m);
 *
 * The search takes one walk over the graph and, for each candidate, the time to
 * compare the matching part of the pattern; candidates for further anchors are
 * searched among the users of bound nodes. Nothing recurses over a graph.
 */
#ifndef CFX_MATCHER_H
#define CFX_MATCHER_H

#include <cfx/graph_module.h>

typedef struct cfx_matcher cfx_matcher;

/* The predicate of a cfx.where or cfx.call node. It must not edit the graph. */
typedef struct cfx_match_predicate {
    const char *name;
    bool (*holds)(void *user, cfx_value v);
    void *user;
} cfx_match_predicate;

/* Zeroed members behave as torch.fx does by default. */
typedef struct cfx_match_options {
    size_t size;            /* sizeof(cfx_match_options) */
    bool match_output;      /* the output node is part of the pattern */
    bool match_placeholder; /* placeholders only match placeholders */
    bool keep_overlapping;  /* torch's remove_overlapping_matches=False */
    /* Literals of the pattern match anything, and those of the graph match
     * placeholders that are bound to something else. */
    bool ignore_literals;
    /* Calls are equal if they resolve to the same overload of the same
     * operator, as function, method, operator.* or aten, and their arguments
     * are equal once bound to its schema: positional or by keyword, with
     * defaults, `stride=2` as (2, 2). In-place forms only equal in-place ones.
     * Calls that do not resolve are compared literally. */
    bool by_operator;
    /* Operators that commute (CFX_OP_COMMUTES) also match with their first two
     * arguments exchanged. Implies by_operator. */
    bool commutative;
    /* The pattern returns (out, ..., {"name": node, ...}): the dict is not an
     * output, but is read by cfx_match_named. */
    bool name_node_map;
    /* Nodes whose name contains this text equal any node of the pattern; their
     * arguments must still match. NULL or empty: none. */
    const char *node_name_match;
    const cfx_match_predicate *predicates;
    size_t npredicates;
} cfx_match_options;

/*
 * One occurrence. Its nodes belong to the graph, its literals to the match.
 * Values that are not bound are absent.
 */
typedef struct cfx_match {
    const cfx_graph *pattern;
    cfx_node *anchor; /* the graph's node (torch.fx's is the pattern's,
                                  by mistake) for the first anchor */
    cfx_node **anchors;
    size_t nanchors;
    cfx_value *placeholders; /* one per placeholder of the pattern */
    size_t nplaceholders;
    cfx_value *returning; /* one per distinct output of the pattern */
    size_t nreturning;
    cfx_node **replacements; /* new nodes of cfx_replace_pattern */
    size_t nreplacements;
    cfx_value *map; /* private: by id of the pattern's nodes */
    uint32_t nmap;
    bool names; /* private: the pattern returns a dict */
} cfx_match;

typedef struct cfx_matches {
    cfx_context *ctx;
    size_t n;
    cfx_match *item;
    size_t cap; /* private, as the rest */
    cfx_module *pattern;
} cfx_matches;

CFX_BEGIN_DECLS

/* Prepare a pattern, which must outlive the matcher and its matches, and must
 * not be edited meanwhile. Fails with CFX_EGRAPH for a pattern that is empty,
 * has no output, or has nodes without users (except placeholders); CFX_EINVAL
 * for special nodes with wrong arguments, or a predicate that the options lack;
 * CFX_ENOMEM. */
CFX_API cfx_status cfx_matcher_new(cfx_matcher **out, const cfx_graph *pattern,
                                   const cfx_match_options *options,
                                   cfx_error *err);
CFX_API void cfx_matcher_free(cfx_matcher *m);

/* Find all matches, in the order of their anchors. `out` is overwritten;
 * release it, also on failure. Fails with CFX_ENOMEM, CFX_ECANCEL,
 * CFX_ELIMIT. */
CFX_API cfx_status cfx_matcher_match(cfx_matcher *m, const cfx_graph *graph,
                                     cfx_matches *out, cfx_error *err);
/* Release the matches; a zeroed struct is allowed. */
CFX_API void cfx_matches_release(cfx_matches *found);

/* Return the partner of a node of the pattern: a node of the graph or a
 * literal, borrowed; absent if it is not bound. */
CFX_API cfx_value cfx_match_of(const cfx_match *m, const cfx_node *pattern);
/* Like cfx_match_of, by a name of the dict that the pattern returns; without
 * name_node_map by the name of the pattern's node. */
CFX_API cfx_value cfx_match_named(const cfx_match *m, const char *name);
/*
 * Walk over a match (torch.fx's nodes_map): the bound node of the pattern after
 * `after` (NULL: the first), in graph order, and its partner, borrowed; NULL
 * after the last.
 *
 *     const cfx_node *p = NULL;
 *     cfx_value v;
 *     while ((p = cfx_match_next(match, p, &v)))
 *         printf("%s: %s\n", p->name,
 *                v.kind == CFX_NODE ? v.u.node->name : cfx_kind_name(v.kind));
 */
CFX_API const cfx_node *cfx_match_next(const cfx_match *m,
                                       const cfx_node *after,
                                       cfx_value *partner);

CFX_END_DECLS

#endif
