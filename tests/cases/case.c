/*
 * case -- read, run and compare operator cases.
 */
#define _POSIX_C_SOURCE 200809L
#include "tests/cases/case.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <cfx/file.h>
#include <cfx/text.h>

#include "base/util.h"

/* ---- Files ---- */

bool case_lines(const char *file, const char *only, case_line_fn *fn,
                void *user)
{
    FILE *f = fopen(file, "r");
    char *line = NULL;
    size_t cap = 0;
    if (!f) {
        perror(file);
        return false;
    }
    for (int number = 1; getline(&line, &cap, f) > 0; number++) {
        line[strcspn(line, "\n")] = '\0';
        if (!only || strstr(line, only))
            fn(user, file, number, line);
    }
    free(line);
    fclose(f);
    return true;
}

/* ---- Reading ---- */

struct reader {
    const char *at, *end;
    op_case *c;
    cfx_scope *s;
    bool in_constructor;
    char *why;
    size_t why_size;
};

static bool fail(struct reader *r, const char *what)
{
    if (!*r->why)
        snprintf(r->why, r->why_size, "%s at '%.20s'", what, r->at);
    return false;
}

static void skip(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
        r->at++;
}

static bool take(struct reader *r, char c)
{
    skip(r);
    if (r->at >= r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static size_t word(struct reader *r)
{
    skip(r);
    size_t n = 0;
    while (r->at + n < r->end && (isalnum((unsigned char)r->at[n]) ||
                                  r->at[n] == '_' || r->at[n] == '.'))
        n++;
    return n;
}

/* ---- Tensors ---- */

static bool read_ints(struct reader *r, char open, char close, int64_t *out,
                      int *n)
{
    *n = 0;
    if (!take(r, open))
        return fail(r, "a bracket is missing");
    while (!take(r, close)) {
        char *end;
        skip(r);
        out[(*n)++] = strtoll(r->at, &end, 10);
        if (end == r->at || *n == CFX_MAX_RANK)
            return fail(r, "bad extents");
        r->at = end;
        take(r, ',');
    }
    return true;
}

static uint64_t key_of(uint64_t seed, const char *name)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (const char *p = name; *p; p++)
        h = (h ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
    return cfx_mix64(seed + UINT64_C(0x9E3779B97F4A7C15)) ^ h;
}

void case_next_index(const cfx_tensor *t, int64_t *index)
{
    for (int i = t->rank - 1; i >= 0; i--) {
        if (++index[i] < cfx_tensor_size(t, i))
            return;
        index[i] = 0;
    }
}

static bool fill_range(struct reader *r, cfx_tensor *t, const char *name)
{
    char *end, full[64];
    double lo = cfx_strtod(r->at, &end);
    r->at = end + 1;
    double hi = cfx_strtod(r->at, &end);
    r->at = end;
    snprintf(full, sizeof(full), "input:%s", name);
    uint64_t key = key_of(1, full);
    int64_t index[CFX_MAX_RANK] = {0}, n = cfx_tensor_numel(t);
    cfx_dtype type = (cfx_dtype)t->dtype;
    for (int64_t i = 0; i < n; i++, case_next_index(t, index)) {
        uint64_t bits = cfx_random_bits(key, (uint64_t)i);
        double v = lo + (hi - lo) * cfx_random_uniform(bits);
        void *p = cfx_tensor_at(t, index);
        if (cfx_dtypes[type].category >= CFX_CAT_FLOAT)
            cfx_element_set_double(type, p, v);
        else
            cfx_element_set_int(
                type, p, (int64_t)lo + (int64_t)(bits % (uint64_t)(hi - lo)));
    }
    return true;
}

static bool read_element(struct reader *r, cfx_dtype type, void *p)
{
    char *end;
    skip(r);
    if (!strncmp(r->at, "true", 4) || !strncmp(r->at, "false", 5)) {
        bool v = *r->at == 't';
        r->at += v ? 4 : 5;
        cfx_element_set_int(type, p, v);
        return true;
    }
    double v = cfx_strtod(r->at, &end);
    if (end == r->at)
        return fail(r, "bad element");
    if (cfx_dtype_is_complex(type)) {
        double part[2] = {*end == 'j' ? 0 : v, *end == 'j' ? v : 0};
        if (*end == '+' || *end == '-')
            part[1] = cfx_strtod(end, &end);
        r->at = end + (*end == 'j');
        cfx_element_set_complex(type, p, part);
        return true;
    }
    if (cfx_dtype_is_float(type))
        cfx_element_set_double(type, p, v);
    else
        cfx_element_set_int(type, p, strtoll(r->at, NULL, 10));
    r->at = end;
    return true;
}

static bool fill_list(struct reader *r, cfx_tensor *t)
{
    int64_t index[CFX_MAX_RANK] = {0}, n = cfx_tensor_numel(t);
    char first[16] = {0};
    cfx_dtype type = (cfx_dtype)t->dtype;
    int64_t count = 0;
    while (!take(r, '}')) {
        char one[16];
        if (!read_element(r, type, one))
            return false;
        if (!count)
            memcpy(first, one, sizeof(first));
        if (count < n) {
            memcpy(cfx_tensor_at(t, index), one, cfx_dtype_size(type));
            case_next_index(t, index);
        }
        count++;
        take(r, ',');
    }
    for (int64_t i = count; count == 1 && i < n; i++) {
        memcpy(cfx_tensor_at(t, index), first, cfx_dtype_size(type));
        case_next_index(t, index);
    }
    return true;
}

/* Storage of just the size that the strides need, zeroed. */
static cfx_tensor *strided(struct reader *r, cfx_dtype type, int rank,
                           const int64_t *shape, const int64_t *stride)
{
    int64_t span = 1;
    cfx_tensor *flat, *t = NULL;
    for (int i = 0; i < rank; i++)
        span = shape[i] ? span + (shape[i] - 1) * stride[i] : 0;
    for (int i = 0; i < rank; i++)
        if (!shape[i])
            span = 0;
    if (cfx_tensor_new(&flat, r->s->ctx, type, 1, &span, NULL))
        return NULL;
    memset(flat->data, 0, (size_t)span * cfx_dtype_size(type));
    cfx_dim dims[CFX_MAX_RANK], strides[CFX_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        dims[i] = cfx_dim_int(shape[i]);
        strides[i] = cfx_dim_int(stride[i]);
    }
    cfx_tensor_view(&t, flat, rank, dims, strides, cfx_dim_int(0), NULL);
    cfx_tensor_unref(flat);
    return t;
}

static bool fill(struct reader *r, cfx_tensor *t, const char *name)
{
    if (r->at < r->end && *r->at == '#') {
        r->at++;
        return fill_range(r, t, name);
    }
    if (r->at + 1 < r->end && r->at[0] == '=' && r->at[1] == '{') {
        r->at += 2;
        return fill_list(r, t);
    }
    return !cfx_tensor_randomize(t, 1, name, NULL);
}

/* The tensor without its numbers. */
static void forget(struct reader *r, cfx_value *v)
{
    cfx_tensor *t = v->u.tensor, *meta;
    if (cfx_tensor_meta(&meta, r->s->ctx, (cfx_dtype)t->dtype, t->rank,
                        t->shape, t->stride, NULL))
        return;
    *v = cfx_scope_take(r->s, cfx_value_of_tensor(meta));
}

/* Extents that may be expressions. */
static bool read_dims(struct reader *r, char open, char close, cfx_dim *out,
                      int *n)
{
    char text[128];
    *n = 0;
    if (!take(r, open))
        return fail(r, "a bracket is missing");
    while (!take(r, close)) {
        const char stop[] = {',', close, '\0'};
        skip(r);
        size_t len = strcspn(r->at, stop);
        snprintf(text, sizeof(text), "%.*s", (int)len, r->at);
        if (*n == CFX_MAX_RANK || len >= sizeof(text) ||
            cfx_dim_parse(&out[(*n)++], r->s->env, text, NULL))
            return fail(r, "bad extents");
        r->at += len;
        take(r, ',');
    }
    return true;
}

static bool read_symbolic(struct reader *r, cfx_dtype type, cfx_value *out)
{
    cfx_dim shape[CFX_MAX_RANK], stride[CFX_MAX_RANK];
    int rank, n = -1;
    cfx_tensor *t;
    if (!read_dims(r, '[', ']', shape, &rank))
        return false;
    if (take(r, '@') && (!read_dims(r, '(', ')', stride, &n) || n != rank))
        return fail(r, "bad strides");
    if (cfx_tensor_meta(&t, r->s->ctx, type, rank, shape,
                        n < 0 ? NULL : stride, NULL))
        return fail(r, "cannot make the tensor");
    *out = cfx_scope_take(r->s, cfx_value_of_tensor(t));
    return true;
}

static bool read_spec(struct reader *r, cfx_dtype type, cfx_value *out)
{
    if (r->s->env)
        return read_symbolic(r, type, out);
    int64_t shape[CFX_MAX_RANK], stride[CFX_MAX_RANK];
    int rank, nstride;
    char name[16];
    cfx_tensor *t = NULL;
    if (!read_ints(r, '[', ']', shape, &rank))
        return false;
    if (r->at < r->end && *r->at == '@') {
        r->at++;
        if (!read_ints(r, '(', ')', stride, &nstride) || nstride != rank)
            return fail(r, "bad strides");
        t = strided(r, type, rank, shape, stride);
    } else {
        cfx_tensor_new(&t, r->s->ctx, type, rank, shape, NULL);
    }
    if (!t || r->c->ntensors == CASE_MAX_TENSORS)
        return fail(r, "cannot make the tensor");
    snprintf(name, sizeof(name), "arg%zu", r->c->ntensors);
    r->c->tensor[r->c->ntensors++] = t;
    *out = cfx_scope_take(r->s, cfx_value_of_tensor(t));
    if (!fill(r, t, name))
        return false;
    if (!r->s->hook.computes)
        forget(r, out);
    return true;
}

/* ---- Values ---- */

static bool read_value(struct reader *r, cfx_value *out);

static bool read_items(struct reader *r, char close, cfx_kind kind,
                       cfx_value *out, bool *comma)
{
    cfx_value item[64];
    size_t n = 0;
    *comma = false;
    while (!take(r, close)) {
        if (n == 64 || !read_value(r, &item[n++]))
            return fail(r, "bad items");
        *comma = take(r, ',');
    }
    if (kind == CFX_TUPLE && n == 1 && !*comma)
        *out = item[0];
    else
        *out = cfx_list_of(r->s, kind, n, item);
    return true;
}

static bool read_dict(struct reader *r, cfx_value *out)
{
    cfx_value item[32];
    size_t n = 0;
    while (!take(r, '}')) {
        if (n == 32 || !read_value(r, &item[n]) || !take(r, ':') ||
            !read_value(r, &item[n + 1]))
            return fail(r, "bad dict");
        n += 2;
        take(r, ',');
    }
    *out = cfx_scope_take(r->s, cfx_dict_new(r->s->ctx, n / 2, item));
    return true;
}

static bool read_number(struct reader *r, cfx_value *out)
{
    char *end, text[64];
    double v = cfx_strtod(r->at, &end);
    size_t n = (size_t)(end - r->at);
    if (!n || n >= sizeof(text))
        return fail(r, "a value is missing");
    memcpy(text, r->at, n);
    text[n] = '\0';
    *out = strpbrk(text, ".en") ? cfx_float(v)
                                : cfx_int(strtoll(text, NULL, 10));
    r->at = end;
    return true;
}

static bool is(struct reader *r, size_t n, const char *name)
{
    return strlen(name) == n && !strncmp(r->at, name, n);
}

/* slice(stop) and range(stop), slice(start, stop): of three parts always. */
static cfx_value make_parts(struct reader *r, cfx_kind kind, cfx_value list)
{
    cfx_value none = kind == CFX_SLICE ? cfx_none() : cfx_int(0);
    cfx_value step = kind == CFX_SLICE ? cfx_none() : cfx_int(1);
    uint32_t n = list.u.seq->len;
    const cfx_value *item = list.u.seq->item;
    cfx_value part[] = {n > 1 ? item[0] : none, n > 1 ? item[1] : item[0],
                        n > 2 ? item[2] : step};
    return cfx_scope_take(r->s,
                          kind == CFX_COMPLEX
                              ? cfx_seq_new(r->s->ctx, kind, n, item, NULL)
                              : cfx_seq_new(r->s->ctx, kind, 3, part, NULL));
}

static bool read_named(struct reader *r, size_t n, cfx_value *out)
{
    static const struct {
        const char *name;
        cfx_kind kind;
    } call[] = {
        {"slice", CFX_SLICE},
        {"range", CFX_RANGE},
        {"complex", CFX_COMPLEX},
    };
    char name[64];
    bool comma;
    cfx_dtype type;
    snprintf(name, sizeof(name), "%.*s", (int)n, r->at);
    for (size_t i = 0; i < 3; i++)
        if (!strcmp(name, call[i].name)) {
            r->at += n + 1;
            if (!read_items(r, ')', CFX_LIST, out, &comma))
                return false;
            *out = make_parts(r, call[i].kind, *out);
            return true;
        }
    if (is(r, n, "device")) {
        r->at += n + 1;
        bool ok = read_items(r, ')', CFX_TUPLE, out, &comma);
        out->kind = out->kind == CFX_STR ? CFX_DEVICE : out->kind;
        return ok;
    }
    if (cfx_dtype_parse(&type, name) && r->at + n < r->end &&
        r->at[n] == '[') {
        r->at += n;
        return read_spec(r, type, out);
    }
    bool known = true;
    if (is(r, n, "None"))
        *out = cfx_none();
    else if (is(r, n, "True") || is(r, n, "False"))
        *out = cfx_bool(*r->at == 'T');
    else if (is(r, n, "inf") || is(r, n, "nan"))
        *out = cfx_float(*r->at == 'i' ? INFINITY : NAN);
    else if (is(r, n, "...") || is(r, n, "Ellipsis"))
        *out = cfx_ellipsis();
    else
        known = false;
    if (!known && cfx_parse_value(out, r->s->ctx, r->at, n, NULL) == CFX_OK) {
        *out = cfx_scope_take(r->s, *out);
        known = out->kind != CFX_NAME;
    }
    cfx_dim d;
    if (!known && r->s->env && !cfx_dim_parse(&d, r->s->env, name, NULL)) {
        *out = cfx_value_of_dim(d);
        known = true;
    }
    if (!known)
        return fail(r, "unknown word");
    r->at += n;
    return true;
}

static bool read_string(struct reader *r, cfx_value *out)
{
    char quote = *r->at++;
    const char *end = memchr(r->at, quote, (size_t)(r->end - r->at));
    if (!end)
        return fail(r, "a quote is missing");
    *out = cfx_scope_take(
        r->s, cfx_str_new(r->s->ctx, r->at, (size_t)(end - r->at)));
    r->at = end + 1;
    return true;
}

/* An integer with symbols and signs, "2*N + 1", where there are symbols. */
static bool read_expression(struct reader *r, cfx_value *out)
{
    char text[64];
    cfx_dim d;
    size_t n = strcspn(r->at, ",)]}");
    snprintf(text, sizeof(text), "%.*s", (int)n, r->at);
    if (!r->s->env || n >= sizeof(text) || !strpbrk(text, "*/+-") ||
        strpbrk(text, "([{.'\"") || cfx_dim_parse(&d, r->s->env, text, NULL))
        return false;
    r->at += n;
    *out = cfx_value_of_dim(d);
    return true;
}

static bool read_value(struct reader *r, cfx_value *out)
{
    bool comma;
    skip(r);
    if (r->at >= r->end)
        return fail(r, "a value is missing");
    if (read_expression(r, out))
        return true;
    if (*r->at == '(' || *r->at == '[') {
        bool tuple = *r->at++ == '(';
        return read_items(r, tuple ? ')' : ']', tuple ? CFX_TUPLE : CFX_LIST,
                          out, &comma);
    }
    if (*r->at == '{') {
        r->at++;
        return read_dict(r, out);
    }
    if (*r->at == '\'' || *r->at == '"')
        return read_string(r, out);
    if (isdigit((unsigned char)*r->at) || *r->at == '-' ||
        (*r->at == '.' && isdigit((unsigned char)r->at[1])))
        return read_number(r, out);
    return read_named(r, word(r), out);
}

static bool read_args(struct reader *r)
{
    op_case *c = r->c;
    c->nargs = c->nkwargs = 0;
    if (!take(r, '('))
        return fail(r, "'(' is missing");
    while (!take(r, ')')) {
        size_t n = word(r);
        bool keyword = n && r->at + n + 1 < r->end && r->at[n] == '=' &&
                       r->at[n + 1] != '{' && !isdigit((unsigned char)*r->at);
        if (c->nargs == CASE_MAX_ARGS || c->nkwargs == CASE_MAX_ARGS)
            return fail(r, "too many arguments");
        if (keyword) {
            c->kwargs[2 * c->nkwargs] = cfx_scope_take(
                r->s, cfx_str_new(r->s->ctx, r->at, n));
            r->at += n + 1;
            if (!read_value(r, &c->kwargs[2 * c->nkwargs++ + 1]))
                return false;
        } else if (!read_value(r, &c->args[c->nargs++])) {
            return false;
        }
        take(r, ',');
    }
    return true;
}

static bool make_module(struct reader *r)
{
    op_case *c = r->c;
    cfx_error err = {0};
    const cfx_module_type *type = cfx_find_module_type(r->s->ctx, c->target);
    if (!type)
        return fail(r, "unknown module type");
    memcpy(c->made.args, c->args, sizeof(c->args));
    memcpy(c->made.kwargs, c->kwargs, sizeof(c->kwargs));
    c->made.nargs = c->nargs;
    c->made.nkwargs = c->nkwargs;
    if (cfx_module_new(&c->module, r->s->ctx, type, NULL,
                       (cfx_args){c->args, c->nargs, c->kwargs, c->nkwargs},
                       &err) ||
        cfx_module_randomize(c->module, 1, &err)) {
        snprintf(r->why, r->why_size, "constructor: %s", err.text);
        cfx_scope_fail(r->s, err.code, "%s", err.text);
        return false;
    }
    return true;
}

bool case_read(op_case *c, cfx_scope *s, const char *text, size_t len,
               char *why, size_t size)
{
    struct reader r = {.at = text,
                       .end = text + len,
                       .c = c,
                       .s = s,
                       .why = why,
                       .why_size = size};
    *c = (op_case){.nargs = 0};
    *why = '\0';
    size_t n = word(&r);
    snprintf(c->target, sizeof(c->target), "%.*s", (int)n, r.at);
    r.at += n;
    if (!read_args(&r))
        return false;
    static const char train[] = ".train()";
    size_t mark = strlen(train);
    bool training = r.end - r.at > (ptrdiff_t)mark &&
                    !strncmp(r.at, train, mark);
    r.at += training ? mark : 0;
    if (take(&r, '(')) {
        r.at--;
        if (!make_module(&r))
            return false;
        c->training = training;
        cfx_module_train(c->module, training);
        return read_args(&r);
    }
    c->is_method = !strncmp(c->target, "Tensor.", 7);
    c->only_made = !strchr(c->target, '.');
    return !c->only_made || make_module(&r);
}

void case_release(op_case *c)
{
    cfx_module_unref(c->module);
    c->module = NULL;
}

cfx_value case_run(op_case *c, cfx_scope *s)
{
    cfx_value out;
    if (c->only_made)
        return cfx_none();
    if (!c->module)
        return c->is_method
                   ? cfx_call_method(
                         s, c->target + 7,
                         (cfx_args){c->args, c->nargs, c->kwargs, c->nkwargs})
                   : cfx_call_function(
                         s, c->target,
                         (cfx_args){c->args, c->nargs, c->kwargs, c->nkwargs});
    if (cfx_scope_call_module(
            s, c->module, NULL,
            (cfx_args){c->args, c->nargs, c->kwargs, c->nkwargs}, &out))
        return cfx_none();
    return cfx_scope_take(s, out);
}
