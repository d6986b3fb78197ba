/*
 * memory_sweep -- choose offsets as an allocator would.
 *
 * Events are processed in order of time: a block that ends is freed and merged
 * with free neighbours, and a block that begins takes a free piece that is
 * little larger. Free pieces are in lists by size class, eight for each power
 * of two, so that both operations take constant time.
 */
#include "shapeprop/memory/memory_impl.h"

enum { CLASSES = 8 + 60 * 8, WORDS = (CLASSES + 63) / 64 };
#define NONE UINT32_MAX

/* A piece of the arena, used or free; all pieces are linked by address. */
typedef struct piece {
    int64_t offset, bytes;
    uint32_t below, above;
    uint32_t back, forth; /* links of a free list */
    bool free;
} piece;

typedef struct sweep {
    cfx_memory_span *span;
    piece *piece;
    uint32_t npieces, spare; /* spare: unused pieces, linked by `forth` */
    uint32_t top;            /* the highest piece */
    int64_t height;
    uint32_t list[CLASSES];
    uint64_t some[WORDS]; /* bitmap of non-empty lists */
} sweep;

static unsigned class_of(int64_t bytes)
{
    uint64_t n = (uint64_t)bytes / CFX_MEMORY_ALIGN;
    if (n < 8)
        return (unsigned)n;
    unsigned log2 = 63 - (unsigned)__builtin_clzll(n);
    return 8 * (log2 - 2) + (unsigned)(n >> (log2 - 3)) - 8;
}

/* ---- Pieces ---- */

static uint32_t new_piece(sweep *s)
{
    uint32_t k = s->spare;
    if (k == NONE)
        return s->npieces++;
    s->spare = s->piece[k].forth;
    return k;
}

static void set_free(sweep *s, uint32_t k)
{
    piece *p = &s->piece[k];
    unsigned c = class_of(p->bytes);
    p->free = true;
    p->back = NONE;
    p->forth = s->list[c];
    if (p->forth != NONE)
        s->piece[p->forth].back = k;
    s->list[c] = k;
    s->some[c / 64] |= (uint64_t)1 << c % 64;
}

static void set_taken(sweep *s, uint32_t k)
{
    piece *p = &s->piece[k];
    unsigned c = class_of(p->bytes);
    p->free = false;
    if (p->forth != NONE)
        s->piece[p->forth].back = p->back;
    if (p->back != NONE)
        s->piece[p->back].forth = p->forth;
    else
        s->list[c] = p->forth;
    if (s->list[c] == NONE)
        s->some[c / 64] &= ~((uint64_t)1 << c % 64);
}

/* Merge the piece above into this one; neither is in a list. */
static void absorb(sweep *s, uint32_t k)
{
    piece *p = &s->piece[k];
    uint32_t gone = p->above;
    p->bytes += s->piece[gone].bytes;
    p->above = s->piece[gone].above;
    if (p->above != NONE)
        s->piece[p->above].below = k;
    else
        s->top = k;
    s->piece[gone].forth = s->spare;
    s->spare = gone;
}

static void give(sweep *s, uint32_t k)
{
    piece *p = &s->piece[k];
    if (p->above != NONE && s->piece[p->above].free) {
        set_taken(s, p->above);
        absorb(s, k);
    }
    if (p->below != NONE && s->piece[p->below].free) {
        k = p->below;
        set_taken(s, k);
        absorb(s, k);
    }
    set_free(s, k);
}

/* ---- Searching ---- */

/* Return the first non-empty class from c on; CLASSES if there is none. */
static unsigned next_class(const sweep *s, unsigned c)
{
    for (unsigned w = c / 64; w < WORDS; w++) {
        uint64_t bits = s->some[w];
        if (w == c / 64)
            bits &= ~(uint64_t)0 << c % 64;
        if (bits)
            return w * 64 + (unsigned)__builtin_ctzll(bits);
    }
    return CLASSES;
}

/* Not all pieces of the size's class are large enough: try a few. */
static uint32_t find_free(const sweep *s, int64_t bytes)
{
    unsigned c = class_of(bytes);
    uint32_t best = NONE;
    int few = 16;
    for (uint32_t k = s->list[c]; k != NONE && few--; k = s->piece[k].forth)
        if (s->piece[k].bytes >= bytes &&
            (best == NONE || s->piece[k].bytes < s->piece[best].bytes))
            best = k;
    if (best != NONE)
        return best;
    c = next_class(s, c + 1);
    return c < CLASSES ? s->list[c] : NONE;
}

/* Extend the top: grow the highest piece if it is free, or add one. */
static uint32_t add_top(sweep *s, int64_t bytes)
{
    if (s->top != NONE && s->piece[s->top].free) {
        set_taken(s, s->top);
        s->height += bytes - s->piece[s->top].bytes;
        s->piece[s->top].bytes = bytes;
        return s->top;
    }
    uint32_t k = new_piece(s);
    s->piece[k] = (piece){s->height, bytes, s->top, NONE, NONE, NONE, false};
    if (s->top != NONE)
        s->piece[s->top].above = k;
    s->top = k;
    s->height += bytes;
    return k;
}

static uint32_t take(sweep *s, int64_t bytes)
{
    uint32_t k = find_free(s, bytes);
    if (k == NONE)
        return add_top(s, bytes);
    set_taken(s, k);
    int64_t rest = s->piece[k].bytes - bytes;
    if (!rest)
        return k;
    uint32_t r = new_piece(s);
    piece *p = &s->piece[k];
    s->piece[r] = (piece){
        p->offset + bytes, rest, k, p->above, NONE, NONE, false};
    if (p->above != NONE)
        s->piece[p->above].below = r;
    else
        s->top = r;
    p->above = r;
    p->bytes = bytes;
    set_free(s, r);
    return k;
}

/* ---- The sweep ---- */

/* The piece of each span, and the next span that ends at the same time. */
typedef struct ending {
    uint32_t piece, next;
} ending;

static void run(sweep *s, size_t n, uint32_t end, uint32_t *ends, ending *of)
{
    size_t i = 0;
    for (uint32_t t = 0; t < end; t++) {
        for (; i < n && s->span[i].first == t; i++) {
            of[i].piece = take(s, s->span[i].bytes);
            s->span[i].offset = s->piece[of[i].piece].offset;
            of[i].next = ends[s->span[i].last];
            ends[s->span[i].last] = (uint32_t)i;
        }
        for (uint32_t k = ends[t]; k != NONE; k = of[k].next)
            give(s, of[k].piece);
    }
}

cfx_status cfx_memory__sweep(cfx_memory_span *span, size_t n, uint32_t end,
                             int64_t *size, cfx_context *ctx, cfx_error *err)
{
    sweep s = {.span = span, .spare = NONE, .top = NONE};
    /* Splitting a free piece for a span adds one piece. */
    size_t room = 2 * n + 1, nends = (size_t)end + 1;
    s.piece = cfx_alloc(ctx, room * sizeof(*s.piece));
    uint32_t *ends = cfx_alloc(ctx, nends * sizeof(*ends));
    ending *of = cfx_alloc(ctx, (n + 1) * sizeof(*of));
    cfx_status st = s.piece && ends && of ? CFX_OK : cfx_no_memory(err);
    if (!st) {
        memset(ends, 0xFF, nends * sizeof(*ends));
        memset(s.list, 0xFF, sizeof(s.list));
        run(&s, n, end, ends, of);
        *size = s.height;
    }
    cfx_free(ctx, s.piece, room * sizeof(*s.piece));
    cfx_free(ctx, ends, nends * sizeof(*ends));
    cfx_free(ctx, of, (n + 1) * sizeof(*of));
    return st;
}
