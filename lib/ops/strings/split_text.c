/*
 * split_text -- str split at a delimiter, as Python's str.split does.
 *
 * The pieces of all str are one array: those with fewer pieces have empty str
 * at the end.
 */
#include <string.h>

#include "ops/strings/strings.h"

CFX_PARAMS(params, SELF, DELIMITER, MAXSPLIT);

/* ---- Pieces of a str ---- */

typedef struct splitter {
    const char *at, *end;
    const char *by; /* the delimiter; NULL: whitespace */
    size_t len;     /* of the delimiter */
    int64_t left;   /* splits that may be made; negative: any number */
    bool ended;
} splitter;

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static splitter splitter_of(const cfx_call *call, const cfx_string *text)
{
    cfx_value by = cfx_call_value(call, DELIMITER);
    bool whitespace = by.kind != CFX_STR || !by.u.str->len;

    return (splitter){
        .at = text->text,
        .end = text->text + text->len,
        .by = whitespace ? NULL : by.u.str->text,
        .len = whitespace ? 0 : by.u.str->len,
        .left = cfx_call_has(call, MAXSPLIT) ? cfx_call_int(call, MAXSPLIT)
                                             : -1,
    };
}

/* The end of the piece that begins at `at`. */
static const char *end_of_piece(const splitter *s)
{
    const char *p = s->at;

    if (!s->left)
        return s->end;
    if (!s->by) {
        while (p < s->end && !is_space(*p))
            p++;
        return p;
    }
    while ((size_t)(s->end - p) >= s->len && memcmp(p, s->by, s->len))
        p++;
    return (size_t)(s->end - p) >= s->len ? p : s->end;
}

static bool next_piece(splitter *s, const char **text, size_t *len)
{
    while (!s->by && s->at < s->end && is_space(*s->at))
        s->at++;
    if (s->ended || (!s->by && s->at == s->end))
        return false;
    const char *end = end_of_piece(s);
    *text = s->at;
    *len = (size_t)(end - s->at);
    s->ended = end == s->end;
    s->at = s->ended ? end : end + s->len;
    if (s->left > 0) /* negative: no limit */
        s->left--;
    return true;
}

static int64_t count_pieces(const cfx_call *call, const cfx_string *text)
{
    splitter s = splitter_of(call, text);
    const char *piece;
    size_t len;
    int64_t n = 0;

    while (next_piece(&s, &piece, &len))
        n++;
    return n;
}

/* ---- The operators ---- */

/* Make the pieces of a str, `each` items; how many were made. */
static size_t make_pieces(const cfx_call *call, const cfx_string *text,
                          size_t each, cfx_value *item)
{
    splitter s = splitter_of(call, text);
    size_t n = 0;

    for (bool ok = true; ok && n < each; n++) {
        const char *piece = "";
        size_t len = 0;
        next_piece(&s, &piece, &len);
        item[n] = cfx_str_new(call->ctx, piece, len);
        ok = item[n].kind == CFX_STR;
    }
    return n;
}

static cfx_status return_pieces(strings *s, int64_t each)
{
    const cfx_texts *t = &s->self;
    int64_t shape[CFX_MAX_RANK + 1];
    size_t n, made = 0;
    cfx_value *item = cfx_mul_size(&n, t->n, (size_t)each)
                          ? strings_alloc(s, n, sizeof(*item))
                          : NULL;

    if (!item)
        return cfx_no_memory(s->call->err);
    if (t->rank == CFX_MAX_RANK)
        return cfx_call_fail(s->call, CFX_ESHAPE,
                             "its list nests more than %d deep",
                             CFX_MAX_RANK - 1);
    memcpy(shape, t->shape, sizeof(t->shape));
    shape[t->rank] = each;
    for (size_t i = 0; i < t->n && made == i * (size_t)each; i++)
        made += make_pieces(s->call, t->item[i], (size_t)each, item + made);
    return strings_return_take(s, t->rank + 1, shape, item, made);
}

static cfx_status split_infer(cfx_call *call)
{
    strings s;
    cfx_status st = strings_read(&s, call);
    int64_t each = 0;

    for (size_t i = 0; i < s.self.n && !st; i++) {
        int64_t n = count_pieces(call, s.self.item[i]);
        each = n > each ? n : each;
    }
    if (!st)
        st = return_pieces(&s, each);
    strings_release(&s);
    return st;
}

const cfx_op cfx_op__string_split = {
    .schema =
        "string_split(any self, str? delimiter=None, int? maxsplit=None) -> any",
    .params = params,
    .aliases = "torch.ops.cfx.string_split",
    .doc =
        "The pieces of each str of a nested list, one axis more: between delimiters, or words. Empty str fill the end.",
    .infer = split_infer,
};

static cfx_status lengths_infer(cfx_call *call)
{
    return strings_out_like(call, CFX_I64);
}

static cfx_status lengths_run(cfx_call *call)
{
    int64_t *out = call->out[0]->data;
    strings s;
    cfx_status st = strings_read(&s, call);

    for (size_t i = 0; i < s.self.n && !st; i++)
        out[i] = count_pieces(call, s.self.item[i]);
    strings_release(&s);
    return st;
}

const cfx_op cfx_op__string_split_lengths = {
    .schema =
        "string_split_lengths(any self, str? delimiter=None, int? maxsplit=None) -> Tensor",
    .params = params,
    .aliases = "torch.ops.cfx.string_split_lengths",
    .doc = "How many pieces string_split makes of each str.",
    .infer = lengths_infer,
    .run = lengths_run,
};
