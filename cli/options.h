/*
 * options.h -- command lines by table: what is parsed is what --help shows.
 *
 * An option says where its value goes: `at` bytes into the struct that the
 * caller gives, which must have a member of the kind's type there.
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
    CLI_LIST     /* cli_list: may be given several times */
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
    char letter;       /* 0: none */
    const char *name;
    const char *value; /* what its value is called; NULL for flags */
    const char *help;
    size_t at;
} cli_option;

/* A table, which ends with a zeroed option, and the struct it fills. */
typedef struct cli_table {
    const cli_option *option;
    void *into;
} cli_table;

/*
 * Parse argv[1], ... by two tables. Options and other arguments may be mixed,
 * unless `stop` is set: then parsing ends at the first other argument. The
 * others are moved to the end of argv, from *first on. Returns false after
 * one line in `why`.
 */
bool cli_parse(int argc, char **argv, bool stop, const cli_table table[2],
               int *first, char *why, size_t size);

/* Give the lists in a table back. */
void cli_parse_release(const cli_table *table);

/* What --help says of the options of a table. */
void cli_describe(FILE *to, const cli_option *options);

/* Print text, filled to 80 columns, each line after the first indented. */
void cli_wrap(FILE *to, const char *text, int column, int indent);

#endif
