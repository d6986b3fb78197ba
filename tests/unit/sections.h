/*
 * sections.h -- files that hold texts one behind the other, and what the
 * graphs in them stand for.
 */
#ifndef CFX_TEST_SECTIONS_H
#define CFX_TEST_SECTIONS_H

#include <cfx/graph_module.h>

/* A part of a file that begins with a line `MARK NAME`. */
typedef struct section {
    char *name, *text; /* the text ends in NUL */
    size_t len;
} section;

/* A path below $srcdir/tests, or ./tests; good for two calls. */
const char *data_path(const char *name);
/* A file's bytes and a NUL behind them, for free(). */
char *read_file(const char *path, size_t *len);
/* Cut the text at its marks; what stands before the first is dropped. */
size_t split(char *text, const char *mark, section *out, size_t room);

/* A node's meta "type" stands for the tensor in "val". */
void add_types(cfx_module *gm, cfx_context *ctx);

#endif
