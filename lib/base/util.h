/*
 * util.h -- growing text and arrays, maps, arenas. Not installed.
 */
#ifndef CFX_UTIL_H
#define CFX_UTIL_H

#include <stdarg.h>
#include <string.h>

#include <cfx/context.h>

/* Functions for which the compiler must know arguments. */
#if defined(__GNUC__) || defined(__clang__)
#define CFX_FORCE_INLINE static inline __attribute__((always_inline, unused))
#else
#define CFX_FORCE_INLINE static inline
#endif

/* Load the cache line at p, which is about to be read; into the second cache, where it
 * is read later. */
#if defined(__GNUC__) || defined(__clang__)
#define CFX_PREFETCH(p) __builtin_prefetch(p)
#define CFX_PREFETCH_FAR(p) __builtin_prefetch(p, 0, 2)
#else
#define CFX_PREFETCH(p) ((void)(p))
#define CFX_PREFETCH_FAR(p) ((void)(p))
#endif
enum { CFX_LINE = 64 }; /* bytes, on the processors that cfx knows */

/* ---- Growing text. When out of memory, `failed` is set and nothing more is
 * added. `s` ends in NUL and may be NULL while empty. ---- */

typedef struct cfx_buf {
    cfx_context *ctx;
    char *s;
    size_t len, cap;
    bool failed;
} cfx_buf;

CFX_INLINE void cfx_buf_init(cfx_buf *b, cfx_context *ctx)
{
    *b = (cfx_buf){.ctx = ctx};
}
void cfx_buf_release(cfx_buf *b);
CFX_INLINE void cfx_buf_clear(cfx_buf *b)
{
    b->len = 0;
    if (b->s)
        b->s[0] = '\0';
}
bool cfx_buf_reserve(cfx_buf *b, size_t more);
void cfx_buf_add(cfx_buf *b, const char *s, size_t n);
void cfx_buf_puts(cfx_buf *b, const char *s);
void cfx_buf_putc(cfx_buf *b, char c);
void cfx_buf_repeat(cfx_buf *b, char c, size_t n);
void cfx_buf_printf(cfx_buf *b, const char *fmt, ...) CFX_PRINTF(2, 3);
/* An integer or a double, the same in every locale. */
void cfx_buf_int(cfx_buf *b, int64_t v);
void cfx_buf_float(cfx_buf *b, double v);
/* The text, never NULL. */
CFX_INLINE const char *cfx_buf_str(const cfx_buf *b)
{
    return b->s ? b->s : "";
}

/* ---- Memory for growing arrays: like cfx_alloc, but large ones are in huge
 * pages, to save page faults. ---- */

enum { CFX_PAGES_LARGE = 256 * 1024 };

CFX_INLINE void *cfx_pages_alloc(cfx_context *ctx, size_t size)
{
    return size < CFX_PAGES_LARGE ? cfx_alloc(ctx, size)
                                  : cfx_block_alloc(ctx, size);
}
CFX_INLINE void cfx_pages_free(cfx_context *ctx, void *p, size_t size)
{
    if (size < CFX_PAGES_LARGE)
        cfx_free(ctx, p, size);
    else
        cfx_block_free(ctx, p, size);
}

/* Like cfx_alloc, aligned to a power of two, at most 4096. */
void *cfx_aligned_alloc(cfx_context *ctx, size_t size, size_t align);
void cfx_aligned_free(cfx_context *ctx, void *p, size_t size, size_t align);

/* ---- Growing arrays ---- */

/*
 * Grow `array` from capacity `cap` to at least `need`, by doubling: appending
 * one by one costs O(1) each. Array and cap are lvalues, NULL and 0 at first;
 * on failure both stay. Arguments may be evaluated twice.
 *
 *     cfx_status st = cfx_grow(ctx, list->item, list->cap, list->n + 1, err);
 *     if (!st)
 *         list->item[list->n++] = item;
 *
 * Returns CFX_OK or CFX_ENOMEM, and err may be NULL.
 */
#define cfx_grow(ctx, array, cap, need, err)                                  \
    (CFX_LIKELY((need) <= (cap))                                              \
         ? CFX_OK                                                             \
         : cfx_grow_array(ctx, &(array), &(cap), need, sizeof(*(array)),      \
                          err))
cfx_status cfx_grow_array(cfx_context *ctx, void *array, size_t *cap,
                          size_t need, size_t size, cfx_error *err);

/* ---- A map from text to a pointer or number. Keys are not copied. ---- */

typedef struct cfx_map_entry {
    const char *key;
    uint32_t hash, len;
    union {
        void *p;
        uint64_t u;
    } v;
} cfx_map_entry;

typedef struct cfx_map {
    cfx_context *ctx;
    cfx_map_entry *entry; /* open addressing; key NULL: empty */
    size_t len, used, cap;
} cfx_map;

CFX_INLINE void cfx_map_init(cfx_map *m, cfx_context *ctx)
{
    *m = (cfx_map){.ctx = ctx};
}
void cfx_map_release(cfx_map *m);
/* The entry of a key, or NULL. */
cfx_map_entry *cfx_map_get(const cfx_map *m, const char *key, size_t len);
/* The entry of a key, inserted with a zero value if it is new (then *added is
 * set, if not NULL); NULL when out of memory. */
cfx_map_entry *cfx_map_put(cfx_map *m, const char *key, size_t len,
                           bool *added);
void cfx_map_remove(cfx_map *m, const char *key, size_t len);
/* Reserve capacity for so many keys. False when out of memory; then nothing
 * has changed. */
bool cfx_map_reserve(cfx_map *m, size_t len);
uint32_t cfx_hash(const char *s, size_t len);
/* A cheap hash below 2^bits of the length and the last bytes, for caches. */
CFX_INLINE size_t cfx_text_place(const char *s, size_t len, int bits)
{
    uint64_t word = 0;
    if (len >= sizeof(word))
        memcpy(&word, s + len - sizeof(word), sizeof(word));
    else if (len)
        word = (unsigned char)s[0] | (uint64_t)(unsigned char)s[len / 2] << 8 |
               (uint64_t)(unsigned char)s[len - 1] << 16;
    return (size_t)((word + len) * UINT64_C(0x9E3779B97F4A7C15) >>
                    (64 - bits));
}

/* ---- An arena: memory freed all at once. ---- */

typedef struct cfx_arena_block cfx_arena_block;
typedef struct cfx_arena {
    cfx_context *ctx;
    cfx_arena_block *blocks;
    char *at, *end;
} cfx_arena;

CFX_INLINE void cfx_arena_init(cfx_arena *a, cfx_context *ctx)
{
    *a = (cfx_arena){.ctx = ctx};
}
void cfx_arena_release(cfx_arena *a);
/* Aligned to 16 bytes; NULL on lack of memory. */
void *cfx_arena_more(cfx_arena *a, size_t size);
CFX_INLINE void *cfx_arena_alloc(cfx_arena *a, size_t size)
{
    size_t need = (size + 15) & ~(size_t)15;
    if (CFX_UNLIKELY(need < size || !size || need > (size_t)(a->end - a->at)))
        return cfx_arena_more(a, size);
    void *p = a->at;
    a->at += need;
    return p;
}
char *cfx_arena_strdup(cfx_arena *a, const char *s, size_t len);

/* ---- Errors ---- */

/* cfx_fail with a va_list. */
cfx_status cfx_vfail(cfx_error *err, cfx_status code, const char *fmt,
                     va_list ap) CFX_PRINTF(3, 0);

/* ---- Numbers ---- */

/* Checked arithmetic: false on overflow. */
CFX_INLINE bool cfx_mul_size(size_t *out, size_t a, size_t b)
{
    return !__builtin_mul_overflow(a, b, out);
}
CFX_INLINE bool cfx_add_size(size_t *out, size_t a, size_t b)
{
    return !__builtin_add_overflow(a, b, out);
}
CFX_INLINE bool cfx_add_int(int64_t *out, int64_t a, int64_t b)
{
    return !__builtin_add_overflow(a, b, out);
}
CFX_INLINE bool cfx_sub_int(int64_t *out, int64_t a, int64_t b)
{
    return !__builtin_sub_overflow(a, b, out);
}
CFX_INLINE bool cfx_mul_int(int64_t *out, int64_t a, int64_t b)
{
    return !__builtin_mul_overflow(a, b, out);
}
/* strtod in the C locale. */
double cfx_strtod(const char *s, char **end);

/* Bit i of the random sequence of `key`. */
CFX_INLINE uint64_t cfx_mix64(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xBF58476D1CE4E5B9);
    x ^= x >> 27;
    x *= UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}
CFX_INLINE uint64_t cfx_random_bits(uint64_t key, uint64_t i)
{
    return cfx_mix64(key + (i + 1) * UINT64_C(0x9E3779B97F4A7C15));
}
CFX_INLINE double cfx_random_uniform(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

#endif
