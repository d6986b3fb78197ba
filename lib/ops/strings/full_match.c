/*
 * full_match -- whether a regular expression matches whole strs, by PCRE2.
 *
 * shape   that of the strs.
 *
 * PCRE2 calls back before each item of the expression. What a match does is
 * counted there, so that an expression that backtracks without end is refused,
 * and one that takes long can be cancelled.
 */
#include "ops/strings/strings.h"

#ifdef HAVE_PCRE2

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/stop.h"

/* Limits for matching one str: backtracks; items tried and characters passed; KiB
 * of memory for backtracking. */
enum { MAX_BACKTRACKS = 10000000, MAX_WORK = 1 << 28, MAX_HEAP = 1 << 18 };

typedef struct matcher {
    cfx_call *call;
    pcre2_general_context *memory;
    pcre2_compile_context *syntax;
    pcre2_match_context *limits;
    pcre2_code *code;
    pcre2_match_data *data;
    size_t at, work; /* of the match that runs */
} matcher;

/* ---- Memory ---- */

/* A header has the size of its block, and keeps the alignment. */
enum { HEADER = 16 };

static void *counted_alloc(size_t size, void *ctx)
{
    size_t n;
    char *p = cfx_add_size(&n, size, HEADER) ? cfx_alloc(ctx, n) : NULL;

    if (!p)
        return NULL;
    memcpy(p, &n, sizeof(n));
    return p + HEADER;
}

static void counted_free(void *p, void *ctx)
{
    size_t n;

    if (!p)
        return;
    char *block = (char *)p - HEADER;
    memcpy(&n, block, sizeof(n));
    cfx_free(ctx, block, n);
}

/* ---- The expression ---- */

static cfx_status compile(matcher *m, const cfx_string *pattern)
{
    const uint32_t how = PCRE2_UTF | PCRE2_ANCHORED | PCRE2_ENDANCHORED |
                         PCRE2_DOLLAR_ENDONLY | PCRE2_NO_AUTO_CAPTURE |
                         PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT;
    PCRE2_UCHAR why[128];
    PCRE2_SIZE at;
    int code;

    m->code = pcre2_compile((PCRE2_SPTR)pattern->text, pattern->len, how,
                            &code, &at, m->syntax);
    if (m->code)
        return CFX_OK;
    if (code == PCRE2_ERROR_HEAP_FAILED)
        return cfx_no_memory(m->call->err);
    pcre2_get_error_message(code, why, sizeof(why));
    return cfx_call_fail(m->call, CFX_EPARSE,
                         "the regular expression is not valid at byte %zu: %s",
                         at, (const char *)why);
}

static cfx_status matcher_init(matcher *m, cfx_call *call)
{
    *m = (matcher){.call = call};
    m->memory = pcre2_general_context_create(counted_alloc, counted_free,
                                             call->ctx);
    if (m->memory)
        m->syntax = pcre2_compile_context_create(m->memory);
    if (!m->syntax)
        return cfx_no_memory(call->err);
    pcre2_set_newline(m->syntax, PCRE2_NEWLINE_LF);
    return compile(m, call->in[1].u.str);
}

static void matcher_release(matcher *m)
{
    pcre2_match_data_free(m->data);
    pcre2_match_context_free(m->limits);
    pcre2_code_free(m->code);
    pcre2_compile_context_free(m->syntax);
    pcre2_general_context_free(m->memory);
}

/* ---- Matching ---- */

static int count_work(pcre2_callout_block *b, void *user)
{
    matcher *m = user;
    size_t at = b->current_position, before = m->work;

    m->work += 1 + (at > m->at ? at - m->at : m->at - at);
    m->at = at;
    if (m->work > MAX_WORK)
        return PCRE2_ERROR_MATCHLIMIT;
    if (before / CFX_STOP_BLOCK != m->work / CFX_STOP_BLOCK &&
        cfx_context_stops(m->call->ctx))
        return PCRE2_ERROR_CALLOUT;
    return 0;
}

static cfx_status prepare_match(matcher *m)
{
    m->data = pcre2_match_data_create(1, m->memory);
    m->limits = pcre2_match_context_create(m->memory);
    if (!m->data || !m->limits)
        return cfx_no_memory(m->call->err);
    pcre2_set_match_limit(m->limits, MAX_BACKTRACKS);
    pcre2_set_heap_limit(m->limits, MAX_HEAP);
    pcre2_set_callout(m->limits, count_work, m);
    return CFX_OK;
}

/* A str that is not UTF-8 matches no expression. When the context stops, the
 * result does not matter. */
static cfx_status match(matcher *m, const cfx_string *text, bool *out)
{
    m->at = m->work = 0;
    int got = pcre2_match(m->code, (PCRE2_SPTR)text->text, text->len, 0, 0,
                          m->data, m->limits);
    bool utf8 = got > PCRE2_ERROR_UTF8_ERR1 || got < PCRE2_ERROR_UTF8_ERR21;

    *out = got >= 0;
    if (*out || got == PCRE2_ERROR_NOMATCH || !utf8 ||
        got == PCRE2_ERROR_CALLOUT)
        return CFX_OK;
    if (got == PCRE2_ERROR_NOMEMORY)
        return cfx_no_memory(m->call->err);
    return cfx_call_fail(
        m->call, CFX_ELIMIT,
        "the regular expression backtracks too much on a str of %u bytes",
        text->len);
}

static cfx_status full_match_infer(cfx_call *call)
{
    matcher m;
    cfx_status st = matcher_init(&m, call);

    matcher_release(&m);
    return st ? st : strings_out_like(call, CFX_BOOL);
}

static cfx_status full_match_run(cfx_call *call)
{
    bool *out = call->out[0]->data;
    matcher m = {0};
    strings s;
    cfx_status st = strings_read(&s, call);

    if (!st)
        st = matcher_init(&m, call);
    if (!st)
        st = prepare_match(&m);
    for (size_t i = 0; i < s.self.n && !st; i++)
        st = match(&m, s.self.item[i], &out[i]);
    matcher_release(&m);
    strings_release(&s);
    return st;
}

#else

static cfx_status full_match_infer(cfx_call *call)
{
    return strings_out_like(call, CFX_BOOL);
}

static cfx_status full_match_run(cfx_call *call)
{
    return cfx_call_fail(
        call, CFX_EUNSUPPORTED,
        "cfx was built without PCRE2, which regular expressions need");
}

#endif

const cfx_op cfx_op__string_full_match = {
    .schema = "string_full_match(any self, str pattern) -> Tensor",
    .aliases = "torch.ops.cfx.string_full_match",
    .doc =
        "Does a regular expression in PCRE2's syntax, without captures, match each whole str?",
    .infer = full_match_infer,
    .run = full_match_run,
};
