/*
 * cli.h -- declarations shared by the commands.
 *
 * A command is a descriptor in a file of its own, listed in commands.def. Its
 * `run` gets the parsed command line and a context, and returns the exit
 * status: 0, or the result of cli_fail or cli_usage, which print one line on
 * stderr. Output goes to cli->out, which is stdout or the file of -o.
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
    bool any_shape;
    cli_list plugins;
    const char *cpu;
    const char *weights;
    cli_seed random_weights;
    const char *output;
    bool help, version;
} cli_globals;

typedef struct cli {
    const struct cli_command *command; /* NULL until known */
    cli_globals g;
    cfx_context *ctx;
    cfx_model_file *model; /* that was loaded last; NULL: none */
    FILE *out;
    cfx_outfile file; /* of `out`, with -o */
    void **plugin;    /* handles of loaded plugins */
    int nplugins;
    bool silent; /* another rank prints the error */
    char **text; /* made for the command line, freed at the end */
    int ntexts;
} cli;

/* The word to be completed: complete.c. */
typedef struct cli_completing {
    cfx_context *ctx;
    const char *begin;  /* its beginning, as typed */
    const char *before; /* text before it in the same argument */
    size_t before_len;
} cli_completing;

typedef struct cli_command {
    const char *name;
    const char *args;           /* "MODEL", as usage shows it; "" for none */
    const char *summary;        /* one line, without a full stop */
    const char *details;        /* sentences; may be NULL */
    void (*describe)(FILE *to); /* print more of --help, from a table; or
                                   NULL */
    const cli_option *options;
    size_t size; /* of the options struct */
    int min_args, max_args;
    bool own_output; /* -o is not for text: `run` opens the file */
    int (*run)(cli *c, const void *options, int nargs, char **args);
    /* Offers values of argument `arg`; NULL: files. */
    void (*complete)(cli_completing *at, int arg);
} cli_command;

extern const cli_option cli_global_options[];

/* Begin each further line on stderr with this text after "cfx: ". */
void cli_begin_lines(const char *text);
/* Print "cfx: TEXT" on stderr, as one line even if TEXT has newlines. */
void cli_print_line(const char *text);
/* Print an error in this form; returns CLI_FAILED. */
int cli_fail(const cfx_error *err);
/* Print "cfx: COMMAND: TEXT (see ...)" on stderr; returns CLI_USAGE. */
int cli_usage(const cli *c, const char *fmt, ...) CFX_PRINTF(2, 3);

/* Find the row of a table by name (NULL: the first row); NULL if there is none.
 * Rows begin with their names. */
#define CLI_FIND(table, name)                                                 \
    cli_find(table, sizeof(table) / sizeof(*(table)), sizeof(*(table)), name)
const void *cli_find(const void *table, size_t n, size_t row,
                     const char *name);

/* ---- complete.c: shell completion ---- */

/* Print the completions of the last of n words. */
int cli_complete(const cli_command *const *commands, int ncommands, int n,
                 char **words);
/* Print a word if it begins with the typed text. */
void cli_offer(const cli_completing *at, const char *word, size_t len);
/* The `complete` hook of commands that take passes. */
void cli_complete_pass(cli_completing *at, int arg);

/* ---- signals.c ---- */

/* Ignore signals that would end the program instead of failing a write. */
void cli_ignore_signals(void);
/* Let signals and the time limit cancel c->ctx, until cli_release_signals. */
void cli_catch_signals(const cli *c);
void cli_release_signals(void);
/* Return the signal that was received, or 0. */
int cli_signalled(void);
/* End silently, as programs do whose output nobody reads. */
void cli_end_of_pipe(void);

/* ---- session.c: context and output ---- */

/* Create c->ctx and c->out; CLI_OK, or a status after a line on stderr. */
int cli_open(cli *c);
/* Close the output, complete if `status` is CLI_OK, and free the context.
 * Returns the exit status, which differs from `status` after a signal or if the
 * output could not be written. */
int cli_close(cli *c, int status);

/* Load a plugin into c->ctx. */
cfx_status cli_add_plugin(cli *c, const char *path, cfx_error *err);

/* Write what is left of stdout. Fails with CFX_EIO; does not return if stdout is
 * a pipe that nobody reads. */
cfx_status cli_flush(cfx_error *err);

/* Return the status of printing to c->out. Write errors are reported when the
 * output is closed. */
CFX_INLINE cfx_status cli_printed(cfx_status st)
{
    return st == CFX_EIO ? CFX_OK : st;
}

/* Create another context with a CPU level (NULL: the best) and number of
 * threads (0: that of all commands). Returns a status, after a line on stderr;
 * free the context before c->ctx. */
int cli_second_context(cli *c, cfx_context **out, const char *option,
                       const char *cpu, int threads, cfx_error *err);

/* Add the model's name to an error. If parameters lack data (and
 * `needs_weights`) or shapes, add the option that would help. */
void cli_fail_model(const cli *c, cfx_error *err, const char *path,
                    bool needs_weights);

/* Load a model with the weights of the global options. */
cfx_status cli_load(cli *c, cfx_module **out, const char *path,
                    bool need_weights, cfx_error *err);

/* Like cli_load, with weights; a model that cannot be read for any inputs is read
 * for `texts` (cfx/file.h: give_inputs, input_numbers). Random numbers are those
 * of `seed`. */
cfx_status cli_load_for(cli *c, cfx_module **out, const char *path,
                        const cli_list *texts, bool numbers, uint64_t seed,
                        cfx_error *err);

/* ---- input.c: NAME=VALUE ---- */

/* The inputs of a graph, in the order of its placeholders. */
typedef struct cli_inputs {
    size_t n;
    cfx_value *value;
} cli_inputs;

/* Make inputs from texts "NAME=VALUE" or "VALUE"; those without a name fill the
 * remaining placeholders in order, and a file of several tensors those of their
 * names. Missing inputs take the sample inputs of `samples` (NULL: none), else
 * the placeholder's default. */
cfx_status cli_inputs_make(cli_inputs *in, const cli *c, const cfx_module *gm,
                           cfx_model_file *samples, const cli_list *texts,
                           uint64_t seed, cfx_error *err);
void cli_inputs_release(cli_inputs *in);

/* Make inputs with data for some that are only types and shapes: tensors are
 * filled by the seed and the input's name, as cfx run does. Symbols take extents
 * within the ranges that `env` has; without one they are refused. Release *to,
 * also on failure. */
cfx_status cli_fill_inputs(cli_inputs *to, const cli *c, const cfx_module *gm,
                           const cli_inputs *from, uint64_t seed,
                           cfx_shape_env *env, cfx_error *err);

/* The shape that the model's file tells of an input, as an export or an
 * annotation in code, borrowed; absent if it does not. */
cfx_value cli_known_shape(const cfx_node *n);

/* Is it a str, or a nested list of str, as a tensor of strings of ONNX? */
bool cli_is_texts(cfx_value v);

/* Make an input before its model is read, with its name ("": it has none).
 * Release it, also on failure. */
cfx_status cli_known_input(cfx_named_value *out, const cli *c,
                           const char *text, uint64_t seed, cfx_error *err);
void cli_known_input_release(cfx_named_value *v);

/* The texts, with one for each tensor of a file of inputs: "x=i.npz:x" and more
 * for "i.npz". Release them, also on failure. */
cfx_status cli_expand_inputs(cli_list *out, const cli *c,
                             const cli_list *texts, cfx_error *err);
void cli_expanded_release(cli_list *l);

/* The length of a type and shape without the range of its integers: 9 of
 * "i64[2,16]<30522". */
size_t cli_shape_length(const char *text);

/* Make a value, a new reference: a tensor of a file, a type and shape filled
 * from a seed and the input's name, or a Python literal. */
cfx_status cli_value_make(cfx_value *out, const cli *c, const char *text,
                          const char *name, uint64_t seed, cfx_error *err);

/* Like cli_inputs_make, with functions that make values from texts, and of the
 * inputs that are missing those that it knows. */
typedef struct cli_input_maker {
    cfx_status (*make)(void *user, cfx_value *out, const char *text,
                       const char *name, cfx_error *err);
    cfx_status (*fill)(void *user, cli_inputs *in, cfx_error *err);
    void *user;
} cli_input_maker;
cfx_status cli_inputs_make_by(cli_inputs *in, const cli *c,
                              const cfx_module *gm, const cli_list *texts,
                              const cli_input_maker *how, cfx_error *err);

/* ---- missing_input.c: inputs that the command line does not give ---- */

/* Give missing inputs the sample values of a file; NULL: of none. */
cfx_status cli_add_samples(cli_inputs *in, const cfx_module *gm,
                           cfx_model_file *file, cfx_error *err);
/* Fail with the options to type for the inputs that are missing. */
cfx_status cli_fail_missing(const cli_inputs *in, const cfx_node **list,
                            cfx_error *err);

/* The value that a symbol gets in examples: at least 2, since torch takes 0 and
 * 1 for special. */
int64_t cli_example_extent(int64_t min, int64_t max);
/* The name of an input on the command line, without the stars of *args. */
const char *cli_input_name(const cfx_node *n);

/* ---- shape_input.c: inputs without data ---- */

/* A symbol of --set: NAME=N, NAME=MIN..MAX. */
typedef struct cli_symbol {
    char name[64];
    int64_t min, max; /* equal: the symbol is a number */
    bool used;        /* some input has it */
} cli_symbol;

typedef struct cli_symbols {
    cfx_shape_env *env;
    cli_symbol *item;
    int n;
} cli_symbols;

/* Parse the texts of --set and create an environment; release it, also on
 * failure. */
cfx_status cli_symbols_make(cli_symbols *s, cfx_context *ctx,
                            const cli_list *set, cfx_error *err);
void cli_symbols_release(cli_symbols *s);

/* Make a shape with symbols, "f32[N,3,H,W]"; those set to a number are replaced
 * by it. A new reference. */
cfx_status cli_shape_make(cfx_value *out, cfx_context *ctx, cli_symbols *s,
                          const char *text, cfx_error *err);

/* Print the memory plan of a run with such inputs (cfx shapes --memory), as
 * text, json or csv. */
cfx_status cli_print_memory(cli *c, cfx_module *gm, const cli_inputs *in,
                            const cli_symbols *s, const char *format,
                            cfx_error *err);

/* Like cli_inputs_make, but tensors are metas: of a file's type and shape, or
 * of a type and shape that may have symbols; missing ones that have no sample
 * are as the model's file declares them, if it does. Fails if no input has a
 * symbol of --set. */
cfx_status cli_shapes_make(cli_inputs *in, const cli *c, const cfx_module *gm,
                           cfx_model_file *samples, const cli_list *texts,
                           cli_symbols *s, cfx_error *err);

#endif
