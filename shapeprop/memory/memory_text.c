/*
 * memory_text -- print a plan as a table, as CSV, or as JSON ("cfx.memory/1").
 */
#include "shapeprop/memory/memory_impl.h"

#include <stdio.h>
#include <stdlib.h>

#include "format/print.h"
#include "shapeprop/text/json_value.h"

/* ---- Rows ---- */

/* The fields of a block in every format. */
typedef struct row {
    const char *kind, *node, *op, *until;
    char bytes[256], offset[32], alias[32];
} row;

static const char *op_name(const cfx_memory_plan *p, const cfx_op *op)
{
    const cfx_schema *s = op ? cfx_op_schema(p->ctx, op) : NULL;
    return s ? s->name : "";
}

static const char *node_name(const cfx_node *n)
{
    return n ? n->name : "";
}

/* Name the reason why a block is not in the arena. */
static const char *elsewhere(const cfx_memory_plan *p,
                             const cfx_memory_block *b)
{
    if (b->kind == CFX_BLOCK_INPUT || b->kind == CFX_BLOCK_STATE)
        return "-";
    if (b->alias_of >= 0)
        return elsewhere(p, &p->block[b->alias_of]);
    return b->leaves ? "leaves" : b->from_data ? "from data" : "-";
}

static row row_of(const cfx_memory_plan *p, size_t i)
{
    const cfx_memory_block *b = &p->block[i];
    row r = {cfx_block_kind_names[b->kind],
             node_name(b->node),
             op_name(p, b->op),
             node_name(b->until),
             "",
             "",
             ""};
    if (cfx_dim_format(b->bytes, r.bytes, sizeof(r.bytes)) >= sizeof(r.bytes))
        strcpy(r.bytes + sizeof(r.bytes) - 4, "...");
    if (b->offset >= 0)
        snprintf(r.offset, sizeof(r.offset), "%lld", (long long)b->offset);
    if (b->alias_of >= 0)
        snprintf(r.alias, sizeof(r.alias), "%d", b->alias_of);
    return r;
}

/* ---- Text ---- */

enum { NCOLUMNS = 8 };

static const char *const head[NCOLUMNS] = {
    "block", "kind", "of", "node", "until", "op", "bytes", "offset",
};
static const bool right[NCOLUMNS] = {true,  false, true, false,
                                     false, false, true, true};

static void columns_of(const cfx_memory_plan *p, const row *r, size_t i,
                       char *number, size_t size, const char *text[NCOLUMNS])
{
    snprintf(number, size, "%zu", i);
    text[0] = number;
    text[1] = r->kind;
    text[2] = r->alias;
    text[3] = r->node;
    text[4] = r->until;
    text[5] = r->op;
    text[6] = r->bytes;
    text[7] = *r->offset ? r->offset : elsewhere(p, &p->block[i]);
}

/* Lines do not end with spaces. */
static void put_line(cfx_out *o, const char *const text[NCOLUMNS],
                     const size_t width[NCOLUMNS])
{
    for (int c = 0; c < NCOLUMNS; c++) {
        size_t len = strlen(text[c]);
        size_t pad = width[c] > len ? width[c] - len : 0;
        cfx_out_puts(o, c ? "  " : "");
        if (right[c])
            cfx_out_repeat(o, ' ', pad);
        cfx_out_add(o, text[c], len);
        if (!right[c])
            cfx_out_repeat(o, ' ', pad);
    }
    cfx_out_putc(o, '\n');
}

/* Parameters are not shown: they are many, and not allocated by a run. */
static bool is_shown(const cfx_memory_plan *p, size_t i)
{
    return p->block[i].kind != CFX_BLOCK_STATE;
}

static void put_table(cfx_out *o, const cfx_memory_plan *p)
{
    size_t width[NCOLUMNS];
    const char *text[NCOLUMNS];
    char number[24];
    for (int c = 0; c < NCOLUMNS; c++)
        width[c] = strlen(head[c]);
    for (size_t i = 0; i < p->nblocks; i++) {
        row r = row_of(p, i);
        columns_of(p, &r, i, number, sizeof(number), text);
        if (!is_shown(p, i))
            continue;
        for (int c = 0; c < NCOLUMNS; c++)
            width[c] = strlen(text[c]) > width[c] ? strlen(text[c]) : width[c];
    }
    put_line(o, head, width);
    for (size_t i = 0; i < p->nblocks && !o->status; i++) {
        row r = row_of(p, i);
        columns_of(p, &r, i, number, sizeof(number), text);
        if (is_shown(p, i))
            put_line(o, text, width);
    }
}

/* Expressions over many symbols are shortened. */
static void put_dim(cfx_out *o, const cfx_memory_plan *p, const char *name,
                    cfx_dim d)
{
    size_t len = cfx_dim_format(d, NULL, 0);
    char *text = cfx_alloc(p->ctx, len + 1);
    cfx_out_puts(o, name);
    if (text) {
        cfx_dim_format(d, text, len + 1);
        cfx_out_add(o, text, len);
    } else {
        cfx_out_fail(o, CFX_ENOMEM);
    }
    cfx_free(p->ctx, text, len + 1);
    cfx_out_puts(o, " bytes");
}

static void put_totals(cfx_out *o, const cfx_memory_plan *p)
{
    cfx_out_putc(o, '\n');
    if (!p->symbolic && p->arena < 0) {
        cfx_out_puts(o, "arena:    none, the blocks are too large\n");
    } else if (!p->symbolic) {
        put_dim(o, p, "arena:    ", cfx_dim_int(p->arena));
        if (p->arena == p->bound)
            cfx_out_puts(o, ", the largest live set: no plan is smaller\n");
        else
            put_dim(o, p, "; the largest live set has ",
                    cfx_dim_int(p->bound));
        cfx_out_puts(o, p->arena == p->bound ? "" : "\n");
    }
    put_dim(o, p, "peak:     ", p->peak);
    if (p->peak_node) {
        cfx_out_puts(o, " at ");
        cfx_out_puts(o, p->peak_node->name);
    }
    cfx_out_puts(o, p->symbolic    ? ", scratch memory not counted\n"
                    : p->uncounted ? ", sizes from data not counted\n"
                                   : "\n");
    put_dim(o, p, "inputs:   ", p->inputs);
    put_dim(o, p, "\nstate:    ", p->state);
    put_dim(o, p, "\nresults:  ", p->results);
    cfx_out_putc(o, '\n');
}

/* ---- CSV ---- */

/* Names of nodes and operators contain no commas or quotes; expressions may
 * contain commas. */
static void put_field(cfx_out *o, const char *s)
{
    const char *quote = strchr(s, ',') ? "\"" : "";
    cfx_out_puts(o, quote);
    cfx_out_puts(o, s);
    cfx_out_puts(o, quote);
}

static void put_csv(cfx_out *o, const cfx_memory_plan *p)
{
    cfx_out_puts(
        o,
        "block,kind,alias_of,node,until,op,bytes,first_call,last_call,offset\n");
    for (size_t i = 0; i < p->nblocks && !o->status; i++) {
        const cfx_memory_block *b = &p->block[i];
        row r = row_of(p, i);
        const char *text[] = {r.kind, r.alias, r.node, r.until, r.op, r.bytes};
        cfx_out_int(o, (int64_t)i);
        for (size_t k = 0; k < sizeof(text) / sizeof(*text); k++) {
            cfx_out_putc(o, ',');
            put_field(o, text[k]);
        }
        cfx_out_putc(o, ',');
        cfx_out_int(o, b->first);
        cfx_out_putc(o, ',');
        cfx_out_int(o, b->last);
        cfx_out_putc(o, ',');
        cfx_out_puts(o, r.offset);
        cfx_out_putc(o, '\n');
    }
}

/* ---- JSON ---- */

static bool set(json_t *to, const char *key, json_t *v)
{
    return !json_object_set_new(to, key, v);
}

/* A string, or null. */
static json_t *text(const char *s)
{
    return s && *s ? cfx_json_text(s, strlen(s)) : json_null();
}

static json_t *number(int64_t n)
{
    return n < 0 ? json_null() : json_integer(n);
}

static json_t *block_json(const cfx_memory_plan *p, size_t i)
{
    const cfx_memory_block *b = &p->block[i];
    json_t *j = json_object();
    if (j && set(j, "kind", text(cfx_block_kind_names[b->kind])) &&
        set(j, "alias_of", number(b->alias_of)) &&
        set(j, "node", text(node_name(b->node))) &&
        set(j, "until", text(node_name(b->until))) &&
        set(j, "op", text(op_name(p, b->op))) &&
        set(j, "bytes", cfx_json_dim(b->bytes)) &&
        set(j, "first_call", number(b->first)) &&
        set(j, "last_call", number(b->last)) &&
        set(j, "leaves", json_boolean(b->leaves)) &&
        set(j, "from_data", json_boolean(b->from_data)) &&
        set(j, "offset", number(b->offset)))
        return j;
    json_decref(j);
    return NULL;
}

static json_t *node_json(const cfx_memory_plan *p, const cfx_node *n)
{
    json_t *j = json_object();
    if (j && set(j, "name", text(n->name)) &&
        set(j, "live_bytes", cfx_json_dim(cfx_memory_plan_live(p, n))))
        return j;
    json_decref(j);
    return NULL;
}

static json_t *total_json(const cfx_memory_plan *p)
{
    json_t *j = json_object();
    if (j && set(j, "arena_bytes", number(p->arena)) &&
        set(j, "bound_bytes", number(p->bound)) &&
        set(j, "peak_memory_bytes", cfx_json_dim(p->peak)) &&
        set(j, "peak_node", text(node_name(p->peak_node))) &&
        set(j, "input_bytes", cfx_json_dim(p->inputs)) &&
        set(j, "state_bytes", cfx_json_dim(p->state)) &&
        set(j, "result_bytes", cfx_json_dim(p->results)) &&
        set(j, "calls", json_integer((json_int_t)p->ncalls)) &&
        set(j, "partial", json_boolean(p->uncounted)))
        return j;
    json_decref(j);
    return NULL;
}

/* Write a part of the document and free it; NULL means lack of memory. */
static void put_json(cfx_out *o, const char *before, json_t *j)
{
    char *s = j ? json_dumps(j, JSON_ENCODE_ANY) : NULL;
    cfx_out_puts(o, before);
    if (s)
        cfx_out_puts(o, s);
    else
        cfx_out_fail(o, CFX_ENOMEM);
    free(s);
    json_decref(j);
}

static void put_document(cfx_out *o, const cfx_memory_plan *p)
{
    cfx_out_puts(o, "{\"schema\": \"cfx.memory/1\"");
    put_json(o, ",\n \"symbols\": ", cfx_json_symbols(p->env));
    put_json(o, ",\n \"guards\": ", cfx_json_guards(p->env));
    cfx_out_puts(o, ",\n \"blocks\": [");
    for (size_t i = 0; i < p->nblocks && !o->status; i++)
        put_json(o, i ? ",\n  " : "\n  ", block_json(p, i));
    cfx_out_puts(o, "],\n \"nodes\": [");
    const char *before = "\n  ";
    for (const cfx_node *n = cfx_graph_first(p->graph); n && !o->status;
         n = cfx_node_next(n)) {
        put_json(o, before, node_json(p, n));
        before = ",\n  ";
    }
    put_json(o, "],\n \"total\": ", total_json(p));
    cfx_out_puts(o, "}\n");
}

/* ---- Public function ---- */

cfx_status cfx_print_memory(cfx_sink to, const cfx_memory_plan *p,
                            cfx_memory_text format, cfx_error *err)
{
    cfx_out o;
    cfx_out_init(&o, to);
    if (format == CFX_MEMORY_JSON) {
        put_document(&o, p);
    } else if (format == CFX_MEMORY_CSV) {
        put_csv(&o, p);
    } else {
        put_table(&o, p);
        put_totals(&o, p);
    }
    return cfx_out_finish(&o, err);
}
