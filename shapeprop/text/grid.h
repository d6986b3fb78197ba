/*
 * grid.h -- rows of text under titles: to read, as Markdown, as CSV. Not
 * installed.
 */
#ifndef CFX_GRID_H
#define CFX_GRID_H

#include "base/util.h"

enum { CFX_GRID_COLUMNS = 64 };

typedef struct cfx_grid_column {
    const char *title, *key; /* key: in CSV */
    bool text;              /* else numbers, which stand at the right */
    int rank;               /* the highest goes first where room is short; 0:
                               never */
} cfx_grid_column;

typedef struct cfx_grid {
    cfx_arena arena;
    size_t ncolumns;
    cfx_grid_column column[CFX_GRID_COLUMNS];
    size_t ncells, cap;
    const char **cell;      /* row by row */
    bool failed;            /* there was no memory */
} cfx_grid;

void cfx_grid_init(cfx_grid *g, cfx_context *ctx);
void cfx_grid_release(cfx_grid *g);
/* Copied; beyond CFX_GRID_COLUMNS ignored. Before the first cell. */
void cfx_grid_add_column(cfx_grid *g, cfx_grid_column c);
/* The next cell; the text is copied. */
void cfx_grid_add(cfx_grid *g, const char *text);

/* Empty columns are left out; those that are too wide for `width` (0: no end)
 * are cut, and then the least important ones left out. */
void cfx_grid_put_text(cfx_buf *b, const cfx_grid *g, int width);
void cfx_grid_put_markdown(cfx_buf *b, const cfx_grid *g, int width);
void cfx_grid_put_csv(cfx_buf *b, const cfx_grid *g, int width);

#endif
