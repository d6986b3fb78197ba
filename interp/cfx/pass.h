/*
 * cfx/pass.h -- passes: one constant descriptor each.
 *
 * A pass rewrites the graph of a GraphModule. Its descriptor says what it is
 * called and what options it takes (in ATen's schema language), what it does,
 * and how far its results may differ. Whoever applies passes (the pass
 * manager, `cfx transform`, `cfx passes`, the documentation) reads it here.
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
 *     const cfx_pass rename = {
 *         .abi = CFX_ABI(cfx_pass),
 *         .schema = "rename(str stem='node')",
 *         .doc = "Name all nodes alike.",
 *         .run = rename_run,
 *     };
 *     ...
 *     cfx_register_pass(ctx, &rename, &err);
 *     cfx_pass_apply(gm, "rename(stem=layer)", false, &changed, &err);
 *
 * A pass keeps the graph well-formed (cfx_graph_lint) and its meaning. What it
 * must know of a call it asks of the call's schema (cfx_node_effects); none has
 * a list of operators for that. New nodes inherit the provenance of those they
 * replace (cfx_node_inherit). It takes time in proportion to the graph.
 */
#ifndef CFX_PASS_H
#define CFX_PASS_H

#include <cfx/graph_module.h>

enum {
    CFX_PASS_ROUNDS = 1,     /* results may differ by rounding */
    CFX_PASS_WEIGHTS = 2,    /* needs the numbers of weights */
    CFX_PASS_REVERSIBLE = 4  /* can undo what it did (`reverse`) */
};

typedef struct cfx_pass cfx_pass;
typedef struct cfx_pass_call cfx_pass_call;

struct cfx_pass {
    cfx_abi abi;         /* CFX_ABI(cfx_pass) */
    /* Name and options: "split(int parts=2, str by='flops')". */
    const char *schema;
    const char *doc;     /* one sentence */
    uint32_t flags;
    /* Rewrite p->graph, or give p->gm another (then new nodes inherit nothing
     * but by the pass). A pass that fails has left the graph well-formed,
     * perhaps rewritten in part. */
    cfx_status (*run)(cfx_pass_call *p);
};

/* One application of a pass. */
struct cfx_pass_call {
    cfx_context *ctx;
    cfx_module *gm;
    cfx_graph *graph;       /* of gm */
    const cfx_value *in;    /* the options, one a parameter of the schema */
    bool reverse;           /* undo; only where CFX_PASS_REVERSIBLE */
    size_t changed;         /* nodes it made, removed or rewrote: 0 means that
                               the graph is as it was */
    cfx_error *err;         /* never NULL */
};

CFX_BEGIN_DECLS

/* ---- The registry ---- */

/* By name, those registered last first; NULL if there is none. */
CFX_API const cfx_pass *cfx_find_pass(cfx_context *ctx, const char *name);

/* The i-th pass, the built-in ones first, or NULL after the last. */
CFX_API const cfx_pass *cfx_pass_at(cfx_context *ctx, size_t i);

/* Add a pass, which must outlive the context; one of the same name is hidden.
 * Fails with CFX_EINVAL for a pass of another ABI or without `run`, CFX_EPARSE
 * for a schema that does not read, CFX_ENOMEM. */
CFX_API cfx_status cfx_register_pass(cfx_context *ctx, const cfx_pass *pass,
                                     cfx_error *err);

/* Its parsed schema: name and options. NULL for lack of memory. */
CFX_API const cfx_schema *cfx_pass_schema(cfx_context *ctx,
                                          const cfx_pass *pass);

/* ---- Applying ---- */

/*
 * Apply a pass to a GraphModule. `args` and `kwargs` are its options, bound by
 * its schema. *changed (which may be NULL) is the number of nodes that it made,
 * removed or rewrote. Fails with CFX_EINVAL for options that do not bind, a gm
 * that has no graph, `reverse` of a pass that is not reversible; and as the
 * pass does.
 */
CFX_API cfx_status cfx_pass_run(const cfx_pass *pass, cfx_module *gm,
                                cfx_args args, bool reverse, size_t *changed,
                                cfx_error *err);

/*
 * The same from text: "name", "name()" or "name(option=value, ...)". Values are
 * Python literals; strings need no quotes where they are words. Fails also with
 * CFX_ENAME for a pass that is unknown, CFX_EPARSE.
 */
CFX_API cfx_status cfx_pass_apply(cfx_module *gm, const char *text,
                                  bool reverse, size_t *changed,
                                  cfx_error *err);

/*
 * Take apart a text of several, "a, b(x=[1, 2]), c": the length of the first,
 * without blanks around it, whose start *text is moved to; *rest (which may be
 * NULL) is where the next begins, or NULL after the last. Gives 0 where a name
 * is missing. Never fails.
 */
CFX_API size_t cfx_pass_split(const char **text, const char **rest);

/* ---- For passes ---- */

/*
 * The numbers of a parameter or buffer, by its path from p->gm; borrowed. Fails
 * with CFX_EWEIGHT, "missing weight: PATH", where it was not loaded, CFX_EATTR
 * where there is none of that path, CFX_ENAME where it is no tensor.
 */
CFX_API cfx_status cfx_pass_weight(cfx_pass_call *p, const char *path,
                                   cfx_tensor **out);

/*
 * Give p->gm a buffer under the first name of PREFIX0, PREFIX1, ... that is
 * free, and make a get_attr node of it at the insert point of the graph. The
 * tensor is shared. NULL on failure, which p->err tells.
 */
CFX_API cfx_node *cfx_pass_add_tensor(cfx_pass_call *p, const char *prefix,
                                      cfx_tensor *t);

CFX_END_DECLS

#endif
