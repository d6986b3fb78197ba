/*
 * shape_json -- shapes as JSON, "cfx.shapes/1": one node per line.
 */
#include "shapeprop/shapes/shape_rows.h"

#include <stdlib.h>

#include "format/print.h"
#include "shapeprop/text/json_value.h"

/* Write a part of the document and free it; NULL means lack of memory. */
static void put(cfx_out *o, json_t *j)
{
    char *text = j ? json_dumps(j, JSON_ENCODE_ANY) : NULL;
    if (text)
        cfx_out_puts(o, text);
    else
        cfx_out_fail(o, CFX_ENOMEM);
    free(text);
    json_decref(j);
}

static bool set(json_t *to, const char *key, json_t *v)
{
    return !json_object_set_new(to, key, v);
}

static json_t *text(const char *s)
{
    return cfx_json_text(s, strlen(s));
}

static json_t *row(const cfx_shape_row *r)
{
    json_t *j = json_object();
    if (j && set(j, "name", cfx_json_text(r->name, r->name_len)) &&
        set(j, "op", text(r->op)) && set(j, "target", text(r->target)) &&
        set(j, "module_path", cfx_json_text(r->path.path, r->path.len)) &&
        set(j, "value", cfx_json_value(r->value)))
        return j;
    json_decref(j);
    return NULL;
}

static json_t *inputs(const cfx_shape_rows *r)
{
    json_t *j = json_object();
    bool ok = j != NULL;
    for (size_t i = 0; ok && i < r->n; i++)
        if (!strcmp(r->row[i].op, "placeholder"))
            ok = set(j, r->row[i].target, cfx_json_value(r->row[i].value));
    if (ok)
        return j;
    json_decref(j);
    return NULL;
}

cfx_status cfx_shape_rows__json(cfx_sink to, const cfx_shape_rows *r,
                                const cfx_shape_prop *p, cfx_error *err)
{
    cfx_out o;
    cfx_out_init(&o, to);
    cfx_out_puts(&o, "{\"schema\": \"cfx.shapes/1\",\n \"inputs\": ");
    put(&o, inputs(r));
    cfx_out_puts(&o, ",\n \"symbols\": ");
    put(&o, cfx_json_symbols(p->env));
    cfx_out_puts(&o, ",\n \"guards\": ");
    put(&o, cfx_json_guards(p->env));
    cfx_out_puts(&o, ",\n \"nodes\": [");
    for (size_t i = 0; i < r->n && !o.status; i++) {
        cfx_out_puts(&o, i ? ",\n  " : "\n  ");
        put(&o, row(&r->row[i]));
    }
    cfx_out_puts(&o, "\n ]}\n");
    return cfx_out_finish(&o, err);
}
