/*
 * roofline_json -- a report as a document of the schema "cfx.roofline/1".
 *
 * Unknown numbers are null; expressions are strings. A node takes some kilobytes
 * as an object, so documents that are printed have them one at a time.
 */
#include "shapeprop/roofline/roofline_json.h"

#include <math.h>

#include "format/print.h"
#include "shapeprop/machine/machine_impl.h"

/* ---- Building objects: a missing value means lack of memory ---- */

static void put(cfx_json_object *o, const char *key, json_t *v)
{
    if (o->json && json_object_set_new(o->json, key, v)) {
        json_decref(o->json);
        o->json = NULL;
    }
}

static void put_text(cfx_json_object *o, const char *key, const char *s)
{
    put(o, key, s ? cfx_json_text(s, strlen(s)) : json_null());
}

static void put_dim(cfx_json_object *o, const char *key, cfx_dim d)
{
    put(o, key, cfx_dim_is_bad(d) ? json_null() : cfx_json_dim(d));
}

/* A negative number is unknown. */
static void put_real(cfx_json_object *o, const char *key, double x)
{
    put(o, key, x >= 0 && isfinite(x) ? json_real(x) : json_null());
}

static void append(json_t **to, cfx_json_object o)
{
    if (*to && json_array_append_new(*to, o.json)) {
        json_decref(*to);
        *to = NULL;
    }
}

static cfx_json_object object(void)
{
    return (cfx_json_object){json_object()};
}

/* ---- Counts ---- */

static void put_cost(cfx_json_object *o, cfx_shape_env *env, const cfx_cost *c)
{
    put_dim(o, "macs", c->macs);
    put_dim(o, "flops", cfx_cost_flops(env, c));
    put_dim(o, "ops", c->ops);
    put_dim(o, "transcendental", c->transcendental);
    put_dim(o, "bytes_read", c->bytes_read);
    put_dim(o, "bytes_written", c->bytes_written);
}

static void put_sum(cfx_json_object *o, const cfx_roofline *r,
                    const cfx_roofline_sum *s)
{
    put_cost(o, r->env, &s->cost.cost);
    put_dim(o, "parameters", s->cost.parameters);
    put_dim(o, "parameter_bytes", s->cost.parameter_bytes);
    put_real(o, "floor_seconds", r->rates ? s->floor : -1);
    put_real(o, "seconds", r->runs ? s->seconds : -1);
}

/* ---- Nodes ---- */

static const char *path_of(const cfx_roofline *r, size_t i)
{
    int64_t at = r->modules.of[i];
    return at < 0 ? "" : r->modules.group[at].key;
}

static double intensity(const cfx_roofline_node *n)
{
    if (!cfx_dim_is_int(n->flops) || !cfx_dim_is_int(n->bytes) ||
        cfx_dim_is(n->bytes, 0))
        return -1;
    return (double)cfx_dim_value(n->flops) / (double)cfx_dim_value(n->bytes);
}

static void put_floor(cfx_json_object *o, const cfx_roofline *r,
                      const cfx_roofline_node *n)
{
    const cfx_roofline_floor *f = &n->floor;
    bool known = r->rates && f->bound != CFX_BOUND_UNKNOWN;
    put_real(o, "intensity", intensity(n));
    put_text(o, "bound", known ? cfx_bound_names[f->bound] : NULL);
    put_text(o, "level",
             known && f->level >= 0 ? r->rates->level[f->level].name : NULL);
    put_real(o, "ridge", known && f->ridge > 0 ? f->ridge : -1);
    put_real(o, "floor_seconds", known ? f->seconds : -1);
    put_real(o, "seconds", r->runs ? n->seconds : -1);
    put_real(o, "efficiency", cfx_roofline_efficiency(n));
    put_real(o, "share", cfx_roofline_share(r, n));
}

static cfx_json_object node(const cfx_roofline *r, size_t i)
{
    const cfx_roofline_node *n = &r->node[i];
    const cfx_node *g = n->cost->node;
    cfx_json_object o = object();
    put_text(&o, "name", g->name);
    put_text(&o, "op", cfx_opcode_names[g->op]);
    put_text(&o, "target", g->target->text);
    put_text(&o, "operator", cfx_cost_operator(g, r->gm));
    put_text(&o, "module_path", path_of(r, i));
    put(&o, "value", cfx_json_value(n->cost->value));
    put_text(&o, "dtype",
             n->cost->calls ? cfx_dtypes[n->cost->dtype].name : NULL);
    put_cost(&o, r->env, &n->cost->cost);
    put_text(&o, "algorithm",
             !n->cost->calls      ? NULL
             : n->cost->algorithm ? n->cost->algorithm
                                  : "direct");
    put_floor(&o, r, n);
    put_dim(&o, "live_bytes", n->live_bytes);
    return o;
}

static json_t *nodes(const cfx_roofline *r)
{
    json_t *a = json_array();
    for (size_t i = 0; a && i < r->nnodes; i++)
        append(&a, node(r, i));
    return a;
}

/* ---- Groups ---- */

static json_t *modules(const cfx_roofline *r)
{
    json_t *a = json_array();
    for (size_t i = 0; a && i < r->modules.n; i++) {
        const cfx_cost_group *g = &r->modules.group[i];
        cfx_json_object o = object();
        put_text(&o, "path", g->key);
        put_text(&o, "type", g->type);
        put(&o, "depth", json_integer(g->depth));
        put(&o, "nodes", json_integer((json_int_t)g->sum.nodes));
        put_sum(&o, r, &r->module_sum[i]);
        append(&a, o);
    }
    return a;
}

static json_t *operators(const cfx_roofline *r)
{
    json_t *a = json_array();
    for (size_t i = 0; a && i < r->operators.n; i++) {
        const cfx_cost_group *g = &r->operators.group[i];
        cfx_json_object o = object();
        put_text(&o, "operator", g->key);
        put(&o, "nodes", json_integer((json_int_t)g->sum.nodes));
        put_sum(&o, r, &r->operator_sum[i]);
        append(&a, o);
    }
    return a;
}

static json_t *bounds(const cfx_roofline *r)
{
    json_t *a = json_array();
    for (int i = 0; a && i < CFX_NBOUNDS; i++) {
        const cfx_roofline_sum *s = &r->bound_sum[i];
        cfx_json_object o;
        if (!s->cost.nodes)
            continue;
        o = object();
        put_text(&o, "bound", cfx_bound_names[i]);
        put(&o, "nodes", json_integer((json_int_t)s->cost.nodes));
        put_cost(&o, r->env, &s->cost.cost);
        put_real(&o, "floor_seconds", r->rates ? s->floor : -1);
        put_real(&o, "seconds", r->runs ? s->seconds : -1);
        append(&a, o);
    }
    return a;
}

static cfx_json_object total(const cfx_roofline *r)
{
    cfx_json_object o = object();
    put_cost(&o, r->env, &r->total.cost.cost);
    put_dim(&o, "parameters", r->total.cost.parameters);
    put_dim(&o, "parameter_bytes", r->total.cost.parameter_bytes);
    put_dim(&o, "buffer_bytes", r->total.cost.buffer_bytes);
    put_dim(&o, "peak_memory_bytes", r->peak_bytes);
    put_real(&o, "floor_seconds", r->rates ? r->total.floor : -1);
    put_real(&o, "seconds", r->runs ? r->run_seconds : -1);
    put_real(&o, "nodes_seconds", r->runs ? r->total.seconds : -1);
    put_real(&o, "efficiency",
             r->runs && r->rates && r->run_seconds > 0
                 ? r->total.floor / r->run_seconds
                 : -1);
    return o;
}

/* ---- Results along a symbol ---- */

static json_t *crossovers(const cfx_roofline *r)
{
    json_t *a = json_array();
    for (size_t i = 0; a && i < r->ncrossovers; i++) {
        const cfx_crossover *t = &r->crossover[i];
        cfx_json_object o = object();
        put_text(&o, "node", r->node[t->row].cost->node->name);
        put_text(&o, "symbol", r->symbol);
        put(&o, "from", json_integer(t->at));
        put_text(&o, "bound", cfx_bound_names[t->after]);
        put_text(&o, "bound_before", cfx_bound_names[t->before]);
        append(&a, o);
    }
    return a;
}

/* Counts are whole numbers; a negative one is unknown. */
static void put_whole(cfx_json_object *o, const char *key, double x)
{
    put_dim(o, key,
            x < 0 || x > (double)CFX_DIM_MAX ? CFX_DIM_BAD
                                             : cfx_dim_int((int64_t)x));
}

static json_t *sweep(const cfx_roofline *r)
{
    json_t *a = json_array();
    for (size_t i = 0; a && i < r->npoints; i++) {
        const cfx_roofline_point *p = &r->point[i];
        cfx_json_object o = object();
        put(&o, r->swept, json_integer(p->at));
        put_whole(&o, "macs", p->macs);
        put_whole(&o, "flops", p->flops);
        put_whole(&o, "bytes", p->bytes);
        put_whole(&o, "peak_memory_bytes", p->peak_bytes);
        put_real(&o, "floor_seconds", p->floor);
        put_real(&o, "compute_bound_seconds",
                 p->floor < 0 ? -1 : p->floor_of[CFX_BOUND_COMPUTE]);
        put_real(&o, "memory_bound_seconds",
                 p->floor < 0 ? -1 : p->floor_of[CFX_BOUND_MEMORY]);
        append(&a, o);
    }
    return a;
}

/* ---- The machine ---- */

static double or_unknown(double x)
{
    return x > 0 ? x : -1;
}

static json_t *levels(const cfx_machine_rates *r)
{
    json_t *a = json_array();
    for (int i = 0; a && i < r->nlevels; i++) {
        const cfx_machine_level *l = &r->level[i];
        cfx_json_object o = object();
        char key[CFX_MACHINE_KEY];
        put_text(&o, "level", l->name);
        put(&o, "bytes", l->bytes > 0 ? json_integer(l->bytes) : json_null());
        if (l->threads_sharing > 1)
            put(&o, "threads_sharing", json_integer(l->threads_sharing));
        for (int k = 0; k < CFX_MACHINE_KERNELS; k++) {
            cfx_machine__rate_key(key, (cfx_machine_kernel)k);
            put_real(&o, key, or_unknown(l->rate[k]));
        }
        put_real(&o, "spread", l->spread);
        append(&a, o);
    }
    return a;
}

static json_t *machine(const cfx_roofline *r)
{
    cfx_json_object o, peak;
    if (!r->rates)
        return json_null();
    o = object();
    peak = object();
    for (int t = 0; t < CFX_MACHINE_TYPES; t++)
        if (r->rates->peak[t] > 0)
            put_real(&peak, cfx_machine_type_name((cfx_machine_type)t),
                     r->rates->peak[t]);
    put_text(&o, "name", r->machine->name);
    if (r->machine->doubt)
        put_text(&o, "doubt", r->machine->doubt);
    put(&o, "threads", json_integer(r->rates->threads));
    put(&o, "peak_flops_per_second", peak.json);
    put(&o, "levels", levels(r->rates));
    return o.json;
}

/* ---- The document ---- */

static json_t *inputs(const cfx_roofline *r)
{
    cfx_json_object o = object();
    for (size_t i = 0; i < r->nnodes; i++) {
        const cfx_cost_node *c = r->node[i].cost;
        if (c->node->op == CFX_PLACEHOLDER)
            put(&o, c->node->name, cfx_json_value(c->value));
    }
    return o.json;
}

/* What stands before the nodes, and after them. */
static json_t *begin(const cfx_roofline *r, const char *model)
{
    cfx_json_object o = object();
    put_text(&o, "schema", "cfx.roofline/1");
    put_text(&o, "model", model);
    put(&o, "inputs", inputs(r));
    put(&o, "symbols", cfx_json_symbols(r->env));
    put(&o, "guards", cfx_json_guards(r->env));
    put(&o, "machine", machine(r));
    put(&o, "runs", json_integer(r->runs));
    return o.json;
}

static json_t *end(const cfx_roofline *r)
{
    cfx_json_object o = object();
    put(&o, "modules", modules(r));
    put(&o, "operators", operators(r));
    put(&o, "bounds", bounds(r));
    put(&o, "total", total(r).json);
    if (r->ncrossovers)
        put(&o, "turning_points", crossovers(r));
    if (r->npoints)
        put(&o, "sweep", sweep(r));
    return o.json;
}

json_t *cfx_roofline__json(const cfx_roofline *r, const char *model)
{
    cfx_json_object o = {begin(r, model)};
    json_t *rest = end(r);
    put(&o, "nodes", nodes(r));
    if (o.json && (!rest || json_object_update(o.json, rest))) {
        json_decref(o.json);
        o.json = NULL;
    }
    json_decref(rest);
    return o.json;
}

/* ---- The document, printed piece by piece ---- */

/* A line break and blanks, unless the document is compact. */
static void put_line(cfx_out *o, size_t blanks, bool compact)
{
    if (compact)
        return;
    cfx_out_putc(o, '\n');
    cfx_out_repeat(o, ' ', blanks);
}

/* Write an object that is `depth` deep and free it: whole, or without its first
 * or last bracket. NULL is lack of memory. */
static void put_object(cfx_out *o, json_t *j, size_t depth, bool first,
                       bool last, bool compact)
{
    size_t flags = compact ? JSON_COMPACT : JSON_INDENT(1);
    char *text = j ? json_dumps(j, flags | JSON_REAL_PRECISION(9)) : NULL;
    size_t n = text ? strlen(text) : 0;
    json_decref(j);
    if (!text)
        cfx_out_fail(o, CFX_ENOMEM);
    if (n && !last)
        n -= compact ? 1 : 2;
    for (size_t i = !first; i < n; i++)
        if (text[i] == '\n')
            put_line(o, depth, compact);
        else
            cfx_out_putc(o, text[i]);
    free(text);
}

void cfx_roofline__put_json(cfx_out *o, const cfx_roofline *r,
                            const char *model, bool compact)
{
    put_object(o, begin(r, model), 0, true, false, compact);
    cfx_out_putc(o, ',');
    put_line(o, 1, compact);
    cfx_out_puts(o, compact ? "\"nodes\":[" : "\"nodes\": [");
    for (size_t i = 0; i < r->nnodes && !o->status; i++) {
        cfx_out_puts(o, i ? "," : "");
        put_line(o, 2, compact);
        put_object(o, node(r, i).json, 2, true, true, compact);
    }
    if (r->nnodes)
        put_line(o, 1, compact);
    cfx_out_puts(o, "],");
    put_object(o, end(r), 0, false, true, compact);
    cfx_out_putc(o, '\n');
}

static int write_piece(const char *text, size_t len, void *user)
{
    cfx_sink *to = user;
    return to->write(to->user, text, len) ? -1 : 0;
}

cfx_status cfx_json__write(cfx_sink to, json_t *j, cfx_error *err)
{
    int failed;
    if (!j)
        return cfx_no_memory(err);
    failed = json_dump_callback(j, write_piece, &to,
                                JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    json_decref(j);
    if (!failed)
        failed = to.write(to.user, "\n", 1) != CFX_OK;
    return failed ? cfx_fail(err, CFX_EIO, "the document cannot be written")
                  : CFX_OK;
}

cfx_status cfx_roofline_print_json(cfx_sink to, const cfx_roofline *r,
                                   const cfx_roofline_view *view,
                                   cfx_error *err)
{
    cfx_out out;
    cfx_out_init(&out, to);
    cfx_roofline__put_json(&out, r, view->model, false);
    return cfx_out_finish(&out, err);
}
