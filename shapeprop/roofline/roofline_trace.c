/*
 * roofline_trace -- a run as Chrome trace events, which Perfetto opens.
 *
 * Nodes follow each other, each with its measured time or else its floor,
 * within their modules. If times were measured, floors are shown below. Live
 * bytes are a counter. Times are in microseconds.
 */
#include "shapeprop/roofline/roofline_json.h"

typedef struct tracing {
    const cfx_roofline *r;
    json_t *events;
    double at;        /* microseconds */
    int64_t open[64]; /* open groups, outermost first */
    int depth;
} tracing;

enum { NODES = 1, FLOORS = 2, MOST_DEPTH = 64 };

static void add(tracing *t, json_t *event)
{
    if (t->events && json_array_append_new(t->events, event)) {
        json_decref(t->events);
        t->events = NULL;
    }
}

/* {"name": , "ph": , "ts": , "pid": 1, "tid": } */
static json_t *event(const tracing *t, const char *name, const char *phase,
                     int tid)
{
    json_t *text = cfx_json_text(name, strlen(name));
    return text ? json_pack("{s:o, s:s, s:f, s:i, s:i}", "name", text, "ph",
                            phase, "ts", t->at, "pid", 1, "tid", tid)
                : NULL;
}

static json_t *with(json_t *e, const char *key, json_t *v)
{
    if (e && !json_object_set_new(e, key, v))
        return e;
    json_decref(e);
    return NULL;
}

static void name_thread(tracing *t, const char *name, int tid)
{
    json_t *e = event(t, "thread_name", "M", tid);
    add(t, with(e, "args", json_pack("{s:s}", "name", name)));
}

/* ---- Modules ---- */

static const char *key_of(const tracing *t, int64_t group)
{
    const char *key = t->r->modules.group[group].key;
    return *key ? key : "(model)";
}

static void close_to(tracing *t, int depth)
{
    while (t->depth > depth) {
        int64_t group = t->open[--t->depth];
        add(t, event(t, key_of(t, group), "E", NODES));
    }
}

/* Find the path of a group, outermost first, up to a maximal depth. */
static int path_of(const tracing *t, int64_t group, int64_t *path)
{
    const cfx_cost_groups *g = &t->r->modules;
    int n = 0, depth = 0;
    for (int64_t k = group; k >= 0; k = g->group[k].parent)
        depth++;
    for (int64_t k = group; k >= 0; k = g->group[k].parent)
        if (--depth < MOST_DEPTH) {
            path[depth] = k;
            n = n > depth + 1 ? n : depth + 1;
        }
    return n;
}

static void enter(tracing *t, int64_t group)
{
    int64_t path[MOST_DEPTH];
    int n = path_of(t, group, path), same = 0;
    while (same < n && same < t->depth && path[same] == t->open[same])
        same++;
    close_to(t, same);
    for (; t->depth < n; t->depth++) {
        add(t, event(t, key_of(t, path[t->depth]), "B", NODES));
        t->open[t->depth] = path[t->depth];
    }
}

/* ---- Nodes ---- */

static json_t *dim_or_null(cfx_dim d)
{
    return cfx_dim_is_bad(d) ? json_null() : cfx_json_dim(d);
}

static json_t *arguments(const cfx_roofline_node *n)
{
    json_t *a = json_object();
    a = with(a, "macs", dim_or_null(n->cost->cost.macs));
    a = with(a, "flops", dim_or_null(n->flops));
    a = with(a, "bytes_read", dim_or_null(n->cost->cost.bytes_read));
    a = with(a, "bytes_written", dim_or_null(n->cost->cost.bytes_written));
    a = with(a, "bound", json_string(cfx_bound_names[n->floor.bound]));
    return with(a, "floor_seconds", json_real(n->floor.seconds));
}

static void add_node(tracing *t, size_t i)
{
    const cfx_roofline_node *n = &t->r->node[i];
    const cfx_node *g = n->cost->node;
    double floor = 1e6 * n->floor.seconds;
    double length = t->r->runs ? 1e6 * n->seconds : floor;
    json_t *e;
    int64_t in = t->r->modules.of[i];
    if (in >= 0 && g->op == CFX_CALL_MODULE) /* the node calls that module */
        in = t->r->modules.group[in].parent;
    if (in >= 0)
        enter(t, in);
    e = event(t, g->name, "X", NODES);
    e = with(e, "dur", json_real(length));
    e = with(e, "cat", json_string(cfx_opcode_names[g->op]));
    add(t, with(e, "args", arguments(n)));
    if (t->r->runs && t->r->rates) {
        e = event(t, g->name, "X", FLOORS);
        add(t, with(e, "dur", json_real(floor)));
    }
    if (cfx_dim_is_int(n->live_bytes)) {
        e = event(t, "live bytes", "C", NODES);
        add(t, with(e, "args",
                    json_pack("{s:I}", "bytes",
                              (json_int_t)cfx_dim_value(n->live_bytes))));
    }
    t->at += length;
}

cfx_status cfx_roofline_print_trace(cfx_sink to, const cfx_roofline *r,
                                    const cfx_roofline_view *view,
                                    cfx_error *err)
{
    tracing t = {.r = r, .events = json_array()};
    (void)view;
    if (!r->known)
        return json_decref(t.events),
               cfx_fail(
                   err, CFX_EINVAL,
                   "a trace has times, which need extents that are numbers");
    name_thread(&t, r->runs ? "measured" : "floors", NODES);
    if (r->runs && r->rates)
        name_thread(&t, "floors", FLOORS);
    for (size_t i = 0; i < r->nnodes; i++)
        add_node(&t, i);
    close_to(&t, 0);
    json_t *whole = t.events ? json_pack("{s:s, s:o}", "displayTimeUnit", "ns",
                                         "traceEvents", t.events)
                             : NULL;
    return cfx_json__write(to, whole, err);
}
