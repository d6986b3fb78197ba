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
typedef struct cfx_roofline_floor {
    cfx_bound_by bound;
    int level;              /* whose ceiling applies to its bytes; -1: none */
    double seconds;         /* the larger of the next two */
    double compute, memory;
    double ridge;           /* flops per byte where both would be equal; 0:
                               not known */
} cfx_roofline_floor;

typedef struct cfx_roofline_node {
    const cfx_cost_node *cost;
    cfx_dim flops, bytes;
    cfx_roofline_floor floor;
    double seconds;         /* the median of the runs; 0: not measured */
    cfx_dim live_bytes;     /* of all values while it runs */
    cfx_bound_by first;     /* of cfx_roofline_crossovers: where it begins */
} cfx_roofline_node;

/* From that value of a symbol on a node has another bound. */
typedef struct cfx_crossover {
    size_t row;
    int64_t at;
    cfx_bound_by before, after;
} cfx_crossover;

/* All of it for one value of a symbol. */
typedef struct cfx_roofline_point {
    int64_t at;
    double macs, flops, bytes, peak_bytes, floor; /* negative: not known */
    double floor_of[CFX_NBOUNDS]; /* of the nodes with that bound */
} cfx_roofline_point;

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
    cfx_dim peak_bytes;     /* the largest live_bytes; as an expression without
                               scratch memory, which only numbers tell */
    /* By module and by operator: sum i is of group i. */
    cfx_cost_groups modules, operators;
    cfx_roofline_sum *module_sum, *operator_sum;
    cfx_roofline_sum bound_sum[CFX_NBOUNDS];
    /* What cfx_roofline_crossovers found along `symbol`, cfx_roofline_sweep
     * along `swept`. */
    char symbol[64], swept[64];
    size_t nturns, npoints;
    cfx_crossover *turn;         /* by row, then by value */
    cfx_roofline_point *point;
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
 * as many as fit into a second, at least 5), and set the medians. Weights and
 * inputs need numbers; they are the same in all runs, also where the graph
 * writes to them. `progress` may be NULL. Fails as the run does.
 */
CFX_API cfx_status cfx_roofline_measure(cfx_roofline *r,
                                        const cfx_value *inputs,
                                        size_t ninputs, int runs,
                                        void (*progress)(void *user,
                                                         size_t done,
                                                         size_t total),
                                        void *user, cfx_error *err);

/* ---- Where extents are symbols ---- */

/* Gives the value of a symbol; false where it has none. */
typedef bool cfx_symbol_fn(void *user, const char *name, int64_t *v);

/* The floors with numbers for the symbols, one a node of the graph. Rows whose
 * counts stay unknown are CFX_BOUND_UNKNOWN. Fails with CFX_EINVAL where there
 * is no machine, CFX_ENOMEM. */
CFX_API cfx_status cfx_roofline_at(const cfx_roofline *r,
                                   cfx_roofline_floor *floor,
                                   cfx_symbol_fn *value, void *user,
                                   cfx_error *err);

/* Where nodes turn from one bound to another as one symbol goes from `from` to
 * `to`, all others having numbers in the graph already; sets r->turn. 0 for
 * them is the symbol's range, up to 2^30 where it has no end, and as far as
 * counts are known; NULL for its name the only symbol that guards leave free.
 * Between values that are tried (all up to 64, from there on every
 * tenth part more) a node is taken to turn once at most. Fails with CFX_EINVAL
 * where there is no such symbol, or more than one, and as cfx_roofline_at. */
CFX_API cfx_status cfx_roofline_crossovers(cfx_roofline *r, const char *symbol,
                                           int64_t from, int64_t to,
                                           cfx_error *err);

/* The sums for from, from + step, ... up to `to`; with `factor` above 1 each
 * is so many times the one before instead. Values that break a guard or the
 * symbol's range are left out, with a note. Sets r->point. Fails with
 * CFX_EINVAL for more than 10,000 points or a step below 1, where no value is
 * left, where another symbol has no value or a count is too large, and with
 * CFX_ENOMEM. */
CFX_API cfx_status cfx_roofline_sweep(cfx_roofline *r, const char *symbol,
                                      int64_t from, int64_t to, int64_t step,
                                      int64_t factor, cfx_error *err);

/* floor / seconds; negative where one of them is not known. */
CFX_API double cfx_roofline_efficiency(const cfx_roofline_node *n);
/* Of the time of all nodes: measured, else of the floors; negative: not
 * known. */
CFX_API double cfx_roofline_share(const cfx_roofline *r,
                                  const cfx_roofline_node *n);

/* ---- Printing ---- */

typedef enum cfx_roofline_by {
    CFX_BY_NODE, CFX_BY_MODULE, CFX_BY_OPERATOR, CFX_BY_BOUND,
    CFX_BY_POINT            /* of a sweep */
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
/* A document of the schema "cfx.roofline/1": all nodes, modules, operators. Of
 * the view only `model` is read. */
CFX_API cfx_status cfx_roofline_print_json(cfx_sink to, const cfx_roofline *r,
                                           const cfx_roofline_view *view,
                                           cfx_error *err);

/*
 * The roofline as SVG: the ceilings of the machine, and a mark a node, its area
 * its time (that of its floor where it was not measured), its shape and colour
 * its operator. Nodes without arithmetic, bytes or numbers are counted below
 * the plot. And a page that needs nothing else: it holds the picture and the
 * JSON document, whose totals, modules, memory and table of nodes its script
 * shows. Of the view only `model` is read.
 */
CFX_API cfx_status cfx_roofline_print_html(cfx_sink to, const cfx_roofline *r,
                                           const cfx_roofline_view *view,
                                           cfx_error *err);
CFX_API cfx_status cfx_roofline_print_svg(cfx_sink to, const cfx_roofline *r,
                                          const cfx_roofline_view *view,
                                          cfx_error *err);

/* The graph for Graphviz, nodes the darker the larger their share of the time;
 * and trace events, which Perfetto and Chrome open: nodes one behind the other
 * in their modules, as long as they took, else as their floors. Of the view
 * nothing is read. */
CFX_API cfx_status cfx_roofline_print_dot(cfx_sink to, const cfx_roofline *r,
                                          const cfx_roofline_view *view,
                                          cfx_error *err);
CFX_API cfx_status cfx_roofline_print_trace(cfx_sink to, const cfx_roofline *r,
                                            const cfx_roofline_view *view,
                                            cfx_error *err);

typedef enum cfx_roofline_format {
    CFX_ROOFLINE_TEXT, CFX_ROOFLINE_MARKDOWN, CFX_ROOFLINE_CSV,
    CFX_ROOFLINE_JSON
} cfx_roofline_format;

/*
 * What changed against another roofline: the nodes that differ, known by their
 * names, and the totals. Measured times differ by 5 % at least. JSON is of the
 * schema "cfx.roofline.compared/1". `was_model` is what the other's model is
 * called; it may be NULL. Fails with CFX_ENOMEM, and as the sink does.
 */
CFX_API cfx_status cfx_roofline_compare(cfx_sink to, const cfx_roofline *r,
                                        const cfx_roofline *was,
                                        const char *was_model,
                                        cfx_roofline_format format,
                                        const cfx_roofline_view *view,
                                        cfx_error *err);
/* Compare with a report that was printed as JSON, which is given as its text.
 * Fails with CFX_EPARSE, CFX_EINVAL for another document, CFX_ENOMEM, and
 * as the sink does. */
CFX_API cfx_status cfx_roofline_compare_document(
    cfx_sink to, const cfx_roofline *r, const char *json, size_t len,
    cfx_roofline_format format, const cfx_roofline_view *view,
    cfx_error *err);

/* The columns there are: name i, or NULL; what it says in *title, which may be
 * NULL. */
CFX_API const char *cfx_roofline_column(size_t i, const char **title);
/* The name of the column that is called so, or by its key in CSV, or NULL. */
CFX_API const char *cfx_roofline_find_column(const char *name, size_t len);

CFX_END_DECLS

#endif
