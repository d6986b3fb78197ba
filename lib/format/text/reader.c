/*
 * reader -- the stack of values, places and lines of a text being read.
 */
#include "format/text/reader.h"

#include <stdio.h>

void cfx_reader_init(cfx_reader *r, cfx_context *ctx, const char *name,
                     const char *text, size_t len, cfx_error *err)
{
    *r = (cfx_reader){
        .ctx = ctx, .name = name, .text = text, .end = text + len, .err = err};
    cfx_buf_init(&r->string, ctx);
    cfx_buf_init(&r->word, ctx);
    cfx_map_init(&r->tensors, ctx);
    if (!err)
        r->err = &r->own_error;
}

static void release_tensors(cfx_reader *r)
{
    for (size_t i = 0; i < r->tensors.cap; i++)
        if (r->tensors.entry[i].key)
            cfx_tensor_unref(r->tensors.entry[i].v.p);
    cfx_map_release(&r->tensors);
}

void cfx_reader_release(cfx_reader *r)
{
    cfx_reader_pop_to(r, 0);
    cfx_free(r->ctx, r->stack, r->cap * sizeof(*r->stack));
    cfx_free(r->ctx, r->match, r->match_cap * sizeof(*r->match));
    cfx_buf_release(&r->string);
    cfx_buf_release(&r->word);
    release_tensors(r);
}

/* ---- Errors ---- */

/* "m.fx:12:40", or "column 40" of a text that is no file. */
static void format_place(const cfx_reader *r, const char *at, char *buf,
                         size_t size)
{
    size_t line = 1;
    const char *begin = r->text, *newline;
    while (begin < at &&
           (newline = memchr(begin, '\n', (size_t)(at - begin)))) {
        line++;
        begin = newline + 1;
    }
    size_t column = (size_t)(at - begin) + 1;
    if (r->name)
        snprintf(buf, size, "%s:%zu:%zu", r->name, line, column);
    else
        snprintf(buf, size, "column %zu", column);
}

cfx_status cfx_reader_fail_at(cfx_reader *r, const char *at)
{
    char place[512];
    if (r->err->code == CFX_ENOMEM)
        return CFX_ENOMEM;
    format_place(r, at, place, sizeof(place));
    return cfx_fail_at(r->err, "%s", place);
}

cfx_status cfx_reader_fail(cfx_reader *r, const char *at, cfx_status code,
                           const char *fmt, ...)
{
    char text[1024] = "";
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (r->err->code)
        return r->err->code;
    cfx_fail(r->err, code, "%s", text);
    if (r->quiet)
        return code;
    return cfx_reader_fail_at(r, at);
}

/* ---- The stack ---- */

cfx_status cfx_reader_push_take(cfx_reader *r, cfx_value v)
{
    if (v.kind == CFX_ABSENT)
        return cfx_no_memory(r->err);
    if (cfx_grow(r->ctx, r->stack, r->cap, r->n + 1, r->err)) {
        cfx_value_unref(v);
        return CFX_ENOMEM;
    }
    r->stack[r->n++] = v;
    return CFX_OK;
}

cfx_status cfx_reader_push_str(cfx_reader *r, cfx_kind kind, const char *s,
                               size_t len)
{
    if (len > UINT32_MAX - 1)
        return cfx_reader_fail(r, r->text, CFX_EPARSE,
                               "a string is longer than 4 GiB");
    cfx_value v = cfx_str_new(r->ctx, s, len);
    if (v.kind != CFX_ABSENT)
        v.kind = (uint8_t)kind;
    return cfx_reader_push_take(r, v);
}

void cfx_reader_pop_to(cfx_reader *r, size_t n)
{
    while (r->n > n)
        cfx_value_unref(r->stack[--r->n]);
}

cfx_status cfx_reader_gather(cfx_reader *r, cfx_kind kind, size_t n)
{
    size_t count = r->n - n;
    const cfx_value *item = cfx_reader_from(r, n);
    cfx_value v;
    if (kind == CFX_TUPLE)
        v = cfx_tuple_new(r->ctx, count, item);
    else if (kind == CFX_LIST)
        v = cfx_list_new(r->ctx, count, item);
    else if (kind == CFX_DICT)
        v = cfx_dict_new(r->ctx, count / 2, item);
    else
        v = cfx_seq_new(r->ctx, kind, count, item, NULL);
    cfx_reader_pop_to(r, n);
    return cfx_reader_push_take(r, v);
}

/* ---- Words and lines ---- */

const char *cfx_reader_word(cfx_reader *r, const char *s, size_t len)
{
    cfx_buf_clear(&r->word);
    cfx_buf_add(&r->word, s, len);
    if (r->word.failed) {
        cfx_no_memory(r->err);
        return NULL;
    }
    return len ? r->word.s : "";
}

cfx_node *cfx_reader_node(cfx_reader *r, const char *s, size_t len)
{
    char name[128];
    const char *word = name;
    if (r->variables) {
        const cfx_map_entry *e = cfx_map_get(r->variables, s, len);
        return e ? e->v.p : NULL;
    }
    if (!r->graph)
        return NULL;
    if (len < sizeof(name)) {
        memcpy(name, s, len);
        name[len] = '\0';
    } else {
        word = cfx_reader_word(r, s, len);
    }
    return word ? cfx_graph_find(r->graph, word) : NULL;
}

bool cfx_reader_line(const cfx_reader *r, const char *at, cfx_line *line)
{
    if (at >= r->end)
        return false;
    const char *newline = memchr(at, '\n', (size_t)(r->end - at));
    line->s = at;
    line->end = newline ? newline : r->end;
    line->next = newline ? newline + 1 : r->end;
    if (line->end > at && line->end[-1] == '\r')
        line->end--;
    return true;
}

const char *cfx_line_begin(const cfx_line *line)
{
    const char *s = line->s;
    while (s < line->end && (*s == ' ' || *s == '\t'))
        s++;
    return s;
}
