/*
 * string_numbers -- numbers that str show, and str that show numbers.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/strings/strings.h"

/* ---- From str ---- */

static cfx_status to_tensor_infer(cfx_call *call)
{
    cfx_dtype to = call->in[1].u.dtype;

    if (to == CFX_BOOL || cfx_dtype_is_complex(to))
        return cfx_call_fail(call, CFX_EUNSUPPORTED, "a str is not read as %s",
                             cfx_dtypes[to].name);
    return strings_out_like(call, to);
}

/* A sign and digits, within the range of the type. */
static bool read_int(cfx_dtype type, void *to, const char *text)
{
    const char *digits = text + (*text == '-' || *text == '+');
    char *end;

    errno = 0;
    bool wide = type == CFX_U64 && *text != '-';
    int64_t v = wide ? (int64_t)strtoull(text, &end, 10)
                     : strtoll(text, &end, 10);
    if (*digits < '0' || *digits > '9' || *end || errno ||
        (!wide && (v < cfx_dtype_least(type) || v > cfx_dtype_most(type))))
        return false;
    cfx_element_set_int(type, to, v);
    return true;
}

/* Compare without case to a word of small letters. */
static bool same_word(const char *text, const char *word)
{
    while (*word && (*text | 0x20) == *word)
        text++, word++;
    return !*word && !*text;
}

/* Plain or scientific, or the words of C for what is not finite, in any
 * case. */
static bool read_float(cfx_dtype type, void *to, const char *text)
{
    static const char *const word[] = {"inf", "infinity", "nan"};
    const char *first = text + (*text == '-' || *text == '+');
    bool plain = *first && strspn(first, "0123456789.eE+-") == strlen(first);
    char *end;

    for (int i = 0; i < 3 && !plain; i++)
        plain = same_word(first, word[i]);
    double v = plain ? cfx_strtod(text, &end) : 0;
    if (!plain || end == text || *end)
        return false;
    cfx_element_set_double(type, to, v);
    return true;
}

static cfx_status to_tensor_run(cfx_call *call)
{
    cfx_dtype to = call->in[1].u.dtype;
    size_t size = cfx_dtype_size(to);
    strings s;
    cfx_status st = strings_read(&s, call);

    for (size_t i = 0; i < s.self.n && !st; i++) {
        const cfx_string *text = s.self.item[i];
        void *at = (char *)call->out[0]->data + i * size;
        if (strlen(text->text) != text->len ||
            !(cfx_dtype_is_float(to) ? read_float : read_int)(to, at,
                                                              text->text))
            st = cfx_call_fail(call, CFX_EINVAL, "'%.60s' is no %s",
                               text->text, cfx_dtypes[to].name);
    }
    strings_release(&s);
    return st;
}

const cfx_op cfx_op__string_to_tensor = {
    .schema = "string_to_tensor(any self, ScalarType dtype) -> Tensor",
    .aliases = "torch.ops.cfx.string_to_tensor",
    .doc = "The numbers that the str of a nested list show.",
    .flags = CFX_OP_STORED_TYPES,
    .infer = to_tensor_infer,
    .run = to_tensor_run,
};

/* ---- To str ---- */

/* The fewest digits that read back as a float of the type, in Python's form.
 * printf and strtod have the decimal point of one locale. */
static void show_float(char *text, cfx_dtype type, const void *at)
{
    double v = cfx_element_double(type, at), back;
    unsigned char element[8];

    if (type == CFX_F64 || v != v || v - v != 0) {
        cfx_float_repr(text, v);
        return;
    }
    for (int digits = 1;; digits++) {
        snprintf(text, 32, "%.*e", digits - 1, v);
        back = strtod(text, NULL);
        cfx_element_set_double(type, element, back);
        if (cfx_element_double(type, element) == v)
            break;
    }
    cfx_float_repr(text, back);
}

static cfx_value shown(cfx_context *ctx, cfx_dtype type, const void *at)
{
    char text[40];
    int64_t v = cfx_element_int(type, at);

    if (cfx_dtype_is_float(type))
        show_float(text, type, at);
    else
        snprintf(text, sizeof(text), type == CFX_U64 ? "%llu" : "%lld",
                 (long long)v);
    return cfx_str_new(ctx, text, strlen(text));
}

static cfx_status show_all(strings *s, const cfx_tensor *x)
{
    size_t n = (size_t)cfx_tensor_numel(x), made = 0;
    size_t size = cfx_dtype_size((cfx_dtype)x->dtype);
    cfx_value *item = strings_alloc(s, n, sizeof(*item));
    int64_t shape[CFX_MAX_RANK];

    for (int i = 0; i < x->rank; i++)
        shape[i] = cfx_tensor_size(x, i);
    for (bool ok = item; ok && made < n; made++) {
        item[made] = shown(s->call->ctx, (cfx_dtype)x->dtype,
                           (const char *)x->data + made * size);
        ok = item[made].kind == CFX_STR;
    }
    return item ? strings_return_take(s, x->rank, shape, item, made)
                : CFX_ENOMEM;
}

static cfx_status from_tensor_infer(cfx_call *call)
{
    const cfx_tensor *x = call->in[0].u.tensor;
    strings s = {.call = call};
    cfx_tensor *rows;

    if (!x->data || (call->meta && !call->known))
        return cfx_call_fail(call, CFX_EUNSUPPORTED,
                             "its str depend on numbers that are not known");
    if (x->dtype == CFX_BOOL || cfx_dtype_is_complex((cfx_dtype)x->dtype))
        return cfx_infer_refuse(call, (cfx_dtype)x->dtype);
    cfx_status st = cfx_tensor_contiguous(&rows, x, call->err);
    if (st)
        return st;
    cfx_arena_init(&s.arena, call->ctx);
    st = show_all(&s, rows);
    strings_release(&s);
    cfx_tensor_unref(rows);
    return st;
}

const cfx_op cfx_op__string_from_tensor = {
    .schema = "string_from_tensor(Tensor self) -> any",
    .aliases = "torch.ops.cfx.string_from_tensor",
    .doc = "A nested list of str that show the numbers of a tensor.",
    .flags = CFX_OP_STORED_TYPES,
    .infer = from_tensor_infer,
};
