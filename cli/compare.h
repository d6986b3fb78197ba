/*
 * compare.h -- two results: are they the same within a tolerance?
 */
#ifndef CLI_COMPARE_H
#define CLI_COMPARE_H

#include "cli.h"

/*
 * Compare value for value: the same aggregates, types and shapes, and numbers
 * with |a - b| <= tolerance * (1 + |a|); NaN is NaN. *worst is the greatest
 * |a - b| / (1 + |a|). Fails with CFX_ENUMERIC where they differ, and says
 * where, and how.
 */
cfx_status cli_compare(cfx_value a, cfx_value b, double tolerance,
                       double *worst, cfx_error *err);

#endif
