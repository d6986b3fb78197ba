/*
 * expect.h -- compare the results of a model with a reference.
 */
#ifndef CLI_EXPECT_H
#define CLI_EXPECT_H

#include <cfx/compare.h>

#include "output.h"

/* The options of commands that compare. */
typedef struct cli_tolerance_options {
    const char *rtol, *atol, *rmax;
} cli_tolerance_options;

/* Rows of an options table; `type` is the struct that has `member`. */
#define CLI_TOLERANCE_OPTIONS(type, member, of)                               \
    {CLI_TEXT,                                                                \
     0,                                                                       \
     "rtol",                                                                  \
     "R",                                                                     \
     "allow elements to differ by R times the element of " of                 \
     ", plus --atol (default: by dtype, as torch.testing.assert_close)",      \
     offsetof(type, member.rtol)},                                            \
        {CLI_TEXT,                                                            \
         0,                                                                   \
         "atol",                                                              \
         "X",                                                                 \
         "allow elements to differ by X",                                     \
         offsetof(type, member.atol)},                                        \
    {                                                                         \
        CLI_TEXT, 0, "rmax", "R",                                             \
            "allow elements to differ by R times the largest element of " of, \
            offsetof(type, member.rmax)                                       \
    }

/* Returns CLI_OK, or CLI_USAGE after a line on stderr. */
int cli_read_tolerance(const cli *c, const cli_tolerance_options *o,
                       cfx_tolerance *t);

/*
 * Compare each part of a result with the tensor of its name: DIR/NAME.npy, as
 * `cfx run -O DIR` writes them, or the tensors of a FILE; a result of one part
 * takes the only tensor of a FILE, whatever its name. Prints a line for each part that is equal (`to` NULL: none). Fails with
 * CFX_ENUMERIC and the first difference.
 */
cfx_status cli_expect(FILE *to, cfx_context *ctx, const cli_result *result,
                      const char *path, const cfx_tolerance *t,
                      cfx_error *err);

#endif
