/*
 * names -- unique Python identifiers, as torch.fx gives them.
 *
 * A name is a base, optionally with an underscore and a number: `add_12`. Each
 * base has a counter, which continues when a candidate is taken. A candidate
 * with a number sets the counter, also to less: `a_9 a_2 a` are followed by
 * `a_3`. Names never become free, so that taken numbers can be skipped later;
 * without skips, candidates that reset the counter would take quadratic time.
 *
 * Numbered names are in an array of their base, if it is dense enough: a map
 * of all would exceed the caches, and each lookup would miss. The others are
 * in the map `used`.
 */
#include "graph/names.h"

#include <stdlib.h>

/* Numbers of more than 18 digits are part of the base. */
enum { MAX_DIGITS = 18 };

/* Check for (and later add) a skip after this many taken numbers. */
enum { SKIP_EVERY = 64 };

void cfx_names_init(cfx_names *names, cfx_context *ctx)
{
    *names = (cfx_names){.at = NULL};
    cfx_arena_init(&names->memory, ctx);
    cfx_map_init(&names->used, ctx);
    cfx_map_init(&names->bases, ctx);
    cfx_map_init(&names->skips, ctx);
    cfx_buf_init(&names->buf, ctx);
    cfx_buf_init(&names->candidate, ctx);
}

void cfx_names_release(cfx_names *names)
{
    cfx_map_release(&names->skips);
    cfx_map_release(&names->bases);
    cfx_map_release(&names->used);
    cfx_buf_release(&names->candidate);
    cfx_buf_release(&names->buf);
    cfx_arena_release(&names->memory);
}

bool cfx_names_reserve(cfx_names *names, const cfx_names *other)
{
    return cfx_map_reserve(&names->used, other->used.len);
}

/* ---- The text of names ---- */

/* Texts are packed in pieces of the arena, each after its user pointer. */
enum { PIECE = 4096, ALIGN = sizeof(void *) };

static char *new_text(cfx_names *names, const char *s, size_t len)
{
    size_t size;
    if (!cfx_add_size(&size, len, sizeof(void *) + ALIGN))
        return NULL;
    size &= ~(size_t)(ALIGN - 1);
    if (size > (size_t)(names->end - names->at)) {
        size_t piece = size < PIECE / 4 ? PIECE : size;
        char *p = cfx_arena_alloc(&names->memory, piece);
        if (!p)
            return NULL;
        names->at = p;
        names->end = p + piece;
    }
    void **user = (void **)(void *)names->at;
    char *text = (char *)(user + 1);
    names->at += size;
    *user = NULL;
    memcpy(text, s, len);
    text[len] = '\0';
    return text;
}

/* ---- Reserved words of Python ---- */

/* Keywords and builtins of Python 3.11 to 3.14, and the globals that torch.fx
 * gives to generated code; sorted as strcmp does. */
/* clang-format off */
static const char *const illegal[] = {
    "ArithmeticError", "AssertionError", "AttributeError", "BaseException",
    "BaseExceptionGroup", "BlockingIOError", "BrokenPipeError", "BufferError",
    "BytesWarning", "ChildProcessError", "ConnectionAbortedError",
    "ConnectionError", "ConnectionRefusedError", "ConnectionResetError",
    "DeprecationWarning", "EOFError", "Ellipsis", "EncodingWarning",
    "EnvironmentError", "Exception", "ExceptionGroup", "False",
    "FileExistsError", "FileNotFoundError", "FloatingPointError",
    "FutureWarning", "GeneratorExit", "IOError", "ImportError",
    "ImportWarning", "IndentationError", "IndexError", "InterruptedError",
    "IsADirectoryError", "KeyError", "KeyboardInterrupt", "LookupError",
    "MemoryError", "ModuleNotFoundError", "NameError", "None", "NoneType",
    "NotADirectoryError", "NotImplemented", "NotImplementedError", "OSError",
    "OverflowError", "PendingDeprecationWarning", "PermissionError",
    "ProcessLookupError", "PythonFinalizationError", "RecursionError",
    "ReferenceError", "ResourceWarning", "RuntimeError", "RuntimeWarning",
    "StopAsyncIteration", "StopIteration", "SyntaxError", "SyntaxWarning",
    "SystemError", "SystemExit", "TabError", "TimeoutError", "True",
    "TypeError", "UnboundLocalError", "UnicodeDecodeError",
    "UnicodeEncodeError", "UnicodeError", "UnicodeTranslateError",
    "UnicodeWarning", "UserWarning", "ValueError", "Warning",
    "ZeroDivisionError", "_IncompleteInputError", "__build_class__",
    "__debug__", "__doc__", "__import__", "__loader__", "__name__",
    "__package__", "__spec__", "abs", "aiter", "all", "and", "anext", "any",
    "as", "ascii", "assert", "async", "await", "bin", "bool", "break",
    "breakpoint", "bytearray", "bytes", "callable", "chr", "class",
    "classmethod", "compile", "complex", "continue", "copyright", "credits",
    "def", "del", "delattr", "device", "dict", "dir", "divmod", "elif",
    "else", "enumerate", "eval", "except", "exec", "exit", "filter",
    "finally", "float", "for", "format", "from", "frozenset", "fx_pytree",
    "getattr", "global", "globals", "hasattr", "hash", "help", "hex", "id",
    "if", "import", "in", "inf", "input", "int", "is", "isinstance",
    "issubclass", "iter", "lambda", "len", "license", "list", "locals", "map",
    "max", "memoryview", "min", "nan", "next", "nonlocal", "not", "object",
    "oct", "open", "or", "ord", "pass", "pow", "print", "property", "pytree",
    "quit", "raise", "range", "repr", "return", "reversed", "round", "set",
    "setattr", "slice", "sorted", "staticmethod", "str", "sum", "super",
    "torch", "try", "tuple", "type", "vars", "while", "with", "yield", "zip",
};
/* clang-format on */

static int compare_names(const void *name, const void *element)
{
    return strcmp(name, *(const char *const *)element);
}

bool cfx_name_is_illegal(const char *name)
{
    return bsearch(name, illegal, sizeof(illegal) / sizeof(*illegal),
                   sizeof(*illegal), compare_names) != NULL;
}

/* isdigit for every locale. */
static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

bool cfx_name_is_identifier(const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!cfx_name_has(s[i]))
            return false;
    return len && !is_digit(s[0]);
}

bool cfx_name_is_path(const char *s)
{
    for (;;) {
        size_t n = strcspn(s, ".");
        if (!cfx_name_is_identifier(s, n))
            return false;
        if (!s[n])
            return true;
        s += n + 1;
    }
}

bool cfx_name_is_parameter(const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!cfx_name_has(s[i]) && !strchr(".:/- ", s[i]))
            return false;
    return len != 0;
}

/* Letters, digits and the underscore, as 128 bits. */
static bool is_word(char c)
{
    static const uint64_t words[2] = {UINT64_C(0x03FF000000000000),
                                      UINT64_C(0x07FFFFFE87FFFFFE)};
    unsigned u = (unsigned char)c;
    return u < 128 && words[u >> 6] >> (u & 63) & 1;
}

/* Write the identifier for a candidate to the buffer. */
static bool write_identifier(cfx_buf *buf, const char *s, size_t len)
{
    buf->failed = false;
    cfx_buf_clear(buf);
    if (len && is_digit(s[0]))
        cfx_buf_putc(buf, '_');
    for (size_t i = 0, end; i < len; i = end) {
        bool word = is_word(s[i]);
        for (end = i + 1; end < len && is_word(s[end]) == word; end++)
            continue;
        if (word)
            cfx_buf_add(buf, s + i, end - i);
        else
            cfx_buf_putc(buf, '_');
    }
    if (!len)
        cfx_buf_puts(buf, "_unnamed");
    return !buf->failed;
}

/* The length of the base of a name; *number is its number, or -1. Leading
 * zeros are part of the name, not of the number. */
static size_t split(const char *name, size_t len, int64_t *number)
{
    size_t at = len;
    while (at && is_digit(name[at - 1]))
        at--;
    *number = -1;
    if (at == len || len - at > MAX_DIGITS || at < 2 || name[at - 1] != '_')
        return len;
    *number = 0;
    for (size_t i = at; i < len; i++)
        *number = *number * 10 + (name[i] - '0');
    return at - 1;
}

/* ---- Bases and their numbers ---- */

/* The state of a base. */
typedef struct cfx_names_base {
    const char *text;
    size_t len;
    uint64_t count;     /* its counter */
    bool taken;         /* the base itself cannot be a new name */
    const char **name;  /* by number, below `room`; NULL: unused, or in */
    uint64_t cap, held; /* the map, where there are `others` */
    uint64_t others;
} cfx_names_base;

static cfx_names_base **recent_place(const cfx_names *names, const char *text,
                                     size_t len)
{
    size_t place = cfx_text_place(text, len, CFX_NAMES_RECENT);
    return (cfx_names_base **)&names->recent[place];
}

static cfx_names_base *base_of(const cfx_names *names, const char *text,
                               size_t len)
{
    cfx_names_base *base = *recent_place(names, text, len);
    if (base && base->len == len && !memcmp(base->text, text, len))
        return base;
    const cfx_map_entry *entry = cfx_map_get(&names->bases, text, len);
    return entry ? entry->v.p : NULL;
}

/* The base in the buffer, created if it is new. */
static cfx_names_base *need_base(cfx_names *names, size_t len)
{
    cfx_names_base *base = base_of(names, names->buf.s, len);
    if (!base) {
        base = cfx_arena_alloc(&names->memory, sizeof(*base));
        char *text = base ? cfx_arena_strdup(&names->memory, names->buf.s, len)
                          : NULL;
        cfx_map_entry *entry = text ? cfx_map_put(&names->bases, text, len,
                                                  NULL)
                                    : NULL;
        if (!entry)
            return NULL;
        *base = (cfx_names_base){.text = text, .len = len};
        entry->v.p = base;
    }
    return *recent_place(names, base->text, len) = base;
}

/* The array element for that number; NULL if it belongs in the map, since the
 * array would be too sparse. */
static const char **place_of_number(cfx_names *names, cfx_names_base *base,
                                    uint64_t number)
{
    enum { LEAST = 4 };
    if (number < base->cap)
        return &base->name[number];
    if (number >= 2 * base->held + LEAST)
        return NULL;
    uint64_t cap = base->cap ? base->cap : LEAST;
    while (cap <= number)
        cap *= 2;
    const char **name = cfx_arena_alloc(&names->memory, cap * sizeof(*name));
    if (!name)
        return NULL;
    if (base->cap)
        memcpy(name, base->name, base->cap * sizeof(*name));
    memset(name + base->cap, 0, (cap - base->cap) * sizeof(*name));
    base->name = name;
    base->cap = cap;
    return &name[number];
}

/* Is the number in canonical form? Else it is part of the base. */
static int64_t plain_number(const char *name, size_t len, size_t base,
                            int64_t number)
{
    return number >= 0 && name[base + 1] == '0' && len > base + 2 ? -1
                                                                  : number;
}

const char *cfx_names_find(const cfx_names *names, const char *name)
{
    size_t len = strlen(name);
    int64_t number;
    size_t base_len = split(name, len, &number);
    number = plain_number(name, len, base_len, number);
    if (number >= 0) {
        const cfx_names_base *base = base_of(names, name, base_len);
        if (!base)
            return NULL;
        if ((uint64_t)number < base->cap && base->name[number])
            return base->name[number];
        if (!base->others)
            return NULL;
    }
    const cfx_map_entry *e = cfx_map_get(&names->used, name, len);
    return e ? e->key : NULL;
}

/* ---- Insertion ---- */

/* The name in the buffer, which is to be inserted. */
typedef struct wanted {
    cfx_names_base *base; /* NULL: not known, and there is no number */
    int64_t number;       /* or -1 */
} wanted;

/* Reserve the element for a name. NULL when out of memory; *added is false if
 * it is taken. Until it has a text, the buffer is its key in the map. */
static const char **claim(cfx_names *names, const wanted *w, bool *added)
{
    const char *s = names->buf.s;
    const char **place = NULL;
    *added = false;
    if (w->number >= 0)
        place = place_of_number(names, w->base, (uint64_t)w->number);
    if (place) {
        *added = !*place && (!w->base->others ||
                             !cfx_map_get(&names->used, s, names->buf.len));
        return place;
    }
    cfx_map_entry *entry = cfx_map_put(&names->used, s, names->buf.len, added);
    return entry ? &entry->key : NULL;
}

static bool in_array(const wanted *w)
{
    return w->number >= 0 && (uint64_t)w->number < w->base->cap;
}

/* Undo `claim`. */
static void unclaim(cfx_names *names, const wanted *w)
{
    if (!in_array(w))
        cfx_map_remove(&names->used, names->buf.s, names->buf.len);
}

/* Copy the text of a claimed name, and set the base's counter. */
static const char *keep(cfx_names *names, const char **place, const wanted *w,
                        uint64_t count)
{
    char *name = new_text(names, names->buf.s, names->buf.len);
    if (!name) {
        unclaim(names, w);
        return NULL;
    }
    *place = name;
    names->last = name;
    names->last_base = w->base;
    names->last_count = w->base ? w->base->count : 0;
    if (w->base)
        w->base->count = count;
    if (in_array(w))
        w->base->held++;
    else if (w->number >= 0)
        w->base->others++;
    return name;
}

/* ---- Counting ---- */

/* Write `base_NUMBER` to the buffer, after its first `base` characters. */
static bool write_number(cfx_buf *buf, size_t base, uint64_t number)
{
    char text[24];
    size_t at = sizeof(text);
    do
        text[--at] = (char)('0' + number % 10);
    while (number /= 10);
    text[--at] = '_';
    buf->len = base;
    cfx_buf_add(buf, text + at, sizeof(text) - at);
    return !buf->failed;
}

static uint64_t round_up(uint64_t number)
{
    return (number + SKIP_EVERY - 1) / SKIP_EVERY * SKIP_EVERY;
}

/* All numbers `from`..`to` are taken: add skips for later searches. Failure
 * only costs time. */
static void leave_skips(cfx_names *names, size_t base, uint64_t from,
                        uint64_t to)
{
    for (uint64_t i = round_up(from); i < to;) {
        const char *used;
        if (!write_number(&names->buf, base, i) ||
            !(used = cfx_names_find(names, names->buf.s)))
            return;
        cfx_map_entry *skip = cfx_map_put(&names->skips, used, names->buf.len,
                                          NULL);
        if (!skip)
            return;
        uint64_t next = skip->v.u > i ? skip->v.u : i + 1;
        skip->v.u = to;
        i = round_up(next);
    }
}

/* Claim the first free name after w's number. */
static const char **claim_next(cfx_names *names, wanted *w)
{
    for (uint64_t i = (uint64_t)w->number + 1;; i++) {
        bool added;
        const char **place;
        w->number = (int64_t)i;
        if (!write_number(&names->buf, w->base->len, i) ||
            !(place = claim(names, w, &added)))
            return NULL;
        if (added)
            return place;
        if (i % SKIP_EVERY == 0) {
            const cfx_map_entry *skip = cfx_map_get(
                &names->skips, names->buf.s, names->buf.len);
            if (skip)
                i = skip->v.u - 1;
        }
    }
}

/* The next name for a base that is taken, which is in the buffer. */
static const char *count_on(cfx_names *names, cfx_names_base *base)
{
    wanted w = {base, (int64_t)base->count};
    uint64_t from = base->count + 1;
    const char **place = claim_next(names, &w);
    uint64_t count = (uint64_t)w.number;
    const char *name = place ? keep(names, place, &w, count) : NULL;
    if (name && count - from >= SKIP_EVERY)
        leave_skips(names, base->len, from, count);
    return name;
}

/* Claim the candidate in the buffer unchanged, if it is free and not reserved
 * in Python. NULL with *taken false: out of memory. */
static const char **claim_itself(cfx_names *names, const wanted *w, bool legal,
                                 bool *taken)
{
    bool added;
    const char **place = claim(names, w, &added);
    *taken = place && !added;
    if (place && added && !legal && cfx_name_is_illegal(names->buf.s)) {
        unclaim(names, w);
        *taken = true;
    }
    return *taken ? NULL : place;
}

/* Create a name from the candidate in the buffer, which is an identifier. */
static const char *create(cfx_names *names, bool any)
{
    const cfx_buf *buf = &names->buf;
    int64_t number;
    size_t len = split(buf->s, buf->len, &number);
    bool plain = number < 0;
    cfx_names_base *base = plain ? base_of(names, buf->s, len)
                                 : need_base(names, len);
    bool taken = plain && !any && base && base->taken;
    if (!plain && !base)
        return NULL;
    if (!taken) {
        const wanted w = {base, plain_number(buf->s, buf->len, len, number)};
        const char **place = claim_itself(names, &w, any || !plain, &taken);
        if (place)
            return keep(names, place, &w,
                        !plain ? (uint64_t)number
                        : base ? base->count
                               : 0);
        if (!taken)
            return NULL;
    }
    base = need_base(names, len);
    const char *name = base ? count_on(names, base) : NULL;
    if (name && plain)
        base->taken = true;
    return name;
}

/* The last name, as a `wanted`. */
static wanted last_wanted(const cfx_names *names)
{
    size_t len = strlen(names->last);
    wanted w = {.base = names->last_base};
    size_t base_len = split(names->last, len, &w.number);
    w.number = plain_number(names->last, len, base_len, w.number);
    return w;
}

/* Remove the last name and reset its base's counter; give_again undoes
 * that. */
static void take_back(cfx_names *names)
{
    const wanted w = last_wanted(names);
    if (in_array(&w) && w.base->name[w.number] == names->last) {
        w.base->name[w.number] = NULL;
        w.base->held--;
    } else {
        cfx_map_remove(&names->used, names->last, strlen(names->last));
        if (w.number >= 0)
            w.base->others--;
    }
    if (w.base)
        w.base->count = names->last_count;
}

static void give_again(cfx_names *names, bool in_map, uint64_t count)
{
    const wanted w = last_wanted(names);
    if (in_map) {
        /* Cannot fail: the entry was there before. */
        cfx_map_put(&names->used, names->last, strlen(names->last), NULL);
        if (w.number >= 0)
            w.base->others++;
    } else {
        w.base->name[w.number] = names->last;
        w.base->held++;
    }
    if (w.base)
        w.base->count = count;
}

const char *cfx_names_create(cfx_names *names, const char *candidate,
                             size_t len, bool any)
{
    return write_identifier(&names->buf, candidate, len) ? create(names, any)
                                                         : NULL;
}

const char *cfx_names_again(cfx_names *names, const char *name)
{
    cfx_buf *buf = &names->buf;
    buf->failed = false;
    cfx_buf_clear(buf);
    cfx_buf_puts(buf, name);
    return buf->failed ? NULL : create(names, true);
}

const char *cfx_names_replace(cfx_names *names, const char *old,
                              const char *candidate, size_t len)
{
    const char *last = names->last;
    cfx_names_base *base = names->last_base;
    uint64_t last_count = names->last_count, count = base ? base->count : 0;
    bool undo = last && !strcmp(last, old);
    size_t mapped = names->used.len;
    if (undo)
        take_back(names);
    mapped -= names->used.len;
    const char *name = cfx_names_create(names, candidate, len, false);
    if (name || !undo) {
        if (name && !undo)
            *cfx_names_user(cfx_names_find(names, old)) = NULL;
        return name;
    }
    names->last = last;
    names->last_base = base;
    names->last_count = last_count;
    give_again(names, mapped != 0, count);
    return NULL;
}

/* ---- Candidates ---- */

/*
 * The __name__ of a function of that qualified name: what follows the last
 * dot, or `packet.overload` of an operator (torch.ops.aten.add.Tensor, which
 * torch.fx also writes as aten.add.Tensor).
 */
static const char *function_name(const char *target)
{
    bool ops = !strncmp(target, "torch.ops.", 10);
    const char *space = ops ? target + 10 : target;
    const char *dot = strchr(space, '.');
    if (dot && dot[1] && (ops || !strncmp(space, "aten.", 5)))
        return dot + 1;
    for (const char *c = target; *c; c++)
        if ((*c == '.' || *c == ':') && c[1])
            target = c + 1;
    return target;
}

void cfx_names_candidate(cfx_buf *buf, cfx_opcode op, const char *target)
{
    if (op == CFX_CALL_FUNCTION)
        target = function_name(target);
    size_t len = strlen(target);
    bool magic = op != CFX_CALL_FUNCTION && len >= 2 &&
                 !strncmp(target, "__", 2) && !strcmp(target + len - 2, "__");
    if (magic) {
        target += 2;
        len = len > 4 ? len - 4 : 0;
    }
    cfx_buf_clear(buf);
    if (!cfx_buf_reserve(buf, 2 * len + 1))
        return;
    for (size_t i = 0; i < len; i++) {
        char c = target[i];
        if (i && is_upper(c) && is_lower(target[i - 1]))
            buf->s[buf->len++] = '_';
        buf->s[buf->len++] = is_upper(c) ? (char)(c - 'A' + 'a') : c;
    }
    buf->s[buf->len] = '\0';
}

/* ---- Names of targets ---- */

/* A cache entry for a target whose candidate is a taken base; few targets make
 * most nodes of a graph. */
typedef struct cfx_names_target {
    cfx_names_base *base;
    uint8_t op;
    uint8_t len;
    char text[CFX_NAMES_TARGET];
} cfx_names_target;

static cfx_names_target *place_of(cfx_names *names, const char *target,
                                  size_t len)
{
    if (!names->target || !len || len > CFX_NAMES_TARGET)
        return NULL;
    return &names->target[cfx_text_place(target, len, CFX_NAMES_TARGETS)];
}

/* Cache the base of a target. */
static void remember(cfx_names *names, cfx_opcode op, const char *target,
                     size_t len)
{
    cfx_names_base *base = names->last_base;
    if (!base || !base->taken || base->len != names->candidate.len ||
        memcmp(base->text, names->candidate.s, base->len))
        return;
    if (!names->target) {
        size_t size = sizeof(*names->target) << CFX_NAMES_TARGETS;
        names->target = cfx_arena_alloc(&names->memory, size);
        if (names->target)
            memset(names->target, 0, size);
    }
    cfx_names_target *t = place_of(names, target, len);
    if (!t)
        return;
    t->base = base;
    t->op = (uint8_t)op;
    t->len = (uint8_t)len;
    memcpy(t->text, target, len);
}

const char *cfx_names_of_target(cfx_names *names, cfx_opcode op,
                                const char *target, size_t len)
{
    const cfx_names_target *t = place_of(names, target, len);
    cfx_buf *buf = &names->buf;
    if (t && t->base && t->op == op && t->len == len &&
        !memcmp(t->text, target, len)) {
        cfx_names_base *base = t->base;
        buf->failed = false;
        cfx_buf_clear(buf);
        cfx_buf_add(buf, base->text, base->len);
        return buf->failed ? NULL : count_on(names, base);
    }
    names->candidate.failed = false;
    cfx_names_candidate(&names->candidate, op, target);
    if (names->candidate.failed)
        return NULL;
    const char *name = cfx_names_create(names, names->candidate.s,
                                        names->candidate.len, false);
    if (name)
        remember(names, op, target, len);
    return name;
}
