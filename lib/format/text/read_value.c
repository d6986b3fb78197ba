/*
 * read_value -- values in Python's notation, by recursive descent.
 *
 * The restricted subset that models use: literals, tuples, lists, dicts, and
 * the calls slice(), range(), device(), complex() and torch.Size(). A literal
 * is a literal even where a node has its name.
 */
#include <limits.h>
#include <math.h>

#include "format/text/reader.h"

static bool is_word(const char *s, size_t len, const char *word)
{
    return len == strlen(word) && !memcmp(s, word, len);
}

/* ---- Errors ---- */

cfx_status cfx_read__unexpected(cfx_reader *r, const cfx_lexer *lx,
                                const char *wanted)
{
    int shown = lx->len > 40 ? 40 : (int)lx->len;
    if (lx->string->failed)
        return cfx_no_memory(r->err);
    if (lx->token == CFX_TOKEN_END)
        return cfx_reader_fail(r, lx->text, CFX_EPARSE,
                               "the text ends where %s should stand", wanted);
    if (lx->token == CFX_TOKEN_BAD)
        return cfx_reader_fail(r, lx->text, CFX_EPARSE, "%s", lx->why);
    return cfx_reader_fail(r, lx->text, CFX_EPARSE,
                           "'%.*s' stands where %s should", shown, lx->text,
                           wanted);
}

cfx_status cfx_read__punct(cfx_reader *r, cfx_lexer *lx, char punct)
{
    char wanted[] = {'\'', punct, '\'', '\0'};
    if (!cfx_lexer_is(lx, punct))
        return cfx_read__unexpected(r, lx, wanted);
    cfx_lexer_next(lx);
    return CFX_OK;
}

/* ---- Words ---- */

/* Types that torch has and we do not compute in are names. */
static bool is_other_dtype(const char *name)
{
    /* clang-format off */
    static const char *const names[] = {
        "complex32", "complex64", "complex128", "chalf", "cfloat", "cdouble",
        "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
        "float8_e8m0fnu", "float4_e2m1fn_x2", "uint1", "uint2", "uint3",
        "uint4", "uint5", "uint6", "uint7", "int1", "int2", "int3", "int4",
        "int5", "int6", "int7", "quint8", "qint8", "qint32", "quint4x2",
        "quint2x4", "bits8", "bits16", "bits1x8", "bits2x4", "bits4x2"};
    /* clang-format on */
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

/* A constant of torch; of a layout and a name the caller makes the string. */
static cfx_value torch_constant(const char *s, size_t len)
{
    static const char *const formats[] = {
        [CFX_CONTIGUOUS_FORMAT] = "contiguous_format",
        [CFX_PRESERVE_FORMAT] = "preserve_format",
        [CFX_CHANNELS_LAST] = "channels_last",
        [CFX_CHANNELS_LAST_3D] = "channels_last_3d"};
    static const char *const layouts[] = {
        "strided",    "sparse_coo", "sparse_csr", "sparse_csc",
        "sparse_bsr", "sparse_bsc", "jagged"};
    char name[32];
    cfx_dtype dtype;
    if (len < 7 || memcmp(s, "torch.", 6) || len - 6 >= sizeof(name))
        return CFX_NOTHING;
    memcpy(name, s + 6, len - 6);
    name[len - 6] = '\0';
    if (strchr(name, '.'))
        return CFX_NOTHING;
    if (cfx_dtype_parse(&dtype, name))
        return cfx_value_of_dtype(dtype);
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (!strcmp(name, formats[i]))
            return cfx_value_of_format((cfx_memory_format)i);
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
        if (!strcmp(name, layouts[i]))
            return (cfx_value){.kind = CFX_LAYOUT};
    return is_other_dtype(name) ? (cfx_value){.kind = CFX_NAME} : CFX_NOTHING;
}

static cfx_value constant(const char *s, size_t len)
{
    if (is_word(s, len, "None"))
        return cfx_none();
    if (is_word(s, len, "True") || is_word(s, len, "False"))
        return cfx_bool(*s == 'T');
    if (is_word(s, len, "Ellipsis") || is_word(s, len, "..."))
        return cfx_ellipsis();
    if (len && (*s == '-' || *s == '+') && is_word(s + 1, len - 1, "inf"))
        return cfx_float(*s == '-' ? -INFINITY : INFINITY);
    if (is_word(s, len, "inf"))
        return cfx_float(INFINITY);
    if (is_word(s, len, "nan") || is_word(s, len, "-nan") ||
        is_word(s, len, "+nan"))
        return cfx_float(NAN);
    return torch_constant(s, len);
}

cfx_status cfx_read__constant(cfx_reader *r, const char *s, size_t len,
                              bool *found)
{
    cfx_value v = constant(s, len);
    *found = v.kind != CFX_ABSENT;
    if (!*found)
        return CFX_OK;
    if (v.kind == CFX_LAYOUT || v.kind == CFX_NAME)
        return cfx_reader_push_str(r, (cfx_kind)v.kind, s, len);
    return cfx_reader_push_take(r, v);
}

static cfx_status read_node(cfx_reader *r, cfx_lexer *lx)
{
    cfx_node *n = cfx_reader_node(r, lx->text, lx->len);
    int shown = lx->len > 200 ? 200 : (int)lx->len;
    if (!n)
        return cfx_reader_fail(r, lx->text, CFX_EGRAPH,
                               "%%%.*s is used before it is defined", shown,
                               lx->text);
    cfx_lexer_next(lx);
    return cfx_reader_push_take(r, cfx_value_of_node(n));
}

/* Does a dotted name in code name a thing of a library, whose name is all that
 * is known of it? What belongs to a variable is no value but an operation. */
static bool is_of_library(cfx_reader *r, const char *s, size_t len)
{
    const char *dot = memchr(s, '.', len);
    return r->variables && dot && !is_word(s, (size_t)(dot - s), "self") &&
           !cfx_map_get(r->variables, s, (size_t)(dot - s));
}

/* A name that is no call. */
static cfx_status read_name(cfx_reader *r, const char *s, size_t len)
{
    bool found;
    cfx_status st = cfx_read__constant(r, s, len, &found);
    if (found)
        return st;
    cfx_node *n = r->bare_nodes ? cfx_reader_node(r, s, len) : NULL;
    if (n)
        return cfx_reader_push_take(r, cfx_value_of_node(n));
    if ((r->no_names && !is_of_library(r, s, len)) || *s == '-' || *s == '+')
        return cfx_reader_fail(r, s, CFX_EGRAPH, "%.*s is not defined",
                               len > 200 ? 200 : (int)len, s);
    return cfx_reader_push_str(r, CFX_NAME, s, len);
}

/* ---- Calls ---- */

cfx_status cfx_read__arguments(cfx_reader *r, cfx_lexer *lx, int depth)
{
    while (!cfx_lexer_is(lx, ')') && lx->token != CFX_TOKEN_END) {
        cfx_lexer key = *lx;
        bool named = false;
        if (key.token == CFX_TOKEN_NAME) {
            cfx_lexer_next(lx);
            named = cfx_lexer_is(lx, '=');
            if (named)
                cfx_lexer_next(lx);
            else
                *lx = key;
        }
        cfx_status st = named ? cfx_reader_push_str(r, CFX_STR, key.text,
                                                    key.len)
                              : cfx_reader_push_take(r, cfx_none());
        if (!st)
            st = cfx_read__value(r, lx, depth);
        if (st)
            return st;
        if (!cfx_lexer_is(lx, ','))
            break;
        cfx_lexer_next(lx);
    }
    return CFX_OK;
}

/* Arguments of the calls below, without keys: n of them at most. */
static cfx_status check_positional(cfx_reader *r, const char *at, size_t first,
                                   size_t most)
{
    size_t count = (r->n - first) / 2;
    for (size_t i = 0; i < count; i++)
        if (r->stack[first + 2 * i].kind != CFX_NONE)
            return cfx_reader_fail(r, at, CFX_EPARSE,
                                   "it takes no named arguments");
    if (!count || count > most)
        return cfx_reader_fail(r, at, CFX_EPARSE,
                               "it takes 1 to %zu arguments, and has %zu",
                               most, count);
    for (size_t i = 0; i < count; i++)
        r->stack[first + i] = r->stack[first + 2 * i + 1];
    r->n = first + count;
    return CFX_OK;
}

static cfx_status make_slice(cfx_reader *r, const char *at, size_t first,
                             cfx_kind kind)
{
    cfx_status st = check_positional(r, at, first, 3);
    if (st)
        return st;
    cfx_value v[3] = {cfx_none(), cfx_none(), cfx_none()};
    size_t count = r->n - first;
    if (kind == CFX_RANGE) {
        v[0] = cfx_int(0);
        v[2] = cfx_int(1);
    }
    for (size_t i = 0; i < count; i++)
        v[count == 1 ? 1 : i] = r->stack[first + i];
    r->n = first;
    for (int i = 0; i < 3; i++) {
        cfx_status bad = cfx_reader_push_take(r, v[i]);
        st = st ? st : bad;
    }
    return st ? st : cfx_reader_gather(r, kind, first);
}

static cfx_status push_complex(cfx_reader *r, double re, double im)
{
    cfx_value half[2] = {cfx_float(re), cfx_float(im)};
    return cfx_reader_push_take(
        r, cfx_seq_new(r->ctx, CFX_COMPLEX, 2, half, NULL));
}

/* One half of a complex literal: a number, inf or nan. */
static bool scan_half(const char **s, const char *end, double *f)
{
    size_t len = 0;
    int64_t i;
    const char *at = *s, *word = at + (at < end && (*at == '-' || *at == '+'));
    bool inf = cfx_starts(word, end, "inf");
    if (inf || cfx_starts(word, end, "nan")) {
        *f = !inf ? NAN : *at == '-' ? -INFINITY : INFINITY;
        *s = word + 3;
        return true;
    }
    /* A sign follows the first half, a j the second. */
    const char *stop = word;
    while (stop < end && (cfx_is_digit(*stop) || *stop == '.' ||
                          *stop == 'e' || *stop == 'E' ||
                          ((*stop == '+' || *stop == '-') &&
                           (stop[-1] == 'e' || stop[-1] == 'E'))))
        stop++;
    cfx_token t = cfx_scan_number(at, stop, &len, &i, f);
    if (t == CFX_TOKEN_INT)
        *f = i || *at != '-' ? (double)i : -0.0;
    if ((t != CFX_TOKEN_INT && t != CFX_TOKEN_FLOAT) || at + len != stop)
        return false;
    *s = stop;
    return true;
}

/* The text of complex('inf'), '1+2j', '-nanj'. */
static bool parse_complex(const cfx_string *text, double half[2])
{
    const char *s = text->text, *end = s + text->len;
    half[0] = half[1] = 0;
    if (!scan_half(&s, end, &half[0]))
        return false;
    if (s == end)
        return true;
    if (end - s == 1 && *s == 'j') {
        half[1] = half[0];
        half[0] = 0;
        return true;
    }
    return (*s == '+' || *s == '-') && scan_half(&s, end, &half[1]) &&
           end - s == 1 && *s == 'j';
}

static cfx_status make_complex(cfx_reader *r, const char *at, size_t first)
{
    cfx_status st = check_positional(r, at, first, 2);
    double half[2];
    if (!st && r->n - first == 1 && r->stack[first].kind == CFX_STR &&
        parse_complex(r->stack[first].u.str, half)) {
        cfx_reader_pop_to(r, first);
        return push_complex(r, half[0], half[1]);
    }
    if (!st && r->n - first == 1)
        st = cfx_reader_push_take(r, cfx_float(0));
    for (size_t i = first; !st && i < r->n; i++) {
        if (r->stack[i].kind != CFX_FLOAT && r->stack[i].kind != CFX_INT)
            return cfx_reader_fail(r, at, CFX_EPARSE,
                                   "a complex number has two numbers");
        r->stack[i] = cfx_float(cfx_value_number(r->stack[i]));
    }
    return st ? st : cfx_reader_gather(r, CFX_COMPLEX, first);
}

static cfx_status make_size(cfx_reader *r, const char *at, size_t first)
{
    cfx_status st = check_positional(r, at, first, 1);
    if (st)
        return st;
    cfx_value v = r->stack[first];
    if (v.kind != CFX_LIST && v.kind != CFX_TUPLE)
        return cfx_reader_fail(r, at, CFX_EPARSE, "torch.Size takes a list");
    cfx_value t = cfx_tuple_new(r->ctx, v.u.seq->len, v.u.seq->item);
    cfx_reader_pop_to(r, first);
    return cfx_reader_push_take(r, t);
}

/* device('cuda', 0), device(type='cuda', index=0), device('cuda:0'). */
static cfx_status make_device(cfx_reader *r, const char *at, size_t first)
{
    size_t count = (r->n - first) / 2;
    cfx_value type = count ? r->stack[first + 1] : cfx_none();
    cfx_value index = count > 1 ? r->stack[first + 3] : cfx_none();
    if (count < 1 || count > 2 || type.kind != CFX_STR ||
        (count == 2 && index.kind != CFX_INT))
        return cfx_reader_fail(r, at, CFX_EPARSE,
                               "a device has a name and maybe an index");
    cfx_buf_clear(&r->word);
    cfx_buf_add(&r->word, type.u.str->text, type.u.str->len);
    if (count == 2) {
        cfx_buf_putc(&r->word, ':');
        cfx_buf_int(&r->word, index.u.i);
    }
    cfx_reader_pop_to(r, first);
    if (r->word.failed)
        return cfx_no_memory(r->err);
    return cfx_reader_push_str(r, CFX_DEVICE, cfx_buf_str(&r->word),
                               r->word.len);
}

/* tensor('NAME', f32[2, 3]): of the superset; one name is one tensor. */
static cfx_status read_tensor(cfx_reader *r, cfx_lexer *lx)
{
    cfx_dtype dtype;
    cfx_dim shape[CFX_MAX_RANK];
    cfx_tensor *t;
    int rank;
    const char *at = lx->text;
    if (lx->token != CFX_TOKEN_STRING)
        return cfx_read__unexpected(r, lx, "the name of a tensor");
    const char *key = lx->text + 1;
    size_t len = lx->len - 2;
    cfx_lexer_next(lx);
    cfx_status st = cfx_read__punct(r, lx, ',');
    if (!st)
        st = cfx_read__type(r, lx, &dtype, &rank, shape);
    if (!st)
        st = cfx_read__punct(r, lx, ')');
    if (st)
        return st;
    cfx_map_entry *e = cfx_map_put(&r->tensors, key, len, NULL);
    if (!e)
        return cfx_no_memory(r->err);
    if (!e->v.p &&
        cfx_tensor_meta(&t, r->ctx, dtype, rank, shape, NULL, r->err)) {
        cfx_map_remove(&r->tensors, key, len);
        return cfx_reader_fail_at(r, at);
    } else if (!e->v.p) {
        e->v.p = t;
    }
    t = e->v.p;
    bool same = t->dtype == dtype && t->rank == rank;
    for (int i = 0; same && i < rank; i++)
        same = cfx_dim_same(t->shape[i], shape[i]);
    if (!same)
        return cfx_reader_fail(r, at, CFX_EPARSE,
                               "the tensor has another type elsewhere");
    return cfx_reader_push_take(r, cfx_value_of_tensor(cfx_tensor_ref(t)));
}

static cfx_status read_call(cfx_reader *r, cfx_lexer *lx, const char *name,
                            size_t len, int depth)
{
    size_t first = r->n;
    if (depth >= CFX_MAX_DEPTH)
        return cfx_reader_fail(r, name, CFX_EPARSE,
                               "a value nests deeper than %d", CFX_MAX_DEPTH);
    cfx_lexer_next(lx);
    if (is_word(name, len, "tensor") && r->lossless)
        return read_tensor(r, lx);
    cfx_status st = cfx_read__arguments(r, lx, depth + 1);
    if (!st)
        st = cfx_read__punct(r, lx, ')');
    if (st)
        return st;
    if (is_word(name, len, "slice"))
        return make_slice(r, name, first, CFX_SLICE);
    if (is_word(name, len, "range"))
        return make_slice(r, name, first, CFX_RANGE);
    if (is_word(name, len, "complex"))
        return make_complex(r, name, first);
    if (is_word(name, len, "torch.Size"))
        return make_size(r, name, first);
    if (is_word(name, len, "device") || is_word(name, len, "torch.device"))
        return make_device(r, name, first);
    return cfx_reader_fail(r, name, CFX_EPARSE, "%.*s() makes no value",
                           len > 200 ? 200 : (int)len, name);
}

/* ---- Brackets ---- */

/* `(1+2j)`, from after the bracket. */
static bool scan_complex(cfx_lexer *lx, double half[2])
{
    const char *s = lx->text + 1;
    if (!scan_half(&s, lx->end, &half[0]) || s == lx->end ||
        (*s != '+' && *s != '-') || !scan_half(&s, lx->end, &half[1]) ||
        lx->end - s < 2 || s[0] != 'j' || s[1] != ')')
        return false;
    lx->at = s + 2;
    cfx_lexer_next(lx);
    return true;
}

/* Items up to a closing bracket; *comma: did one follow the last? */
static cfx_status read_items(cfx_reader *r, cfx_lexer *lx, char close,
                             bool *comma, int depth)
{
    *comma = false;
    while (!cfx_lexer_is(lx, close)) {
        cfx_status st = cfx_read__value(r, lx, depth);
        if (st)
            return st;
        *comma = cfx_lexer_is(lx, ',');
        if (!*comma)
            break;
        cfx_lexer_next(lx);
    }
    return cfx_read__punct(r, lx, close);
}

static cfx_status read_tuple(cfx_reader *r, cfx_lexer *lx, int depth)
{
    double half[2];
    bool comma;
    size_t first = r->n;
    if (scan_complex(lx, half))
        return push_complex(r, half[0], half[1]);
    cfx_lexer_next(lx);
    cfx_status st = read_items(r, lx, ')', &comma, depth);
    if (st || (r->n == first + 1 && !comma))
        return st;
    return cfx_reader_gather(r, CFX_TUPLE, first);
}

static cfx_status read_dict(cfx_reader *r, cfx_lexer *lx, int depth)
{
    size_t first = r->n;
    cfx_lexer_next(lx);
    while (!cfx_lexer_is(lx, '}')) {
        cfx_status st = cfx_read__value(r, lx, depth);
        if (!st)
            st = cfx_read__punct(r, lx, ':');
        if (!st)
            st = cfx_read__value(r, lx, depth);
        if (st)
            return st;
        if (!cfx_lexer_is(lx, ','))
            break;
        cfx_lexer_next(lx);
    }
    cfx_status st = cfx_read__punct(r, lx, '}');
    return st ? st : cfx_reader_gather(r, CFX_DICT, first);
}

static cfx_status read_brackets(cfx_reader *r, cfx_lexer *lx, int depth)
{
    bool comma;
    size_t first = r->n;
    if (depth >= CFX_MAX_DEPTH)
        return cfx_reader_fail(r, lx->text, CFX_EPARSE,
                               "a value nests deeper than %d", CFX_MAX_DEPTH);
    if (cfx_lexer_is(lx, '('))
        return read_tuple(r, lx, depth + 1);
    if (cfx_lexer_is(lx, '{'))
        return read_dict(r, lx, depth + 1);
    if (!cfx_lexer_is(lx, '['))
        return cfx_read__unexpected(r, lx, "a value");
    cfx_lexer_next(lx);
    cfx_status st = read_items(r, lx, ']', &comma, depth + 1);
    return st ? st : cfx_reader_gather(r, CFX_LIST, first);
}

/* ---- Any ---- */

static cfx_status read_word(cfx_reader *r, cfx_lexer *lx, int depth)
{
    const char *s = lx->text;
    size_t len = lx->len;
    cfx_lexer_next(lx);
    if (cfx_lexer_is(lx, '(') && lx->text == s + len)
        return read_call(r, lx, s, len, depth);
    return read_name(r, s, len);
}

cfx_status cfx_read__value(cfx_reader *r, cfx_lexer *lx, int depth)
{
    cfx_value v = cfx_none();
    switch (lx->token) {
    case CFX_TOKEN_NAME: return read_word(r, lx, depth);
    case CFX_TOKEN_NODE: return read_node(r, lx);
    case CFX_TOKEN_PUNCT: return read_brackets(r, lx, depth);
    case CFX_TOKEN_INT: v = cfx_int(lx->i); break;
    case CFX_TOKEN_FLOAT: v = cfx_float(lx->f); break;
    case CFX_TOKEN_ELLIPSIS: v = cfx_ellipsis(); break;
    case CFX_TOKEN_IMAGINARY: {
        cfx_status st = push_complex(r, 0, lx->f);
        cfx_lexer_next(lx);
        return st;
    }
    case CFX_TOKEN_STRING: {
        if (lx->string->failed)
            return cfx_no_memory(r->err);
        cfx_status st = cfx_reader_push_str(
            r, CFX_STR, cfx_buf_str(lx->string), lx->string->len);
        cfx_lexer_next(lx);
        return st;
    }
    default: return cfx_read__unexpected(r, lx, "a value");
    }
    cfx_lexer_next(lx);
    return cfx_reader_push_take(r, v);
}

/* ---- Types ---- */

cfx_status cfx_read__type(cfx_reader *r, cfx_lexer *lx, cfx_dtype *dtype,
                          int *rank, cfx_dim *shape)
{
    const char *at = lx->text;
    *rank = 0;
    if (lx->token != CFX_TOKEN_NAME)
        return cfx_read__unexpected(r, lx, "a type such as f32[2, 3]");
    const char *name = cfx_reader_word(r, at, lx->len);
    if (!name)
        return CFX_ENOMEM;
    if (!cfx_dtype_parse(dtype, name))
        return cfx_reader_fail(r, at, CFX_EPARSE, "%.40s is not a data type",
                               name);
    cfx_lexer_next(lx);
    cfx_status st = cfx_read__punct(r, lx, '[');
    while (!st && !cfx_lexer_is(lx, ']')) {
        if (lx->token != CFX_TOKEN_INT || lx->i < 0)
            return cfx_read__unexpected(r, lx, "an extent");
        if (*rank == CFX_MAX_RANK)
            return cfx_reader_fail(r, at, CFX_EPARSE,
                                   "a tensor has at most %d axes",
                                   CFX_MAX_RANK);
        shape[(*rank)++] = cfx_dim_int(lx->i);
        cfx_lexer_next(lx);
        if (!cfx_lexer_is(lx, ']'))
            st = cfx_read__punct(r, lx, ',');
    }
    return st ? st : cfx_read__punct(r, lx, ']');
}

/* ---- By itself ---- */

cfx_status cfx_parse_value(cfx_value *out, cfx_context *ctx, const char *text,
                           size_t len, cfx_error *err)
{
    cfx_reader r;
    cfx_lexer lx;
    *out = CFX_NOTHING;
    cfx_reader_init(&r, ctx, NULL, text, len, err);
    cfx_lexer_init(&lx, text, r.end, &r.string);
    cfx_status st = cfx_read__value(&r, &lx, 0);
    if (!st && lx.token != CFX_TOKEN_END)
        st = cfx_read__unexpected(&r, &lx, "the end");
    if (!st)
        *out = r.stack[--r.n];
    cfx_reader_release(&r);
    return st;
}
