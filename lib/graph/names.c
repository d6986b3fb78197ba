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
    cfx_arena_init(&names->text, ctx);
    cfx_map_init(&names->used, ctx);
    cfx_map_init(&names->bases, ctx);
    cfx_map_init(&names->skips, ctx);
    cfx_buf_init(&names->buf, ctx);
}

void cfx_names_release(cfx_names *names)
{
    cfx_map_release(&names->skips);
    cfx_map_release(&names->bases);
    cfx_map_release(&names->used);
    cfx_buf_release(&names->buf);
    cfx_arena_release(&names->text);
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

static bool is_word(char c)
{
    return is_lower(c) || is_upper(c) || is_digit(c) || c == '_';
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

/* Make the buffer `base_NUMBER`, of which `base` characters stand in it. */
static bool write_number(cfx_buf *buf, size_t base, uint64_t number)
{
    buf->len = base;
    cfx_buf_putc(buf, '_');
    cfx_buf_int(buf, (int64_t)number);
    return !buf->failed;
}

static cfx_map_entry *find(const cfx_map *map, const cfx_buf *name)
{
    return cfx_map_get(map, cfx_buf_str(name), name->len);
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
        cfx_map_entry *used;
        if (!write_number(&names->buf, base, i) ||
            !(used = find(&names->used, &names->buf)))
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
    uint64_t from = *number + 1, i = from;
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

/* Give an entry that was just put a key of its own, and count its base. */
static bool keep(cfx_names *names, cfx_map_entry *entry, size_t base,
                 uint64_t count)
{
    char *name = cfx_arena_strdup(&names->text, entry->key, entry->len);
    if (!name)
        return false;
    bool added = false;
    cfx_map_entry *known = cfx_map_get(&names->bases, name, base);
    if (!known && count)
        known = cfx_map_put(&names->bases, name, base, &added);
    if (!known && count)
        return false;
    names->last = name;
    names->last_base = base;
    names->last_count = known && !added ? known->v.u : 0;
    if (known)
        known->v.u = count;
    entry->key = name;
    return true;
}

cfx_map_entry *cfx_names_create(cfx_names *names, const char *candidate,
                                size_t len, bool any)
{
    cfx_buf *buf = &names->buf;
    if (!write_identifier(buf, candidate, len))
        return NULL;
    int64_t number;
    size_t base = split(buf->s, buf->len, &number);
    bool taken = find(&names->used, buf) ||
                 (number < 0 && !any && cfx_name_is_illegal(buf->s));
    uint64_t count = (uint64_t)number, from;
    if (number < 0 || taken) {
        cfx_map_entry *known = cfx_map_get(&names->bases, buf->s, base);
        count = known ? known->v.u : 0;
    }
    from = count + 1;
    cfx_map_entry *entry = taken ? put_next(names, base, &count)
                                 : put(names, NULL);
    if (entry && !keep(names, entry, base, count)) {
        cfx_map_remove(&names->used, buf->s, buf->len);
        entry = NULL;
    }
    if (entry && taken && count - from >= SKIP_EVERY)
        leave_skips(names, base, from, count);
    return entry;
}

cfx_map_entry *cfx_names_replace(cfx_names *names, const char *old,
                                 const char *candidate, size_t len)
{
    bool undo = names->last && !strcmp(names->last, old);
    size_t base = names->last_base;
    uint64_t count = names->last_count;
    cfx_map_entry *entry = cfx_names_create(names, candidate, len, false);
    if (!entry)
        return NULL;
    const char *name = entry->key;
    if (!undo) {
        cfx_map_get(&names->used, old, strlen(old))->v.p = NULL;
        return entry;
    }
    /* What the base counted since it was asked by the new name stays. */
    int64_t number;
    size_t own = split(name, strlen(name), &number);
    cfx_map_entry *known = cfx_map_get(&names->bases, old, base);
    if (known && (own != base || memcmp(old, name, base)))
        known->v.u = count;
    cfx_map_remove(&names->used, old, strlen(old));
    return cfx_map_get(&names->used, name, strlen(name));
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
