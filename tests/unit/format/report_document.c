/*
 * report_document -- the numbers of a document as the source of a report.
 */
#include "tests/unit/format/report_document.h"

#include <math.h>
#include <stdlib.h>

static double number(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

static const char *text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static const char *or_empty(const char *s)
{
    return s ? s : "";
}

/* The type of a module, or NULL. */
static const char *type_of(const json_t *modules, const char *path)
{
    size_t i;
    json_t *m;
    json_array_foreach(modules, i, m)
    {
        if (!strcmp(or_empty(text(m, "path")), path))
            return text(m, "type");
    }
    return NULL;
}

/* The name that cfx_cost_operator gives the operator of a node. */
static const char *operator_of(const json_t *document, const json_t *node)
{
    const char *op = or_empty(text(node, "op"));
    const char *target = or_empty(text(node, "target"));
    const char *type = NULL;
    if (text(node, "operator"))
        return text(node, "operator");
    if (!strcmp(op, "call_module"))
        type = type_of(json_object_get(document, "modules"), target);
    return type ? type : !strncmp(op, "call_", 5) ? target : op;
}

static bool is_formula(const json_t *node, const char *key)
{
    return json_is_string(json_object_get(node, key));
}

static void read_rows(report_document *d, const json_t *nodes)
{
    size_t i;
    json_t *n;
    d->row = calloc(json_array_size(nodes) + 1, sizeof(*d->row));
    d->from.row = d->row;
    json_array_foreach(nodes, i, n)
    {
        d->from.measured = d->from.measured || number(n, "seconds") > 0;
    }
    json_array_foreach(nodes, i, n)
    {
        d->row[d->from.nrows++] = (cfx_report_row){
            .name = or_empty(text(n, "name")),
            .op = operator_of(d->json, n),
            .dtype = text(n, "dtype"),
            .bound = text(n, "bound"),
            .flops = number(n, "flops"),
            .bytes = number(n, "bytes_read") + number(n, "bytes_written"),
            .time = number(n, d->from.measured ? "seconds" : "floor_seconds"),
            .efficiency = number(n, "efficiency"),
            .formula = is_formula(n, "flops") || is_formula(n, "bytes_read") ||
                       is_formula(n, "bytes_written"),
        };
    }
}

static double bandwidth(const json_t *level)
{
    return fmax(fmax(0, number(level, "read_bytes_per_second")),
                fmax(number(level, "write_bytes_per_second"),
                     number(level, "triad_bytes_per_second")));
}

static void read_machine(report_document *d, const json_t *machine)
{
    json_t *peaks = json_object_get(machine, "peak_flops_per_second");
    const json_t *levels = json_object_get(machine, "levels");
    const char *key;
    size_t i;
    json_t *v;
    d->from.machine = text(machine, "name");
    if (number(machine, "threads") >= 1)
        d->from.threads = (int64_t)number(machine, "threads");
    d->peak = calloc(json_object_size(peaks) + 1, sizeof(*d->peak));
    d->level = calloc(json_array_size(levels) + 1, sizeof(*d->level));
    d->from.peak = d->peak;
    d->from.level = d->level;
    json_object_foreach(peaks, key, v)
    {
        d->peak[d->from.npeaks++] = (cfx_report_ceiling){key,
                                                         number(peaks, key)};
    }
    json_array_foreach(levels, i, v)
    {
        if (text(v, "level"))
            d->level[d->from.nlevels++] = (cfx_report_ceiling){
                text(v, "level"), bandwidth(v)};
    }
}

cfx_status report_document_read(report_document *d, cfx_context *ctx,
                                const char *json, size_t len, cfx_error *err)
{
    *d = (report_document){.json = json_loadb(json, len, 0, NULL)};
    /* Integers may be larger than 64 bits tell. */
    if (!d->json)
        d->json = json_loadb(json, len, JSON_DECODE_INT_AS_REAL, NULL);
    if (!d->json)
        return cfx_fail(err, CFX_EPARSE, "no JSON");
    d->from.model = text(d->json, "model");
    read_machine(d, json_object_get(d->json, "machine"));
    read_rows(d, json_object_get(d->json, "nodes"));
    return cfx_report__init(&d->report, ctx, &d->from, err);
}

void report_document_release(report_document *d)
{
    if (d->report.from)
        cfx_report__release(&d->report);
    free(d->row);
    free(d->peak);
    free(d->level);
    json_decref(d->json);
}

cfx_status report_svg(cfx_sink to, cfx_context *ctx, const char *json,
                      size_t len, cfx_error *err)
{
    report_document d;
    cfx_status st = report_document_read(&d, ctx, json, len, err);
    if (!st)
        st = cfx_report__print_svg(to, &d.report, err);
    report_document_release(&d);
    return st;
}

static void put_document(cfx_out *o, void *user)
{
    char *text = json_dumps(user, JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (text)
        cfx_out_puts(o, text);
    else
        cfx_out_fail(o, CFX_ENOMEM);
    cfx_out_putc(o, '\n');
    free(text);
}

cfx_status report_html(cfx_sink to, cfx_context *ctx, const char *json,
                       size_t len, cfx_error *err)
{
    report_document d;
    cfx_status st = report_document_read(&d, ctx, json, len, err);
    if (!st)
        st = cfx_report__print_html(to, &d.report, put_document, d.json, err);
    report_document_release(&d);
    return st;
}
