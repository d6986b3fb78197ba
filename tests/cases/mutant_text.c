/*
 * mutant_text -- cases into trees and back.
 */
#include "tests/cases/mutant.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Reading ---- */

struct reader {
    const char *at, *end;
    mutant *m;
};

static void skip(struct reader *r)
{
    while (r->at < r->end && *r->at == ' ')
        r->at++;
}

static char peek(const struct reader *r)
{
    return r->at < r->end ? *r->at : '\0';
}

static bool take(struct reader *r, char c)
{
    skip(r);
    if (peek(r) != c)
        return false;
    r->at++;
    return true;
}

/* Copy what is between two places; false if it is too long. */
static bool copy(char *to, size_t size, const char *from, const char *end)
{
    size_t n = (size_t)(end - from);
    if (n >= size)
        return false;
    memcpy(to, from, n);
    to[n] = '\0';
    return true;
}

static int new_node(struct reader *r, mutant_kind kind)
{
    mutant *m = r->m;
    if (m->n == MUTANT_NODES)
        return 0;
    m->node[m->n] = (mutant_node){.kind = (uint8_t)kind};
    return m->n++;
}

static bool is_dtype(const char *s, size_t n)
{
    static const char all[] =
        " f16 bf16 f32 f64 i8 i16 i32 i64 u8 bool c64 c128 ";
    char word[12];
    if (n > 4)
        return false;
    snprintf(word, sizeof(word), " %.*s ", (int)n, s);
    return strstr(all, word) != NULL;
}

static bool read_ints(struct reader *r, char close, int64_t *out, int *n)
{
    for (*n = 0; !take(r, close); take(r, ',')) {
        char *end;
        skip(r);
        if (*n == MUTANT_RANK)
            return false;
        out[(*n)++] = strtoll(r->at, &end, 10);
        if (end == r->at)
            return false;
        r->at = end;
    }
    return true;
}

/* The order of axes in memory and the gaps between them that strides tell; of
 * such as overlap, something near. */
static void lay_out(mutant_node *t, const int64_t *stride)
{
    int64_t step = 1;
    for (int i = 0; i < t->rank; i++)
        t->order[i] = t->rank - 1 - i;
    for (int i = 1; i < t->rank; i++)
        for (int j = i; j > 0 && stride[t->order[j]] < stride[t->order[j - 1]];
             j--) {
            int axis = t->order[j];
            t->order[j] = t->order[j - 1];
            t->order[j - 1] = axis;
        }
    for (int i = 0; i < t->rank; i++) {
        int axis = t->order[i];
        int64_t gap = stride[axis] / step;
        t->gap[axis] = stride[axis] == 0 ? 0 : gap < 1 ? 1 : (int)gap;
        if (t->gap[axis])
            step *= t->gap[axis] * (t->shape[axis] ? t->shape[axis] : 1);
    }
}

static bool read_tensor(struct reader *r, const char *dtype, size_t n)
{
    int k = new_node(r, MUTANT_TENSOR), nstride;
    mutant_node *t = &r->m->node[k];
    int64_t stride[MUTANT_RANK];
    if (!k || !copy(t->dtype, sizeof(t->dtype), dtype, dtype + n) ||
        !read_ints(r, ']', t->shape, &t->rank))
        return false;
    for (int i = 0; i < t->rank; i++) {
        t->order[i] = t->rank - 1 - i;
        t->gap[i] = 1;
    }
    if (peek(r) == '@') {
        r->at += 2;
        if (!read_ints(r, ')', stride, &nstride) || nstride != t->rank)
            return false;
        t->strided = true;
        lay_out(t, stride);
    }
    const char *fill = r->at;
    if (peek(r) == '#')
        r->at += strcspn(r->at, " ,)]}");
    else if (r->end - r->at > 1 && r->at[0] == '=' && r->at[1] == '{')
        r->at += strcspn(r->at, "}") + 1;
    return copy(t->text, sizeof(t->text), fill, r->at);
}

static bool read_value(struct reader *r);

/* Items up to the closing bracket, the open one being read. */
static bool read_items(struct reader *r, int k, char open)
{
    char close = open == '(' ? ')' : open == '[' ? ']' : '}';
    mutant *m = r->m;
    int *link = &m->node[k].first;
    m->node[k].open = open;
    for (; !take(r, close); take(r, ',')) {
        const char *key = r->at;
        skip(r);
        const char *p = r->at;
        if (*p == '\'' || *p == '"') {
            p += strcspn(p + 1, open == '{' ? "'\"" : "") + 2;
        } else {
            while (p < r->end && (isalnum((unsigned char)*p) || *p == '_'))
                p++;
        }
        bool keyed = p < r->end && p > r->at &&
                     !isdigit((unsigned char)*r->at) &&
                     (open == '{' ? *p == ':' : *p == '=' && p[1] != '{');
        if (keyed) {
            key = r->at;
            r->at = p + 1;
        }
        int item = m->n;
        if (!read_value(r))
            return false;
        if (keyed &&
            !copy(m->node[item].key, sizeof(m->node[item].key), key, p + 1))
            return false;
        *link = item;
        link = &m->node[item].next;
    }
    return true;
}

static bool read_number(struct reader *r, size_t n)
{
    char *end;
    bool whole = strcspn(r->at, ".eEjn") >= n;
    int k = new_node(r, whole ? MUTANT_INT : MUTANT_FLOAT);
    mutant_node *v = &r->m->node[k];
    if (!k)
        return false;
    if (whole)
        v->i = strtoll(r->at, &end, 10);
    else
        v->f = strtod(r->at, &end);
    if (end != r->at + n) {
        v->kind = MUTANT_WORD; /* -inf, 2j */
        if (!copy(v->text, sizeof(v->text), r->at, r->at + n))
            return false;
    }
    r->at += n;
    return true;
}

static bool read_value(struct reader *r)
{
    skip(r);
    char c = peek(r);
    size_t n = strcspn(r->at, "([{,)]}: ");
    if (c == '\'' || c == '"')
        n = strcspn(r->at + 1, c == '"' ? "\"" : "'") + 2;
    if (r->at + n > r->end)
        return false;
    if (isdigit((unsigned char)c) || c == '-' ||
        (c == '.' && isdigit((unsigned char)r->at[1])))
        return read_number(r, n);
    const char *word = r->at;
    r->at += n;
    if (is_dtype(word, n) && take(r, '['))
        return read_tensor(r, word, n);
    bool named = n && c != '\'' && c != '"';
    char open = peek(r);
    bool items = named ? open == '('
                       : !n && (open == '(' || open == '[' || open == '{');
    int k = new_node(r, items ? MUTANT_ITEMS : MUTANT_WORD);
    mutant_node *v = &r->m->node[k];
    if (!k || !copy(v->text, sizeof(v->text), word, word + n))
        return false;
    if (items) {
        r->at++;
        return read_items(r, k, open);
    }
    if (!strcmp(v->text, "True") || !strcmp(v->text, "False")) {
        v->kind = MUTANT_BOOL;
        v->i = v->text[0] == 'T';
    }
    return n > 0;
}

static bool read_args(struct reader *r, int *out)
{
    *out = new_node(r, MUTANT_ITEMS);
    return *out && take(r, '(') && read_items(r, *out, '(');
}

bool mutant_read(mutant *m, const char *text, size_t len)
{
    static const char train[] = ".train()";
    struct reader r = {.at = text, .end = text + len, .m = m};
    m->n = 1;
    m->made = 0;
    m->train = false;
    size_t n = strcspn(text, "(");
    if (n >= len || !copy(m->target, sizeof(m->target), text, text + n))
        return false;
    r.at += n;
    if (!read_args(&r, &m->args))
        return false;
    if (!strncmp(r.at, train, sizeof(train) - 1)) {
        m->train = true;
        r.at += sizeof(train) - 1;
    }
    if (peek(&r) == '(') {
        m->made = m->args;
        if (!read_args(&r, &m->args))
            return false;
    }
    return r.at == r.end;
}

/* ---- Printing ---- */

struct printer {
    char *buf;
    size_t size, len;
    const mutant *m;
};

static void add(struct printer *p, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    size_t room = p->len < p->size ? p->size - p->len : 0;
    p->len += (size_t)vsnprintf(p->buf + p->size - room, room, fmt, ap);
    va_end(ap);
}

static void strides_of(const mutant_node *t, int64_t *stride)
{
    int64_t step = 1;
    for (int i = 0; i < t->rank; i++) {
        int axis = t->order[i];
        stride[axis] = step * t->gap[axis];
        if (t->gap[axis])
            step = stride[axis] * (t->shape[axis] ? t->shape[axis] : 1);
    }
}

static void add_ints(struct printer *p, int n, const int64_t *v)
{
    for (int i = 0; i < n; i++)
        add(p, i ? ",%" PRId64 : "%" PRId64, v[i]);
}

static void add_tensor(struct printer *p, const mutant_node *t)
{
    int64_t stride[MUTANT_RANK];
    add(p, "%s[", t->dtype);
    add_ints(p, t->rank, t->shape);
    add(p, "]");
    if (t->strided && t->rank) {
        strides_of(t, stride);
        add(p, "@(");
        add_ints(p, t->rank, stride);
        add(p, ")");
    }
    add(p, "%s", t->text);
}

static void add_value(struct printer *p, const mutant_node *v);

static void add_items(struct printer *p, const mutant_node *v, bool call)
{
    int n = 0;
    add(p, "%s%c", v->text, v->open);
    for (int k = v->first; k; k = p->m->node[k].next) {
        if (p->m->node[k].dead)
            continue;
        add(p, "%s%s", n++ ? ", " : "", p->m->node[k].key);
        add_value(p, &p->m->node[k]);
    }
    bool comma = n == 1 && v->open == '(' && !v->text[0] && !call;
    add(p, "%s%c", comma ? "," : "",
        v->open == '('   ? ')'
        : v->open == '[' ? ']'
                         : '}');
}

static void add_value(struct printer *p, const mutant_node *v)
{
    char number[40];
    switch ((mutant_kind)v->kind) {
    case MUTANT_TENSOR: add_tensor(p, v); break;
    case MUTANT_INT: add(p, "%" PRId64, v->i); break;
    case MUTANT_FLOAT:
        snprintf(number, sizeof(number), "%.15g", v->f);
        add(p, "%s%s", number, strpbrk(number, ".en") ? "" : ".0");
        break;
    case MUTANT_BOOL: add(p, v->i ? "True" : "False"); break;
    case MUTANT_WORD: add(p, "%s", v->text); break;
    case MUTANT_ITEMS: add_items(p, v, false); break;
    }
}

bool mutant_print(const mutant *m, char *buf, size_t size)
{
    struct printer p = {.buf = buf, .size = size, .m = m};
    add(&p, "%s", m->target);
    if (m->made) {
        add_items(&p, &m->node[m->made], true);
        add(&p, "%s", m->train ? ".train()" : "");
    }
    add_items(&p, &m->node[m->args], true);
    return p.len < size;
}

int64_t mutant_places(const mutant *m)
{
    int64_t most = 0, stride[MUTANT_RANK];
    for (int k = 1; k < m->n; k++) {
        const mutant_node *t = &m->node[k];
        int64_t reach = 1;
        if (t->kind != MUTANT_TENSOR)
            continue;
        strides_of(t, stride);
        for (int i = 0; i < t->rank; i++)
            reach += stride[i] * t->shape[i];
        most = reach > most ? reach : most;
    }
    return most;
}
