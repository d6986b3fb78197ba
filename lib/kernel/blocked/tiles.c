/*
 * tiles.c -- rows of pixels cut into tiles, and sums into slices.
 */
#include "kernel/blocked/tiles.h"

#include <math.h>

#include "base/util.h"
#include "kernel/int64.h"
#include "kernel/partition.h"

/* Prefetch distance of weights that one tile reads, in steps. */
enum { FAR = 64 };
/* Floats of a cache line. */
enum { LINE = CFX_LINE / sizeof(float) };

/* Blocks of a tile. */
enum { MOST_BLOCKS = 4 };

/* ---- Tiles ---- */

static int64_t tiles_of(const int *most, int64_t pixels, int blocks)
{
    if (pixels <= most[blocks]) /* a row of one tile needs no division */
        return 1;
    return cfx_ceil_div(pixels, most[blocks]);
}

/* Estimated half-cycles per block for a step of a row, times MOST_BLOCKS. A step has an
 * FMA for each pixel and block, and a load for each pixel and each block, two of either
 * per cycle; it takes at least the latency of an FMA. */
static int64_t step_cost(const int *most, int64_t pixels, int blocks)
{
    enum { WAIT = 8 };
    int64_t tiles = tiles_of(most, pixels, blocks);
    int64_t sums = pixels * blocks, loads = pixels + tiles * blocks;

    return cfx_max64(cfx_max64(sums, loads), WAIT * tiles) *
           (MOST_BLOCKS / blocks);
}

int cfx_blocked_tile_blocks(const int *most, int64_t pixels, int64_t blocks,
                            bool pointwise)
{
    int best = 1;

    for (int b = 2; b <= MOST_BLOCKS && b <= blocks; b *= 2)
        if (most[b] && step_cost(most, pixels, b) <
                           step_cost(most, pixels, best) + pointwise)
            best = b;
    return best;
}

static bool is_pointwise(const cfx_blocked_tile *t)
{
    return t->type == CFX_BLOCKED_FLOAT && t->n[2] == 1 &&
           t->w_at[0] == CFX_BLOCK * CFX_BLOCK;
}

/* Columns of the window times blocks and rows of a tile's sum, at least 1. */
static int64_t columns_of(const cfx_blocked_tile *t)
{
    return cfx_max64(t->n[0] * t->n[1] * t->n[2], 1);
}

/* Advance t by some pixels. */
static void move(cfx_blocked_tile *t, int64_t pixels)
{
    t->x += pixels * t->x_pixel;
    t->y += pixels * t->y_pixel;
    if (t->end.add)
        t->end.add += pixels * t->add_pixel;
    if (t->x_sums)
        t->x_sums += pixels * t->x_sums_pixel;
}

/* Let tile i of n prefetch its share of block i % blocks of the next weights. */
static void fetch_part(cfx_blocked_tile *t, int64_t i, int64_t n,
                       const float *next, int64_t lines)
{
    int64_t part = i / t->blocks, parts = cfx_max64(n / t->blocks, 1);
    int64_t from = lines * part / parts, to = lines * (part + 1) / parts;

    t->next = next + i % t->blocks * t->w_block + from * LINE;
    t->next_lines = part < parts ? cfx_ceil_div(to - from, columns_of(t)) : 0;
}

void cfx_blocked_run_row(const struct cfx_blocked_kernels *k,
                         cfx_blocked_tile t, int64_t pixels, const float *next,
                         int64_t lines)
{
    int64_t n = tiles_of(k->pixels, pixels, (int)t.blocks);
    int64_t least = pixels / n, more = pixels % n;

    for (int64_t i = 0; i < n; i++) {
        t.pixels = least + (i < more);
        fetch_part(&t, i, n, next, lines);
        k->tile(&t);
        move(&t, t.pixels);
    }
}

/* ---- Slices ---- */

/* Some rows, blocks and planes of a product. */
typedef struct slice {
    int64_t row, rows;
    int64_t block, blocks;
    int64_t first, planes;
    bool last;     /* of the planes */
    int64_t tiles; /* of all rows */
    int64_t most;  /* weights that stay in L1 */
} slice;

/* Set the fields of t that depend on the slice. Field by field: copying the structure for
 * each row would be slower. */
static void cut_slice(cfx_blocked_tile *t, const cfx_blocked_tile *whole,
                      const slice *s)
{
    bool first = s->first == 0;

    t->blocks = s->blocks;
    t->n[0] = s->planes;
    t->skip = s->last ? whole->skip : 0;
    t->end.bias = first && whole->end.bias
                      ? whole->end.bias + s->block * CFX_BLOCK
                      : NULL;
    t->end.lo = s->last ? whole->end.lo : -INFINITY;
    t->end.hi = s->last ? whole->end.hi : INFINITY;
    t->end.activation = s->last ? whole->end.activation : NULL;
    /* After the first slice, y has the partial sums. */
    t->end.add_narrow = first && whole->end.add_narrow;
    t->add_pixel = first ? whole->add_pixel : whole->y_pixel;
    t->add_block = first ? whole->add_block : whole->y_block;
}

/* Move a tile of a slice to the row at p. */
static void place_tile(cfx_blocked_tile *t, const slice *s,
                       const cfx_blocked_place *p)
{
    t->x = p->x + s->first * t->x_at[0];
    t->w = p->w + s->block * t->w_block + s->first * t->w_at[0];
    t->y = p->y + s->block * t->y_block;
    t->n[1] = p->taps;
    t->end.add = s->first > 0 ? t->y
                 : p->add     ? p->add + s->block * t->add_block
                              : NULL;
}

/* From the weights of a slice to those of the one after it. */
static int64_t next_slice(const cfx_blocked_tile *t, const slice *s)
{
    return s->last ? s->blocks * t->w_block - s->first * t->w_at[0]
                   : s->planes * t->w_at[0];
}

/* From the weights of a tile, which no other tile shares, to those that are fetched
 * while it is computed: the next tile's if they fit, else those a little ahead. */
static int64_t next_tile(const cfx_blocked_tile *t, const slice *s)
{
    bool fits = s->blocks * t->w_block <= s->most;

    return fits ? s->blocks * t->w_block : FAR * CFX_BLOCK;
}

/* While the tiles of a slice are computed, the weights that lie after the blocks are
 * fetched, by each slice a part: they are the next blocks', and come from memory.
 * Rows that follow have them in the second cache. */
static void fetch_behind(cfx_blocked_tile *t, const slice *s, const float *w,
                         bool first_row)
{
    int64_t plane = s->blocks * t->w_at[0];

    t->next = w + (s->block + s->blocks) * t->w_block + s->first * plane;
    t->next_lines = s->tiles > 1 && first_row
                        ? cfx_ceil_div(s->planes * plane / LINE,
                                       s->tiles * columns_of(t))
                        : 0;
}

/* t is a copy of the rows' tile; `place` is that of the first row. */
static void run_slice(const struct cfx_blocked_kernels *k,
                      const cfx_blocked_rows *rows, const slice *s,
                      cfx_blocked_tile *t, const cfx_blocked_place *place)
{
    cfx_blocked_place p = *place;
    int64_t done = 0;

    cut_slice(t, &rows->tile, s);
    for (int64_t i = s->row; i < s->row + s->rows; i++) {
        if (i > s->row)
            rows->at(rows->arg, i, &p);
        int64_t n = tiles_of(k->pixels, p.pixels, (int)s->blocks);
        int64_t least = p.pixels / n, more = p.pixels % n;
        place_tile(t, s, &p);
        if (i == s->row)
            fetch_behind(t, s, p.w, i == 0);
        for (int64_t j = 0; j < n; j++) {
            bool alone = s->tiles == 1, last = ++done == s->tiles;
            t->pixels = least + (j < more);
            t->ahead = alone  ? next_tile(t, s)
                       : last ? next_slice(t, s)
                              : CFX_AHEAD * CFX_BLOCK;
            k->tile(t);
            move(t, t->pixels);
            t->next += t->next_lines * columns_of(t) * LINE;
        }
    }
}

/* Are sums of rows with tiles of `blocks` blocks sliced? Full tiles hide the loads from
 * L2, and with one or two tiles weights are not reused. A bfloat16 y cannot keep partial
 * sums. */
static bool needs_slices(const struct cfx_blocked_kernels *k,
                         const cfx_blocked_rows *rows, int64_t pixels,
                         int64_t blocks)
{
    int64_t tiles = tiles_of(k->pixels, pixels, (int)blocks);

    return rows->n * tiles >= 3 && 3 * pixels <= 2 * tiles * k->pixels[blocks];
}

/* Compute rows s->row to s->row + s->rows of all blocks, s->blocks at a time; t is
 * scratch, a copy of their tile. */
static void run_blocks(const struct cfx_blocked_kernels *k,
                       const cfx_blocked_rows *rows, int64_t blocks,
                       bool sliced, slice s, cfx_blocked_tile *t)
{
    int64_t planes = rows->tile.n[0], most;
    cfx_blocked_place p;

    rows->at(rows->arg, s.row, &p);
    for (s.block = 0; s.block < blocks; s.block += s.blocks) {
        if (blocks - s.block < s.blocks)
            s.blocks = cfx_blocked_tile_blocks(
                k->pixels, p.pixels, blocks - s.block, is_pointwise(t));
        s.tiles = s.rows * tiles_of(k->pixels, p.pixels, (int)s.blocks);
        most = sliced ? s.most / cfx_max64(t->w_at[0] * s.blocks, 1) : planes;
        for (s.first = 0, s.last = false; !s.last; s.first += s.planes) {
            s.planes = cfx_min64(cfx_max64(most, 1), planes - s.first);
            s.last = s.first + s.planes >= planes;
            run_slice(k, rows, &s, t, &p);
        }
    }
}

void cfx_blocked_run_rows(const cfx_context *ctx, const cfx_blocked_rows *rows,
                          int64_t blocks)
{
    const struct cfx_blocked_kernels *k = cfx_context_kernels(ctx)->blocked;
    cfx_blocked_tile t = rows->tile;
    cfx_blocked_place p;
    slice s = {.most = ctx->caches.l1 / 8 * 5 / (int64_t)sizeof(float)};

    rows->at(rows->arg, 0, &p);
    s.blocks = cfx_blocked_tile_blocks(k->pixels, p.pixels, blocks,
                                       is_pointwise(&t));
    if (!t.end.narrow && needs_slices(k, rows, p.pixels, s.blocks)) {
        s.rows = rows->n;
        run_blocks(k, rows, blocks, true, s, &t);
        return;
    }
    for (s.rows = 1; s.row < rows->n; s.row++)
        run_blocks(k, rows, blocks, false, s, &t);
}

static void the_place(const void *arg, int64_t i, cfx_blocked_place *place)
{
    (void)i;
    *place = *(const cfx_blocked_place *)arg;
}

void cfx_blocked_run_tiles(const cfx_context *ctx, cfx_blocked_tile t,
                           int64_t pixels, int64_t blocks)
{
    cfx_blocked_place p = {t.x, t.w, t.end.add, t.y, t.n[1], pixels};
    cfx_blocked_rows rows = {1, t, the_place, &p};

    cfx_blocked_run_rows(ctx, &rows, blocks);
}
