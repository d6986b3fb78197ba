/*
 * cli.h -- what the commands share.
 *
 * A command is a descriptor in a file of its own, listed in commands.def. Its
 * `run` gets the command line parsed and a context made, and returns the exit
 * status: 0, or what cli_fail and cli_usage return after their one line on
 * stderr. Text goes to cli->out, which is stdout or the file of -o.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <cfx/file.h>
#include <cfx/nearest.h>
#include <cfx/text.h>

#include "options.h"

enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

/* The options that all commands take. */
typedef struct cli_globals {
    int threads;
    size_t max_memory;
    double timeout;
    bool no_mmap;
    bool assume_defaults;
    cli_list plugins;
    const char *cpu;
    const char *weights;
    cli_seed random_weights;
    const char *output;
    bool help, version;
} cli_globals;

typedef struct cli {
    const struct cli_command *command; /* NULL until it is known */
    cli_globals g;
    cfx_context *ctx;
    FILE *out;
    cfx_outfile file;  /* behind `out`, with -o */
    void **plugin;     /* handles of those that are loaded */
    int nplugins;
} cli;

/* A word that is being typed: complete.c. */
typedef struct cli_completing {
    cfx_context *ctx;
    const char *begin;        /* what there is of it */
    const char *before;       /* what stands before that in the same word */
    size_t before_len;
} cli_completing;

typedef struct cli_command {
    const char *name;
    const char *args;         /* "MODEL", as usage shows it; "" for none */
    const char *summary;      /* one line, no final stop */
    const char *details;      /* sentences; may be NULL */
    const cli_option *options;
    size_t size;              /* of the struct that they fill */
    int min_args, max_args;
    bool own_output;          /* -o is not for text: `run` opens it */
    int (*run)(cli *c, const void *options, int nargs, char **args);
    /* Offer what argument `arg` may be; NULL: files. */
    void (*complete)(cli_completing *at, int arg);
} cli_command;

extern const cli_option cli_global_options[];

/* Print "cfx: TEXT" on stderr, in one line whatever the names in it hold. */
void cli_print_line(const char *text);
/* The same for an error; gives CLI_FAILED. */
int cli_fail(const cfx_error *err);
/* Print "cfx: COMMAND: TEXT (see ...)" on stderr; give CLI_USAGE. */
int cli_usage(const cli *c, const char *fmt, ...) CFX_PRINTF(2, 3);

/* The row of a table that has that name, or the first for NULL; NULL if there
 * is none. Rows begin with their names. */
#define CLI_FIND(table, name)                                                 \
    cli_find(table, sizeof(table) / sizeof(*(table)), sizeof(*(table)), name)
const void *cli_find(const void *table, size_t n, size_t row,
                     const char *name);

/* ---- complete.c: words for the shells' completion ---- */

/* Print what the last of n words may become. */
int cli_complete(const cli_command *const *commands, int ncommands, int n,
                 char **words);
/* Print a word if it begins as the one that is typed. */
void cli_offer(const cli_completing *at, const char *word, size_t len);
/* `complete` of commands that take passes. */
void cli_complete_pass(cli_completing *at, int arg);

/* ---- signals.c ---- */

/* Let writes fail that would end the program. */
void cli_ignore_signals(void);
/* From here on signals and the time limit stop what c->ctx does; until
 * cli_release_signals, from which on nothing is stopped any more. */
void cli_catch_signals(const cli *c);
void cli_release_signals(void);
/* The signal that came, or 0. */
int cli_signalled(void);

/* ---- session.c: from the global options to a context and back ---- */

/* Make c->ctx and c->out; CLI_OK or a status, after the line on stderr. */
int cli_open(cli *c);
/* Finish the output, complete if `status` is CLI_OK, and free the context.
 * Gives the exit status, which is another one where a signal came or the
 * output could not be written. */
int cli_close(cli *c, int status);

/* The status of printing to c->out: what the output refuses is told when it is
 * closed. */
CFX_INLINE cfx_status cli_printed(cfx_status rc)
{
    return rc == CFX_EIO ? CFX_OK : rc;
}

/* Another context beside c->ctx, of that CPU level (NULL: the best) and number
 * of threads (0: as asked for all). Gives a status, after the line on stderr;
 * free it before c->ctx. */
int cli_second_context(cli *c, cfx_context **out, const char *option,
                       const char *cpu, int threads, cfx_error *err);

/* Let an error name the model that it is of. Where parameters lack their
 * numbers, if `needs_weights`, or their shapes, it says what would help. */
void cli_fail_model(const cli *c, cfx_error *err, const char *path,
                    bool needs_weights);

/* Load a model with the weights that the global options name. */
cfx_status cli_load(cli *c, cfx_module **out, const char *path,
                    bool need_weights, cfx_error *err);

/* ---- input.c: NAME=VALUE ---- */

/* The inputs of a graph, in the order of its placeholders. */
typedef struct cli_inputs {
    size_t n;
    cfx_value *value;
} cli_inputs;

/* Make the inputs from texts "NAME=VALUE" or "VALUE", those without a name
 * taking the placeholders that are left, in order. What is not given takes the
 * placeholder's default. */
cfx_status cli_inputs_make(cli_inputs *in, const cli *c, const cfx_module *gm,
                           const cli_list *texts, uint64_t seed,
                           cfx_error *err);
void cli_inputs_release(cli_inputs *in);

/* A value: a tensor of a file, a type and shape filled from a seed and the
 * input's name, or a Python literal. A new reference. */
cfx_status cli_value_make(cfx_value *out, const cli *c, const char *text,
                          const char *name, uint64_t seed, cfx_error *err);

/* Inputs whose values another function makes of their texts. */
typedef cfx_status cli_make_fn(void *user, cfx_value *out, const char *text,
                               const char *name, cfx_error *err);
cfx_status cli_inputs_make_by(cli_inputs *in, const cfx_module *gm,
                              const cli_list *texts, cli_make_fn *make,
                              void *user, cfx_error *err);

/* ---- shape_input.c: inputs without numbers ---- */

/* What --set says of symbols: NAME=N, NAME=MIN..MAX. */
typedef struct cli_symbol {
    char name[64];
    int64_t min, max;   /* equal: the symbol is that number */
    bool used;          /* there is an input that has it */
} cli_symbol;

typedef struct cli_symbols {
    cfx_shape_env *env;
    cli_symbol *item;
    int n;
} cli_symbols;

/* Read the texts of --set and make an environment of it; release it, also on
 * failure. */
cfx_status cli_symbols_make(cli_symbols *s, cfx_context *ctx,
                            const cli_list *set, cfx_error *err);
void cli_symbols_release(cli_symbols *s);

/* A shape with its symbols: "f32[N,3,H,W]", numbers in the places of those that
 * are set. A new reference. */
cfx_status cli_shape_make(cfx_value *out, cfx_context *ctx, cli_symbols *s,
                          const char *text, cfx_error *err);

/* cfx shapes --memory: the memory that a run with such inputs takes, as text,
 * json or csv. */
cfx_status cli_print_memory(cli *c, cfx_module *gm,
                            const cli_inputs *in, const cli_symbols *s,
                            const char *format, cfx_error *err);

/* As cli_inputs_make, but tensors are metas: of a file's type and shape, of a
 * type and shape that may have symbols. Fails for a symbol that is set and that
 * no input has. */
cfx_status cli_shapes_make(cli_inputs *in, const cli *c, const cfx_module *gm,
                           const cli_list *texts, cli_symbols *s,
                           cfx_error *err);

#endif
