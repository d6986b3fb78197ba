/*
 * main -- find the command, parse the command line, run the command.
 */
#include "cli.h"

#include <cfx/version.h>

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define COMMAND(name) extern const cli_command cli_command_##name;
#include "commands.def"
#undef COMMAND

static const cli_command *const commands[] = {
#define COMMAND(name) &cli_command_##name,
#include "commands.def"
#undef COMMAND
};

enum { NCOMMANDS = sizeof(commands) / sizeof(*commands) };

const cli_option cli_global_options[] = {
    {CLI_COUNT, 't', "threads", "N",
     "use N threads (default: one per processor)",
     offsetof(cli_globals, threads)},
    {CLI_SIZE, 0, "max-mem", "SIZE",
     "fail instead of using more memory: bytes, or with K, M or G",
     offsetof(cli_globals, max_memory)},
    {CLI_SECONDS, 0, "timeout", "SECONDS", "fail after this time",
     offsetof(cli_globals, timeout)},
    {CLI_TEXT, 'w', "weights", "FILE",
     "read weights from this file of tensors (default: those in the model's file, or MODEL.safetensors beside it)",
     offsetof(cli_globals, weights)},
    {CLI_SEED, 0, "random-weights", "SEED",
     "generate weights from a seed, the same on every machine",
     offsetof(cli_globals, random_weights)},
    {CLI_FLAG, 0, "no-mmap", NULL, "read weights instead of mapping them",
     offsetof(cli_globals, no_mmap)},
    {CLI_FLAG, 0, "assume-defaults", NULL,
     "use the constructor's default for arguments that the text of a module does not have",
     offsetof(cli_globals, assume_defaults)},
    {CLI_FLAG, 0, "any-shape", NULL,
     "take inputs of other types and shapes than the model was exported for; sizes that the export has made constants then give wrong results",
     offsetof(cli_globals, any_shape)},
    {CLI_LIST, 0, "load", "FILE.so",
     "load operators, modules and passes from a shared object; may be repeated",
     offsetof(cli_globals, plugins)},
    {CLI_TEXT, 0, "cpu", "LEVEL",
     "use at most this instruction level: plain, neon, avx2 or avx512",
     offsetof(cli_globals, cpu)},
    {CLI_TEXT, 'o', "output", "FILE", "write to a file instead of stdout",
     offsetof(cli_globals, output)},
    {CLI_FLAG, 'h', "help", NULL, "print this help and exit",
     offsetof(cli_globals, help)},
    {CLI_FLAG, 'V', "version", NULL, "print the version and exit",
     offsetof(cli_globals, version)},
    {0},
};

/* ---- Messages ---- */

static char line_begin[320];

void cli_begin_lines(const char *text)
{
    snprintf(line_begin, sizeof(line_begin), "%s", text);
}

void cli_print_line(const char *text)
{
    cfx_error line = {0};

    /* The text of an error is one line, with controls escaped. */
    cfx_fail(&line, CFX_EUSER, "%s", text);
    fprintf(stderr, "cfx: %s%s\n", line_begin, line.text);
}

/* Return the option that would help. */
static const char *advice(cfx_status code)
{
    return code == CFX_EUNDECIDED  ? " (--assume-defaults uses the defaults)"
           : code == CFX_EOPERATOR ? " (--load FILE.so registers operators)"
           : code == CFX_EINPUT    ? ", or --any-shape"
                                   : "";
}

int cli_fail(const cfx_error *err)
{
    char text[sizeof(err->text) + 64];

    snprintf(text, sizeof(text), "%s%s",
             err->text[0] ? err->text : cfx_status_name(err->code),
             advice(err->code));
    cli_print_line(text);
    return CLI_FAILED;
}

int cli_usage(const cli *c, const char *fmt, ...)
{
    char text[1024], line[1200];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (c->command)
        snprintf(line, sizeof(line), "%s: %s (see cfx %s --help)",
                 c->command->name, text, c->command->name);
    else
        snprintf(line, sizeof(line), "%s (see cfx --help)", text);
    cli_print_line(line);
    return CLI_USAGE;
}

const void *cli_find(const void *table, size_t n, size_t row, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        const char *const *at = (const void *)((const char *)table + i * row);
        if (!name || !strcmp(*at, name))
            return at;
    }
    return NULL;
}

/* ---- Help ---- */

static void print_help(FILE *to)
{
    fputs(
        "usage: cfx COMMAND [OPTION]... [ARGUMENT]...\n\n"
        "Run, inspect and rewrite models captured by torch.fx.\n\n"
        "A model is a .pt2 file of torch.export.save, an .onnx file, a .py file or a\n"
        "folder with the code of a GraphModule, or an .fx file with its text,\n"
        "f\"{gm!r}\\n\\n{gm.graph}\\n\"; weights are in the file, or in\n"
        "MODEL.safetensors beside it.\n\n"
        "Commands:\n",
        to);
    for (int i = 0; i < NCOMMANDS; i++)
        fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\nOptions that all commands take:\n", to);
    cli_describe(to, cli_global_options);
    fputs("\ncfx COMMAND --help describes one command.\n", to);
}

/* The names of the options that all commands take, in a sentence. */
static void name_globals(FILE *to)
{
    char text[512] = "All commands take ";
    size_t len = strlen(text);
    for (const cli_option *o = cli_global_options;
         o->name && len < sizeof(text); o++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "--%s%s",
                                o->name,
                                o[1].name ? ", " : ": see cfx --help.");
    fputc('\n', to);
    cli_wrap(to, text, 0, 0);
}

static void print_command_help(FILE *to, const cli_command *cmd)
{
    fprintf(to, "usage: cfx %s [OPTION]...%s%s\n\n%s.\n", cmd->name,
            *cmd->args ? " " : "", cmd->args, cmd->summary);
    if (cmd->details) {
        fputc('\n', to);
        cli_wrap(to, cmd->details, 0, 0);
    }
    if (cmd->describe)
        cmd->describe(to);
    if (cmd->options) {
        fputs("\nOptions:\n", to);
        cli_describe(to, cmd->options);
    }
    name_globals(to);
}

/* Print --help or --version; fails if the output cannot be written. */
static int print_about(const cli *c)
{
    cfx_error err = {0};

    if (c->g.version && !c->g.help)
        printf("cfx %s\n", cfx_version());
    else if (c->command)
        print_command_help(stdout, c->command);
    else
        print_help(stdout);
    return cli_flush(&err) ? cli_fail(&err) : CLI_OK;
}

/* ---- Running ---- */

static const cli_command *find_command(const char *name)
{
    for (int i = 0; i < NCOMMANDS; i++) {
        if (!strcmp(commands[i]->name, name))
            return commands[i];
    }
    return NULL;
}

/* Report the first missing argument: word n of the usage line. */
static int missing(const cli *c, int n)
{
    const char *word = c->command->args;

    for (; n; n--)
        word += strcspn(word, " ") + 1;
    return cli_usage(c, "%.*s is missing", (int)strcspn(word, " [("), word);
}

static int run_command(cli *c, int argc, char **argv, void *options)
{
    const cli_command *cmd = c->command;
    const cli_table table[2] = {{cmd->options, options},
                                {cli_global_options, &c->g}};
    char why[512];
    int first;

    if (!cli_parse(argc, argv, false, table, &first, why, sizeof(why)))
        return cli_usage(c, "%s", why);
    if (c->g.help || c->g.version)
        return print_about(c);
    int nargs = argc - first;
    if (nargs < cmd->min_args)
        return missing(c, nargs);
    if (nargs > cmd->max_args)
        return cli_usage(c, "'%s' is one argument too many",
                         argv[first + cmd->max_args]);
    int status = cli_open(c);
    if (status == CLI_OK)
        status = cmd->run(c, options, nargs, argv + first);
    return cli_close(c, status);
}

static int unknown_command(const cli *c, const char *name)
{
    cfx_nearest near;

    cfx_nearest_init(&near, name, strlen(name));
    for (int i = 0; i < NCOMMANDS; i++)
        cfx_nearest_try(&near, commands[i]->name, strlen(commands[i]->name));
    return cli_usage(c, "there is no command '%s'%s", name,
                     cfx_nearest_text(&near));
}

static int run(cli *c, int argc, char **argv)
{
    const cli_table table[2] = {{cli_global_options, &c->g}, {NULL, NULL}};
    char why[512];
    int first;

    if (!cli_parse(argc, argv, true, table, &first, why, sizeof(why)))
        return cli_usage(c, "%s", why);
    if (c->g.help || c->g.version)
        return print_about(c);
    if (first == argc)
        return cli_usage(c, "no command is given");
    if (!strcmp(argv[first], "help")) {
        c->g.help = true;
        if (first + 1 == argc)
            return print_about(c);
        first++;
    }
    c->command = find_command(argv[first]);
    if (!c->command)
        return unknown_command(c, argv[first]);
    if (c->g.help)
        return print_about(c);
    void *options = calloc(1, c->command->size + 1);
    if (!options) {
        cfx_error err = {0};

        cfx_no_memory(&err);
        return cli_fail(&err);
    }
    int status = run_command(c, argc - first, argv + first, options);
    cli_parse_release(&(cli_table){c->command->options, options});
    free(options);
    return status;
}

int main(int argc, char **argv)
{
    cli c = {0};

    cli_ignore_signals();
    if (argc > 1 && !strcmp(argv[1], "__complete"))
        return cli_complete(commands, NCOMMANDS, argc - 2, argv + 2);
    int status = run(&c, argc, argv);
    cli_parse_release(&(cli_table){cli_global_options, &c.g});
    return status;
}
