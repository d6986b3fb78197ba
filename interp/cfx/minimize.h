/*
 * cfx/minimize.h -- find the smallest part of a graph on which two ways of
 * running it differ: torch.fx's net_min_base.
 *
 * Parts of a model are extracted, run in two ways on the same inputs, and
 * compared; a part with different results, or on which one way fails, is a
 * culprit. The caller defines the ways: other kernels, a rewrite of the part,
 * another device.
 *
 *     cfx_minimizer m = {.size = sizeof(m), .gm = gm,
 *                        .traversal = CFX_BINARY, .run_b = run_quantized};
 *     cfx_minimize(&m, inputs, n, &err);
 *     for (size_t i = 0; i < m.nculprits; i++)
 *         puts(m.culprit[i]->name);
 *     cfx_minimizer_release(&m);
 *
 * A part is a graph over the same module: its inputs are placeholders of the
 * same names, and get_attr nodes are copied. Input values come from one run of
 * the whole model, or from the results of earlier parts; each run gets copies,
 * so that in-place operators do no harm.
 */
#ifndef CFX_MINIMIZE_H
#define CFX_MINIMIZE_H

#include <cfx/compare.h>
#include <cfx/text.h>

typedef enum cfx_traversal {
    CFX_SEQUENTIAL, /* node by node */
    CFX_BINARY,     /* all, then halves of the part that differs, comparing the
                       last node's value */
    CFX_ACCUMULATE, /* the first node, the first two, ... until one differs; as
                       many runs as nodes, each from the start */
    CFX_SKIP,       /* the blocks between skipped nodes */
    CFX_BLOCK,      /* the shortest block: its last node, then its first */
    CFX_DEFINED     /* the nodes from start to end, as one part */
} cfx_traversal;

/* Run a part; *result is a new reference. A failure, except for lack of memory,
 * time limits and cancelling, makes the part a culprit. */
typedef cfx_status cfx_part_run(void *user, cfx_module *gm,
                                const cfx_graph *part, const cfx_value *inputs,
                                size_t n, cfx_value *result, cfx_error *err);

typedef struct cfx_minimizer {
    size_t size; /* sizeof(cfx_minimizer) */
    cfx_module *gm;
    cfx_traversal traversal;
    cfx_part_run *run_a; /* NULL: the base interpreter */
    cfx_part_run *run_b;
    /* Compare results; the report shows `d`. NULL: use `tolerance`. */
    cfx_status (*compare)(void *user, cfx_value a, cfx_value b,
                          cfx_difference *d, cfx_error *err);
    cfx_tolerance tolerance;
    /* Return true to leave a node out; NULL: none is. */
    bool (*exclude)(void *user, const cfx_node *n);
    void *user;
    bool accumulate_error;    /* each way continues with its own results */
    bool find_all;            /* continue after the first culprit: sequential
                                 and binary */
    bool return_intermediate; /* compare all values of a part */
    const char *start, *end;  /* names of nodes; NULL: the first, the last */
    const char *const *skip;  /* names of nodes, for CFX_SKIP */
    size_t nskip;
    int find_last;   /* for CFX_BLOCK: 1 only the last node, -1 only
                                 the first, 0 both */
    cfx_sink report; /* gets the report, in lines; write NULL: no
                                 report */

    /* Results: nodes of gm's graph, in order. */
    const cfx_node **culprit;
    size_t nculprits;
    size_t iterations;
    size_t cap;                      /* private */
    struct cfx_minimizer_self *self; /* private, during a search */
} cfx_minimizer;

CFX_BEGIN_DECLS

/*
 * Find the culprits; without any, returns CFX_OK with nculprits 0. Works as
 * torch.fx's minimize, except that CFX_DEFINED reports its culprits (torch.fx's
 * forgets them). Fails with CFX_EINVAL without run_b or with a wrong number of
 * inputs, CFX_ENAME for a name that no node has, and as the run of the whole
 * model does.
 */
CFX_API cfx_status cfx_minimize(cfx_minimizer *m, const cfx_value *inputs,
                                size_t ninputs, cfx_error *err);
/* Release the results; a zeroed struct is allowed. */
CFX_API void cfx_minimizer_release(cfx_minimizer *m);

CFX_END_DECLS

#endif
