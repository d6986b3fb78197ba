/*
 * output_json -- print the results of a model as JSON.
 *
 *     {"schema": "cfx-run-1",
 *      "outputs": [
 *        {"name": "output", "dtype": "f32", "shape": [1, 3],
 *         "data": [[0.1, 0.2, "nan"]]}],
 *      "times": {"runs": 100, "warmup_runs": 1, "fastest_seconds": 0.001, ...}}
 *
 * In place of "data" the largest elements of each row are "top": [{"row": [0],
 * "best": [{"index": 2, "label": "cat", "value": 0.9}]}]. Numbers read back as
 * the same number of the dtype; "nan", "inf" and "-inf", which JSON lacks, are
 * strings; complex numbers are pairs. What is no tensor has its "value".
 */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

/* ---- Numbers and texts ---- */

/* The shortest decimal that reads back as the float. */
static void print_float(FILE *to, double v, bool wide)
{
    char text[32];

    if (!isfinite(v)) {
        fputs(isnan(v) ? "\"nan\"" : v > 0 ? "\"inf\"" : "\"-inf\"", to);
        return;
    }
    for (int digits = 1; digits <= (wide ? 17 : 9); digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, v);
        double back = strtod(text, NULL);
        if (wide ? !(back < v || back > v)
                 : !((float)back < (float)v || (float)back > (float)v))
            break;
    }
    fputs(text, to);
}

static void print_element(FILE *to, cfx_dtype dtype, const void *at)
{
    const cfx_dtype real = cfx_dtype_real(dtype);
    const char *second = (const char *)at + cfx_dtype_size(real);

    if (real != dtype) {
        fputc('[', to);
        print_float(to, cfx_element_double(real, at), real == CFX_F64);
        fputs(", ", to);
        print_float(to, cfx_element_double(real, second), real == CFX_F64);
        fputc(']', to);
    } else if (dtype == CFX_BOOL) {
        fputs(cfx_element_int(dtype, at) ? "true" : "false", to);
    } else if (cfx_dtype_is_float(dtype)) {
        print_float(to, cfx_element_double(dtype, at), dtype == CFX_F64);
    } else if (dtype == CFX_U64) {
        fprintf(to, "%" PRIu64, (uint64_t)cfx_element_int(dtype, at));
    } else {
        fprintf(to, "%" PRId64, cfx_element_int(dtype, at));
    }
}

cfx_status cli_print_document(FILE *to, json_t *document, cfx_error *err)
{
    if (!document)
        return cfx_no_memory(err);
    json_dumpf(document, to, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    fputc('\n', to);
    json_decref(document);
    return CFX_OK;
}

static cfx_status print_text(FILE *to, const char *text, size_t len,
                             cfx_error *err)
{
    json_t *j = json_stringn(text, len);

    if (!j)
        return cfx_fail(err, CFX_EUNSUPPORTED,
                        "a text is not UTF-8, which JSON takes");
    json_dumpf(j, to, JSON_ENCODE_ANY);
    json_decref(j);
    return CFX_OK;
}

/* ---- Tensors ---- */

/* Nested lists of a row-major tensor, which calls itself for each axis. */
static const char *print_axis(FILE *to, const cfx_tensor *t, int axis,
                              const char *at)
{
    if (axis == t->rank) {
        print_element(to, (cfx_dtype)t->dtype, at);
        return at + cfx_dtype_size((cfx_dtype)t->dtype);
    }
    fputc('[', to);
    for (int64_t i = 0; i < cfx_tensor_size(t, axis); i++) {
        fputs(i ? ", " : "", to);
        at = print_axis(to, t, axis + 1, at);
    }
    fputc(']', to);
    return at;
}

static cfx_status print_data(FILE *to, const cfx_tensor *t, cfx_error *err)
{
    cfx_tensor *flat;
    cfx_status st = cfx_tensor_contiguous(&flat, t, err);

    if (st)
        return st;
    fputs(", \"data\": ", to);
    print_axis(to, flat, 0, flat->data);
    cfx_tensor_unref(flat);
    return CFX_OK;
}

struct rows {
    const cli_printing *p;
    int rank;
    bool any;
    cfx_status status;
    cfx_error *err;
};

static void print_row(void *user, const cli_ranked *best, int64_t n,
                      const int64_t *place)
{
    struct rows *r = user;
    FILE *to = r->p->to;

    fputs(r->any ? ", {\"row\": [" : "{\"row\": [", to);
    r->any = true;
    for (int i = 0; i < r->rank - 1; i++)
        fprintf(to, "%s%" PRId64, i ? ", " : "", place[i]);
    fputs("], \"best\": [", to);
    for (int64_t i = 0; i < n; i++) {
        fprintf(to, "%s{\"index\": %" PRId64 ", ", i ? ", " : "",
                best[i].index);
        if (r->p->labels.n && !r->status) {
            const char *label = r->p->labels.item[best[i].index];
            fputs("\"label\": ", to);
            r->status = print_text(to, label, strlen(label), r->err);
            fputs(", ", to);
        }
        fputs("\"value\": ", to);
        print_float(to, best[i].value, true);
        fputc('}', to);
    }
    fputs("]}", to);
}

static cfx_status print_tensor(const cli_printing *p, const cfx_tensor *t,
                               cfx_error *err)
{
    struct rows r = {p, t->rank, false, CFX_OK, err};

    fprintf(p->to, ", \"dtype\": \"%s\", \"shape\": [",
            cfx_dtypes[t->dtype].abbr);
    for (int i = 0; i < t->rank; i++)
        fprintf(p->to, "%s%" PRId64, i ? ", " : "", cfx_tensor_size(t, i));
    fputc(']', p->to);
    if (!p->top || !t->rank)
        return print_data(p->to, t, err);
    fputs(", \"top\": [", p->to);
    cfx_status st = cli_rank_rows(p, t, print_row, &r, err);
    fputc(']', p->to);
    return st ? st : r.status;
}

/* ---- Parts ---- */

struct parts {
    const cli_printing *p;
    bool any;
};

static cfx_status print_other(FILE *to, cfx_value v, cfx_error *err)
{
    fputs(", \"value\": ", to);
    if (v.kind == CFX_STR)
        return print_text(to, v.u.str->text, v.u.str->len, err);
    if (v.kind == CFX_FLOAT)
        print_float(to, v.u.f, true);
    else if (v.kind == CFX_INT)
        fprintf(to, "%" PRId64, v.u.i);
    else if (v.kind == CFX_BOOL_VALUE)
        fputs(v.u.b ? "true" : "false", to);
    else if (cfx_value_is_none(v))
        fputs("null", to);
    else
        return cfx_fail(err, CFX_EUNSUPPORTED,
                        "a result is a %s, which has no form in JSON",
                        cfx_kind_name((cfx_kind)v.kind));
    return CFX_OK;
}

static cfx_status print_part(void *user, const char *name, cfx_value v,
                             cfx_error *err)
{
    struct parts *all = user;
    FILE *to = all->p->to;

    fputs(all->any ? ",\n    {\"name\": " : "\n    {\"name\": ", to);
    all->any = true;
    cfx_status st = print_text(to, name, strlen(name), err);
    if (!st)
        st = v.kind == CFX_TENSOR ? print_tensor(all->p, v.u.tensor, err)
                                  : print_other(to, v, err);
    fputc('}', to);
    return st;
}

static void print_times(FILE *to, const cli_times *t)
{
    const struct {
        const char *name;
        double seconds;
    } of[] = {{"fastest", t->fastest},
              {"median", t->median},
              {"p90", t->p90},
              {"p99", t->p99}};

    fprintf(to, ",\n  \"times\": {\"runs\": %d, \"warmup_runs\": %d", t->runs,
            t->warmup);
    for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
        fprintf(to, ", \"%s_seconds\": ", of[i].name);
        print_float(to, of[i].seconds, false);
    }
    if (t->batch) {
        fprintf(to,
                ", \"items\": %" PRId64 ", \"items_per_second\": ", t->batch);
        print_float(to, (double)t->batch / t->median, false);
    }
    fputc('}', to);
}

cfx_status cli_print_json(const cli_printing *p, const cli_result *r,
                          const cli_times *times, cfx_error *err)
{
    struct parts all = {p, false};

    fputs("{\n  \"schema\": \"cfx-run-1\",\n  \"outputs\": [", p->to);
    cfx_status st = cli_visit_result(r, print_part, &all, err);
    fputs("\n  ]", p->to);
    if (times->runs)
        print_times(p->to, times);
    fputs("\n}\n", p->to);
    return st;
}
