/*
 * ops_table.h -- the table of cfx ops --table.
 */
#ifndef CLI_OPS_TABLE_H
#define CLI_OPS_TABLE_H

#include <cfx/op.h>

#include "cli.h"

/* Print the rows of all operators, or of one, to c->out, as text or JSON.
 * Returns the exit status. */
int cli_print_ops_table(cli *c, const cfx_op *only, bool json);

#endif
