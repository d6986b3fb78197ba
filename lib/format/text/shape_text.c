/*
 * shape_text -- print and parse shapes.
 *
 * The text is split at commas outside of brackets and quotes. Parentheses with
 * a comma are a tuple, others an expression.
 */
#include "format/print.h"

/* ---- Printing ---- */

static void print_shape(const cfx_values *p, cfx_value v, bool stride);

static void print_parts(const cfx_values *p, const cfx_seq *s, bool stride)
{
    for (uint32_t i = 0; i < s->len; i++) {
        if (i)
            cfx_out_puts(p->out, ", ");
        print_shape(p, s->item[i], stride);
    }
}

static void print_keyed(const cfx_values *p, const cfx_seq *s, bool stride)
{
    for (uint32_t i = 0; i + 1 < s->len; i += 2) {
        if (i)
            cfx_out_puts(p->out, ", ");
        cfx_out__value(p, s->item[i]);
        cfx_out_puts(p->out, ": ");
        print_shape(p, s->item[i + 1], stride);
    }
}

static void print_shape(const cfx_values *p, cfx_value v, bool stride)
{
    cfx_out *o = p->out;
    switch ((cfx_kind)v.kind) {
    case CFX_TENSOR: cfx_print__type(o, v.u.tensor, stride); break;
    case CFX_SYMINT: cfx_print__dim(o, v.u.dim); break;
    case CFX_TUPLE:
        cfx_out_putc(o, '(');
        print_parts(p, v.u.seq, stride);
        cfx_out_puts(o, v.u.seq->len == 1 ? ",)" : ")");
        break;
    case CFX_LIST:
        cfx_out_putc(o, '[');
        print_parts(p, v.u.seq, stride);
        cfx_out_putc(o, ']');
        break;
    case CFX_DICT:
        cfx_out_putc(o, '{');
        print_keyed(p, v.u.seq, stride);
        cfx_out_putc(o, '}');
        break;
    case CFX_SLICE:
        cfx_out_puts(o, "slice(");
        print_parts(p, v.u.seq, stride);
        cfx_out_putc(o, ')');
        break;
    default: cfx_out__value(p, v);
    }
}

void cfx_out__shape(cfx_out *o, cfx_value v, bool stride, cfx_error *err)
{
    cfx_values p = {.out = o, .style = CFX_STYLE_REPR, .err = err};
    print_shape(&p, v, stride);
}

cfx_status cfx_print_shape(cfx_sink to, cfx_value v, bool stride,
                           cfx_error *err)
{
    cfx_out out;
    cfx_out_init(&out, to);
    cfx_out__shape(&out, v, stride, err);
    return cfx_out_finish(&out, err);
}

/* ---- Reading ---- */

typedef struct shape_reader {
    cfx_shape_env *env;
    cfx_context *ctx;
    cfx_error *err;
    cfx_buf word; /* a piece, as functions of other parts want it */
    int depth;
} shape_reader;

/* Part of a text, without blanks around it. */
typedef struct piece {
    const char *s, *end;
} piece;

static piece trim(const char *s, const char *end)
{
    while (s < end && (*s == ' ' || *s == '\t'))
        s++;
    while (end > s && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    return (piece){s, end};
}

static cfx_status refuse(const shape_reader *r, piece p)
{
    int n = p.end - p.s > 200 ? 200 : (int)(p.end - p.s);
    return cfx_fail(r->err, CFX_EPARSE,
                    "'%.*s' is not a shape such as f32[N, 3, 224, 224]", n,
                    p.s);
}

/* The end of a quoted string that begins at s. */
static const char *behind_string(const char *s, const char *end)
{
    char quote = *s++;
    while (s < end && *s != quote)
        s += *s == '\\' && end - s > 1 ? 2 : 1;
    return s < end ? s + 1 : end;
}

/* The first `stop` outside of brackets, or the end; NULL where brackets do not
 * match. */
static const char *find(const char *s, const char *end, char stop)
{
    int depth = 0;
    while (s < end) {
        if (!depth && *s == stop)
            return s;
        if (*s == '\'' || *s == '"') {
            s = behind_string(s, end);
            continue;
        }
        depth += strchr("([{", *s) != NULL;
        depth -= strchr(")]}", *s) != NULL;
        if (depth < 0)
            return NULL;
        s++;
    }
    return depth ? NULL : end;
}

/* The piece as a string of its own; NULL on lack of memory. */
static const char *word_of(shape_reader *r, piece p)
{
    cfx_buf_clear(&r->word);
    cfx_buf_add(&r->word, p.s, (size_t)(p.end - p.s));
    if (!r->word.failed)
        return cfx_buf_str(&r->word);
    cfx_no_memory(r->err);
    return NULL;
}

/* Has the word, which is r->word, no NUL in it? */
static bool is_text(const shape_reader *r, const char *word)
{
    return strlen(word) == r->word.len;
}

static cfx_status read_dim(shape_reader *r, piece p, cfx_dim *out)
{
    const char *word = word_of(r, p);
    if (!word)
        return CFX_ENOMEM;
    if (!is_text(r, word) || !*word)
        return refuse(r, p);
    return cfx_dim_parse(out, r->env, word, r->err);
}

/* "2, N + 1": the inside of brackets. */
static cfx_status read_dims(shape_reader *r, piece p, int *rank, cfx_dim *dims)
{
    *rank = 0;
    while (p.s < p.end) {
        const char *comma = find(p.s, p.end, ',');
        if (!comma)
            return refuse(r, p);
        if (*rank == CFX_MAX_RANK)
            return cfx_fail(r->err, CFX_EPARSE, "a tensor has at most %d axes",
                            CFX_MAX_RANK);
        cfx_status st = read_dim(r, trim(p.s, comma), &dims[(*rank)++]);
        if (st)
            return st;
        p = trim(comma < p.end ? comma + 1 : comma, p.end);
    }
    return CFX_OK;
}

/* Does a type with brackets begin here? *open is left at the bracket. */
static bool is_tensor(shape_reader *r, piece p, cfx_dtype *dtype,
                      const char **open)
{
    const char *s = p.s;
    while (s < p.end && *s != '[')
        s++;
    if (s == p.end || s == p.s || s - p.s > 31)
        return false;
    const char *word = word_of(r, (piece){p.s, s});
    *open = s;
    return word && is_text(r, word) && cfx_dtype_parse(dtype, word);
}

/* Extents are not negative: where that does not follow, it is a guard. */
static cfx_status check_extents(const shape_reader *r, int rank,
                                const cfx_dim *shape)
{
    char text[128];
    for (int i = 0; i < rank; i++) {
        if (cfx_dim_is_bad(shape[i]) ||
            cfx_dim_le(r->env, cfx_dim_int(0), shape[i]))
            continue;
        cfx_dim_format(shape[i], text, sizeof(text));
        return cfx_fail(r->err, CFX_ESHAPE, "the extent %s is negative", text);
    }
    return CFX_OK;
}

/* "[...]", and maybe strides and a device. */
static cfx_status read_tensor(shape_reader *r, piece p, cfx_dtype dtype,
                              const char *open, cfx_value *out)
{
    cfx_dim shape[CFX_MAX_RANK], stride[CFX_MAX_RANK];
    int rank, steps = -1;
    const char *close = find(open + 1, p.end, ']');
    if (!close || close == p.end)
        return refuse(r, p);
    cfx_status st = read_dims(r, trim(open + 1, close), &rank, shape);
    if (!st && close + 1 < p.end && close[1] == '[') {
        open = close + 1;
        close = find(open + 1, p.end, ']');
        if (!close || close == p.end)
            return refuse(r, p);
        st = read_dims(r, trim(open + 1, close), &steps, stride);
    }
    cfx_device_label device = 0;
    if (!st && close + 1 < p.end) {
        const char *word = word_of(r, (piece){close + 1, p.end});
        if (!word)
            return CFX_ENOMEM;
        if (!is_text(r, word) || !cfx_device_parse(&device, word))
            return refuse(r, p);
    }
    if (st)
        return st;
    if (steps >= 0 && steps != rank)
        return cfx_fail(r->err, CFX_EPARSE, "%d extents and %d strides", rank,
                        steps);
    cfx_tensor *t;
    st = check_extents(r, rank, shape);
    if (!st)
        st = cfx_tensor_meta(&t, r->ctx, dtype, rank, shape,
                             steps < 0 ? NULL : stride, r->err);
    if (!st) {
        t->device = device;
        *out = cfx_value_of_tensor(t);
    }
    return st;
}

static cfx_status read_shape(shape_reader *r, piece p, cfx_value *out);

typedef struct items {
    cfx_value *item;
    size_t n, cap;
} items;

static cfx_status push(shape_reader *r, items *to, cfx_value v)
{
    if (cfx_grow(r->ctx, to->item, to->cap, to->n + 1, r->err)) {
        cfx_value_unref(v);
        return CFX_ENOMEM;
    }
    to->item[to->n++] = v;
    return CFX_OK;
}

static cfx_status read_item(shape_reader *r, piece p, items *to)
{
    cfx_value v;
    cfx_status st = read_shape(r, p, &v);
    return st ? st : push(r, to, v);
}

/* "a, b" or, of a dict, "'k': a". */
static cfx_status read_items(shape_reader *r, piece p, bool keyed, items *to)
{
    while (p.s < p.end) {
        const char *comma = find(p.s, p.end, ',');
        cfx_status st = comma ? CFX_OK : refuse(r, p);
        piece one = comma ? trim(p.s, comma) : p;
        if (!st && keyed) {
            const char *colon = find(one.s, one.end, ':');
            if (!colon || colon == one.end)
                return refuse(r, one);
            st = read_item(r, trim(one.s, colon), to);
            one = trim(colon + 1, one.end);
        }
        if (!st)
            st = read_item(r, one, to);
        if (st)
            return st;
        p = trim(comma < p.end ? comma + 1 : comma, p.end);
    }
    return CFX_OK;
}

static cfx_status read_aggregate(shape_reader *r, piece inside, cfx_kind kind,
                                 cfx_value *out)
{
    items got = {0};
    if (++r->depth > CFX_MAX_DEPTH)
        return cfx_fail(r->err, CFX_EPARSE, "a shape nests deeper than %d",
                        CFX_MAX_DEPTH);
    cfx_status st = read_items(r, inside, kind == CFX_DICT, &got);
    r->depth--;
    if (!st) {
        *out = cfx_seq_new(r->ctx, kind, got.n, got.item, NULL);
        if (!out->kind)
            st = cfx_no_memory(r->err);
    }
    for (size_t i = 0; i < got.n; i++)
        cfx_value_unref(got.item[i]);
    cfx_free(r->ctx, got.item, got.cap * sizeof(*got.item));
    return st;
}

/* A literal of Python, or an expression. */
static cfx_status read_scalar(shape_reader *r, piece p, cfx_value *out)
{
    cfx_dim d;
    cfx_status st = cfx_parse_value(out, r->ctx, p.s, (size_t)(p.end - p.s),
                                    NULL);
    if (st == CFX_ENOMEM)
        return cfx_no_memory(r->err);
    if (!st && out->kind != CFX_NAME && out->kind != CFX_NODE)
        return CFX_OK;
    if (!st)
        cfx_value_unref(*out);
    *out = CFX_NOTHING;
    st = read_dim(r, p, &d);
    if (!st)
        *out = cfx_value_of_dim(d);
    return st;
}

/* Is all of it in one pair of these brackets? */
static bool is_in(piece p, char open, char close)
{
    return p.end - p.s >= 2 && *p.s == open &&
           find(p.s + 1, p.end, close) == p.end - 1;
}

static cfx_status read_shape(shape_reader *r, piece p, cfx_value *out)
{
    cfx_dtype dtype;
    const char *open;
    *out = CFX_NOTHING;
    if (p.s == p.end)
        return refuse(r, p);
    if (is_in(p, '[', ']'))
        return read_aggregate(r, trim(p.s + 1, p.end - 1), CFX_LIST, out);
    if (is_in(p, '{', '}'))
        return read_aggregate(r, trim(p.s + 1, p.end - 1), CFX_DICT, out);
    if (is_in(p, '(', ')')) {
        piece inside = trim(p.s + 1, p.end - 1);
        const char *comma = find(inside.s, inside.end, ',');
        if (inside.s == inside.end || (comma && comma < inside.end))
            return read_aggregate(r, inside, CFX_TUPLE, out);
    }
    if (is_tensor(r, p, &dtype, &open))
        return read_tensor(r, p, dtype, open, out);
    return r->word.failed ? cfx_no_memory(r->err) : read_scalar(r, p, out);
}

cfx_status cfx_parse_shape(cfx_value *out, cfx_context *ctx,
                           cfx_shape_env *env, const char *text, size_t len,
                           cfx_error *err)
{
    shape_reader r = {.env = env, .ctx = ctx, .err = err};
    cfx_buf_init(&r.word, r.ctx);
    cfx_status st = read_shape(&r, trim(text, text + len), out);
    cfx_buf_release(&r.word);
    return st;
}
