/*
 * regex -- regular expressions in RE2's syntax: literals, ., classes, groups,
 * alternatives, repetitions, ^ $ \A \z \b \B.
 *
 * An expression is compiled to steps, of which a match follows all ways at once
 * (Thompson's construction), so that no expression takes more than its length
 * times that of the text. Jumps are relative: steps are moved to make room for
 * the branch before them. A counted repetition compiles its operand again for
 * each round.
 */
#include "ops/strings/regex.h"

#include <string.h>

#include "base/stop.h"
#include "base/unicode.h"

/* Steps of an expression, levels of groups, rounds of a repetition (as in RE2),
 * and how many operands are compiled, again ones included. */
enum {
    MAX_STEPS = 10000,
    MAX_DEPTH = 100,
    MAX_ROUNDS = 1000,
    MAX_WORK = 1 << 16
};

enum { NO_LIMIT = -1, LAST_CHAR = 0x10ffff };

/* Characters between two looks whether to stop. */
enum { CHECK = 1024 };

typedef enum step_kind {
    MATCH,
    ONE_OF, /* a character in `count` ranges from `at` on */
    BRANCH, /* go on behind, and `jump` away */
    JUMP,
    BEGIN,
    END,
    WORD_EDGE,
    NO_WORD_EDGE
} step_kind;

typedef struct cfx_regex_step {
    uint8_t kind;
    int32_t jump;
    uint32_t at, count;
} step;

typedef struct cfx_regex_range {
    uint32_t first, last;
} range;

typedef struct parser {
    cfx_regex *re;
    const char *at, *end;
    int depth, work;
    cfx_error *err;
    cfx_status st;
} parser;

static bool fail(parser *p, cfx_status st, const char *what)
{
    if (!p->st)
        p->st = cfx_fail(p->err, st, "the regular expression %s", what);
    return false;
}

/* ---- Steps ---- */

static bool insert(parser *p, size_t place, step s)
{
    cfx_regex *re = p->re;

    if (re->nsteps == MAX_STEPS)
        return fail(p, CFX_ELIMIT, "has more than 10000 steps");
    if (cfx_grow(re->ctx, re->step, re->step_cap, re->nsteps + 1, p->err)) {
        p->st = CFX_ENOMEM;
        return false;
    }
    memmove(re->step + place + 1, re->step + place,
            (re->nsteps - place) * sizeof(s));
    re->step[place] = s;
    re->nsteps++;
    return true;
}

static bool emit(parser *p, step_kind kind, ptrdiff_t jump)
{
    return insert(p, p->re->nsteps,
                  (step){.kind = (uint8_t)kind, .jump = (int32_t)jump});
}

static bool add_range(parser *p, uint32_t first, uint32_t last)
{
    cfx_regex *re = p->re;

    if (cfx_grow(re->ctx, re->range, re->range_cap, re->nranges + 1, p->err)) {
        p->st = CFX_ENOMEM;
        return false;
    }
    re->range[re->nranges++] = (range){first, last};
    return true;
}

/* A step for the ranges from `from` on. */
static bool emit_ranges(parser *p, size_t from)
{
    return insert(p, p->re->nsteps,
                  (step){.kind = ONE_OF,
                         .at = (uint32_t)from,
                         .count = (uint32_t)(p->re->nranges - from)});
}

static bool emit_char(parser *p, uint32_t c)
{
    size_t from = p->re->nranges;

    return add_range(p, c, c) && emit_ranges(p, from);
}

/* Add the characters that none of the ranges from `from` on has, and drop
 * those. */
static bool negate(parser *p, size_t from)
{
    cfx_regex *re = p->re;
    size_t to = re->nranges, n = to - from;

    for (uint32_t c = 0; c <= LAST_CHAR;) {
        uint32_t next = LAST_CHAR + 1, within = c;
        for (size_t i = from; i < to; i++) {
            const range *r = &re->range[i];
            if (r->first <= c && r->last >= c && r->last + 1 > within)
                within = r->last + 1;
            else if (r->first > c && r->first < next)
                next = r->first;
        }
        if (within == c && !add_range(p, c, next - 1))
            return false;
        c = within > c ? within : next;
    }
    memmove(re->range + from, re->range + to,
            (re->nranges - to) * sizeof(range));
    re->nranges -= n;
    return true;
}

/* ---- Characters ---- */

static bool next_char(parser *p, uint32_t *c)
{
    size_t n = cfx_utf8_decode(c, p->at, (size_t)(p->end - p->at));

    p->at += n;
    return n || fail(p, CFX_EPARSE, "ends too early or is no UTF-8");
}

static bool take(parser *p, const char *text)
{
    size_t n = strlen(text);

    if ((size_t)(p->end - p->at) < n || memcmp(p->at, text, n))
        return false;
    p->at += n;
    return true;
}

/* The ranges of \d, \s, \w; false if the letter has none. */
static bool add_class(parser *p, char letter)
{
    switch (letter) {
    case 'd': return add_range(p, '0', '9');
    case 's':
        return add_range(p, '\t', '\n') && add_range(p, '\f', '\r') &&
               add_range(p, ' ', ' ');
    case 'w':
        return add_range(p, '0', '9') && add_range(p, 'A', 'Z') &&
               add_range(p, 'a', 'z') && add_range(p, '_', '_');
    default: return false;
    }
}

/* \d, \D and the like behind a backslash, as ranges; false if it is none. */
static bool take_class(parser *p)
{
    char letter = p->at < p->end ? *p->at : '\0';
    char small = (char)(letter | 0x20);
    size_t from = p->re->nranges;

    if (!add_class(p, small) || (letter != small && !negate(p, from)))
        return false;
    p->at++;
    return true;
}

static bool hex_escape(parser *p, uint32_t *c)
{
    bool braces = take(p, "{");
    int digits = 0;

    for (*c = 0; p->at < p->end && digits < (braces ? 6 : 2); digits++) {
        const char *hex = "0123456789abcdef";
        const char *at = *p->at ? strchr(hex, *p->at | 0x20) : NULL;
        if (!at)
            break;
        *c = *c * 16 + (uint32_t)(at - hex);
        p->at++;
    }
    if (*c > LAST_CHAR || !digits || (braces ? !take(p, "}") : digits != 2))
        return fail(p, CFX_EPARSE, "has a \\x without its digits");
    return true;
}

/* The character behind a backslash. */
static bool escaped_char(parser *p, uint32_t *c)
{
    static const char letters[] = "afnrtv", means[] = "\a\f\n\r\t\v";

    if (!next_char(p, c))
        return false;
    if (*c == 'x')
        return hex_escape(p, c);
    bool word = (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') ||
                (*c >= 'A' && *c <= 'Z') || *c >= 0x80;
    const char *at = word && *c < 0x80 ? strchr(letters, (int)*c) : NULL;
    if (word && !at)
        return fail(p, CFX_EUNSUPPORTED,
                    "has an escape that cfx does not know");
    if (at)
        *c = (uint32_t)means[at - letters];
    return true;
}

/* ---- Classes: [...] ---- */

static bool class_char(parser *p, uint32_t *c)
{
    if (take(p, "\\"))
        return escaped_char(p, c);
    return next_char(p, c);
}

static bool class_item(parser *p)
{
    uint32_t first, last;

    if (take(p, "[:"))
        return fail(p, CFX_EUNSUPPORTED, "has a named class");
    if (p->end - p->at > 1 && *p->at == '\\') {
        p->at++;
        if (take_class(p))
            return true;
        p->at--;
    }
    if (p->st || !class_char(p, &first))
        return false;
    last = first;
    if (p->end - p->at > 1 && *p->at == '-' && p->at[1] != ']') {
        p->at++;
        if (!class_char(p, &last))
            return false;
        if (last < first)
            return fail(p, CFX_EPARSE, "has a range that ends too early");
    }
    return add_range(p, first, last);
}

static bool parse_class(parser *p)
{
    size_t from = p->re->nranges;
    bool negated = take(p, "^"), first = true;

    for (; first || !take(p, "]"); first = false) {
        if (p->at == p->end)
            return fail(p, CFX_EPARSE, "lacks a ]");
        if (!class_item(p))
            return false;
    }
    return (!negated || negate(p, from)) && emit_ranges(p, from);
}

/* ---- Groups, operands ---- */

static bool parse_alternatives(parser *p);

static bool parse_group(parser *p)
{
    if (p->at < p->end && *p->at == '?' && !take(p, "?:"))
        return fail(p, CFX_EUNSUPPORTED,
                    "has a group with flags or a name, or that looks around");
    if (++p->depth > MAX_DEPTH)
        return fail(p, CFX_ELIMIT, "has groups more than 100 deep");
    if (!parse_alternatives(p))
        return false;
    p->depth--;
    return take(p, ")") || fail(p, CFX_EPARSE, "lacks a )");
}

static bool parse_escape(parser *p)
{
    static const struct {
        const char *name;
        step_kind kind;
    } assertion[] = {
        {"A", BEGIN}, {"z", END}, {"b", WORD_EDGE}, {"B", NO_WORD_EDGE}};
    size_t from = p->re->nranges;
    uint32_t c;

    for (size_t i = 0; i < sizeof(assertion) / sizeof(*assertion); i++)
        if (take(p, assertion[i].name))
            return emit(p, assertion[i].kind, 0);
    if (take_class(p))
        return emit_ranges(p, from);
    return !p->st && escaped_char(p, &c) && emit_char(p, c);
}

static bool parse_operand(parser *p)
{
    size_t from = p->re->nranges;
    uint32_t c;

    if (++p->work > MAX_WORK)
        return fail(p, CFX_ELIMIT, "repeats too much");
    if (!next_char(p, &c))
        return false;
    switch (c) {
    case '(': return parse_group(p);
    case '[': return parse_class(p);
    case '\\': return parse_escape(p);
    case '^': return emit(p, BEGIN, 0);
    case '$': return emit(p, END, 0);
    case '.':
        return add_range(p, 0, '\n' - 1) &&
               add_range(p, '\n' + 1, LAST_CHAR) && emit_ranges(p, from);
    case '*':
    case '+':
    case '?': return fail(p, CFX_EPARSE, "repeats nothing");
    default: return emit_char(p, c);
    }
}

/* ---- Repetitions ---- */

static bool take_number(parser *p, int *out)
{
    const char *from = p->at;

    for (*out = 0; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++)
        *out = *out > MAX_ROUNDS ? *out : *out * 10 + (*p->at - '0');
    return p->at > from;
}

/* {2}, {2,} or {2,5}; any other brace is a character. */
static bool take_braces(parser *p, int *least, int *most)
{
    const char *from = p->at;
    bool found = take(p, "{") && take_number(p, least);

    *most = *least;
    if (found && take(p, ",") && !take_number(p, most))
        *most = NO_LIMIT;
    if (found && take(p, "}"))
        return true;
    p->at = from;
    return false;
}

static bool take_repeat(parser *p, int *least, int *most)
{
    *least = *most = 1;
    if (take(p, "*"))
        *least = 0, *most = NO_LIMIT;
    else if (take(p, "+"))
        *most = NO_LIMIT;
    else if (take(p, "?"))
        *least = 0;
    else if (!take_braces(p, least, most))
        return false;
    /* How much each part takes does not matter to a whole match. */
    take(p, "?");
    return true;
}

/* The operand at `from` once more. */
static bool again(parser *p, const char *from)
{
    const char *behind = p->at;

    p->at = from;
    bool ok = parse_operand(p);
    p->at = behind;
    return ok;
}

/* Make the steps from `start` on optional; with `more` they may be taken any
 * number of times. */
static bool make_optional(parser *p, size_t start, bool more)
{
    ptrdiff_t n = (ptrdiff_t)(p->re->nsteps - start);
    step branch = {.kind = BRANCH, .jump = (int32_t)(n + 1 + more)};

    return insert(p, start, branch) && (!more || emit(p, JUMP, -(n + 1)));
}

/* The operand at `from`, whose steps begin at `start`, is there once. */
static bool repeat(parser *p, const char *from, size_t start, int least,
                   int most)
{
    if (least > MAX_ROUNDS || most > MAX_ROUNDS ||
        (most != NO_LIMIT && most < least))
        return fail(p, CFX_EPARSE, "has a repetition out of range");
    size_t last = start;

    if (!most)
        p->re->nsteps = start;
    for (int i = 1; i < least; i++) {
        last = p->re->nsteps;
        if (!again(p, from))
            return false;
    }
    for (int i = least ? least : 1; i < most; i++) {
        size_t next = p->re->nsteps;
        if (!again(p, from) || !make_optional(p, next, false))
            return false;
    }
    if (most == NO_LIMIT && least)
        return emit(p, BRANCH, (ptrdiff_t)last - (ptrdiff_t)p->re->nsteps);
    return least || !most || make_optional(p, start, most == NO_LIMIT);
}

static bool parse_repeated(parser *p)
{
    const char *from = p->at;
    size_t start = p->re->nsteps;
    int least, most, other;

    if (!parse_operand(p))
        return false;
    if (!take_repeat(p, &least, &most))
        return true;
    if (!repeat(p, from, start, least, most))
        return false;
    return !take_repeat(p, &least, &other) ||
           fail(p, CFX_EPARSE, "repeats a repetition");
}

static bool parse_sequence(parser *p)
{
    while (p->at < p->end && *p->at != '|' && *p->at != ')')
        if (!parse_repeated(p))
            return false;
    return true;
}

static bool parse_alternatives(parser *p)
{
    size_t start = p->re->nsteps;

    if (!parse_sequence(p))
        return false;
    while (take(p, "|")) {
        ptrdiff_t n = (ptrdiff_t)(p->re->nsteps - start);
        size_t jump = p->re->nsteps + 1;
        step branch = {.kind = BRANCH, .jump = (int32_t)(n + 2)};
        if (!insert(p, start, branch) || !emit(p, JUMP, 0) ||
            !parse_sequence(p))
            return false;
        p->re->step[jump].jump = (int32_t)(p->re->nsteps - jump);
    }
    return true;
}

cfx_status cfx_regex_compile(cfx_regex *out, cfx_context *ctx,
                             const cfx_string *pattern, cfx_error *err)
{
    parser p = {.re = out,
                .at = pattern->text,
                .end = pattern->text + pattern->len,
                .err = err};

    *out = (cfx_regex){.ctx = ctx};
    if (parse_alternatives(&p) && p.at < p.end)
        fail(&p, CFX_EPARSE, "has a ) too many");
    if (!p.st)
        emit(&p, MATCH, 0);
    if (!p.st) {
        out->work = cfx_calloc(ctx, 4 * out->nsteps, sizeof(*out->work));
        p.st = out->work ? CFX_OK : cfx_no_memory(err);
    }
    return p.st;
}

void cfx_regex_release(cfx_regex *re)
{
    if (!re->ctx)
        return;
    if (re->work)
        cfx_free(re->ctx, re->work, 4 * re->nsteps * sizeof(*re->work));
    cfx_free(re->ctx, re->step, re->step_cap * sizeof(*re->step));
    cfx_free(re->ctx, re->range, re->range_cap * sizeof(*re->range));
}

/* ---- Matching ---- */

/* The steps at which a match may be, in front of one character. */
typedef struct state {
    uint32_t *step, n;
} state;

static bool is_word(uint32_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
           (c >= 'a' && c <= 'z') || c == '_';
}

typedef struct matcher {
    const cfx_regex *re;
    uint32_t *stack, *seen, round;
    bool begin, end, edge; /* where the text is at */
} matcher;

static bool holds(const matcher *m, const step *s)
{
    return s->kind == BEGIN       ? m->begin
           : s->kind == END       ? m->end
           : s->kind == WORD_EDGE ? m->edge
                                  : !m->edge;
}

/* Add a step, or those to which it leads without a character. Each is pushed
 * once a round. */
static void add_step(matcher *m, state *to, uint32_t at)
{
    uint32_t n = 0;

    if (m->seen[at] == m->round)
        return;
    m->seen[at] = m->round;
    m->stack[n++] = at;
    while (n) {
        at = m->stack[--n];
        const step *s = &m->re->step[at];
        uint32_t next[2] = {at + 1, at + (uint32_t)s->jump};
        int from = s->kind == JUMP, behind = s->kind == BRANCH || from ? 2 : 1;
        if (s->kind == MATCH || s->kind == ONE_OF) {
            to->step[to->n++] = at;
            continue;
        }
        if (s->kind > JUMP && !holds(m, s))
            continue;
        for (int i = from; i < behind; i++)
            if (m->seen[next[i]] != m->round) {
                m->seen[next[i]] = m->round;
                m->stack[n++] = next[i];
            }
    }
}

static bool accepts(const cfx_regex *re, const step *s, uint32_t c)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (re->range[s->at + i].first <= c && c <= re->range[s->at + i].last)
            return true;
    return false;
}

/* A character; a byte that is no UTF-8 is U+FFFD, as for RE2. */
static size_t char_at(const cfx_string *text, size_t at, uint32_t *c)
{
    size_t n = cfx_utf8_decode(c, text->text + at, text->len - at);

    if (!n)
        *c = 0xfffd;
    return n ? n : 1;
}

/* From the steps in front of a character to those behind it. */
static void follow(matcher *m, const state *from, state *to, uint32_t c)
{
    for (uint32_t i = 0; i < from->n; i++) {
        const step *s = &m->re->step[from->step[i]];
        if (s->kind == ONE_OF && accepts(m->re, s, c))
            add_step(m, to, from->step[i] + 1);
    }
}

bool cfx_regex_match(cfx_regex *re, const cfx_string *text)
{
    size_t size = re->nsteps, at = 0, n;
    state now = {re->work, 0}, next = {re->work + size, 0}, swap;
    matcher m = {
        .re = re, .stack = re->work + 2 * size, .seen = re->work + 3 * size};
    uint32_t before = 0, c = 0;

    memset(m.seen, 0, size * sizeof(*m.seen));
    do {
        n = at < text->len ? char_at(text, at, &c) : 0;
        m.begin = !m.round++;
        m.end = !n;
        m.edge = (!m.begin && is_word(before)) != (n && is_word(c));
        next.n = 0;
        if (m.begin)
            add_step(&m, &next, 0);
        else
            follow(&m, &now, &next, before);
        swap = now;
        now = next;
        next = swap;
        before = c;
        at += n;
    } while (n && now.n && (m.round % CHECK || !cfx_context_stops(re->ctx)));
    for (uint32_t i = 0; i < now.n; i++)
        if (re->step[now.step[i]].kind == MATCH)
            return true;
    return false;
}
