/*
 * expect.h -- text files of cases that hold what is expected of them.
 *
 * A program writes each case anew, from what it does today. Where that is not
 * the text of the file, the case fails and its unified diff is printed; with
 * --update the file is written anew instead.
 */
#ifndef CFX_TEST_EXPECT_H
#define CFX_TEST_EXPECT_H

#include <stdbool.h>
#include <stdio.h>

/* A line begins a case, begins text that is kept, or goes on with either. */
typedef enum expect_line_kind {
    EXPECT_MORE,
    EXPECT_CASE,
    EXPECT_KEPT
} expect_line_kind;
typedef expect_line_kind expect_kind_fn(const char *line);

/* Write the case anew. `text` are its lines, without those at its end that are
 * empty; the function may write to it. */
typedef void expect_write_fn(char *text, FILE *out);

/* The main() of such a program: [-k TEXT] [--update] FILE..., where TEXT is in
 * the first line of the cases to run. */
int expect_main(int argc, char **argv, expect_kind_fn *kind,
                expect_write_fn *write);

/* Cut off the first line, which then ends in NUL; NULL behind the last. */
char *expect_line(char **text);

#endif
