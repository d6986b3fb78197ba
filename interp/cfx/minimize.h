/*
 * cfx/minimize.h -- the smallest part of a graph on which two ways to run it
 * differ: torch.fx's net_min_base.
 *
 * Parts of a model are cut out, run in two ways on the same inputs, and
 * compared; where they differ, or one of them fails, is a culprit. What a way
 * is, is yours: other kernels, a rewrite of the part, another device.
 *
 *     cfx_minimizer m = {.size = sizeof(m), .gm = gm,
 *                        .traversal = CFX_BINARY, .run_b = run_quantized};
 *     cfx_minimize(&m, inputs, n, &err);
 *     for (size_t i = 0; i < m.nculprits; i++)
 *         puts(m.culprit[i]->name);
 *     cfx_minimizer_release(&m);
 *
 * A part is a graph over the same module: what goes into it from outside
 * became placeholders of the same names, get_attr nodes were copied with it.
 * Inputs come from one run of the whole model, whose values are kept, or from
 * what earlier parts gave; each run gets copies, so that in-place operators do
 * no harm.
 */
#ifndef CFX_MINIMIZE_H
#define CFX_MINIMIZE_H

#include <cfx/compare.h>
#include <cfx/text.h>

typedef enum cfx_traversal {
    CFX_SEQUENTIAL, /* node by node */
    CFX_BINARY,     /* all, then halves of what differs; the last node's value
                       is compared */
    CFX_ACCUMULATE, /* the first node, the first two, ... until one differs;
                       as many runs as nodes, each from the start */
    CFX_SKIP,       /* the blocks between the nodes to be skipped */
    CFX_BLOCK,      /* the shortest block: its last node, then its first */
    CFX_DEFINED     /* the nodes from start to end, as one part */
} cfx_traversal;

/* Run a part; *result is a new reference. A failure (other than for lack of
 * memory or time, or cancelling) makes the part a culprit. */
typedef cfx_status cfx_part_run(void *user, cfx_module *gm,
                                const cfx_graph *part,
                                const cfx_value *inputs, size_t n,
                                cfx_value *result, cfx_error *err);

typedef struct cfx_minimizer {
    size_t size;              /* sizeof(cfx_minimizer) */
    cfx_module *gm;
    cfx_traversal traversal;
    cfx_part_run *run_a;      /* NULL: the base interpreter */
    cfx_part_run *run_b;
    /* Are results alike? `d` is told in the report. NULL: by `tolerance`. */
    cfx_status (*compare)(void *user, cfx_value a, cfx_value b,
                          cfx_difference *d, cfx_error *err);
    cfx_tolerance tolerance;
    /* Should a node be left out? NULL: none is. */
    bool (*exclude)(void *user, const cfx_node *n);
    void *user;
    bool accumulate_error;    /* each way goes on with what it gave itself */
    bool find_all;            /* go on behind the first culprit: sequential and
                                 binary */
    bool return_intermediate; /* compare all values of a part, not the last */
    const char *start, *end;  /* names of nodes; NULL: the first, the last */
    const char *const *skip;  /* names, of CFX_SKIP */
    size_t nskip;
    int find_last;            /* of CFX_BLOCK: 1 only the last node, -1 only
                                 the first, 0 both */
    cfx_sink report;          /* what was done, in lines; write NULL: nobody
                                 wants it */

    /* Results: nodes of gm's graph, in its order. */
    const cfx_node **culprit;
    size_t nculprits;
    size_t iterations;
    size_t room;             /* private */
    struct cfx_minimizer_self *self; /* private, while it works */
} cfx_minimizer;

CFX_BEGIN_DECLS

/*
 * Find the culprits; none is CFX_OK with nculprits 0. As torch.fx's minimize,
 * but that CFX_DEFINED tells its culprits (torch.fx's forgets them). Fails with
 * CFX_EINVAL without run_b or a number of inputs that is not that of the
 * placeholders, CFX_ENAME for a name that no node has, and as the run of the
 * whole model does.
 */
CFX_API cfx_status cfx_minimize(cfx_minimizer *m, const cfx_value *inputs,
                                size_t ninputs, cfx_error *err);
/* Give the results back. A zeroed one is allowed. */
CFX_API void cfx_minimizer_release(cfx_minimizer *m);

CFX_END_DECLS

#endif
