/*
 * cfx/rewriter.h -- replace every occurrence of a small graph by another.
 *
 * The pattern is found by the rules of cfx/matcher.h; each match is replaced
 * by a copy of the replacement graph, whose placeholders take what the
 * pattern's stand for, by their order, and whose outputs take the place of
 * the pattern's, by theirs.
 *
 *     # w1, w2 -> torch.cat([w1, w2])  becomes  torch.stack([w1, w2])
 *     cfx_replace_pattern(gm, pattern, replacement, NULL, NULL, &err);
 *
 * Everything is as in torch.fx's replace_pattern: of overlapping matches the
 * first in graph order is replaced; the copy stands before the first user of
 * the outputs, and where they have none behind the last of them; it takes the
 * replacement's names, made unique; matches that follow see it where they used
 * what is gone. Where the replacement graph has an owning module (it is that
 * of a GraphModule), modules, parameters and buffers that its nodes name and
 * that `gm` lacks are copied in, those that `gm` has win, and modules that
 * nothing names any more are taken out.
 *
 * Where torch.fx is in error this is not. Nodes that would come to use
 * something before it is defined are moved behind it, and a match that earlier
 * replacements have put on a cycle is left alone. Where something writes to
 * what the match reads before the first user comes, the copy stands directly
 * behind the match; a match in whose midst that happens is left alone (with
 * across_writes both are as in torch.fx). A pattern may return its
 * placeholders, or a node twice; both may leave placeholders unused. New nodes
 * inherit the provenance of what they replace (cfx_node_inherit). Code is never
 * generated as a side effect.
 *
 * When it fails, each match is either replaced as a whole or untouched (but
 * for the order of the nodes around it), and the graph is well-formed; what is
 * wrong with pattern or replacement is found before anything is changed, but
 * for outputs that do not fit, which the first match shows.
 */
#ifndef CFX_REWRITER_H
#define CFX_REWRITER_H

#include <cfx/matcher.h>

/* Matches are replaced for which all filters are true. They must not edit. */
typedef struct cfx_match_filter {
    bool (*keep)(void *user, const cfx_match *m, const cfx_graph *graph);
    void *user;
} cfx_match_filter;

/* Zeroed members do as torch.fx does, but for what is said above. */
typedef struct cfx_rewrite_options {
    size_t size;                  /* sizeof(cfx_rewrite_options) */
    /* match_output, match_placeholder and keep_overlapping must be false. */
    cfx_match_options match;
    const cfx_match_filter *filters;
    size_t nfilters;
    /* Instead of a replacement graph: called for each match, when its turn
     * comes; sets *out to a graph that lives until the next call, or to NULL
     * to leave this match alone. It must not edit `graph`. What it fails with
     * is passed on. */
    cfx_status (*make)(void *user, const cfx_match *m, const cfx_graph *graph,
                       const cfx_graph **out, cfx_error *err);
    void *make_user;
    /* Replace, and place copies, as torch.fx does also where something writes
     * to what a match reads; the caller knows that this does no harm. */
    bool across_writes;
} cfx_rewrite_options;

CFX_BEGIN_DECLS

/*
 * Replace what matches `pattern` in the graph of `gm`. `replacement` may be
 * NULL where the options have a callback. `options` may be NULL; so may
 * `replaced`, which otherwise is overwritten with the matches that were
 * replaced, also on failure: release it. Their `replacements` are the nodes
 * that were made; nodes they matched are erased, but still have their names.
 *
 * Fails with CFX_EGRAPH where gm has no graph, and as cfx_matcher_new does;
 * CFX_EINVAL for a pattern that computes nothing, numbers of placeholders or
 * outputs that differ, an unbound placeholder that is used; CFX_ENAME for an
 * attribute that neither module has; CFX_EUNSUPPORTED for a literal in the
 * place of an output that has users; CFX_ENOMEM.
 */
CFX_API cfx_status cfx_replace_pattern(cfx_module *gm,
                                       const cfx_graph *pattern,
                                       const cfx_graph *replacement,
                                       const cfx_rewrite_options *options,
                                       cfx_matches *replaced, cfx_error *err);

CFX_END_DECLS

#endif
