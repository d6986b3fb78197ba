/*
 * names -- unique Python identifiers, as torch.fx gives them.
 *
 * A name is a base, and maybe an underscore and a number: `add_12`. For each
 * base the number last given is remembered, and a candidate that is taken goes
 * on counting from there. A candidate that brings a number of its own sets the
 * count, also back: `a_9 a_2 a` are followed by `a_3`. Names never become
 * free, so that numbers once found taken can be skipped later; without this
 * a sequence that keeps setting back the count would take quadratic time.
 */
#include "graph/names.h"

#include <stdlib.h>

/* Only numbers below 10^18 are numbers; longer ones are part of the base. */
enum { MAX_DIGITS = 18 };

/* Every so many taken numbers, look for (and later leave) a skip. */
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

bool cfx_names_reserve(cfx_names *names, size_t len)
{
    return cfx_map_reserve(&names->used, len);
}

/* ---- The text of names ---- */

const char *cfx_names_find(const cfx_names *names, const char *name)
{
    const cfx_map_entry *e = cfx_map_get(&names->used, name, strlen(name));
    return e ? e->key : NULL;
}

/* Texts follow each other in pieces of the arena, each behind what its user
 * stores with it. */
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

/* ---- What Python understands by a name ---- */

/* Keywords and builtins of Python 3.11 to 3.14, and the globals that torch.fx
 * gives to generated code; sorted as strcmp does. */
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

static int compare_names(const void *name, const void *element)
{
    return strcmp(name, *(const char *const *)element);
}

bool cfx_name_is_illegal(const char *name)
{
    return bsearch(name, illegal, sizeof(illegal) / sizeof(*illegal),
                   sizeof(*illegal), compare_names) != NULL;
}

/* The same in every locale. */
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

/* Letters, digits and the underscore, as 128 bits. */
static bool is_word(char c)
{
    static const uint64_t words[2] = {UINT64_C(0x03FF000000000000),
                                      UINT64_C(0x07FFFFFE87FFFFFE)};
    unsigned u = (unsigned char)c;
    return u < 128 && words[u >> 6] >> (u & 63) & 1;
}

/* Write the identifier nearest to a candidate into the buffer. */
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

/* The length of the base of a name; *number is what follows it, or -1. */
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

/* ---- Counting ---- */

/* What is known of a base. */
typedef struct cfx_names_base {
    const char *text;
    size_t len;
    uint64_t count;      /* the number last given to it */
    bool taken;          /* it is no name any more that could be given */
} cfx_names_base;

/* Make the buffer `base_NUMBER`, of which `base` characters stand in it. */
static bool write_number(cfx_buf *buf, size_t base, uint64_t number)
{
    size_t digits = 1;
    for (uint64_t n = number; n >= 10; n /= 10)
        digits++;
    buf->len = base;
    if (!cfx_buf_reserve(buf, digits + 1))
        return false;
    buf->len = base + digits + 1;
    buf->s[base] = '_';
    for (char *at = buf->s + buf->len; digits--; number /= 10)
        *--at = (char)('0' + number % 10);
    buf->s[buf->len] = '\0';
    return true;
}

static uint64_t round_up(uint64_t number)
{
    return (number + SKIP_EVERY - 1) / SKIP_EVERY * SKIP_EVERY;
}

/* All numbers from `from` to `to` are taken: let later searches know. This
 * may fail, since it only saves time. */
static void leave_skips(cfx_names *names, size_t base, uint64_t from,
                        uint64_t to)
{
    for (uint64_t i = round_up(from); i < to;) {
        const cfx_map_entry *used;
        if (!write_number(&names->buf, base, i) ||
            !(used = cfx_map_get(&names->used, names->buf.s, names->buf.len)))
            return;
        cfx_map_entry *skip = cfx_map_put(&names->skips, used->key, used->len,
                                          NULL);
        if (!skip)
            return;
        uint64_t next = skip->v.u > i ? skip->v.u : i + 1;
        skip->v.u = to;
        i = round_up(next);
    }
}

/* Enter the name in the buffer, which stays its key for now. NULL on lack of
 * memory, and with *added false if it is taken. */
static cfx_map_entry *put(cfx_names *names, bool *added)
{
    return cfx_map_put(&names->used, names->buf.s, names->buf.len, added);
}

/* Enter the first free name after `number`, and set that to its number. */
static cfx_map_entry *put_next(cfx_names *names, size_t base, uint64_t *number)
{
    cfx_map_entry *entry;
    uint64_t i = *number + 1;
    for (;; i++) {
        bool added;
        if (!write_number(&names->buf, base, i) ||
            !(entry = put(names, &added)))
            return NULL;
        if (added)
            break;
        if (i % SKIP_EVERY == 0) {
            cfx_map_entry *skip = cfx_map_get(&names->skips, entry->key,
                                              entry->len);
            if (skip)
                i = skip->v.u - 1;
        }
    }
    *number = i;
    return entry;
}

static cfx_names_base *new_base(cfx_names *names, const char *text, size_t len)
{
    cfx_names_base *base = cfx_arena_alloc(&names->memory, sizeof(*base));
    cfx_map_entry *entry = base ? cfx_map_put(&names->bases, text, len, NULL)
                                : NULL;
    if (!entry)
        return NULL;
    *base = (cfx_names_base){.text = text, .len = len};
    entry->v.p = base;
    return base;
}

/* Give an entry that was just put a text of its own, and count its base, of
 * that length, which may be unknown as long as it has no number. */
static const char *keep(cfx_names *names, cfx_map_entry *entry, size_t len,
                        cfx_names_base *base, uint64_t count)
{
    char *name = new_text(names, entry->key, entry->len);
    if (name && count && !base) {
        base = new_base(names, name, len);
        if (!base)
            name = NULL;
    }
    if (!name) {
        cfx_map_remove(&names->used, names->buf.s, names->buf.len);
        return NULL;
    }
    names->last = name;
    names->last_base = base;
    names->last_count = base ? base->count : 0;
    if (base)
        base->count = count;
    entry->key = name;
    return name;
}

/* The next name of a base that is taken, which stands in the buffer. */
static const char *count_on(cfx_names *names, size_t len, cfx_names_base *base)
{
    uint64_t count = base ? base->count : 0, from = count + 1;
    cfx_map_entry *entry = put_next(names, len, &count);
    const char *name = entry ? keep(names, entry, len, base, count) : NULL;
    if (name && count - from >= SKIP_EVERY)
        leave_skips(names, len, from, count);
    return name;
}

static cfx_names_base *base_of(const cfx_names *names, const char *text,
                               size_t len)
{
    const cfx_map_entry *entry = cfx_map_get(&names->bases, text, len);
    return entry ? entry->v.p : NULL;
}

/* Enter the candidate in the buffer as it is, if that may be: it is free, and
 * Python has no meaning for it. NULL with *taken false is lack of memory. */
static cfx_map_entry *put_itself(cfx_names *names, bool legal, bool *taken)
{
    bool added;
    cfx_map_entry *entry = put(names, &added);
    *taken = entry && !added;
    if (entry && added && !legal && cfx_name_is_illegal(names->buf.s)) {
        cfx_map_remove(&names->used, names->buf.s, names->buf.len);
        *taken = true;
    }
    return *taken ? NULL : entry;
}

/* Make a name of the candidate in the buffer, which is an identifier. */
static const char *create(cfx_names *names, bool any)
{
    const cfx_buf *buf = &names->buf;
    int64_t number;
    size_t base_len = split(buf->s, buf->len, &number);
    cfx_names_base *base = base_of(names, buf->s, base_len);
    bool plain = number < 0, taken = plain && !any && base && base->taken;
    if (!taken) {
        cfx_map_entry *entry = put_itself(names, any || !plain, &taken);
        if (entry)
            return keep(names, entry, base_len, base,
                        !plain ? (uint64_t)number : base ? base->count : 0);
        if (!taken)
            return NULL;
    }
    const char *name = count_on(names, base_len, base);
    if (name && plain)
        names->last_base->taken = true;
    return name;
}

/* Forget the name given last, and what it let its base count. */
static void take_back(cfx_names *names)
{
    cfx_map_remove(&names->used, names->last, strlen(names->last));
    if (names->last_base)
        names->last_base->count = names->last_count;
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
    const cfx_names was = *names;
    bool undo = names->last && !strcmp(names->last, old);
    uint64_t count = undo && was.last_base ? was.last_base->count : 0;
    if (undo)
        take_back(names);
    const char *name = cfx_names_create(names, candidate, len, false);
    if (name || !undo) {
        if (name && !undo)
            *cfx_names_user(cfx_names_find(names, old)) = NULL;
        return name;
    }
    /* There is room for what was there before. */
    cfx_map_put(&names->used, was.last, strlen(was.last), NULL);
    names->last = was.last;
    names->last_base = was.last_base;
    names->last_count = was.last_count;
    if (was.last_base)
        was.last_base->count = count;
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

/* What the counting needs of a target whose candidate is a base that is taken;
 * few targets make most nodes of a graph. */
typedef struct cfx_names_target {
    cfx_names_base *base;
    uint8_t op;
    uint8_t len;
    char text[CFX_NAMES_TARGET];
} cfx_names_target;

static cfx_names_target *place_of(cfx_names *names, cfx_opcode op,
                                  const char *target, size_t len)
{
    if (!names->target || !len || len > CFX_NAMES_TARGET)
        return NULL;
    size_t key = len * 7 + (unsigned char)target[len / 2] * 5u +
                 (unsigned char)target[len - 1] + (size_t)op * 3;
    return &names->target[key % CFX_NAMES_TARGETS];
}

/* Remember the base, for another time. */
static void remember(cfx_names *names, cfx_opcode op, const char *target,
                     size_t len)
{
    cfx_names_base *base = names->last_base;
    if (!base || !base->taken || base->len != names->candidate.len ||
        memcmp(base->text, names->candidate.s, base->len))
        return;
    if (!names->target) {
        size_t size = CFX_NAMES_TARGETS * sizeof(*names->target);
        names->target = cfx_arena_alloc(&names->memory, size);
        if (names->target)
            memset(names->target, 0, size);
    }
    cfx_names_target *t = place_of(names, op, target, len);
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
    const cfx_names_target *t = place_of(names, op, target, len);
    cfx_buf *buf = &names->buf;
    if (t && t->base && t->op == op && t->len == len &&
        !memcmp(t->text, target, len)) {
        cfx_names_base *base = t->base;
        buf->failed = false;
        cfx_buf_clear(buf);
        cfx_buf_add(buf, base->text, base->len);
        return buf->failed ? NULL : count_on(names, base->len, base);
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
