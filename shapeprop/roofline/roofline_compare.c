/*
 * roofline_compare -- compare two reports, node by node and in total.
 *
 * Both are compared as JSON documents, so that either may be read from a file.
 * Nodes are matched by name.
 */
#include <math.h>
#include <stdio.h>

#include "format/json.h"
#include "shapeprop/roofline/roofline_json.h"
#include "shapeprop/roofline/roofline_table.h"
#include "shapeprop/text/grid.h"

typedef enum quantity {
    MACS,
    FLOPS,
    READ,
    WRITTEN,
    LIVE,
    FLOOR,
    SECONDS,
    QUANTITIES
} quantity;

/* The compared quantities; the last two are only in totals. */
static const struct quantity_name {
    const char *key, *total_key, *title;
    const char *unit;
} names[QUANTITIES] = {
    {"macs", "macs", "MACs", ""},
    {"flops", "flops", "FLOPs", ""},
    {"bytes_read", "bytes_read", "read", "B"},
    {"bytes_written", "bytes_written", "written", "B"},
    {"live_bytes", "peak_memory_bytes", "live", "B"},
    {"floor_seconds", "floor_seconds", "floor", "s"},
    {"seconds", "seconds", "time", "s"},
};

/* One node or total; unknown numbers are NaN. */
typedef struct side {
    const json_t *json; /* NULL: missing */
    double x[QUANTITIES];
} side;

typedef struct pair {
    const char *name;
    side now, was;
} pair;

typedef struct comparing {
    cfx_context *ctx;
    const json_t *now, *was;
    pair *pair;
    size_t n, cap;
} comparing;

static double number(const json_t *v)
{
    return json_is_number(v) ? json_number_value(v) : NAN;
}

static side read_side(const json_t *j, bool total)
{
    side s = {.json = j};
    for (int q = 0; q < QUANTITIES; q++)
        s.x[q] = number(
            json_object_get(j, total ? names[q].total_key : names[q].key));
    return s;
}

/* ---- Pairs ---- */

static const char *name_of(const json_t *node)
{
    const char *name = json_string_value(json_object_get(node, "name"));
    return name ? name : "";
}

static bool map_nodes(cfx_map *map, const json_t *nodes)
{
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        const char *name = name_of(json_array_get(nodes, i));
        cfx_map_entry *e = cfx_map_put(map, name, strlen(name), NULL);
        if (!e)
            return false;
        e->v.u = i + 1;
    }
    return true;
}

/* Pair the new nodes in order; removed ones come last. */
static cfx_status pair_up(comparing *c, cfx_error *err)
{
    const json_t *now = json_object_get(c->now, "nodes");
    const json_t *was = json_object_get(c->was, "nodes");
    size_t nnow = json_array_size(now), nwas = json_array_size(was);
    cfx_map in_now, in_was;
    cfx_map_init(&in_now, c->ctx);
    cfx_map_init(&in_was, c->ctx);
    c->cap = nnow + nwas + 1;
    c->pair = cfx_calloc(c->ctx, c->cap, sizeof(*c->pair));
    bool ok = c->pair && map_nodes(&in_now, now) && map_nodes(&in_was, was);
    for (size_t i = 0; ok && i < nnow; i++) {
        const json_t *n = json_array_get(now, i);
        const cfx_map_entry *e = cfx_map_get(&in_was, name_of(n),
                                             strlen(name_of(n)));
        const json_t *w = e ? json_array_get(was, e->v.u - 1) : NULL;
        c->pair[c->n++] = (pair){name_of(n), read_side(n, false),
                                 read_side(w, false)};
    }
    for (size_t i = 0; ok && i < nwas; i++) {
        const json_t *w = json_array_get(was, i);
        if (!cfx_map_get(&in_now, name_of(w), strlen(name_of(w))))
            c->pair[c->n++] = (pair){name_of(w), read_side(NULL, false),
                                     read_side(w, false)};
    }
    cfx_map_release(&in_now);
    cfx_map_release(&in_was);
    return ok ? CFX_OK : cfx_no_memory(err);
}

/* Counts must be equal, floors equal up to rounding; measurements always
 * vary. */
static bool differs(quantity q, double a, double b)
{
    double most = fmax(fabs(a), fabs(b));
    double slack = q == SECONDS ? 0.05 : q == FLOOR ? 1e-6 : 0;
    if (isnan(a) || isnan(b))
        return isnan(a) != isnan(b);
    return fabs(a - b) > slack * most;
}

/* Return the expression of a quantity, or NULL. */
static const char *formula(const side *s, quantity q, bool total)
{
    const char *key = total ? names[q].total_key : names[q].key;
    return json_string_value(json_object_get(s->json, key));
}

static bool pair_differs(const pair *p, quantity q, bool total)
{
    const char *now = formula(&p->now, q, total);
    const char *was = formula(&p->was, q, total);
    if (now && was)
        return strcmp(now, was) != 0;
    return now || was || differs(q, p->now.x[q], p->was.x[q]);
}

/* The time in which state is read says nothing about a model. */
static bool reads_state(const json_t *node)
{
    const char *op = json_string_value(json_object_get(node, "op"));
    return op && !strcmp(op, cfx_opcode_names[CFX_GET_ATTR]);
}

static bool changed(const pair *p)
{
    if (!p->now.json || !p->was.json)
        return true;
    for (int q = 0; q < QUANTITIES; q++)
        if ((q != SECONDS || !reads_state(p->now.json)) &&
            pair_differs(p, (quantity)q, false))
            return true;
    return !json_equal((json_t *)json_object_get(p->now.json, "value"),
                       (json_t *)json_object_get(p->was.json, "value"));
}

static bool total_differs(const pair *p)
{
    for (int q = 0; q < QUANTITIES; q++)
        if (pair_differs(p, (quantity)q, true))
            return true;
    return false;
}

/* ---- A table ---- */

typedef void put_fn(cfx_buf *b, const cfx_grid *g, int width);

/* A table under construction; `plain` for programs. */
typedef struct table {
    cfx_grid grid;
    bool plain;
} table;

static void add_quantity(table *t, const side *s, quantity q, bool total)
{
    char text[32] = "";
    const char *symbolic = formula(s, q, total);
    if (!isnan(s->x[q]) && t->plain && (q < FLOOR))
        snprintf(text, sizeof(text), "%.0f", s->x[q]);
    else if (!isnan(s->x[q]) && t->plain)
        cfx_float_repr(text, s->x[q]);
    else if (!isnan(s->x[q]))
        cfx_human(text, sizeof(text), s->x[q], names[q].unit);
    cfx_grid_add(&t->grid, symbolic ? symbolic : text);
}

/* Add "+12.3%", or 0.123; empty if one side is unknown. */
static void add_change(table *t, double now, double was)
{
    char text[48] = "", digits[32];
    cfx_cell c = {.kind = CFX_CELL_FRACTION};
    if (!isnan(now) && !isnan(was) && was > 0) {
        c.x = now / was - 1;
        if (t->plain) {
            cfx_float_repr(text, c.x);
            cfx_grid_add(&t->grid, text);
            return;
        }
        c.x = fabs(c.x) < 0.0005 ? 0 : c.x;
        cfx_cell__human(&c, digits, sizeof(digits));
        snprintf(text, sizeof(text), "%s%s", c.x > 0 ? "+" : "", digits);
    }
    cfx_grid_add(&t->grid, text);
}

/* Return the measured time if both sides have it, else the floor. */
static quantity time_of(const pair *p)
{
    return isnan(p->now.x[SECONDS]) || isnan(p->was.x[SECONDS]) ? FLOOR
                                                                : SECONDS;
}

/* Hide quantities that are equal in all shown rows. */
static void choose(const comparing *c, bool show[QUANTITIES])
{
    for (size_t i = 0; i < c->n; i++)
        for (int q = 0; q < QUANTITIES; q++)
            show[q] |= pair_differs(&c->pair[i], (quantity)q, false);
}

static void add_pair(table *to, const pair *p, const char *status,
                     const bool show[QUANTITIES], bool total)
{
    quantity t = time_of(p);
    cfx_grid_add(&to->grid, p->name);
    cfx_grid_add(&to->grid, status);
    for (int q = 0; q < QUANTITIES; q++)
        if (show[q]) {
            add_quantity(to, &p->was, (quantity)q, total);
            add_quantity(to, &p->now, (quantity)q, total);
        }
    add_change(to, p->now.x[t], p->was.x[t]);
}

static void add_columns(cfx_grid *g, const bool show[QUANTITIES])
{
    cfx_grid_add_column(g, (cfx_grid_column){"name", "name", true, 0});
    cfx_grid_add_column(g, (cfx_grid_column){"", "status", true, 5});
    for (int q = 0; q < QUANTITIES; q++)
        if (show[q]) {
            char *key = cfx_arena_alloc(&g->arena, 64);
            if (!key) {
                g->failed = true;
                return;
            }
            snprintf(key, 64, "%s_was", names[q].key);
            cfx_grid_add_column(g,
                                (cfx_grid_column){"was", key, false, 30 - q});
            cfx_grid_add_column(g,
                                (cfx_grid_column){names[q].title, names[q].key,
                                                  false, 20 - q});
        }
    cfx_grid_add_column(g, (cfx_grid_column){"change", "change", false, 0});
}

/* Return "" for a node that changed, since most do. */
static const char *status_of(const pair *p)
{
    return !p->was.json ? "added" : !p->now.json ? "removed" : "";
}

/* An unknown quantity cannot be compared. */
static bool lacks_floors(const comparing *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const pair *p = &c->pair[i];
        if (p->now.json && p->was.json &&
            (isnan(p->now.x[FLOOR]) || isnan(p->was.x[FLOOR])))
            return true;
    }
    return false;
}

/* Put a line below a table, or a paragraph in Markdown. */
static void put_note(cfx_buf *b, const char *text, put_fn *fn)
{
    cfx_buf_printf(b, fn == cfx_grid_put_markdown ? "\n%s\n" : "%s\n", text);
}

static bool put_pairs(cfx_buf *b, const comparing *c,
                      const cfx_roofline_view *view, put_fn *fn)
{
    bool show[QUANTITIES] = {false};
    size_t n = 0, all = 0;
    char cut[64];
    table t = {.plain = false};
    cfx_grid_init(&t.grid, c->ctx);
    choose(c, show);
    add_columns(&t.grid, show);
    for (size_t i = 0; i < c->n; i++) {
        if (!changed(&c->pair[i]))
            continue;
        all++;
        if (!view->top || n < view->top) {
            add_pair(&t, &c->pair[i], status_of(&c->pair[i]), show, false);
            n++;
        }
    }
    if (n && !t.grid.failed)
        fn(b, &t.grid, view->width);
    snprintf(cut, sizeof(cut), "(%zu of %zu)", n, all);
    if (n < all)
        put_note(b, cut, fn);
    if (!all)
        put_note(b, "no node changed", fn);
    if (lacks_floors(c))
        put_note(b, "not all floors are known", fn);
    bool ok = !t.grid.failed;
    cfx_grid_release(&t.grid);
    return ok;
}

static const char *text_of(const json_t *doc, const char *a, const char *b)
{
    const json_t *j = json_object_get(doc, a);
    const char *s = json_string_value(b ? json_object_get(j, b) : j);
    return s ? s : "-";
}

static pair total_of(const comparing *c)
{
    return (pair){"total", read_side(json_object_get(c->now, "total"), true),
                  read_side(json_object_get(c->was, "total"), true)};
}

static bool put_totals(cfx_buf *b, const comparing *c, put_fn *fn)
{
    pair p = total_of(c);
    table t = {.plain = false};
    cfx_grid *g = &t.grid;
    cfx_grid_init(g, c->ctx);
    cfx_grid_add_column(g, (cfx_grid_column){"total", "total", true, 0});
    cfx_grid_add_column(g, (cfx_grid_column){"was", "was", false, 0});
    cfx_grid_add_column(g, (cfx_grid_column){"now", "now", false, 0});
    cfx_grid_add_column(g, (cfx_grid_column){"change", "change", false, 0});
    for (int q = 0; q < QUANTITIES; q++) {
        if (isnan(p.was.x[q]) && isnan(p.now.x[q]) &&
            !formula(&p.was, (quantity)q, true) &&
            !formula(&p.now, (quantity)q, true))
            continue;
        cfx_grid_add(g, q == LIVE ? "peak live" : names[q].title);
        add_quantity(&t, &p.was, (quantity)q, true);
        add_quantity(&t, &p.now, (quantity)q, true);
        add_change(&t, p.now.x[q], p.was.x[q]);
    }
    if (!g->failed)
        fn(b, g, 0);
    bool ok = !g->failed;
    cfx_grid_release(g);
    return ok;
}

/* List all quantities of changed nodes, then those of the total. */
static bool put_csv(cfx_buf *b, const comparing *c,
                    const cfx_roofline_view *view)
{
    static const bool all[QUANTITIES] = {true, true, true, true,
                                         true, true, true};
    pair total = total_of(c);
    size_t n = 0;
    table t = {.plain = true};
    cfx_grid_init(&t.grid, c->ctx);
    add_columns(&t.grid, all);
    for (size_t i = 0; i < c->n && (!view->top || n < view->top); i++) {
        const pair *p = &c->pair[i];
        const char *status = status_of(p);
        if (!changed(p))
            continue;
        add_pair(&t, p, *status ? status : "changed", all, false);
        n++;
    }
    add_pair(&t, &total, "total", all, true);
    if (!t.grid.failed)
        cfx_grid_put_csv(b, &t.grid, 0);
    bool ok = !t.grid.failed;
    cfx_grid_release(&t.grid);
    return ok;
}

static bool put_text(cfx_buf *b, const comparing *c,
                     const cfx_roofline_view *view, put_fn *fn)
{
    if (fn == cfx_grid_put_csv)
        return put_csv(b, c, view);
    const char *between = fn == cfx_grid_put_markdown ? "\n\n" : "\n";
    cfx_buf_printf(
        b, "now  %s on %s%swas  %s on %s\n\n", text_of(c->now, "model", NULL),
        text_of(c->now, "machine", "name"), between,
        text_of(c->was, "model", NULL), text_of(c->was, "machine", "name"));
    bool ok = put_pairs(b, c, view, fn);
    cfx_buf_putc(b, '\n');
    return put_totals(b, c, fn) && ok;
}

/* ---- JSON ---- */

static bool set(json_t *to, const char *key, json_t *v)
{
    return !json_object_set_new(to, key, v);
}

static json_t *real_or_null(double x)
{
    return isnan(x) ? json_null()
           : x == floor(x) && fabs(x) < 9007199254740992.0
               ? json_integer((json_int_t)x)
               : json_real(x);
}

/* Return a number, an expression, or null. */
static json_t *json_quantity(const side *s, quantity q, bool total)
{
    const char *symbolic = formula(s, q, total);
    return symbolic ? json_string(symbolic) : real_or_null(s->x[q]);
}

static json_t *json_pair(const pair *p, const char *status, bool total)
{
    json_t *j = json_object();
    bool ok = j && set(j, "name", cfx_json_text(p->name, strlen(p->name))) &&
              set(j, "status", json_string(status));
    for (int q = 0; q < QUANTITIES && ok; q++) {
        json_t *both = json_object();
        ok = both &&
             set(both, "was", json_quantity(&p->was, (quantity)q, total)) &&
             set(both, "now", json_quantity(&p->now, (quantity)q, total));
        ok = set(j, total ? names[q].total_key : names[q].key, both) && ok;
    }
    if (!ok) {
        json_decref(j);
        j = NULL;
    }
    return j;
}

static json_t *json_pairs(const comparing *c)
{
    json_t *a = json_array();
    bool ok = a != NULL;
    for (size_t i = 0; i < c->n && ok; i++) {
        const pair *p = &c->pair[i];
        const char *status = status_of(p);
        if (changed(p))
            ok = !json_array_append_new(
                a, json_pair(p, *status ? status : "changed", false));
    }
    if (!ok)
        json_decref(a);
    return ok ? a : NULL;
}

static cfx_status write_json(cfx_sink to, const comparing *c, cfx_error *err)
{
    pair t = total_of(c);
    json_t *j = json_object();
    json_t *machine_now = json_object_get(c->now, "machine");
    json_t *machine_was = json_object_get(c->was, "machine");
    bool ok = j && set(j, "schema", json_string("cfx.roofline.compared/1"));
    ok = ok &&
         set(j, "model",
             json_pack("{s:O?, s:O?}", "was", json_object_get(c->was, "model"),
                       "now", json_object_get(c->now, "model")));
    ok = ok && set(j, "machine",
                   json_pack("{s:O?, s:O?}", "was",
                             json_object_get(machine_was, "name"), "now",
                             json_object_get(machine_now, "name")));
    ok = ok && set(j, "nodes", json_pairs(c)) &&
         set(j, "total",
             json_pair(&t, total_differs(&t) ? "changed" : "same", true));
    if (!ok) {
        json_decref(j);
        j = NULL;
    }
    return cfx_json__write(to, j, err);
}

/* ---- Public functions ---- */

/* Check that quantities are numbers of at least 0, expressions, or null. */
static cfx_status check_quantities(const json_t *in, const char *name,
                                   bool total, cfx_error *err)
{
    for (int q = 0; q < QUANTITIES; q++) {
        const char *key = total ? names[q].total_key : names[q].key;
        const json_t *v = json_object_get(in, key);
        if (v && !json_is_null(v) && !json_is_string(v) &&
            !(json_is_number(v) && json_number_value(v) >= 0))
            return cfx_fail(err, CFX_EINVAL,
                            "%s: '%s' is not a number of at least 0", name,
                            key);
    }
    return CFX_OK;
}

static cfx_status check_object(const json_t *in, const char *key,
                               cfx_error *err)
{
    const json_t *v = json_object_get(in, key);
    return !v || json_is_null(v) || json_is_object(v)
               ? CFX_OK
               : cfx_fail(err, CFX_EINVAL, "'%s' is not an object", key);
}

static cfx_status check_nodes(const json_t *nodes, cfx_error *err)
{
    cfx_status st = CFX_OK;
    if (!json_is_array(nodes))
        return cfx_fail(err, CFX_EINVAL, "'nodes' is not an array");
    for (size_t i = 0; i < json_array_size(nodes) && !st; i++) {
        const json_t *n = json_array_get(nodes, i);
        if (!json_is_object(n))
            return cfx_fail(err, CFX_EINVAL,
                            "item %zu of 'nodes' is not an object", i);
        if (!*name_of(n))
            return cfx_fail(err, CFX_EINVAL, "item %zu of 'nodes' has no name",
                            i);
        st = check_quantities(n, name_of(n), false, err);
    }
    return st;
}

static cfx_status check_document(const json_t *was, cfx_error *err)
{
    const char *schema = json_string_value(json_object_get(was, "schema"));
    if (!schema)
        return cfx_fail(err, CFX_EINVAL,
                        "not a document of the schema \"cfx.roofline/1\"");
    if (strcmp(schema, "cfx.roofline/1"))
        return cfx_fail(
            err, CFX_EINVAL,
            "the document's schema is \"%s\", not \"cfx.roofline/1\"", schema);
    cfx_status st = check_object(was, "machine", err);
    if (!st)
        st = check_object(was, "total", err);
    if (!st)
        st = check_nodes(json_object_get(was, "nodes"), err);
    return st ? st
              : check_quantities(json_object_get(was, "total"), "total", true,
                                 err);
}

static cfx_status compare(cfx_sink to, const cfx_roofline *r,
                          const json_t *was, cfx_roofline_format format,
                          const cfx_roofline_view *view, cfx_error *err)
{
    static put_fn *const put[] = {cfx_grid_put_text, cfx_grid_put_markdown,
                                  cfx_grid_put_csv};
    json_t *now = cfx_roofline__json(r, view->model);
    comparing c = {.ctx = r->ctx, .now = now, .was = was};
    cfx_status st = now ? pair_up(&c, err) : cfx_no_memory(err);
    if (!st && format == CFX_ROOFLINE_JSON) {
        st = write_json(to, &c, err);
    } else if (!st) {
        cfx_buf b;
        cfx_buf_init(&b, r->ctx);
        if (!put_text(&b, &c, view, put[format]))
            st = cfx_no_memory(err);
        st = cfx_roofline__finish(&b, to, st, err);
    }
    cfx_free(r->ctx, c.pair, c.cap * sizeof(*c.pair));
    json_decref(now);
    return st;
}

cfx_status cfx_roofline_compare(cfx_sink to, const cfx_roofline *r,
                                const cfx_roofline *was, const char *was_model,
                                cfx_roofline_format format,
                                const cfx_roofline_view *view, cfx_error *err)
{
    json_t *document = cfx_roofline__json(was, was_model);
    cfx_status st = document ? compare(to, r, document, format, view, err)
                             : cfx_no_memory(err);
    json_decref(document);
    return st;
}

cfx_status cfx_roofline_compare_document(cfx_sink to, const cfx_roofline *r,
                                         const char *json, size_t len,
                                         cfx_roofline_format format,
                                         const cfx_roofline_view *view,
                                         cfx_error *err)
{
    cfx_json was = {0};
    cfx_status st = cfx_json_parse(&was, r->ctx, json, len, 0, 0, err);
    if (!st)
        st = check_document(was.root, err);
    if (!st)
        st = compare(to, r, was.root, format, view, err);
    cfx_json_release(&was);
    return st;
}
