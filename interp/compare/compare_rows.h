/*
 * compare_rows.h -- values of optimized graphs in the layout of the original.
 * Not installed.
 */
#ifndef CFX_COMPARE_ROWS_H
#define CFX_COMPARE_ROWS_H

#include <cfx/interp.h>

/* If b is image a in blocks of channels, set *out to the rows of b, a new
 * reference, of a's type if b is bfloat16; if b is a tuple of what a nests, as the
 * tuple of a module may, to b so nested. Fails with CFX_ENOMEM. */
cfx_status cfx_compare__like(cfx_value *out, cfx_context *ctx, cfx_value a,
                             cfx_value b, cfx_error *err);

/* Overwrite tensor b with the elements of a, in b's layout and type, if it has as many
 * rows, or has them in blocks of channels. Fails with CFX_ENOMEM. */
cfx_status cfx_compare__overwrite(cfx_context *ctx, cfx_value a, cfx_value b,
                                  cfx_error *err);

#endif
