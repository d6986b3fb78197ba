/*
 * machine_json -- read and write descriptions of machines as JSON.
 *
 * Descriptions are often written by hand, so everything is checked: an unknown
 * key is an error, since it is probably misspelt.
 */
#include "shapeprop/machine/machine_impl.h"

#include <math.h>

#include "format/io.h"
#include "format/json.h"

#define SCHEMA "cfx.machine/1"

enum {
    FILE_MAX = 1 << 20,
    TEXT_MAX = 1000,
    MAX_THREADS = 1 << 20,
    MAX_RATES = 4096 /* entries of "threads" */
};

/* Rates outside of these would lead to times of 0 or infinity. */
static const double rate_min = 1, rate_max = 1e24;

/* ---- Reading ---- */

static cfx_status bad(cfx_error *err, const char *key, const char *what)
{
    return cfx_fail(err, CFX_EPARSE, "%s has to be %s", key, what);
}

/* Check that all keys of an object are in the list, which ends with NULL. */
static cfx_status check_keys(const json_t *o, const char *const *known,
                             cfx_error *err)
{
    const char *key;
    json_t *value;

    if (!json_is_object(o))
        return cfx_fail(err, CFX_EPARSE, "has to be an object");
    json_object_foreach((json_t *)(uintptr_t)o, key, value)
    {
        int i = 0;
        while (known[i] && strcmp(known[i], key))
            i++;
        if (!known[i])
            return cfx_fail(err, CFX_EPARSE, "the key '%.100s' is unknown",
                            key);
    }
    return CFX_OK;
}

static cfx_status read_int(int64_t *out, const json_t *o, const char *key,
                           int64_t max, const char *what, cfx_error *err)
{
    const json_t *v = json_object_get(o, key);

    if (!json_is_integer(v) || json_integer_value(v) < 1 ||
        json_integer_value(v) > max)
        return bad(err, key, what);
    *out = json_integer_value(v);
    return CFX_OK;
}

/* Read a number within a range; 0 if it is null or absent. */
static cfx_status read_number(double *out, const json_t *o, const char *key,
                              double min, double max, const char *what,
                              cfx_error *err)
{
    const json_t *v = json_object_get(o, key);

    *out = 0;
    if (!v || json_is_null(v))
        return CFX_OK;
    double x = json_number_value(v);
    if (!json_is_number(v) || !(x >= min && x <= max))
        return bad(err, key, what);
    *out = x;
    return CFX_OK;
}

static cfx_status read_rate(double *out, const json_t *o, const char *key,
                            cfx_error *err)
{
    return read_number(out, o, key, rate_min, rate_max,
                       "a number from 1 to 1e24, or null", err);
}

static cfx_status read_spread(double *out, const json_t *o, const char *key,
                              cfx_error *err)
{
    return read_number(out, o, key, 0, 1, "a number from 0 to 1, or null",
                       err);
}

/* True if UTF-8 text has characters that control a terminal or the order of its
 * output: control characters, line and paragraph separators, and bidirectional
 * marks. */
static bool is_control(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;

    if (s[0] < ' ' || s[0] == 127)
        return true;
    if (s[0] == 0xC2)
        return s[1] < 0xA0;
    if (s[0] == 0xD8)
        return s[1] == 0x9C;
    if (s[0] != 0xE2)
        return false;
    return (s[1] == 0x80 && ((s[2] >= 0xA8 && s[2] <= 0xAE) || s[2] == 0x8E ||
                             s[2] == 0x8F)) ||
           (s[1] == 0x81 && s[2] >= 0xA6 && s[2] <= 0xA9);
}

/* Read a line of text, at most `max` bytes; NULL if it is absent. */
static cfx_status read_text(const char **out, cfx_machine_box *box,
                            const json_t *o, const char *key, size_t max,
                            cfx_error *err)
{
    const json_t *v = json_object_get(o, key);
    const char *s = json_string_value(v);
    size_t n = s ? json_string_length(v) : 0;

    if (!v)
        return CFX_OK;
    bool good = n > 0 && n <= max;
    for (size_t i = 0; i < n; i++)
        good &= !is_control(s + i);
    if (!good)
        return cfx_fail(err, CFX_EPARSE,
                        "%s has to be one line of text, of 1 to %zu bytes",
                        key, max);
    *out = cfx_arena_strdup(&box->arena, s, n);
    return *out ? CFX_OK : cfx_no_memory(err);
}

static cfx_status read_level_name(cfx_machine_level *l, const json_t *o,
                                  cfx_error *err)
{
    const char *s = json_string_value(json_object_get(o, "level"));
    size_t n = s ? strlen(s) : 0;

    if (!n || n >= sizeof(l->name) ||
        strspn(
            s,
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") !=
            n)
        return bad(err, "level", "a word of at most 15 letters and digits");
    memcpy(l->name, s, n + 1);
    return CFX_OK;
}

static cfx_status read_sizes(cfx_machine_level *l, const json_t *o, bool last,
                             cfx_error *err)
{
    const json_t *bytes = json_object_get(o, "bytes");
    int64_t sharing = 1;
    cfx_status st = CFX_OK;

    if (!last || (bytes && !json_is_null(bytes)))
        st = read_int(&l->bytes, o, "bytes", INT64_MAX, "a positive integer",
                      err);
    if (!st && json_object_get(o, "threads_sharing"))
        st = read_int(&sharing, o, "threads_sharing", MAX_THREADS,
                      "an integer from 1 to 1048576", err);
    l->threads_sharing = (int)sharing;
    return st;
}

static cfx_status read_kernels(cfx_machine_level *l, const json_t *o,
                               cfx_error *err)
{
    char key[CFX_MACHINE_KEY];
    double all = 0;

    for (int k = 0; k < CFX_MACHINE_KERNELS; k++) {
        cfx_machine__rate_key(key, (cfx_machine_kernel)k);
        cfx_status st = read_rate(&l->rate[k], o, key, err);
        if (st)
            return st;
        all += l->rate[k];
    }
    return all > 0 ? CFX_OK : cfx_fail(err, CFX_EPARSE, "has no rate");
}

static cfx_status check_level_keys(const json_t *o, cfx_error *err)
{
    char rate[CFX_MACHINE_KERNELS][CFX_MACHINE_KEY];
    const char *keys[CFX_MACHINE_KERNELS + 5] = {"level", "bytes",
                                                 "threads_sharing", "spread"};

    for (int k = 0; k < CFX_MACHINE_KERNELS; k++) {
        cfx_machine__rate_key(rate[k], (cfx_machine_kernel)k);
        keys[4 + k] = rate[k];
    }
    return check_keys(o, keys, err);
}

static cfx_status read_level(cfx_machine_level *l, const json_t *o, bool last,
                             cfx_error *err)
{
    cfx_status st = check_level_keys(o, err);

    if (!st)
        st = read_level_name(l, o, err);
    if (!st)
        st = read_sizes(l, o, last, err);
    if (!st)
        st = read_kernels(l, o, err);
    return st ? st : read_spread(&l->spread, o, "spread", err);
}

static cfx_status read_levels(cfx_machine_rates *r, const json_t *list,
                              cfx_error *err)
{
    size_t n = json_array_size(list);

    if (!json_is_array(list) || !n || n > CFX_MACHINE_LEVELS)
        return bad(err, "levels", "a list of 1 to 8 objects");
    r->nlevels = (int)n;
    for (size_t i = 0; i < n; i++) {
        cfx_machine_level *l = &r->level[i];
        cfx_status st = read_level(l, json_array_get(list, i), i == n - 1,
                                   err);
        if (!st && i && l->bytes && l->bytes <= l[-1].bytes)
            st = bad(err, "bytes", "more than the level before has");
        if (st) {
            cfx_fail_at(err, "levels[%zu]", i);
            return st;
        }
    }
    return CFX_OK;
}

/* Read peaks, or spreads of peaks. */
static cfx_status read_types(double to[CFX_MACHINE_TYPES], const json_t *o,
                             bool spread, cfx_error *err)
{
    const char *keys[CFX_MACHINE_TYPES + 1] = {NULL};

    for (int t = 0; t < CFX_MACHINE_TYPES; t++)
        keys[t] = cfx_machine_type_name((cfx_machine_type)t);
    cfx_status st = check_keys(o, keys, err);
    for (int t = 0; t < CFX_MACHINE_TYPES && !st; t++)
        st = spread ? read_spread(&to[t], o, keys[t], err)
                    : read_rate(&to[t], o, keys[t], err);
    if (!st && !spread && !(to[CFX_MACHINE_FLOAT32] > 0))
        st = cfx_fail(err, CFX_EPARSE, "float32 is missing");
    return st;
}

static cfx_status read_rates(cfx_machine_rates *r, const json_t *o,
                             cfx_error *err)
{
    static const char *const keys[] = {"threads", "peak_flops_per_second",
                                       "peak_spread", "levels", NULL};
    const json_t *spread = json_object_get(o, "peak_spread");
    int64_t threads = 0;
    cfx_status st = check_keys(o, keys, err);

    if (!st)
        st = read_int(&threads, o, "threads", MAX_THREADS,
                      "an integer from 1 to 1048576", err);
    r->threads = (int)threads;
    if (!st) {
        st = read_types(r->peak, json_object_get(o, keys[1]), false, err);
        if (st)
            cfx_fail_at(err, "%s", keys[1]);
    }
    if (!st && spread) {
        st = read_types(r->peak_spread, spread, true, err);
        if (st)
            cfx_fail_at(err, "%s", keys[2]);
    }
    return st ? st : read_levels(r, json_object_get(o, "levels"), err);
}

static cfx_status read_all_rates(cfx_machine *m, const json_t *list,
                                 cfx_error *err)
{
    for (int i = 0; i < m->nrates; i++) {
        cfx_machine_rates *r = &m->rates[i];
        cfx_status st = read_rates(r, json_array_get(list, (size_t)i), err);
        if (!st && i && r->threads <= r[-1].threads)
            st = bad(err, "threads", "more than in the entry before");
        if (st) {
            cfx_fail_at(err, "threads[%d]", i);
            return st;
        }
    }
    return CFX_OK;
}

static cfx_status read_head(cfx_machine_box *box, const json_t *o,
                            cfx_error *err)
{
    cfx_machine *m = &box->machine;
    int64_t cores = 0;
    cfx_status st = CFX_OK;

    if (!json_object_get(o, "name"))
        st = cfx_fail(err, CFX_EPARSE, "has no name");
    if (!st)
        st = read_text(&m->name, box, o, "name", TEXT_MAX, err);
    if (!st)
        st = read_text(&m->comment, box, o, "comment", TEXT_MAX, err);
    if (!st)
        st = read_text(&m->instructions, box, o, "instructions", TEXT_MAX,
                       err);
    if (!st)
        st = read_text(&m->doubt, box, o, "doubt", TEXT_MAX, err);
    if (!st)
        st = read_int(&cores, o, "cores", MAX_THREADS,
                      "an integer from 1 to 1048576", err);
    m->cores = (int)cores;
    return st;
}

static cfx_status read_machine(cfx_machine **out, cfx_context *ctx,
                               const json_t *o, cfx_error *err)
{
    static const char *const keys[] = {"schema",       "name",  "comment",
                                       "instructions", "doubt", "cores",
                                       "threads",      NULL};
    const char *schema = json_string_value(json_object_get(o, "schema"));
    const json_t *list = json_object_get(o, "threads");

    if (!schema || strcmp(schema, SCHEMA))
        return cfx_fail(err, CFX_EPARSE, "schema has to be \"" SCHEMA "\"");
    cfx_status st = check_keys(o, keys, err);
    if (st)
        return st;
    if (!json_array_size(list) || json_array_size(list) > MAX_RATES)
        return bad(err, "threads", "a list of 1 to 4096 objects");
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!json_is_object(json_array_get(list, i)))
            return cfx_fail(err, CFX_EPARSE,
                            "threads[%zu]: has to be an object", i);
    cfx_machine_box *box = cfx_machine__new(ctx, (int)json_array_size(list));
    if (!box)
        return cfx_no_memory(err);
    st = read_head(box, o, err);
    if (!st)
        st = read_all_rates(&box->machine, list, err);
    if (st)
        cfx_machine_free(&box->machine);
    else
        *out = &box->machine;
    return st;
}

cfx_status cfx_machine_parse(cfx_machine **out, cfx_context *ctx,
                             const char *text, size_t len, cfx_error *err)
{
    cfx_json json;

    *out = NULL;
    cfx_status st = cfx_json_parse(&json, ctx, text, len,
                                   JSON_REJECT_DUPLICATES, 0, err);
    if (!st)
        st = read_machine(out, ctx, json.root, err);
    cfx_json_release(&json);
    return st;
}

bool cfx_machine_probe(cfx_context *ctx, const char *text, size_t len)
{
    cfx_json json;
    bool is = false;

    if (!cfx_json_parse(&json, ctx, text, len, 0, 0, NULL)) {
        const char *schema = json_string_value(
            json_object_get(json.root, "schema"));
        is = schema && !strcmp(schema, SCHEMA);
    }
    cfx_json_release(&json);
    return is;
}

cfx_status cfx_machine_read(cfx_machine **out, cfx_context *ctx,
                            const char *path, cfx_error *err)
{
    cfx_bytes text = {0};
    cfx_status st = cfx_bytes_read(&text, ctx, path, FILE_MAX,
                                   cfx_bytes_are_text, err);

    *out = NULL;
    if (!st)
        st = cfx_machine_parse(out, ctx, (const char *)text.data, text.len,
                               err);
    cfx_bytes_release(&text);
    if (st)
        cfx_fail_at(err, "%s", path);
    return st;
}

/* ---- Writing ---- */

enum { DIGITS = 15 };

/* Whole numbers have no decimal point, and a number is whole if its digits that
 * are printed say so. Unknown ones are null. */
static json_t *number_json(double x)
{
    char text[32];

    if (!(x > 0))
        return json_null();
    snprintf(text, sizeof(text), "%.*g", DIGITS, x);
    x = strtod(text, NULL);
    return x < 0x1p53 && x == floor(x) ? json_integer((json_int_t)x)
                                       : json_real(x);
}

static void set(json_t *o, const char *key, json_t *v, bool *ok)
{
    *ok &= !json_object_set_new(o, key, v);
}

static json_t *level_json(const cfx_machine_level *l, bool *ok)
{
    json_t *o = json_object();
    char key[CFX_MACHINE_KEY];

    set(o, "level", json_string(l->name), ok);
    set(o, "bytes", l->bytes ? json_integer(l->bytes) : json_null(), ok);
    if (l->threads_sharing > 1)
        set(o, "threads_sharing", json_integer(l->threads_sharing), ok);
    for (int k = 0; k < CFX_MACHINE_KERNELS; k++) {
        cfx_machine__rate_key(key, (cfx_machine_kernel)k);
        set(o, key, number_json(l->rate[k]), ok);
    }
    if (l->spread > 0)
        set(o, "spread", json_real(l->spread), ok);
    return o;
}

/* Write the known values. */
static json_t *types_json(const double value[CFX_MACHINE_TYPES], bool *ok)
{
    json_t *o = json_object();

    for (int t = 0; t < CFX_MACHINE_TYPES; t++) {
        if (value[t] > 0)
            set(o, cfx_machine_type_name((cfx_machine_type)t),
                number_json(value[t]), ok);
    }
    return o;
}

json_t *cfx_machine__rates_json(const cfx_machine_rates *r)
{
    json_t *o = json_object(), *levels = json_array();
    json_t *spread;
    bool ok = o && levels;

    set(o, "threads", json_integer(r->threads), &ok);
    set(o, "peak_flops_per_second", types_json(r->peak, &ok), &ok);
    spread = types_json(r->peak_spread, &ok);
    if (json_object_size(spread))
        set(o, "peak_spread", json_incref(spread), &ok);
    json_decref(spread);
    for (int i = 0; i < r->nlevels; i++)
        ok &= !json_array_append_new(levels, level_json(&r->level[i], &ok));
    set(o, "levels", levels, &ok);
    if (ok)
        return o;
    json_decref(o);
    return NULL;
}

static json_t *machine_json(const cfx_machine *m)
{
    json_t *o = json_object(), *threads = json_array();
    bool ok = o && threads;

    set(o, "schema", json_string(SCHEMA), &ok);
    set(o, "name", json_string(m->name), &ok);
    if (m->comment)
        set(o, "comment", json_string(m->comment), &ok);
    if (m->instructions)
        set(o, "instructions", json_string(m->instructions), &ok);
    if (m->doubt)
        set(o, "doubt", json_string(m->doubt), &ok);
    set(o, "cores", json_integer(m->cores), &ok);
    for (int i = 0; i < m->nrates; i++)
        ok &= !json_array_append_new(threads,
                                     cfx_machine__rates_json(&m->rates[i]));
    set(o, "threads", threads, &ok);
    if (ok)
        return o;
    json_decref(o);
    return NULL;
}

struct dump {
    cfx_sink to;
    cfx_status status;
};

static int dump_piece(const char *text, size_t len, void *user)
{
    struct dump *d = user;

    d->status = d->to.write(d->to.user, text, len);
    return d->status ? -1 : 0;
}

cfx_status cfx_print_machine(cfx_sink to, const cfx_machine *m, cfx_error *err)
{
    struct dump d = {to, CFX_OK};
    json_t *o = machine_json(m);

    if (!o)
        return cfx_no_memory(err);
    if (json_dump_callback(o, dump_piece, &d,
                           JSON_INDENT(2) | JSON_REAL_PRECISION(DIGITS)) ||
        dump_piece("\n", 1, &d)) {
        if (!d.status)
            d.status = CFX_ENOMEM;
        if (d.status == CFX_ENOMEM)
            cfx_no_memory(err);
        else
            cfx_fail(err, d.status, "cannot write");
    }
    json_decref(o);
    return d.status;
}

cfx_status cfx_machine_write(const char *path, const cfx_machine *m,
                             cfx_error *err)
{
    cfx_outfile file;
    cfx_status st = cfx_outfile_open(&file, m->ctx, path, err);

    if (st)
        return st;
    st = cfx_print_machine(cfx_sink_file(file.stream), m, err);
    if (!st)
        return cfx_outfile_commit(&file, err);
    cfx_outfile_discard(&file);
    cfx_fail_at(err, "%s", path);
    return st;
}
