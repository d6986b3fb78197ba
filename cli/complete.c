/*
 * complete -- shell completion (completion/): print the words that may come
 * next on a command line, from the tables that parse it.
 *
 *     cfx __complete WORD...
 *
 * prints the words that begin with the last WORD, one per line. If it prints
 * nothing, the shells offer files.
 */
#include <cfx/pass.h>

#include <string.h>

#include "cli.h"

void cli_offer(const cli_completing *at, const char *word, size_t len)
{
    size_t n = strlen(at->begin);

    if (len >= n && !memcmp(word, at->begin, n))
        printf("%.*s%.*s\n", (int)at->before_len, at->before, (int)len, word);
}

/* ---- Options ---- */

static void offer_options(const cli_completing *at, const cli_option *o)
{
    char name[64];

    for (; o && o->kind != CLI_END; o++) {
        int n = snprintf(name, sizeof(name), "--%s", o->name);
        cli_offer(at, name, (size_t)n);
    }
}

/* True if the word is an option whose value is the next word. */
static bool takes_next(const cli_option *o, const char *word)
{
    for (; o && o->kind != CLI_END; o++) {
        const char short_name[] = {'-', o->letter, '\0'};
        if (!o->value)
            continue;
        if ((o->letter && !strcmp(word, short_name)) ||
            (!strncmp(word, "--", 2) && !strcmp(word + 2, o->name)))
            return true;
    }
    return false;
}

/* ---- The command line ---- */

/* Count the arguments, from `from` on, that are not options and come before the
 * last word; -1 if the last word is an option's value. */
static int count_arguments(const cli_option *options, int from, int n,
                           char **words)
{
    int args = 0;

    for (int i = from; i < n - 1; i++) {
        if (takes_next(cli_global_options, words[i]) ||
            takes_next(options, words[i])) {
            if (++i == n - 1)
                return -1;
        } else if (words[i][0] != '-' || !words[i][1]) {
            args++;
        }
    }
    return args;
}

/* Return the index of the command among the words, or n - 1. */
static int command_place(int n, char **words)
{
    int i = 0;

    while (i < n - 1 && words[i][0] == '-')
        i += takes_next(cli_global_options, words[i]) ? 2 : 1;
    return i;
}

static void offer_commands(const cli_completing *at,
                           const cli_command *const *commands, int n)
{
    for (int i = 0; i < n; i++)
        cli_offer(at, commands[i]->name, strlen(commands[i]->name));
}

static int offer_arguments(cli_completing *at, const cli_command *cmd, int arg)
{
    const cfx_options o = {.size = sizeof(o), .threads = 1};
    cfx_error err = {0};

    if (!cmd->complete || arg < 0)
        return CLI_OK;
    if (cfx_context_new(&at->ctx, &o, &err))
        return cli_fail(&err);
    cmd->complete(at, arg);
    cfx_context_free(at->ctx);
    return CLI_OK;
}

int cli_complete(const cli_command *const *commands, int ncommands, int n,
                 char **words)
{
    cli_completing at = {.begin = n ? words[n - 1] : "", .before = ""};
    const cli_command *cmd = NULL;
    int place = command_place(n, words);

    for (int i = 0; i < ncommands && place < n - 1; i++) {
        if (!strcmp(commands[i]->name, words[place]))
            cmd = commands[i];
    }
    if (at.begin[0] == '-') {
        offer_options(&at, cmd ? cmd->options : NULL);
        offer_options(&at, cli_global_options);
        return CLI_OK;
    }
    if (cmd)
        return offer_arguments(
            &at, cmd, count_arguments(cmd->options, place + 1, n, words));
    if (place == n - 1 || !n)
        offer_commands(&at, commands, ncommands);
    return CLI_OK;
}

/* ---- Completions shared by commands ---- */

/* Complete the last pass of "a,b(x=1),c". */
void cli_complete_pass(cli_completing *at, int arg)
{
    const char *comma = strrchr(at->begin, ',');

    (void)arg;
    if (comma) {
        at->before = at->begin;
        at->before_len = (size_t)(comma + 1 - at->begin);
        at->begin = comma + 1;
    }
    for (size_t i = 0; cfx_pass_at(at->ctx, i); i++) {
        const char *name = cfx_pass_at(at->ctx, i)->schema;
        cli_offer(at, name, strcspn(name, "("));
    }
}
