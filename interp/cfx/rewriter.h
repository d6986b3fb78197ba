/*
 * cfx/rewriter.h -- replace every occurrence of a pattern by another graph.
 *
 * The pattern is found by the rules of cfx/matcher.h; each match is replaced by
 * a copy of the replacement graph. Its placeholders and outputs correspond to
 * those of the pattern, in order.
 *
 *     // w1, w2 -> torch.cat([w1, w2])  becomes  torch.stack([w1, w2])
 *     cfx_replace_pattern(gm, pattern, replacement, NULL, NULL, &err);
 *
 * Works as torch.fx's replace_pattern: of overlapping matches the first in
 * graph order is replaced; the copy is put before the first user of the
 * outputs, or after the last output if there are no users; its nodes keep the
 * replacement's names, made unique; later matches see it instead of the erased
 * nodes. If the replacement is the graph of a GraphModule, attributes that it
 * names and `gm` lacks are copied into `gm`, existing ones are kept, and
 * modules that nothing names any more are removed.
 *
 * Errors of torch.fx are corrected. Nodes that would use a value before its
 * definition are moved after it, and a match that earlier replacements made
 * part of a cycle is skipped. If something writes to memory that the match
 * reads before the first user, the copy is put directly after the match; if
 * that happens within the match, it is skipped (with across_writes both are as
 * in torch.fx). A pattern may return its placeholders, or a node twice; both
 * graphs may have unused placeholders. New nodes inherit the provenance of the
 * nodes they replace (cfx_node_inherit): first of a node that calls the same
 * target, else of the anchor. No code is generated as a side effect.
 *
 * On failure each match is either replaced completely or untouched (except for
 * the order of the nodes around it), and the graph is well-formed. Errors in
 * pattern or replacement are found before anything changes, except for outputs
 * that do not fit, which are found at the first match.
 */
#ifndef CFX_REWRITER_H
#define CFX_REWRITER_H

#include <cfx/matcher.h>
#include <cfx/scope.h>

/* Matches are replaced if all filters return true. They must not edit. */
typedef struct cfx_match_filter {
    bool (*keep)(void *user, const cfx_match *m, const cfx_graph *graph);
    void *user;
} cfx_match_filter;

/* Zeroed members behave as torch.fx, with the corrections above. */
typedef struct cfx_rewrite_options {
    size_t size; /* sizeof(cfx_rewrite_options) */
    /* match_output, match_placeholder and keep_overlapping must be false. */
    cfx_match_options match;
    const cfx_match_filter *filters;
    size_t nfilters;
    /* Used instead of a replacement graph: called for each match just before it
     * is replaced. Sets *out to a graph that lives until the next call, or to
     * NULL to skip this match. It must not edit `graph`. Its failure is passed
     * on. */
    cfx_status (*make)(void *user, const cfx_match *m, const cfx_graph *graph,
                       const cfx_graph **out, cfx_error *err);
    void *make_user;
    /* Used instead of both: records the replacement of a match just before it
     * goes in. `in` has what each placeholder of the pattern is bound to: a
     * proxy, or the literal itself. Paths are those of gm; tensors among
     * arguments become attributes of it. Returns the outputs, or None to skip
     * the match. */
    cfx_value (*build)(cfx_scope *s, const cfx_value *in, const cfx_match *m,
                       void *user);
    void *build_user;
    /* The replacement computes the values of the match and takes its place:
     * outputs have the type and meta tensor_meta of what they replace, the copy
     * is put directly after the match, and its nodes take names that become
     * free. Parameters that it reads do not inherit provenance. */
    bool same_values;
    /* Ignore writes to memory that a match reads, as torch.fx does; only for
     * callers who know that this is safe. */
    bool across_writes;
} cfx_rewrite_options;

CFX_BEGIN_DECLS

/*
 * Replace what matches `pattern` in the graph of `gm`. `replacement` may be
 * NULL if the options have a callback. `options` may be NULL; so may
 * `replaced`, which is otherwise overwritten with the replaced matches, also on
 * failure: release it. Their `replacements` are the new nodes; the matched
 * nodes are erased, but still have their names.
 *
 * Fails with CFX_EGRAPH if gm has no graph, and as cfx_matcher_new does;
 * CFX_EINVAL for a pattern that computes nothing, different numbers of
 * placeholders or outputs, or an unbound placeholder that is used; CFX_ENAME
 * for an attribute that neither module has; CFX_EUNSUPPORTED for a literal in
 * place of an output with users; CFX_ENOMEM.
 */
CFX_API cfx_status cfx_replace_pattern(cfx_module *gm,
                                       const cfx_graph *pattern,
                                       const cfx_graph *replacement,
                                       const cfx_rewrite_options *options,
                                       cfx_matches *replaced, cfx_error *err);

CFX_END_DECLS

#endif
