/*
 * report_read -- a roofline document, as far as a picture needs it.
 *
 * All numbers are read as doubles, which the axes need anyway. Whoever wrote
 * the document may have left out what it did not know, so that what is missing
 * is not an error, but an array in place of an object is.
 */
#include "shapeprop/machine_impl.h"
#include "shapeprop/report_impl.h"

#include <math.h>
#include <stdlib.h>

/* ---- Parts of the document ---- */

static double number(const json_t *v)
{
    double d = json_is_number(v) ? json_number_value(v) : NAN;
    return isfinite(d) ? d : NAN;
}

static double member(const json_t *object, const char *key)
{
    return number(json_object_get(object, key));
}

static const char *text_member(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* What a member is, unless it is missing or null. */
typedef enum shape { OBJECT, ARRAY, OBJECTS /* an array of them */ } shape;

static cfx_status check_member(const json_t *in, const char *key, shape want,
                               cfx_error *err)
{
    const json_t *v = json_object_get(in, key);
    if (!v || json_is_null(v))
        return CFX_OK;
    if (want == OBJECT)
        return json_is_object(v) ? CFX_OK
                                 : cfx_fail(err, CFX_EINVAL,
                                            "'%s' is no object", key);
    if (!json_is_array(v))
        return cfx_fail(err, CFX_EINVAL, "'%s' is no array", key);
    for (size_t i = 0; want == OBJECTS && i < json_array_size(v); i++)
        if (!json_is_object(json_array_get(v, i)))
            return cfx_fail(err, CFX_EINVAL, "item %zu of '%s' is no object",
                            i, key);
    return CFX_OK;
}

static cfx_status check_nodes(const json_t *nodes, cfx_error *err)
{
    if (!json_is_array(nodes))
        return cfx_fail(err, CFX_EINVAL, "'nodes' is no array");
    for (size_t i = 0; i < json_array_size(nodes); i++)
        if (!text_member(json_array_get(nodes, i), "name"))
            return cfx_fail(err, CFX_EINVAL, "item %zu of 'nodes' has no name",
                            i);
    return CFX_OK;
}

cfx_status cfx_report__check(const json_t *json, cfx_error *err)
{
    static const struct { const char *key; shape shape; } members[] = {
        {"inputs", OBJECT}, {"symbols", OBJECT}, {"guards", ARRAY},
        {"machine", OBJECT}, {"nodes", OBJECTS}, {"modules", OBJECTS},
        {"total", OBJECT}, {"turning_points", OBJECTS}, {"sweep", OBJECTS},
    };
    const json_t *machine = json_object_get(json, "machine");
    const char *schema = text_member(json, "schema");
    cfx_status st = CFX_OK;
    if (!schema)
        return cfx_fail(err, CFX_EINVAL, "no document of the schema "
                        "\"cfx.roofline/1\"");
    if (strcmp(schema, "cfx.roofline/1"))
        return cfx_fail(err, CFX_EINVAL, "the document's schema is \"%s\", not "
                        "\"cfx.roofline/1\"", schema);
    for (size_t i = 0; !st && i < sizeof(members) / sizeof(*members); i++)
        st = check_member(json, members[i].key, members[i].shape, err);
    if (!st)
        st = check_member(machine, "levels", OBJECTS, err);
    if (!st)
        st = check_member(machine, "peak_flops_per_second", OBJECT, err);
    return st ? st : check_nodes(json_object_get(json, "nodes"), err);
}

/* ---- Operators ---- */

static bool begins(const char *s, const char *prefix)
{
    return !strncmp(s, prefix, strlen(prefix));
}

/* "linear" of torch.nn.functional.linear, "conv2d" of aten.conv2d.default. */
static const char *short_target(const char *target, size_t *len)
{
    const char *end = target + strlen(target), *dot = strrchr(target, '.');
    if (dot && (begins(target, "aten.") || begins(target, "torch.ops."))) {
        end = dot;
        while (dot > target && dot[-1] != '.')
            dot--;
        *len = (size_t)(end - dot);
        return dot;
    }
    if (dot && dot[1])
        target = dot + 1;
    *len = (size_t)(end - target);
    return target;
}

/* What a node does: the type of the module that it calls, or its function. */
static const char *operator_of(const json_t *node, const cfx_map *types,
                               size_t *len)
{
    const char *op = text_member(node, "op");
    const char *target = text_member(node, "target");
    const char *name = text_member(node, "operator");
    op = op ? op : "";
    name = name ? name : target ? target : "";
    if (!strcmp(op, "call_module")) {
        const cfx_map_entry *e =
            target ? cfx_map_get(types, target, strlen(target)) : NULL;
        if (e && name == target)
            name = e->v.p;
    }
    if (begins(op, "call_"))
        return short_target(name, len);
    *len = strlen(op);
    return op;
}

/* The types of modules, by path. */
static bool map_types(cfx_map *types, const json_t *modules)
{
    for (size_t i = 0; i < json_array_size(modules); i++) {
        const json_t *m = json_array_get(modules, i);
        const char *path = text_member(m, "path");
        const char *type = text_member(m, "type");
        if (!path || !type)
            continue;
        cfx_map_entry *e = cfx_map_put(types, path, strlen(path), NULL);
        if (!e)
            return false;
        e->v.p = (void *)(uintptr_t)type;
    }
    return true;
}

static bool add_to_kind(cfx_report *r, cfx_map *kinds, cfx_report_node *n)
{
    bool added;
    cfx_map_entry *e = cfx_map_put(kinds, n->what, n->what_len, &added);
    if (!e)
        return false;
    if (added) {
        e->v.u = r->nkinds;
        r->kind[r->nkinds++] = (cfx_report_kind){.name = n->what,
                                                 .len = n->what_len};
    }
    r->kind[e->v.u].nodes++;
    r->kind[e->v.u].time += n->time;
    return true;
}

static int by_time(const void *a, const void *b)
{
    const cfx_report_kind *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? 1 : -1;
    size_t len = x->len < y->len ? x->len : y->len;
    int order = memcmp(x->name, y->name, len);
    return order ? order : x->len < y->len ? -1 : x->len > y->len;
}

/* Kinds by falling time, and the last ones as one. */
static void sort_kinds(cfx_report *r, cfx_map *kinds)
{
    if (r->nkinds > 1)
        qsort(r->kind, r->nkinds, sizeof(*r->kind), by_time);
    for (size_t i = 0; i < r->nkinds; i++)
        cfx_map_get(kinds, r->kind[i].name, r->kind[i].len)->v.u = i;
    for (size_t i = 0; i < r->nnodes; i++) {
        cfx_report_node *n = &r->node[i];
        uint64_t at = cfx_map_get(kinds, n->what, n->what_len)->v.u;
        n->kind = at < CFX_REPORT_LOOKS ? (uint32_t)at : CFX_REPORT_LOOKS - 1;
    }
    if (r->nkinds <= CFX_REPORT_LOOKS)
        return;
    cfx_report_kind *last = &r->kind[CFX_REPORT_LOOKS - 1];
    for (size_t i = CFX_REPORT_LOOKS; i < r->nkinds; i++) {
        last->nodes += r->kind[i].nodes;
        last->time += r->kind[i].time;
    }
    last->name = "others";
    last->len = strlen(last->name);
    r->nkinds = CFX_REPORT_LOOKS;
}

/* ---- Nodes ---- */

static bool is_formula(const json_t *node, const char *key)
{
    return json_is_string(json_object_get(node, key));
}

/* Has it a place on axes that are logarithms? */
static bool place_node(cfx_report_node *n, double flops, double bytes)
{
    n->intensity = flops / bytes;
    n->rate = flops / n->time;
    return n->time > 0 && n->intensity > 0 && n->rate > 0 &&
           isfinite(n->intensity) && isfinite(n->rate) &&
           isfinite(n->time);
}

/* False where a node cannot be drawn; then it is counted. */
static bool read_node(cfx_report *r, cfx_report_node *n, const json_t *node)
{
    double flops = member(node, "flops");
    double bytes = member(node, "bytes_read") + member(node, "bytes_written");
    *n = (cfx_report_node){
        .name = text_member(node, "name"),
        .bound = text_member(node, "bound"),
        .time = member(node, r->measured ? "seconds" : "floor_seconds"),
        .efficiency = member(node, "efficiency"),
    };
    if (n->time > 0)
        r->time += n->time;
    if (is_formula(node, "flops") || is_formula(node, "bytes_read") ||
        is_formula(node, "bytes_written"))
        r->symbolic = true;
    if (flops <= 0)
        r->no_flops++;
    else if (bytes <= 0)
        r->no_bytes++;
    else if (place_node(n, flops, bytes))
        return true;
    else
        r->no_number++;
    return false;
}

static bool any_seconds(const json_t *nodes)
{
    for (size_t i = 0; i < json_array_size(nodes); i++)
        if (member(json_array_get(nodes, i), "seconds") > 0)
            return true;
    return false;
}

static int by_falling_time(const void *a, const void *b)
{
    const cfx_report_node *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? 1 : -1;
    return strcmp(x->name, y->name);
}

static bool read_nodes(cfx_report *r, cfx_map *types, cfx_map *kinds)
{
    const json_t *nodes = json_object_get(r->json, "nodes");
    size_t n = json_array_size(nodes);
    r->node = cfx_arena_alloc(&r->arena, (n + 1) * sizeof(*r->node));
    r->kind = cfx_arena_alloc(&r->arena, (n + 1) * sizeof(*r->kind));
    if (!r->node || !r->kind ||
        !map_types(types, json_object_get(r->json, "modules")))
        return false;
    r->measured = any_seconds(nodes);
    for (size_t i = 0; i < n; i++) {
        const json_t *node = json_array_get(nodes, i);
        cfx_report_node *to = &r->node[r->nnodes];
        if (!read_node(r, to, node))
            continue;
        to->what = operator_of(node, types, &to->what_len);
        if (!add_to_kind(r, kinds, to))
            return false;
        r->nnodes++;
    }
    sort_kinds(r, kinds);
    if (r->nnodes > 1)
        qsort(r->node, r->nnodes, sizeof(*r->node), by_falling_time);
    return true;
}

/* ---- The machine ---- */

static int by_rate(const void *a, const void *b)
{
    const cfx_report_ceiling *x = a, *y = b;
    return x->rate != y->rate ? (x->rate < y->rate ? 1 : -1)
                              : strcmp(x->name, y->name);
}

static bool has_dtype(const json_t *nodes, const char *dtype)
{
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        const char *have = text_member(json_array_get(nodes, i), "dtype");
        if (have && !strcmp(have, dtype))
            return true;
    }
    return false;
}

/* The peaks of the data types that the nodes compute in; else of all. */
static bool read_peaks(cfx_report *r, const json_t *peaks, bool all)
{
    const json_t *nodes = json_object_get(r->json, "nodes");
    const char *key;
    json_t *value;
    r->npeaks = 0;
    r->peak = cfx_arena_alloc(&r->arena, (json_object_size(peaks) + 1) *
                                             sizeof(*r->peak));
    if (!r->peak)
        return false;
    json_object_foreach((json_t *)(uintptr_t)peaks, key, value) {
        if (number(value) > 0 && (all || has_dtype(nodes, key)))
            r->peak[r->npeaks++] = (cfx_report_ceiling){key, number(value)};
    }
    if (!r->npeaks && !all)
        return read_peaks(r, peaks, true);
    if (r->npeaks > 1)
        qsort(r->peak, r->npeaks, sizeof(*r->peak), by_rate);
    if (r->npeaks > CFX_REPORT_CEILINGS)
        r->npeaks = CFX_REPORT_CEILINGS;
    return true;
}

/* The best that was seen of a level: nothing moves more. */
static double bandwidth(const json_t *level)
{
    char key[CFX_MACHINE_KEY];
    double best = 0;
    for (int k = 0; k < CFX_MACHINE_KERNELS; k++) {
        cfx_machine__rate_key(key, (cfx_machine_kernel)k);
        best = fmax(best, member(level, key));
    }
    return best;
}

/* Levels that are equally fast are one ceiling: "L1, L2". */
static bool join_levels(cfx_report *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->nlevels; i++) {
        cfx_report_ceiling *last = &r->level[n ? n - 1 : 0];
        const cfx_report_ceiling *c = &r->level[i];
        if (!n || c->rate <= last->rate * 0.99) {
            r->level[n++] = *c;
            continue;
        }
        size_t a = strlen(last->name), b = strlen(c->name);
        char *name = cfx_arena_alloc(&r->arena, a + b + 3);
        if (!name)
            return false;
        memcpy(name, last->name, a);
        memcpy(name + a, ", ", 2);
        memcpy(name + a + 2, c->name, b + 1);
        last->name = name;
    }
    r->nlevels = n;
    return true;
}

static bool read_levels(cfx_report *r, const json_t *levels)
{
    size_t n = json_array_size(levels);
    r->level = cfx_arena_alloc(&r->arena, (n + 1) * sizeof(*r->level));
    if (!r->level)
        return false;
    for (size_t i = 0; i < n; i++) {
        const json_t *level = json_array_get(levels, i);
        const char *name = text_member(level, "level");
        double rate = bandwidth(level);
        if (name && rate > 0)
            r->level[r->nlevels++] = (cfx_report_ceiling){name, rate};
    }
    if (r->nlevels > 1)
        qsort(r->level, r->nlevels, sizeof(*r->level), by_rate);
    if (r->nlevels > CFX_REPORT_CEILINGS)
        r->nlevels = CFX_REPORT_CEILINGS;
    return join_levels(r);
}

static bool read_machine(cfx_report *r)
{
    const json_t *machine = json_object_get(r->json, "machine");
    double threads = member(machine, "threads");
    r->model = text_member(r->json, "model");
    r->machine = text_member(machine, "name");
    r->threads = threads >= 1 && threads <= 1e6 ? (int64_t)threads : 0;
    return read_peaks(r, json_object_get(machine, "peak_flops_per_second"),
                      false) &&
           read_levels(r, json_object_get(machine, "levels"));
}

/* ---- The whole ---- */

cfx_status cfx_report__read(cfx_report *r, cfx_context *ctx, const char *json,
                            size_t len, cfx_error *err)
{
    json_error_t why;
    cfx_map types, kinds;

    *r = (cfx_report){.text = json, .text_len = len};
    cfx_arena_init(&r->arena, ctx);
    r->json = json_loadb(json, len, JSON_DECODE_INT_AS_REAL, &why);
    if (!r->json && json_error_code(&why) == json_error_out_of_memory)
        return cfx_no_memory(err);
    if (!r->json)
        return cfx_fail(err, CFX_EPARSE, "%d:%d: %s", why.line, why.column,
                        why.text);
    cfx_status st = cfx_report__check(r->json, err);
    if (st)
        return st;
    cfx_map_init(&types, ctx);
    cfx_map_init(&kinds, ctx);
    if (!read_machine(r) || !read_nodes(r, &types, &kinds))
        st = cfx_no_memory(err);
    cfx_map_release(&types);
    cfx_map_release(&kinds);
    return st;
}

void cfx_report__release(cfx_report *r)
{
    json_decref(r->json);
    cfx_arena_release(&r->arena);
}

cfx_status cfx_report__print(cfx_sink to, cfx_context *ctx, const char *json,
                             size_t len,
                             void (*put)(cfx_out *o, cfx_report *report),
                             cfx_error *err)
{
    cfx_report r;
    cfx_status st = cfx_report__read(&r, ctx, json, len, err);
    if (!st) {
        cfx_out out;
        cfx_out_init(&out, to);
        put(&out, &r);
        st = cfx_out_finish(&out, err);
    }
    cfx_report__release(&r);
    return st;
}
