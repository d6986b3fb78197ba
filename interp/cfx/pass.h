/*
 * cfx/pass.h -- passes: one constant descriptor each.
 *
 * A pass rewrites the graph of a GraphModule. Its descriptor has its name and
 * options (in ATen's schema language), a description, and how far its results
 * may differ. The pass manager, `cfx transform`, `cfx passes` and the
 * documentation read it.
 *
 *     static cfx_status rename_run(cfx_pass_call *p)
 *     {
 *         const char *stem = p->in[0].u.str->text;
 *         for (cfx_node *n = cfx_graph_first(p->graph); n;
 *              n = cfx_node_next(n)) {
 *             if (n->op == CFX_OUTPUT)
 *                 continue;
 *             if (cfx_node_rename(n, stem, p->err))
 *                 return p->err->code;
 *             p->changed++;
 *         }
 *         return CFX_OK;
 *     }
 *
 *     const cfx_pass rename_pass = {
 *         .abi = CFX_ABI(cfx_pass),
 *         .schema = "rename(str stem='node')",
 *         .doc = "Name all nodes alike.",
 *         .run = rename_run,
 *     };
 *     ...
 *     cfx_register_pass(ctx, &rename_pass, &err);
 *     cfx_pass_apply(gm, "rename(stem=layer)", false, &changed, &err);
 *
 * A pass keeps the graph well-formed (cfx_graph_lint) and its meaning. It
 * learns the properties of a call from the call's schema (cfx_node_effects),
 * not from a list of operators. New nodes inherit the provenance of those they
 * replace (cfx_node_inherit). A pass takes linear time.
 */
#ifndef CFX_PASS_H
#define CFX_PASS_H

#include <cfx/pattern.h>

enum {
    CFX_PASS_ROUNDS = 1,     /* results may be rounded differently */
    CFX_PASS_WEIGHTS = 2,    /* needs weights to be loaded */
    CFX_PASS_REVERSIBLE = 4, /* can be undone (`reverse`) */
    CFX_PASS_NARROWS = 8 /* float32 values are rounded to a narrower type */
};

typedef struct cfx_pass cfx_pass;
typedef struct cfx_pass_call cfx_pass_call;

/*
 * A rule: each match of `pattern` for which `where` holds is replaced by what
 * `build` records. Calls match by operator, as function, method or ATen
 * overload, and operands that commute in either order (cfx/matcher.h).
 *
 *     // x - (-y)  becomes  x + y
 *     static cfx_value of_neg(cfx_scope *s, const cfx_value *in, void *p)
 *     {
 *         return cfx_sub(s, in[0], cfx_neg(s, in[1]));
 *     }
 *
 *     static cfx_value sum(cfx_scope *s, const cfx_value *in,
 *                          const cfx_match *m, void *p)
 *     {
 *         return cfx_add(s, in[0], in[1]);
 *     }
 *
 *     static const cfx_rewrite_rule rules[] = {
 *         {.params = "x y", .pattern = of_neg, .build = sum},
 *         {0},
 *     };
 *
 *     static const cfx_pass sub_of_neg = {
 *         .abi = CFX_ABI(cfx_pass),
 *         .schema = "sub_of_neg()",
 *         .doc = "Add what is negated and subtracted.",
 *         .rules = rules,
 *     };
 */
typedef struct cfx_rewrite_rule {
    const char *params;    /* of the pattern: "x w b" */
    cfx_trace_fn *pattern; /* its `user` is the cfx_pass_call */
    /* NULL: every match. It must not edit the graph. */
    bool (*where)(cfx_pass_call *p, const cfx_match *m);
    /* Records the replacement, as `build` in cfx_rewrite_options does; `p` is the
     * cfx_pass_call. */
    cfx_value (*build)(cfx_scope *s, const cfx_value *in, const cfx_match *m,
                       void *p);
    /* Those that the pattern names; `user` is the cfx_pass_call. */
    const cfx_match_predicate *predicates;
    size_t npredicates;
    bool repeat; /* until nothing matches; what is built must not match */
    bool undo;   /* the rule undoes the pass */
} cfx_rewrite_rule;

struct cfx_pass {
    cfx_abi abi; /* CFX_ABI(cfx_pass) */
    /* Name and options: "split(int parts=2, str by='flops')". */
    const char *schema;
    const char *doc; /* one sentence */
    uint32_t flags;
    /* Rewrite p->graph, or give p->gm another graph (its new nodes then inherit
     * provenance only if the pass sees to it). A pass that fails leaves the
     * graph well-formed, but it may be partly rewritten. */
    cfx_status (*run)(cfx_pass_call *p);
    /* Instead of `run`: rules, applied in this order, up to a zeroed one. */
    const cfx_rewrite_rule *rules;
};

/* A node that a pass left as it was, although it has a faster form. */
typedef struct cfx_missed {
    const char *node, *pass; /* their names */
    const char *why;         /* "its weight is computed by cat" */
} cfx_missed;

/* Called once, after the last pass, with the nodes that are still there. */
typedef void cfx_missed_hook(void *user, const cfx_missed *missed, size_t n);

/* One application of a pass. */
struct cfx_pass_call {
    cfx_context *ctx;
    cfx_module *gm;
    cfx_graph *graph;        /* of gm */
    const cfx_value *in;     /* the options, one per parameter of the schema */
    bool reverse;            /* undo; only where CFX_PASS_REVERSIBLE */
    size_t changed;          /* nodes made, removed or rewritten; 0 means that
                               the graph is unchanged */
    cfx_error *err;          /* never NULL */
    struct cfx_facts *facts; /* private, as the rest */
    struct cfx_missed_list *missed; /* NULL: nobody asks */
};

CFX_BEGIN_DECLS

/* ---- The registry ---- */

/* Find a pass by name, those registered last first; NULL if there is none. */
CFX_API const cfx_pass *cfx_find_pass(cfx_context *ctx, const char *name);

/* Return the i-th pass, the built-in ones first; NULL after the last. */
CFX_API const cfx_pass *cfx_pass_at(cfx_context *ctx, size_t i);

/* Register a pass, which must outlive the context and hides one of the same
 * name. Fails with CFX_EINVAL for a pass of another ABI or that does nothing,
 * CFX_EPARSE for a malformed schema, CFX_ENOMEM. */
CFX_API cfx_status cfx_register_pass(cfx_context *ctx, const cfx_pass *pass,
                                     cfx_error *err);

/* Return the parsed schema: name and options. NULL for lack of memory. */
CFX_API const cfx_schema *cfx_pass_schema(cfx_context *ctx,
                                          const cfx_pass *pass);

/* ---- Applying ---- */

/*
 * Apply a pass to a GraphModule. `args` and `kwargs` are its options, bound by
 * its schema. *changed (which may be NULL) is the number of nodes made, removed
 * or rewritten. Fails with CFX_EINVAL for options that do not bind, a gm
 * without a graph, or `reverse` of a pass that is not reversible; and as the
 * pass does.
 */
CFX_API cfx_status cfx_pass_run(const cfx_pass *pass, cfx_module *gm,
                                cfx_args args, bool reverse, size_t *changed,
                                cfx_error *err);

/*
 * Like cfx_pass_run, from text: "name", "name()" or "name(option=value, ...)".
 * Values are Python literals; strings that are words need no quotes. Fails also
 * with CFX_ENAME for an unknown pass, CFX_EPARSE.
 */
CFX_API cfx_status cfx_pass_apply(cfx_module *gm, const char *text,
                                  bool reverse, size_t *changed,
                                  cfx_error *err);

/*
 * Split a list of passes, "a, b(x=[1, 2]), c": returns the length of the first
 * one, without surrounding blanks, and moves *text to its start; *rest (which
 * may be NULL) is the start of the next one, or NULL after the last. Returns 0
 * if a name is missing. Never fails.
 */
CFX_API size_t cfx_pass_text_split(const char **text, const char **rest);

/* ---- For passes ---- */

/*
 * Return a loaded parameter or buffer by its path from p->gm; borrowed. Fails
 * with CFX_EWEIGHT, "missing weight: PATH", if it was not loaded, CFX_EATTR if
 * the path does not exist, CFX_ENAME if it is not a tensor.
 */
CFX_API cfx_status cfx_pass_weight(cfx_pass_call *p, const char *path,
                                   cfx_tensor **out);

/*
 * Add a buffer to p->gm under the first free name of PREFIX0, PREFIX1, ..., and
 * make its get_attr node at the insert point of the graph. The tensor is
 * shared. Returns NULL on failure, with p->err set.
 */
CFX_API cfx_node *cfx_pass_add_tensor(cfx_pass_call *p, const char *prefix,
                                      cfx_tensor *t);

/*
 * Report why the pass leaves a node as it is. The text is a clause about the node, "its
 * weight is written to". Only the first reason of a pass for a node is kept. Does nothing unless the pass
 * manager has a hook for them. Never fails; a pass that lacks memory for a reason
 * fails at its end.
 */
CFX_API void cfx_pass_missed(cfx_pass_call *p, const cfx_node *n,
                             const char *format, ...) CFX_PRINTF(3, 4);

CFX_END_DECLS

#endif
