/*
 * cfx/roofline.h -- where a graph's time must go, and where it goes.
 *
 * Each node has a floor: the least time that a machine needs for it,
 *
 *     max(flops / peak, time to move its bytes)
 *
 * with the peak of the type it computes in and the flops of the direct
 * algorithm. What moves its bytes is told by following them through the
 * caches of a run that comes after another one: each input is where the walk
 * left it, as much as each level holds counting back from there, and weights
 * where the run before left them; results stay in the caches until they are
 * full. So each level has a number of bytes to move at least, and the node
 * takes no less than the slowest of them, whose ceiling is the one that
 * applies. All choices are to the node's favour (what could be in a cache is,
 * and memory that is given back is taken again while it is there), since a
 * floor is not to be beaten.
 *
 *     cfx_roofline *r;
 *     cfx_roofline_options how = {.size = sizeof(how), .machine = machine};
 *     cfx_roofline_new(&r, gm, inputs, 1, &how, &err);
 *     for (size_t i = 0; i < r->nnodes; i++)
 *         printf("%s %g\n", r->node[i].cost->node->name, r->node[i].floor);
 *     cfx_roofline_free(r);
 *
 * With extents that are symbols, counts are expressions and times not known;
 * cfx_roofline_at gives them for values of the symbols.
 */
#ifndef CFX_ROOFLINE_H
#define CFX_ROOFLINE_H

#include <cfx/cost.h>
#include <cfx/machine.h>
#include <cfx/text.h>

/* What keeps a node from being faster. */
typedef enum cfx_bound_by {
    CFX_BOUND_UNKNOWN,      /* its counts are expressions */
    CFX_BOUND_FREE,         /* nothing to compute or to move */
    CFX_BOUND_COMPUTE,
    CFX_BOUND_MEMORY,
    CFX_NBOUNDS
} cfx_bound_by;
CFX_API extern const char *const cfx_bound_names[CFX_NBOUNDS];

/* The floor of one node. */
typedef struct cfx_floor {
    cfx_bound_by bound;
    int level;              /* whose ceiling applies to its bytes; -1: none */
    double seconds;         /* the larger of the next two */
    double compute, memory;
    double ridge;           /* flops per byte where both would be equal; 0:
                               not known */
} cfx_floor;

typedef struct cfx_roofline_node {
    const cfx_cost_node *cost;
    cfx_dim flops, bytes;
    cfx_floor floor;
    double seconds;         /* the median of the runs; 0: not measured */
    cfx_dim live_bytes;     /* of all values while it runs */
} cfx_roofline_node;

/* Of several nodes. */
typedef struct cfx_roofline_sum {
    cfx_cost_sum cost;
    double floor, seconds;  /* negative: not known */
} cfx_roofline_sum;

typedef struct cfx_roofline {
    cfx_context *ctx;
    cfx_module *gm;
    cfx_shape_env *env;
    const cfx_machine *machine; /* NULL: none */
    const cfx_machine_rates *rates;
    bool known;             /* no count is an expression */
    int runs;               /* that were measured */
    size_t nnodes;
    cfx_roofline_node *node; /* in the order of the graph */
    cfx_roofline_sum total;
    double run_seconds;     /* the median of whole runs; 0: not measured */
    cfx_dim peak_bytes;     /* the largest live_bytes */
    /* By module and by operator: sum i is of group i. */
    cfx_cost_groups modules, operators;
    cfx_roofline_sum *module_sum, *operator_sum;
    cfx_roofline_sum bound_sum[CFX_NBOUNDS];
    struct cfx_roofline_self *self;
} cfx_roofline;

/* Zeroed members take the defaults. */
typedef struct cfx_roofline_options {
    size_t size;            /* sizeof(cfx_roofline_options) */
    const cfx_machine *machine; /* borrowed; NULL: no floors */
    int threads;            /* whose rates; 0: those of the context */
    cfx_shape_env *env;     /* borrowed; where extents are symbols */
    const cfx_cost_prop_class *cost; /* NULL: cfx_cost_prop_default */
} cfx_roofline_options;

CFX_BEGIN_DECLS

/* Walk, and find the floors. Borrows what it is given. Fails as
 * cfx_cost_prop_run. */
CFX_API cfx_status cfx_roofline_new(cfx_roofline **out, cfx_module *gm,
                                    const cfx_value *inputs, size_t ninputs,
                                    const cfx_roofline_options *options,
                                    cfx_error *err);
/* NULL is allowed. */
CFX_API void cfx_roofline_free(cfx_roofline *r);

/*
 * Run the graph for its times: some runs to warm up, then `runs` of them (0:
 * as many as fit into a second, at least 5), and set the medians. Weights need
 * numbers, inputs are as for cfx_interp_run. `progress` may be NULL. Fails as
 * the run does, and with CFX_EINVAL where extents are symbols.
 */
CFX_API cfx_status cfx_roofline_measure(cfx_roofline *r,
                                        const cfx_value *inputs,
                                        size_t ninputs, int runs,
                                        void (*progress)(void *user,
                                                         size_t done,
                                                         size_t total),
                                        void *user, cfx_error *err);

/* floor / seconds; negative where one of them is not known. */
CFX_API double cfx_roofline_efficiency(const cfx_roofline_node *n);
/* Of the time of all nodes: measured, else of the floors; negative: not
 * known. */
CFX_API double cfx_roofline_share(const cfx_roofline *r,
                                  const cfx_roofline_node *n);

/* ---- Printing ---- */

typedef enum cfx_roofline_by {
    CFX_BY_NODE, CFX_BY_MODULE, CFX_BY_OPERATOR, CFX_BY_BOUND
} cfx_roofline_by;

/* What of a report is printed; zeroed for nodes in the graph's order. */
typedef struct cfx_roofline_view {
    size_t size;            /* sizeof(cfx_roofline_view) */
    cfx_roofline_by by;
    bool parts;             /* tables by operator and bound, too */
    int depth;              /* of modules; 0: all */
    const char *columns;    /* "name,macs,floor"; NULL: the usual ones */
    const char *sort;       /* a column, the largest first; NULL: in order */
    size_t top;             /* as many rows; 0: all */
    int width;              /* columns of a terminal; 0: no end */
    const char *model;      /* what the model is called; may be NULL */
} cfx_roofline_view;

/*
 * A table to read, with totals below; the same as Markdown; and all columns as
 * comma-separated values, in full. They fail with CFX_EINVAL for a column that
 * there is not, CFX_ENOMEM, and as the sink does.
 */
CFX_API cfx_status cfx_roofline_print(cfx_sink to, const cfx_roofline *r,
                                      const cfx_roofline_view *view,
                                      cfx_error *err);
CFX_API cfx_status cfx_roofline_print_markdown(cfx_sink to,
                                               const cfx_roofline *r,
                                               const cfx_roofline_view *view,
                                               cfx_error *err);
CFX_API cfx_status cfx_roofline_print_csv(cfx_sink to, const cfx_roofline *r,
                                          const cfx_roofline_view *view,
                                          cfx_error *err);

/* The columns there are: name i and what it says, or NULL. */
CFX_API const char *cfx_roofline_column(size_t i, const char **title);

CFX_END_DECLS

#endif
