/*
 * options.h -- parse command lines by tables, which --help prints.
 *
 * The value of an option is stored `at` bytes into the struct that the caller
 * passes; the member there must have the type of the option's kind.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum cli_kind {
    CLI_END = 0,
    CLI_FLAG,    /* bool */
    CLI_TEXT,    /* const char * */
    CLI_COUNT,   /* int, at least 1 */
    CLI_SIZE,    /* size_t: bytes, with K, M or G */
    CLI_SECONDS, /* double, above 0 */
    CLI_SEED,    /* cli_seed */
    CLI_JSON,    /* bool: is it "json"? or else "text" */
    CLI_LIST     /* cli_list: may be repeated */
} cli_kind;

typedef struct cli_seed {
    bool given;
    uint64_t value;
} cli_seed;

typedef struct cli_list {
    const char **item;
    int n;
} cli_list;

typedef struct cli_option {
    cli_kind kind;
    char letter; /* 0: none */
    const char *name;
    const char *value; /* placeholder of its value; NULL for flags */
    const char *help;
    size_t at;
} cli_option;

/* A table, which ends with a zeroed option, and the struct that it fills. */
typedef struct cli_table {
    const cli_option *option;
    void *into;
} cli_table;

/*
 * Parse argv[1], ... by two tables. Options and other arguments may be mixed,
 * unless `stop` is set: then parsing ends at the first other argument. The
 * other arguments are moved to the end of argv, from *first on. Returns false
 * with a one-line message in `why`.
 */
bool cli_parse(int argc, char **argv, bool stop, const cli_table table[2],
               int *first, char *why, size_t size);

/* Read a finite number of decibels; false: the text is something else. */
bool cli_read_decibels(const char *text, double *out);

/* Free the lists in a table. */
void cli_parse_release(const cli_table *table);

/* Print the options of a table for --help. */
void cli_describe(FILE *to, const cli_option *options);

/* Print a row of a table in --help: a name, and one or more sentences. */
void cli_describe_row(FILE *to, const char *name, const char *doc);

/* Print text, wrapped at 80 columns; all lines but the first are indented. */
void cli_wrap(FILE *to, const char *text, int column, int indent);

#endif
