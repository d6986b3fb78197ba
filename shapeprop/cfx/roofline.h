/*
 * cfx/roofline.h -- the least time of each node of a graph, and its measured
 * time.
 *
 * Each node has a floor, the least time that a machine needs for it:
 *
 *     max(flops / peak, time to move its bytes)
 *
 * with the peak of the type it computes in and the FLOPs of the direct
 * algorithm. Bytes are followed through the caches of a run that comes after
 * another one: inputs are where the walk left them, as far as each level has
 * room, and weights are where the previous run left them; results stay in the
 * caches until these are full. Each level thus has a least number of bytes to
 * move. The slowest level decides, and its ceiling applies. All assumptions
 * favour the node (data that may be in a cache is, and freed memory is reused
 * while it is in a cache), since no run may beat a floor.
 *
 *     cfx_roofline *r;
 *     cfx_roofline_options how = {.size = sizeof(how), .machine = machine};
 *     cfx_roofline_new(&r, gm, inputs, 1, &how, &err);
 *     for (size_t i = 0; i < r->nnodes; i++)
 *         printf("%s %g\n", r->node[i].cost->node->name,
 *                r->node[i].floor.seconds);
 *     cfx_roofline_free(r);
 *
 * If extents are symbols, counts are expressions and times are not known;
 * cfx_roofline_at computes them for values of the symbols.
 */
#ifndef CFX_ROOFLINE_H
#define CFX_ROOFLINE_H

#include <cfx/cost.h>
#include <cfx/machine.h>
#include <cfx/text.h>

/* The bound of a node. */
typedef enum cfx_bound_by {
    CFX_BOUND_UNKNOWN, /* its counts are expressions */
    CFX_BOUND_FREE,    /* nothing to compute or to move */
    CFX_BOUND_COMPUTE,
    CFX_BOUND_MEMORY,
    CFX_NBOUNDS
} cfx_bound_by;
CFX_API extern const char *const cfx_bound_names[CFX_NBOUNDS];

/* The floor of one node. */
typedef struct cfx_roofline_floor {
    int level; /* the level whose ceiling applies; -1: none */
    cfx_bound_by bound;
    double seconds; /* maximum of the next two */
    double compute, memory;
    double ridge; /* FLOPs per byte at which both are equal; 0: not
                               known */
} cfx_roofline_floor;

typedef struct cfx_roofline_node {
    const cfx_cost_node *cost;
    cfx_dim flops, bytes;
    cfx_roofline_floor floor;
    double seconds;     /* the median of the runs; 0: not measured */
    cfx_dim live_bytes; /* bytes of all values while it runs */
    cfx_bound_by first; /* of cfx_roofline_crossovers: the first bound */
} cfx_roofline_node;

/* The value of a symbol from which on a node has another bound. */
typedef struct cfx_crossover {
    size_t row;
    int64_t at;
    cfx_bound_by before, after;
} cfx_crossover;

/* All totals for one value of a symbol. */
typedef struct cfx_roofline_point {
    int64_t at;
    double macs, flops, bytes, peak_bytes, floor; /* negative: not known */
    double floor_of[CFX_NBOUNDS]; /* of nodes with that bound */
} cfx_roofline_point;

/* The sum of several nodes. */
typedef struct cfx_roofline_sum {
    cfx_cost_sum cost;
    double floor, seconds; /* negative: not known */
} cfx_roofline_sum;

typedef struct cfx_roofline {
    cfx_context *ctx;
    cfx_module *gm;
    cfx_shape_env *env;
    const cfx_machine *machine; /* NULL: none */
    const cfx_machine_rates *rates;
    bool known; /* no count is an expression */
    int runs;   /* number of measured runs */
    size_t nnodes;
    cfx_roofline_node *node; /* in the order of the graph */
    cfx_roofline_sum total;
    double run_seconds; /* the median of whole runs; 0: not measured */
    cfx_dim peak_bytes; /* maximum of live_bytes; an expression excludes
                               scratch memory, which only numbers determine */
    /* By module and by operator: sum i is of group i. */
    cfx_cost_groups modules, operators;
    cfx_roofline_sum *module_sum, *operator_sum;
    cfx_roofline_sum bound_sum[CFX_NBOUNDS];
    /* The symbols of cfx_roofline_crossovers and cfx_roofline_sweep. */
    char symbol[64], swept[64];
    size_t ncrossovers, npoints;
    cfx_crossover *crossover; /* by row, then by value */
    cfx_roofline_point *point;
    struct cfx_roofline_self *self;
} cfx_roofline;

/* Zeroed members take the defaults. */
typedef struct cfx_roofline_options {
    size_t size;                     /* sizeof(cfx_roofline_options) */
    const cfx_machine *machine;      /* borrowed; NULL: no floors */
    int threads;                     /* 0: those of the context */
    cfx_shape_env *env;              /* borrowed; for symbolic extents */
    const cfx_cost_prop_class *cost; /* NULL: cfx_cost_prop_default */
} cfx_roofline_options;

CFX_BEGIN_DECLS

/* Walk the graph and compute the floors. Borrows its arguments. Fails as
 * cfx_cost_prop_run. */
CFX_API cfx_status cfx_roofline_new(cfx_roofline **out, cfx_module *gm,
                                    const cfx_value *inputs, size_t ninputs,
                                    const cfx_roofline_options *options,
                                    cfx_error *err);
/* Free a roofline; NULL is allowed. */
CFX_API void cfx_roofline_free(cfx_roofline *r);

/*
 * Run the graph and set the median times: some runs to warm up, then `runs` of
 * them (0: as many as fit into a second, at least 5). Weights and inputs need
 * data; every run gets the same, even if the graph writes to them. `progress`
 * may be NULL. Fails as the run does.
 */
CFX_API cfx_status cfx_roofline_measure(
    cfx_roofline *r, const cfx_value *inputs, size_t ninputs, int runs,
    void (*progress)(void *user, size_t done, size_t total), void *user,
    cfx_error *err);

/* ---- Symbolic extents ---- */

/* Returns the value of a symbol; false if it has none. */
typedef bool cfx_symbol_fn(void *user, const char *name, int64_t *v);

/* Compute the floors for values of the symbols, one per node of the graph. Rows
 * whose counts are still unknown are CFX_BOUND_UNKNOWN. Fails with CFX_EINVAL
 * without a machine, CFX_ENOMEM. */
CFX_API cfx_status cfx_roofline_at(const cfx_roofline *r,
                                   cfx_roofline_floor *floor,
                                   cfx_symbol_fn *value, void *user,
                                   cfx_error *err);

/* Find where nodes change their bound as one symbol goes from `from` to `to`;
 * all other symbols must have values. Sets r->crossover. `from` and `to` of 0
 * mean the symbol's range, up to 2^30 if it is unbounded, and as far as counts
 * are known; NULL means the only symbol that guards leave free. Between tried
 * values (all up to 64, then steps of a tenth) a node is assumed to change at
 * most once. Fails with CFX_EINVAL if there is no such symbol, or more than
 * one, and as cfx_roofline_at. */
CFX_API cfx_status cfx_roofline_crossovers(cfx_roofline *r, const char *symbol,
                                           int64_t from, int64_t to,
                                           cfx_error *err);

/* Compute the sums for from, from + step, ... up to `to`; with `factor` above
 * 1, multiply by it instead. Values that violate a guard or the symbol's range
 * are skipped, with a note. Sets r->point. Fails with CFX_EINVAL for more than
 * 10,000 points or a step below 1, if no value is left, another symbol has no
 * value, or a count overflows, and with CFX_ENOMEM. */
CFX_API cfx_status cfx_roofline_sweep(cfx_roofline *r, const char *symbol,
                                      int64_t from, int64_t to, int64_t step,
                                      int64_t factor, cfx_error *err);

/* Return floor / seconds; negative if one of them is not known. */
CFX_API double cfx_roofline_efficiency(const cfx_roofline_node *n);
/* Return its share of the time of all nodes: measured, else of the floors;
 * negative: not known. */
CFX_API double cfx_roofline_share(const cfx_roofline *r,
                                  const cfx_roofline_node *n);

/* ---- Printing ---- */

typedef enum cfx_roofline_by {
    CFX_BY_NODE,
    CFX_BY_MODULE,
    CFX_BY_OPERATOR,
    CFX_BY_BOUND,
    CFX_BY_POINT /* of a sweep */
} cfx_roofline_by;

/* Selects what is printed of a report; zeroed for nodes in graph order. */
typedef struct cfx_roofline_view {
    size_t size; /* sizeof(cfx_roofline_view) */
    cfx_roofline_by by;
    bool parts;          /* also tables by operator and bound */
    int depth;           /* of modules; 0: all */
    const char *columns; /* "name,macs,floor"; NULL: the default */
    const char *sort;    /* a column, descending; NULL: graph order */
    size_t top;          /* number of rows; 0: all */
    int width;           /* columns of the terminal; 0: no limit */
    const char *model;   /* name of the model; may be NULL */
} cfx_roofline_view;

/*
 * Print a table with totals below, the same as Markdown, or all columns as CSV
 * without rounding. Fails with CFX_EINVAL for an unknown column, CFX_ENOMEM,
 * and as the sink does.
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
/* Print a document of the schema "cfx.roofline/1" with all nodes, modules and
 * operators. Only `model` of the view is read. */
CFX_API cfx_status cfx_roofline_print_json(cfx_sink to, const cfx_roofline *r,
                                           const cfx_roofline_view *view,
                                           cfx_error *err);

/*
 * Print the roofline as SVG: the ceilings of the machine, and a mark per node.
 * Its area is the time (the floor if not measured), its shape and colour the
 * operator. Nodes without arithmetic, bytes or numbers are counted below the
 * plot. Or print a page without external files: it contains the picture and the
 * JSON document, whose totals, modules, memory and table of nodes a script
 * shows. Only `model` of the view is read.
 */
CFX_API cfx_status cfx_roofline_print_html(cfx_sink to, const cfx_roofline *r,
                                           const cfx_roofline_view *view,
                                           cfx_error *err);
CFX_API cfx_status cfx_roofline_print_svg(cfx_sink to, const cfx_roofline *r,
                                          const cfx_roofline_view *view,
                                          cfx_error *err);

/* Print the graph for Graphviz, with nodes the darker the larger their share of
 * the time; or trace events for Perfetto and Chrome: consecutive nodes in their
 * modules with their measured time, else their floor. The view is not read. */
CFX_API cfx_status cfx_roofline_print_dot(cfx_sink to, const cfx_roofline *r,
                                          const cfx_roofline_view *view,
                                          cfx_error *err);
CFX_API cfx_status cfx_roofline_print_trace(cfx_sink to, const cfx_roofline *r,
                                            const cfx_roofline_view *view,
                                            cfx_error *err);

typedef enum cfx_roofline_format {
    CFX_ROOFLINE_TEXT,
    CFX_ROOFLINE_MARKDOWN,
    CFX_ROOFLINE_CSV,
    CFX_ROOFLINE_JSON
} cfx_roofline_format;

/*
 * Print the changes against another roofline: nodes that differ, matched by
 * name, and totals. Measured times must differ by 5 % at least. JSON is of the
 * schema "cfx.roofline.compared/1". `was_model` is the other model's name and
 * may be NULL. Fails with CFX_ENOMEM, and as the sink does.
 */
CFX_API cfx_status cfx_roofline_compare(cfx_sink to, const cfx_roofline *r,
                                        const cfx_roofline *was,
                                        const char *was_model,
                                        cfx_roofline_format format,
                                        const cfx_roofline_view *view,
                                        cfx_error *err);
/* Compare with the text of a report that was printed as JSON. Fails with
 * CFX_EPARSE, CFX_EINVAL for another document, CFX_ENOMEM, and as the sink
 * does. */
CFX_API cfx_status cfx_roofline_compare_document(
    cfx_sink to, const cfx_roofline *r, const char *json, size_t len,
    cfx_roofline_format format, const cfx_roofline_view *view, cfx_error *err);

/* Return the name of the i-th column, or NULL; *title, which may be NULL, is
 * its description. */
CFX_API const char *cfx_roofline_column(size_t i, const char **title);
/* Return the name of a column given its name or its key in CSV, or NULL. */
CFX_API const char *cfx_roofline_find_column(const char *name, size_t len);

CFX_END_DECLS

#endif
