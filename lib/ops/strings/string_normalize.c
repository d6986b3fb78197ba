/*
 * string_normalize -- str without stop words, in upper or lower case.
 *
 * Case is that of Unicode, character by character, in no particular language.
 */
#define _XOPEN_SOURCE 700

#include <locale.h>
#include <string.h>
#include <wctype.h>

#include "base/unicode.h"
#include "ops/strings/strings.h"

CFX_PARAMS(params, SELF, CASE_CHANGE, CASE_SENSITIVE, STOPWORDS);

typedef wint_t change_fn(wint_t c, locale_t locale);

/* "UPPER", "LOWER" or "NONE". */
static cfx_status find_change(const cfx_call *call, change_fn **out)
{
    const char *name = cfx_call_str(call, CASE_CHANGE);

    *out = !strcmp(name, "UPPER")   ? towupper_l
           : !strcmp(name, "LOWER") ? towlower_l
                                    : NULL;
    return *out || !strcmp(name, "NONE")
               ? CFX_OK
               : cfx_call_fail(
                     call, CFX_EINVAL,
                     "case_change is UPPER, LOWER or NONE, not '%.40s'", name);
}

/* A copy of a text with each character changed; bytes that are no UTF-8 stay.
 * Absent when out of memory. */
static cfx_value changed(cfx_context *ctx, const cfx_string *text,
                         change_fn *change, locale_t locale)
{
    size_t room = (size_t)text->len * 4 + 4, at = 0, n;
    char *to = cfx_alloc(ctx, room);
    cfx_value v = CFX_NOTHING;
    uint32_t c;

    if (!to)
        return v;
    for (size_t i = 0; i < text->len; i += n) {
        n = cfx_utf8_decode(&c, text->text + i, text->len - i);
        if (n && change)
            at += cfx_utf8_encode(to + at, (uint32_t)change(c, locale));
        else
            to[at++] = text->text[i];
        n = n && change ? n : 1;
    }
    v = cfx_str_new(ctx, to, at);
    cfx_free(ctx, to, room);
    return v;
}

/* ---- Stop words ---- */

typedef struct normalizer {
    strings s;
    locale_t locale;
    change_fn *change, *compare; /* NULL: none */
    cfx_map stop;
} normalizer;

static cfx_value compared(normalizer *z, const cfx_string *text)
{
    return changed(z->s.call->ctx, text, z->compare, z->locale);
}

static cfx_status read_stopwords(normalizer *z)
{
    cfx_call *call = z->s.call;
    cfx_status st = CFX_OK;

    for (int i = 0; i < cfx_call_len(call, STOPWORDS) && !st; i++) {
        const cfx_string *word = cfx_call_item(call, STOPWORDS, i).u.str;
        cfx_value v = compared(z, word);
        char *key = v.kind ? cfx_arena_strdup(&z->s.arena, v.u.str->text,
                                              v.u.str->len)
                           : NULL;
        if (!key || !cfx_map_put(&z->stop, key, v.u.str->len, NULL))
            st = cfx_no_memory(call->err);
        cfx_value_unref(v);
    }
    return st;
}

static cfx_status is_stopword(normalizer *z, const cfx_string *text, bool *out)
{
    cfx_value v = compared(z, text);

    if (v.kind == CFX_ABSENT)
        return cfx_no_memory(z->s.call->err);
    *out = cfx_map_get(&z->stop, v.u.str->text, v.u.str->len) != NULL;
    cfx_value_unref(v);
    return CFX_OK;
}

/* ---- The operator ---- */

static cfx_status start(normalizer *z, cfx_call *call)
{
    *z = (normalizer){0};
    cfx_map_init(&z->stop, call->ctx);
    cfx_status st = strings_read(&z->s, call);
    const cfx_texts *t = &z->s.self;
    if (!st)
        st = find_change(call, &z->change);
    if (!st && t->rank != 1 && (t->rank != 2 || t->shape[0] != 1))
        st = cfx_call_fail(call, CFX_ESHAPE,
                           "it takes a list of str, or one in a list");
    if (!cfx_call_bool(call, CASE_SENSITIVE))
        z->compare = towlower_l;
    z->locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (!st && z->locale == (locale_t)0)
        st = cfx_call_fail(call, CFX_EUNSUPPORTED,
                           "the system has no locale C.UTF-8");
    return st ? st : read_stopwords(z);
}

static void end(normalizer *z)
{
    if (z->locale != (locale_t)0)
        freelocale(z->locale);
    cfx_map_release(&z->stop);
    strings_release(&z->s);
}

/* Without any str left the result is an empty one. */
static cfx_status normalize(normalizer *z)
{
    const cfx_texts *t = &z->s.self;
    cfx_call *call = z->s.call;
    cfx_value *item = strings_alloc(&z->s, t->n + 1, sizeof(*item));
    size_t made = 0;
    cfx_status st = item ? CFX_OK : CFX_ENOMEM;
    bool ok = true, stop = false;

    for (size_t i = 0; i < t->n && ok && !st; i++) {
        st = is_stopword(z, t->item[i], &stop);
        if (st || stop)
            continue;
        item[made] = changed(call->ctx, t->item[i], z->change, z->locale);
        ok = item[made++].kind == CFX_STR;
    }
    if (!st && !made)
        item[made++] = cfx_str_new(call->ctx, "", 0);
    if (!st) {
        int64_t shape[] = {1, (int64_t)made};
        return strings_return_take(&z->s, t->rank, shape + (t->rank == 1),
                                   item, made);
    }
    for (size_t i = 0; i < made; i++)
        cfx_value_unref(item[i]);
    return st;
}

static cfx_status normalize_infer(cfx_call *call)
{
    normalizer z;
    cfx_status st = start(&z, call);

    if (!st)
        st = normalize(&z);
    end(&z);
    return st;
}

const cfx_op cfx_op__string_normalize = {
    .schema =
        "string_normalize(any self, str case_change='NONE', bool case_sensitive=False, str[] stopwords=[]) -> any",
    .params = params,
    .aliases = "torch.ops.cfx.string_normalize",
    .doc =
        "The str that are no stop words, in upper or lower case; one empty str if none is left.",
    .infer = normalize_infer,
};
