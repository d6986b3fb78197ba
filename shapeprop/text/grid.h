/*
 * grid.h -- tables with titles, as text, Markdown or CSV. Not installed.
 */
#ifndef CFX_GRID_H
#define CFX_GRID_H

#include <cfx/dim.h>

#include "base/util.h"

enum { CFX_GRID_COLUMNS = 64 };

typedef struct cfx_grid_column {
    const char *title, *key; /* key: in CSV */
    bool text;               /* left-aligned; numbers are right-aligned */
    int rank;                /* columns with higher ranks are dropped first if
                               the table is too wide; 0: never */
} cfx_grid_column;

typedef struct cfx_grid {
    cfx_arena arena;
    size_t ncolumns;
    cfx_grid_column column[CFX_GRID_COLUMNS];
    size_t ncells, cap;
    const char **cell; /* row by row */
    bool failed;       /* memory was lacking */
} cfx_grid;

void cfx_grid_init(cfx_grid *g, cfx_context *ctx);
void cfx_grid_release(cfx_grid *g);
/* Add a copy of a column, before any cell; ignored beyond CFX_GRID_COLUMNS. */
void cfx_grid_add_column(cfx_grid *g, cfx_grid_column c);
/* Add the next cell; the text is copied. */
void cfx_grid_add(cfx_grid *g, const char *text);

/* Add an extent of any length as the next cell. */
void cfx_grid_add_dim(cfx_grid *g, cfx_dim d);

/* Print without empty columns. Columns that are too wide for `width` (0: no
 * limit) are cut, then the least important ones dropped. */
void cfx_grid_put_text(cfx_buf *b, const cfx_grid *g, int width);
void cfx_grid_put_markdown(cfx_buf *b, const cfx_grid *g, int width);
void cfx_grid_put_csv(cfx_buf *b, const cfx_grid *g, int width);

#endif
