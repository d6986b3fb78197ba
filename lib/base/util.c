/*
 * util -- arrays that grow, maps, arenas.
 */
#include "base/util.h"

#include <assert.h>

/* ---- Arrays ---- */

cfx_status cfx_grow_array(cfx_context *ctx, void *array, size_t *cap,
                          size_t need, size_t size, cfx_error *err)
{
    enum { LEAST = 8 };
    size_t more = *cap <= SIZE_MAX / 2 ? 2 * *cap : need, bytes;
    void *p = NULL;
    if (more < need)
        more = need;
    if (more < LEAST)
        more = LEAST;
    /* A pointer to a pointer of another type: its bytes are copied. */
    memcpy(&p, array, sizeof(p));
    p = cfx_mul_size(&bytes, more, size)
            ? cfx_realloc(ctx, p, *cap * size, bytes)
            : NULL;
    if (!p)
        return cfx_no_memory(err);
    memcpy(array, &p, sizeof(p));
    *cap = more;
    return CFX_OK;
}

/* ---- Maps ---- */

uint32_t cfx_hash(const char *s, size_t len)
{
    uint64_t h = len * UINT64_C(0x9E3779B97F4A7C15);
    for (; len >= 8; s += 8, len -= 8) {
        uint64_t word;
        memcpy(&word, s, 8);
        h = cfx_mix64(h ^ word);
    }
    uint64_t word = 0;
    if (len) {
        memcpy(&word, s, len);
        h = cfx_mix64(h ^ word);
    }
    return (uint32_t)(h >> 32);
}

void cfx_map_release(cfx_map *m)
{
    cfx_pages_free(m->ctx, m->entry, m->cap * sizeof(*m->entry));
    *m = (cfx_map){.ctx = m->ctx};
}

/* The index of a key, or of the empty entry for it. */
static size_t find(const cfx_map *m, const char *key, size_t len,
                   uint32_t hash)
{
    size_t i = hash & (m->cap - 1);
    for (; m->entry[i].key; i = (i + 1) & (m->cap - 1)) {
        const cfx_map_entry *e = &m->entry[i];
        if (e->hash == hash && e->len == len && !memcmp(e->key, key, len))
            break;
    }
    return i;
}

cfx_map_entry *cfx_map_get(const cfx_map *m, const char *key, size_t len)
{
    if (!m->len)
        return NULL;
    cfx_map_entry *e = &m->entry[find(m, key, len, cfx_hash(key, len))];
    return e->key ? e : NULL;
}

static bool grow_to(cfx_map *m, size_t cap)
{
    size_t size;
    cfx_map_entry *entry = cfx_mul_size(&size, cap, sizeof(*entry))
                               ? cfx_pages_alloc(m->ctx, size)
                               : NULL;
    if (!entry)
        return false;
    memset(entry, 0, size);
    for (size_t i = 0; i < m->cap; i++) {
        if (!m->entry[i].key)
            continue;
        size_t at = m->entry[i].hash & (cap - 1);
        while (entry[at].key)
            at = (at + 1) & (cap - 1);
        entry[at] = m->entry[i];
    }
    cfx_pages_free(m->ctx, m->entry, m->cap * sizeof(*m->entry));
    m->entry = entry;
    m->cap = cap;
    return true;
}

/* The load is at most three quarters. */
static bool has_room(const cfx_map *m, size_t len)
{
    return len <= m->cap - m->cap / 4;
}

bool cfx_map_reserve(cfx_map *m, size_t len)
{
    size_t cap = m->cap ? m->cap : 16;
    while (len > cap - cap / 4) {
        if (cap > SIZE_MAX / 2)
            return false;
        cap *= 2;
    }
    return cap == m->cap || grow_to(m, cap);
}

cfx_map_entry *cfx_map_put(cfx_map *m, const char *key, size_t len,
                           bool *added)
{
    if (added)
        *added = false;
    if (len > UINT32_MAX)
        return NULL;
    uint32_t hash = cfx_hash(key, len);
    size_t i = m->cap ? find(m, key, len, hash) : 0;
    if (m->cap && m->entry[i].key)
        return &m->entry[i];
    if (!has_room(m, m->len + 1)) {
        if (!grow_to(m, m->cap ? m->cap * 2 : 16))
            return NULL;
        i = find(m, key, len, hash);
    }
    m->entry[i] = (cfx_map_entry){key, hash, (uint32_t)len, {NULL}};
    m->used = ++m->len;
    if (added)
        *added = true;
    return &m->entry[i];
}

void cfx_map_remove(cfx_map *m, const char *key, size_t len)
{
    cfx_map_entry *e = cfx_map_get(m, key, len);
    if (!e)
        return;
    /* Move back entries that the hole would make unreachable. */
    size_t mask = m->cap - 1, hole = (size_t)(e - m->entry);
    for (size_t i = (hole + 1) & mask; m->entry[i].key; i = (i + 1) & mask) {
        size_t home = m->entry[i].hash & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            m->entry[hole] = m->entry[i];
            hole = i;
        }
    }
    m->entry[hole] = (cfx_map_entry){0};
    m->used = --m->len;
}

/* ---- Arenas ---- */

struct cfx_arena_block {
    cfx_arena_block *next;
    size_t size;
};

enum { ARENA_ALIGN = 16, ARENA_FIRST = 1024, ARENA_MOST = 1024 * 1024 };

static_assert(sizeof(cfx_arena_block) % ARENA_ALIGN == 0,
              "what follows the header of a block is aligned");

void cfx_arena_release(cfx_arena *a)
{
    for (cfx_arena_block *b = a->blocks, *next; b; b = next) {
        next = b->next;
        cfx_pages_free(a->ctx, b, b->size);
    }
    *a = (cfx_arena){.ctx = a->ctx};
}

static cfx_arena_block *add_block(cfx_arena *a, size_t size)
{
    cfx_arena_block *b = cfx_pages_alloc(a->ctx, size);
    if (!b)
        return NULL;
    b->size = size;
    b->next = a->blocks;
    a->blocks = b;
    return b;
}

void *cfx_arena_more(cfx_arena *a, size_t size)
{
    size_t need;
    if (!cfx_add_size(&need, size + !size, ARENA_ALIGN - 1))
        return NULL;
    need &= ~(size_t)(ARENA_ALIGN - 1);
    if (need > (size_t)(a->end - a->at)) {
        size_t block = a->blocks ? a->blocks->size * 2 : ARENA_FIRST, whole;
        if (block > ARENA_MOST)
            block = ARENA_MOST;
        if (!cfx_add_size(&whole, need, sizeof(cfx_arena_block)))
            return NULL;
        /* A large request gets its own block, after the current one. */
        if (whole > block / 4 && a->blocks) {
            cfx_arena_block *first = a->blocks;
            cfx_arena_block *b = add_block(a, whole);
            if (!b)
                return NULL;
            a->blocks = first;
            b->next = first->next;
            first->next = b;
            return b + 1;
        }
        if (block < whole)
            block = whole;
        cfx_arena_block *b = add_block(a, block);
        if (!b)
            return NULL;
        a->at = (char *)(b + 1);
        a->end = (char *)b + block;
    }
    void *p = a->at;
    a->at += need;
    return p;
}

char *cfx_arena_strdup(cfx_arena *a, const char *s, size_t len)
{
    size_t size;
    if (!cfx_add_size(&size, len, 1))
        return NULL;
    char *copy = cfx_arena_alloc(a, size);
    if (!copy)
        return NULL;
    if (len)
        memcpy(copy, s, len);
    copy[len] = '\0';
    return copy;
}
