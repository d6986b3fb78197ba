/*
 * dim_text.h -- extents of any length as text. Not installed.
 */
#ifndef CFX_DIM_TEXT_H
#define CFX_DIM_TEXT_H

#include <cfx/dim.h>

#include "base/util.h"

/* cfx_dim_format without its first `from` characters: the length of the rest. */
size_t cfx_dim__format_from(cfx_dim d, size_t from, char *buf, size_t size);

/* Append an extent. */
void cfx_buf_dim(cfx_buf *b, cfx_dim d);

#endif
