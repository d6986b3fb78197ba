/*
 * json -- parse JSON with its memory accounted.
 *
 * The bound follows jansson's structures (2.14, 64 bits), malloc's header and
 * rounding included:
 *
 *     {  an object and its first 8 buckets            224
 *     [  an array and room for 8 values               128, and its first value
 *     :  a pair, two buckets of a table that doubles  128, and its value
 *     ,  the next value of an array                    24, tables being copied
 *     "  half of a string; its bytes stand in the text  40
 *
 * A value that is a number takes 32. Commas between pairs are counted as those
 * between values. For the header of a safetensors file that gives some 26 times
 * the text; it takes some 14 times.
 */
#include "format/json.h"

#include "base/context_impl.h"

enum { NUMBER = 32, BUFFERS = 65536 };

static const uint64_t bound_max = (uint64_t)1 << 30;

static unsigned cost_of(char c)
{
    switch (c) {
    case '{': return 224;
    case '[': return 128 + 24 + NUMBER;
    case ':': return 128 + NUMBER;
    case ',': return 24 + NUMBER;
    case '"': return 40;
    default: return 0;
    }
}

uint64_t cfx_json_bound(const char *text, size_t len)
{
    /* The token that is read, in a buffer that doubles, and its copy. */
    uint64_t bound = (uint64_t)BUFFERS + len;
    size_t longest = 0, begin = 0;
    bool quoted = false;

    for (size_t i = 0; i < len; i++) {
        if (text[i] == '"') {
            if (quoted && i - begin > longest)
                longest = i - begin;
            begin = i;
            quoted = !quoted;
        }
        if (text[i] == '"' || !quoted)
            bound += cost_of(text[i]);
        else if (text[i] == '\\')
            i++;
    }
    return bound + 4 * (uint64_t)(quoted ? len : longest);
}

cfx_status cfx_json_check_bound(const char *text, size_t len, cfx_error *err)
{
    uint64_t bound = cfx_json_bound(text, len);

    return bound <= bound_max
               ? CFX_OK
               : cfx_fail(
                     err, CFX_ELIMIT,
                     "%zu bytes of JSON may take %llu MB to parse, more than %llu",
                     len, (unsigned long long)(bound >> 20),
                     (unsigned long long)(bound_max >> 20));
}

cfx_status cfx_json_parse(cfx_json *out, cfx_context *ctx, const char *text,
                          size_t len, size_t flags, size_t prefix,
                          cfx_error *err)
{
    uint64_t bound = cfx_json_bound(text, len);
    json_error_t why;

    *out = (cfx_json){.ctx = ctx};
    if (bound > SIZE_MAX || !cfx_heap_charge(ctx, (size_t)bound))
        return cfx_fail(
            err, CFX_ENOMEM,
            "out of memory: %zu bytes of JSON may take %llu MB to parse", len,
            (unsigned long long)(bound >> 20));
    out->charged = (size_t)bound;
    out->root = json_loadb(text, len, flags, &why);
    if (out->root)
        return CFX_OK;
    cfx_json_release(out);
    /* Jansson does not tell all of its failed allocations. */
    if (json_error_code(&why) == json_error_out_of_memory || !*why.text)
        return cfx_no_memory(err);
    return prefix ? cfx_fail(err, CFX_EPARSE, "byte %zu: %s",
                             prefix + (size_t)why.position, why.text)
                  : cfx_fail(err, CFX_EPARSE, "%d:%d: %s", why.line,
                             why.column, why.text);
}

void cfx_json_release(cfx_json *j)
{
    json_decref(j->root);
    if (j->charged)
        cfx_heap_uncharge(j->ctx, j->charged);
    *j = (cfx_json){0};
}
