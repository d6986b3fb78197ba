/*
 * grid -- tables with titles.
 */
#include "shapeprop/text/grid.h"

enum { GAP = 2, LEAST = 12 };

void cfx_grid_init(cfx_grid *g, cfx_context *ctx)
{
    *g = (cfx_grid){.ncolumns = 0};
    cfx_arena_init(&g->arena, ctx);
}

void cfx_grid_release(cfx_grid *g)
{
    cfx_free(g->arena.ctx, g->cell, g->cap * sizeof(*g->cell));
    cfx_arena_release(&g->arena);
    g->cell = NULL;
    g->ncells = g->cap = 0;
}

void cfx_grid_add_column(cfx_grid *g, cfx_grid_column c)
{
    if (g->ncolumns < CFX_GRID_COLUMNS)
        g->column[g->ncolumns++] = c;
}

/* Takes a text of the arena; NULL: memory was lacking. */
static void add_take(cfx_grid *g, const char *kept)
{
    if (!kept || cfx_grow(g->arena.ctx, g->cell, g->cap, g->ncells + 1, NULL))
        g->failed = true;
    else
        g->cell[g->ncells++] = kept;
}

void cfx_grid_add(cfx_grid *g, const char *text)
{
    add_take(g, *text ? cfx_arena_strdup(&g->arena, text, strlen(text)) : "");
}

void cfx_grid_add_dim(cfx_grid *g, cfx_dim d)
{
    size_t size = cfx_dim_format(d, NULL, 0) + 1;
    char *text = cfx_arena_alloc(&g->arena, size);
    if (text)
        cfx_dim_format(d, text, size);
    add_take(g, text);
}

static size_t count_rows(const cfx_grid *g)
{
    return g->ncolumns ? g->ncells / g->ncolumns : 0;
}

static const char *cell_at(const cfx_grid *g, size_t row, size_t column)
{
    return g->cell[row * g->ncolumns + column];
}

/* ---- Fitting columns ---- */

/* Return the width of UTF-8 text, if each character takes one column. */
static int width_of(const char *s)
{
    int n = 0;
    for (; *s; s++)
        n += ((unsigned char)*s & 0xC0) != 0x80;
    return n;
}

typedef struct layout {
    int width[CFX_GRID_COLUMNS];
    bool empty[CFX_GRID_COLUMNS]; /* or not shown */
} layout;

static void measure(const cfx_grid *g, layout *l)
{
    for (size_t c = 0; c < g->ncolumns; c++) {
        l->width[c] = width_of(g->column[c].title);
        l->empty[c] = true;
        for (size_t i = 0; i < count_rows(g); i++) {
            int w = width_of(cell_at(g, i, c));
            l->width[c] = w > l->width[c] ? w : l->width[c];
            l->empty[c] = l->empty[c] && !w;
        }
    }
}

static int total_width(const cfx_grid *g, const layout *l)
{
    int sum = -GAP;
    for (size_t c = 0; c < g->ncolumns; c++)
        sum += l->empty[c] ? 0 : l->width[c] + GAP;
    return sum;
}

/* Find the widest text column and the least important one; ncolumns: none. */
static void find_shrinkable(const cfx_grid *g, const layout *l, size_t *widest,
                            size_t *least)
{
    *widest = *least = g->ncolumns;
    for (size_t c = 0; c < g->ncolumns; c++) {
        if (l->empty[c])
            continue;
        if (g->column[c].text &&
            (*widest == g->ncolumns || l->width[c] > l->width[*widest]))
            *widest = c;
        if (g->column[c].rank && (*least == g->ncolumns ||
                                  g->column[c].rank > g->column[*least].rank))
            *least = c;
    }
}

/* Shrink the table by one step; false if nothing is left to shrink. */
static bool squeeze(const cfx_grid *g, layout *l, int over)
{
    size_t widest, least;
    find_shrinkable(g, l, &widest, &least);
    bool last = least == g->ncolumns;
    int spare = widest == g->ncolumns
                    ? 0
                    : l->width[widest] - (last ? LEAST : 2 * LEAST);
    if (spare > 0)
        l->width[widest] -= spare < over ? spare : over;
    else if (!last)
        l->empty[least] = true;
    return spare > 0 || !last;
}

static void fit(const cfx_grid *g, layout *l, int room)
{
    bool more = room > 0;
    int over;
    while (more && (over = total_width(g, l) - room) > 0)
        more = squeeze(g, l, over);
}

/* ---- Text ---- */

/* Text that is too long is cut and ends in "..". */
static void put_cell(cfx_buf *b, const char *text, int width, bool left)
{
    int have = width_of(text), pad = have < width ? width - have : 0, n = 0;
    if (!left)
        cfx_buf_repeat(b, ' ', (size_t)pad);
    for (const char *s = text; *s && have > width; s++) {
        n += ((unsigned char)*s & 0xC0) != 0x80;
        if (n > width - 2)
            break;
        cfx_buf_putc(b, *s);
    }
    cfx_buf_puts(b, have > width ? ".." : text);
    cfx_buf_repeat(b, ' ', (size_t)(left ? pad + GAP : GAP));
}

static void end_line(cfx_buf *b)
{
    while (b->len && b->s[b->len - 1] == ' ')
        b->s[--b->len] = '\0';
    cfx_buf_putc(b, '\n');
}

void cfx_grid_put_text(cfx_buf *b, const cfx_grid *g, int width)
{
    layout l;
    measure(g, &l);
    fit(g, &l, width);
    for (size_t c = 0; c < g->ncolumns; c++)
        if (!l.empty[c])
            put_cell(b, g->column[c].title, l.width[c], g->column[c].text);
    end_line(b);
    for (size_t i = 0; i < count_rows(g); i++) {
        for (size_t c = 0; c < g->ncolumns; c++)
            if (!l.empty[c])
                put_cell(b, cell_at(g, i, c), l.width[c], g->column[c].text);
        end_line(b);
    }
}

/* ---- Markdown and CSV ---- */

void cfx_grid_put_markdown(cfx_buf *b, const cfx_grid *g, int width)
{
    layout l;
    (void)width;
    measure(g, &l);
    for (size_t c = 0; c < g->ncolumns; c++)
        if (!l.empty[c])
            cfx_buf_printf(b, "| %s ", g->column[c].title);
    cfx_buf_puts(b, "|\n");
    for (size_t c = 0; c < g->ncolumns; c++)
        if (!l.empty[c])
            cfx_buf_puts(b, g->column[c].text ? "|---" : "|---:");
    cfx_buf_puts(b, "|\n");
    for (size_t i = 0; i < count_rows(g); i++) {
        for (size_t c = 0; c < g->ncolumns; c++) {
            if (l.empty[c])
                continue;
            cfx_buf_puts(b, "| ");
            for (const char *s = cell_at(g, i, c); *s; s++) {
                if (strchr("|*_<\\`[", *s))
                    cfx_buf_putc(b, '\\');
                cfx_buf_putc(b, *s);
            }
            cfx_buf_putc(b, ' ');
        }
        cfx_buf_puts(b, "|\n");
    }
}

static void put_quoted(cfx_buf *b, const char *text)
{
    if (!text[strcspn(text, ",\"\n\r")]) {
        cfx_buf_puts(b, text);
        return;
    }
    cfx_buf_putc(b, '"');
    for (; *text; text++) {
        if (*text == '"')
            cfx_buf_putc(b, '"');
        cfx_buf_putc(b, *text);
    }
    cfx_buf_putc(b, '"');
}

void cfx_grid_put_csv(cfx_buf *b, const cfx_grid *g, int width)
{
    (void)width;
    for (size_t c = 0; c < g->ncolumns; c++)
        cfx_buf_printf(b, "%s%s", c ? "," : "", g->column[c].key);
    cfx_buf_putc(b, '\n');
    for (size_t i = 0; i < count_rows(g); i++) {
        for (size_t c = 0; c < g->ncolumns; c++) {
            if (c)
                cfx_buf_putc(b, ',');
            put_quoted(b, cell_at(g, i, c));
        }
        cfx_buf_putc(b, '\n');
    }
}
